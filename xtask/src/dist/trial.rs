//! `cargo xtask long dist`: installs the tarball, and completes a run where there is nothing but libc and a shell.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::binary::BinaryRequirements;
use super::minimal_root::MinimalRoot;
use super::{PROGRAMS, VERSION, archive_name, create};
use crate::command::output;
use crate::dev_server::text;
use crate::engines::Engines;

/// How long the server may take to listen.
const START_TIMEOUT: Duration = Duration::from_secs(60);

const PASSWORD: &str = "correct horse battery staple";

/// Installs a tarball, or a new one of the release profile, and uses it. Returns the results as Markdown.
pub(crate) fn run(tarball: Option<&Path>) -> Result<String> {
    let folder = tempfile::Builder::new().prefix("guildhall-trial-").tempdir()?;
    let tarball = match tarball {
        Some(tarball) => tarball.canonicalize().with_context(|| format!("no file {}", tarball.display()))?,
        None => create("release", &folder.path().join("dist"))?,
    };
    let start = Instant::now();
    let prefix = install(&tarball, folder.path())?;
    let home = folder.path().join("home");
    let root = MinimalRoot::new(&prefix, &home)?;
    let installed = start.elapsed();
    let engines = Engines::temporary()?;
    let started = Instant::now();
    let transcript = use_installation(&root, &engines, &home)?;
    let mut text = describe(&tarball, &prefix, &root)?;
    writeln!(
        text,
        "\nInstalled in {:.1} s. From `guildhall init` to the end of the first run: {:.1} s.\n",
        installed.as_secs_f64(),
        started.elapsed().as_secs_f64()
    )?;
    writeln!(text, "```text\n{transcript}```")?;
    Ok(text)
}

/// Unpacks the tarball and runs its installer. Returns the prefix.
fn install(tarball: &Path, folder: &Path) -> Result<PathBuf> {
    output(Command::new("tar").arg("-xzf").arg(tarball).arg("-C").arg(folder))?;
    let prefix = folder.join("prefix");
    let installer = folder.join(archive_name()).join("install.sh");
    let printed = output(Command::new("sh").arg(installer).arg("--prefix").arg(&prefix))?;
    print!("{printed}");
    Ok(prefix)
}

fn describe(tarball: &Path, prefix: &Path, root: &MinimalRoot) -> Result<String> {
    let mib = |path: &Path| Ok::<_, anyhow::Error>(fs::metadata(path)?.len() as f64 / f64::from(1 << 20));
    let mut requirements = BinaryRequirements::default();
    let mut text = String::from("| file | MiB |\n|---|---|\n");
    writeln!(text, "| {} | {:.1} |", archive_name() + ".tar.gz", mib(tarball)?)?;
    for program in PROGRAMS {
        let file = prefix.join("bin").join(program);
        requirements.add(&file)?;
        writeln!(text, "| {program} | {:.1} |", mib(&file)?)?;
    }
    let files: Vec<String> = root.system_files.iter().map(|file| format!("`{}`", file.display())).collect();
    writeln!(
        text,
        "\nThe programs need {requirements}.\nFiles of the system in the root: {}.",
        files.join(", ")
    )?;
    Ok(text)
}

