//! Engines for tests: for the length of one command, or kept until they are no longer wanted.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use guildhall_engines::{Home, Nats, Postgres, Restart};
use secrecy::ExposeSecret;

use crate::command::target;

#[derive(Args)]
pub(crate) struct EnginesArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Starts PostgreSQL and NATS and leaves them running
    Up,
    /// Stops them
    Down,
    /// Prints their addresses as shell lines: eval "$(cargo xtask engines env)"
    Env,
    /// Runs them until `down` asks for the end (used by `up`)
    #[command(hide = true)]
    Hold,
}

pub(crate) fn run(args: &EnginesArgs) -> Result<()> {
    match args.verb {
        Verb::Up => up(),
        Verb::Down => down(),
        Verb::Env => print_env(),
        Verb::Hold => hold(),
    }
}

/// Engines that live as long as this value.
pub(crate) struct Engines {
    postgres: Postgres,
    nats: Nats,
    _home: Home,
    _folder: Option<tempfile::TempDir>,
}

impl Engines {
    /// Starts engines whose data goes away with them.
    pub(crate) fn temporary() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("guildhall-xtask-").tempdir()?;
        let home = Home::open(folder.path())?;
        Self::start(home, Some(folder))
    }

    fn start(home: Home, folder: Option<tempfile::TempDir>) -> Result<Self> {
        let postgres = Postgres::start(&home, Restart::Always)?;
        let nats = Nats::start(&home, Restart::Always)?;
        println!(
            "engines: PostgreSQL {} :{}, NATS {} :{}",
            postgres.version(),
            postgres.port(),
            nats.version(),
            nats.port()
        );
        Ok(Self { postgres, nats, _home: home, _folder: folder })
    }

    /// Returns the variables by which tests find these engines.
    pub(crate) fn env(&self) -> [(&'static str, String); 3] {
        [
            ("GUILDHALL_TEST_PG_URL", self.postgres.url().expose_secret().to_owned()),
            ("GUILDHALL_TEST_PG_ADMIN_URL", self.postgres.admin_url("postgres").expose_secret().to_owned()),
            ("GUILDHALL_TEST_NATS_URL", self.nats.url().expose_secret().to_owned()),
        ]
    }
}

fn folder() -> PathBuf {
    target().join("engines")
}

fn env_file() -> PathBuf {
    folder().join("env")
}

fn up() -> Result<()> {
    if let Err(error) = Home::open(&folder()) {
        println!("{error}");
        return print_env();
    }
    let _stale = fs::remove_file(env_file());
    let log = File::create(folder().join("hold.log"))?;
    let mut holder = Command::new(std::env::current_exe()?)
        .args(["engines", "hold"])
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        // A group of its own: Ctrl-C in this terminal is not meant for it.
        .process_group(0)
        .spawn()?;
    let began = Instant::now();
    while !env_file().exists() {
        if let Some(status) = holder.try_wait()? {
            let mut said = String::new();
            File::open(folder().join("hold.log"))?.read_to_string(&mut said)?;
            bail!("the engines did not start ({status})\n{said}");
        }
        if began.elapsed() > Duration::from_secs(90) {
            bail!("the engines did not start within 90 s; see {}", folder().join("hold.log").display());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    println!("engines run (pid {}); stop them with `cargo xtask engines down`", holder.id());
    print_env()
}

fn hold() -> Result<()> {
    let engines = Engines::start(Home::open(&folder())?, None)?;
    let lines: String =
        engines.env().iter().map(|(name, value)| format!("export {name}='{value}'\n")).collect();
    let fresh = env_file().with_extension("new");
    write_private(&fresh, &lines)?;
    fs::rename(&fresh, env_file())?;
    // `down` removes the file; it is the sign to end.
    while env_file().exists() {
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

fn down() -> Result<()> {
    if fs::remove_file(env_file()).is_err() {
        println!("no engines run");
        return Ok(());
    }
    let began = Instant::now();
    while Home::open(&folder()).is_err() {
        if began.elapsed() > Duration::from_secs(30) {
            bail!("the engines did not stop within 30 s; see {}", folder().join("hold.log").display());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    println!("engines stopped");
    Ok(())
}

fn print_env() -> Result<()> {
    let lines =
        fs::read_to_string(env_file()).context("no engines run; start them with `cargo xtask engines up`")?;
    print!("{lines}");
    Ok(())
}

fn write_private(path: &std::path::Path, text: &str) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    Ok(file.write_all(text.as_bytes())?)
}
