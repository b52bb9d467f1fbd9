//! Runs the console blocks of a document in a shell, next to a `guildhall dev` in a new folder. Documents with agents get
//! real agents and a fake model, to which the templates of profiles lead.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::console::{self, Step};
use super::markdown::Document;
use crate::command::{program, target};
use crate::fake_model::FakeModel;

const DEV: &str = "guildhall dev";

/// The last line of `guildhall dev` before it serves.
const READY: &str = "Press Ctrl-C to stop.";

/// Separates the output of commands; the exit code follows.
const END: &str = "--guildhall-docs-end--";

/// Time limit of a command. A busy machine starts PostgreSQL in a few seconds.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Documents that run at the same time. Each has its own engines.
const WORKERS: usize = 2;

/// Runs every document that has console blocks. Returns the differences.
pub(super) fn check(documents: &[&Document]) -> Result<Vec<String>> {
    let needs_model = documents.iter().any(|document| console::needs_agents(document));
    let model = needs_model.then(FakeModel::start).transpose()?;
    let runnable = documents.iter().map(|document| (*document, console::steps(document)));
    let queue = Mutex::new(runnable.filter(|(_, steps)| !steps.is_empty()));
    let problems = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((document, steps)) = next else { return };
                    let start = Instant::now();
                    let model = model.as_ref().filter(|_| console::needs_agents(document));
                    let found = run_document(document, &steps, model)
                        .unwrap_or_else(|error| vec![format!("{}: {error:#}", document.path)]);
                    println!(
                        "{}: {} commands, {:.1} s",
                        document.path,
                        steps.len(),
                        start.elapsed().as_secs_f64()
                    );
                    problems.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
                }
            });
        }
    });
    Ok(problems.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn run_document(document: &Document, steps: &[Step], model: Option<&FakeModel>) -> Result<Vec<String>> {
    let folder = DocumentEnvironment::create(model)?;
    for (name, content) in console::files(document) {
        fs::write(folder.dir.path().join(name), content).with_context(|| format!("cannot write {name}"))?;
    }
    let mut dev = None;
    if !steps.iter().any(|step| step.command == DEV) {
        dev = Some(Dev::start(&folder, folder.dir.path())?.0);
    }
    let mut shell = Shell::start(&folder)?;
    let mut problems = Vec::new();
    for step in steps {
        let place = document.at(step.line);
        let output = if step.command == DEV {
            let (working_dir, _) = shell.run("pwd")?;
            let (started, output) = Dev::start(&folder, Path::new(working_dir.trim()))?;
            dev = Some(started);
            output
        } else {
            let (output, code) = shell.run(&step.command).with_context(|| place.clone())?;
            if code != 0 {
                problems.push(format!("{place}: `{}` fails with code {code}:\n{output}", step.command));
                continue;
            }
            output
        };
        if !console::matches(&step.expected, &output) {
            let expected = step.expected.join("\n");
            problems.push(format!(
                "{place}: the output of `{}` differs\n--- expected\n{expected}\n--- actual\n{output}",
                step.command
            ));
        }
    }
    drop(shell);
    drop(dev);
    Ok(problems)
}

/// A running `guildhall dev`. Dropping it stops it.
struct Dev {
    child: Child,
}

impl Dev {
    /// Starts it and returns its output up to the line that says it is ready.
    fn start(folder: &DocumentEnvironment, working_dir: &Path) -> Result<(Self, String)> {
        let log = folder.dir.path().join("dev.log");
        let mut command = folder.command(&program("guildhall"));
        command
            .current_dir(working_dir)
            .arg("dev")
            .env("GUILDHALL_HTTP_LISTEN", "127.0.0.1:0")
            .stderr(File::create(&log)?);
        let mut child = command.spawn().context("cannot start guildhall dev")?;
        let stdout = child.stdout.take().context("stdout is not piped")?;
        let (lines, dev) = (read_lines(stdout), Self { child });
        let mut output = String::new();
        loop {
            let Ok(line) = lines.recv_timeout(TIMEOUT) else {
                bail!(
                    "guildhall dev did not start\n{output}{}",
                    fs::read_to_string(&log).unwrap_or_default()
                );
            };
            output.push_str(&line);
            output.push('\n');
            if line.contains(READY) {
                return Ok((dev, output));
            }
        }
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let pid = self.child.id().to_string();
        let _stopped = Command::new("kill").args(["-INT", &pid]).status();
        let _exited = self.child.wait();
    }
}

/// A shell that keeps variables between commands.
struct Shell {
    child: Child,
    input: ChildStdin,
    output: Receiver<String>,
}

impl Shell {
    fn start(folder: &DocumentEnvironment) -> Result<Self> {
        let mut command = folder.command(Path::new("bash"));
        command.args(["--noprofile", "--norc"]).stdin(Stdio::piped());
        let mut child = command.spawn().context("cannot start bash")?;
        let input = child.stdin.take().context("stdin is not piped")?;
        let stdout = child.stdout.take().context("stdout is not piped")?;
        Ok(Self { child, input, output: read_lines(stdout) })
    }

    /// Runs a command. Returns its output, standard error included, and its exit code.
    fn run(&mut self, command: &str) -> Result<(String, i32)> {
        writeln!(self.input, "{{ {command}\n}} </dev/null 2>&1; printf '\\n%s %s\\n' '{END}' \"$?\"")?;
        let mut output = String::new();
        loop {
            match self.output.recv_timeout(TIMEOUT) {
                Ok(line) => match line.strip_prefix(END) {
                    Some(code) => return Ok((output, code.trim().parse()?)),
                    None => output.push_str(&format!("{line}\n")),
                },
                Err(RecvTimeoutError::Timeout) => {
                    bail!("`{command}` does not end within {} s\n{output}", TIMEOUT.as_secs())
                }
                Err(RecvTimeoutError::Disconnected) => bail!("`{command}` ended the shell\n{output}"),
            }
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _exited = self.child.wait();
    }
}

/// The folder of a document, and the environment of its commands.
struct DocumentEnvironment {
    dir: TempDir,
    environment: Vec<(&'static str, OsString)>,
}

impl DocumentEnvironment {
    fn create(model: Option<&FakeModel>) -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("guildhall-docs-").tempdir()?;
        // PostgreSQL may run under another account, which has to pass through.
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755))?;
        let mut programs = vec![target().join("debug")];
        let mut environment = vec![("XDG_CONFIG_HOME", dir.path().join("config").into_os_string())];
        if let Some(model) = model {
            programs.extend([model.codex_folder().to_owned(), model.qwen_folder().to_owned()]);
            let templates = dir.path().join("templates");
            fs::create_dir(&templates)?;
            model.write_templates(&templates)?;
            environment.push(("GUILDHALL_PROFILES_TEMPLATES", templates.into_os_string()));
            environment.push(("OPENAI_API_KEY", "sk-of-the-documentation".into()));
            environment.push(("XDG_STATE_HOME", dir.path().join("state").into_os_string()));
        }
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(programs.into_iter().chain(std::env::split_paths(&inherited)))?;
        environment.push(("PATH", path));
        Ok(Self { dir, environment })
    }

    /// Prepares a program in this folder: our programs first on the PATH, and none of our settings.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.dir.path()).stdin(Stdio::null()).stdout(Stdio::piped());
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("GUILDHALL_") && !name.starts_with("GUILDHALL_ENGINE_") {
                command.env_remove(name);
            }
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

fn read_lines(stdout: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