/// Sets up a server, a user and a tenant as the guides say, and completes a run of the demo profile. Returns what was
/// typed and printed.
fn use_installation(root: &MinimalRoot, engines: &Engines, home: &Path) -> Result<String> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let url = format!("http://{address}");
    let [(_, postgres), _, (_, nats)] = engines.env();
    let settings = [
        ("GUILDHALL_POSTGRES_URL", postgres),
        ("GUILDHALL_NATS_URL", nats),
        ("GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY", "5eed".repeat(16)),
        ("GUILDHALL_HTTP_LISTEN", address.clone()),
    ];
    let mut terminal = Terminal { root, transcript: String::new() };
    terminal.run(&settings, &["init", "--name", "admin", "--password-stdin"], PASSWORD)?;
    let _server = Background::start(root, "guildhall", &["serve"], &settings, home)?;
    terminal.type_line("guildhall serve &");
    wait_until_listening(&address, home)?;
    terminal.run(&[], &["login", "--url", &url, "--name", "admin", "--password-stdin"], PASSWORD)?;
    terminal.run(&[], &["tenants", "create", "acme"], "")?;
    let enrolment = ["enrolments", "create", "here", "--tenant", "acme", "--json"];
    let enrolment: Value = serde_json::from_str(&terminal.run_silently(&enrolment)?)?;
    fs::write(home.join("enrolment.token"), text(&enrolment, "secret")?)?;
    // There is no bubblewrap in this root, nor the util-linux with which a server starts runners.
    let runner = ["--enrolment-file", "enrolment.token", "--url", &url, "--uncontained"];
    terminal.type_line(&format!("guildhall-runner {} &", runner.join(" ")));
    let _runner = Background::start(root, "guildhall-runner", &runner, &[], home)?;
    let run = ["runs", "create", "--tenant", "acme", "--profile", "demo", "tidy my notes", "--watch"];
    let printed = terminal.run(&[], &run, "")?;
    ensure!(printed.lines().any(|line| line == "completed"), "the run did not complete:\n{printed}");
    Ok(terminal.transcript.replace(&url, "http://127.0.0.1:7117"))
}

fn wait_until_listening(address: &str, home: &Path) -> Result<()> {
    let start = Instant::now();
    while TcpStream::connect(address).is_err() {
        if start.elapsed() > START_TIMEOUT {
            let log = fs::read_to_string(home.join("guildhall.log"))?;
            bail!("guildhall {VERSION} does not listen:\n{log}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Runs commands in the root and keeps what they print.
struct Terminal<'a> {
    root: &'a MinimalRoot,
    transcript: String,
}

impl Terminal<'_> {
    fn type_line(&mut self, line: &str) {
        println!("$ {line}");
        self.transcript.push_str(&format!("$ {line}\n"));
    }

    /// Runs `guildhall`, which must succeed. Returns its output.
    fn run(&mut self, environment: &[(&str, String)], args: &[&str], input: &str) -> Result<String> {
        let quoted =
            args.iter().map(|arg| if arg.contains(' ') { format!("\"{arg}\"") } else { (*arg).into() });
        self.type_line(&format!("guildhall {}", quoted.collect::<Vec<String>>().join(" ")));
        let printed = self.execute(environment, args, input)?;
        print!("{printed}");
        self.transcript.push_str(&printed);
        Ok(printed)
    }

    /// Runs `guildhall`, whose output contains a secret.
    fn run_silently(&mut self, args: &[&str]) -> Result<String> {
        self.type_line(&format!("guildhall {} > enrolment.json", args.join(" ")));
        self.execute(&[], args, "")
    }

    fn execute(&self, environment: &[(&str, String)], args: &[&str], input: &str) -> Result<String> {
        let mut command = self.root.command("guildhall", environment);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start bwrap")?;
        child.stdin.take().context("stdin is not piped")?.write_all(input.as_bytes())?;
        let Output { status, stdout, stderr } = child.wait_with_output()?;
        let printed = String::from_utf8([stdout, stderr].concat())?;
        ensure!(status.success(), "`guildhall {}` failed ({status}):\n{printed}", args.join(" "));
        Ok(printed)
    }
}

/// A program in the background; dropping this value kills it.
struct Background(Child);

impl Background {
    /// Starts it. Its log is in the home.
    fn start(
        root: &MinimalRoot,
        program: &str,
        args: &[&str],
        environment: &[(&str, String)],
        home: &Path,
    ) -> Result<Self> {
        let log = fs::File::create(home.join(format!("{program}.log")))?;
        let mut command = root.command(program, environment);
        command.args(args).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(Self(command.spawn().context("cannot start bwrap")?))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _killed = self.0.kill();
        let _reaped = self.0.wait();
    }
}
