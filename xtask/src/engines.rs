//! PostgreSQL and NATS for tests: for one command, or until `cargo xtask engines down`.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use guildhall_engines::{Nats, Postgres, RestartPolicy, StateDir};
use secrecy::ExposeSecret;

use crate::command::target;

#[derive(Args)]
pub(crate) struct EnginesArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Start PostgreSQL and NATS in the background
    Up,
    /// Stop them
    Down,
    /// Print their addresses as shell commands: eval "$(cargo xtask engines env)"
    Env,
    /// Run them until `down` is called (used by `up`)
    #[command(hide = true)]
    Serve,
}

pub(crate) fn run(args: &EnginesArgs) -> Result<()> {
    match args.action {
        Action::Up => up(),
        Action::Down => down(),
        Action::Env => print_env(),
        Action::Serve => serve(),
    }
}

/// Running engines; dropping this value stops them.
pub(crate) struct Engines {
    postgres: Postgres,
    nats: Nats,
    _home: StateDir,
    _folder: Option<tempfile::TempDir>,
}

impl Engines {
    /// Starts engines that keep no data.
    pub(crate) fn temporary() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("guildhall-xtask-").tempdir()?;
        let home = StateDir::open(folder.path())?;
        Self::start(home, Some(folder))
    }

    fn start(home: StateDir, folder: Option<tempfile::TempDir>) -> Result<Self> {
        let postgres = Postgres::start(&home, RestartPolicy::Always)?;
        let nats = Nats::start(&home, RestartPolicy::Always)?;
        println!(
            "engines: PostgreSQL {} :{}, NATS {} :{}",
            postgres.version(),
            postgres.port(),
            nats.version(),
            nats.port()
        );
        Ok(Self { postgres, nats, _home: home, _folder: folder })
    }

    /// Returns the environment variables that tell tests how to connect.
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
    if let Err(error) = StateDir::open(&folder()) {
        println!("{error}");
        return print_env();
    }
    let _missing = fs::remove_file(env_file());
    let log = File::create(folder().join("engines.log"))?;
    let mut server = Command::new(std::env::current_exe()?)
        .args(["engines", "serve"])
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        // A separate process group: Ctrl-C in this terminal must not stop it.
        .process_group(0)
        .spawn()?;
    let start = Instant::now();
    while !env_file().exists() {
        if let Some(status) = server.try_wait()? {
            let mut log = String::new();
            File::open(folder().join("engines.log"))?.read_to_string(&mut log)?;
            bail!("the engines did not start ({status})\n{log}");
        }
        if start.elapsed() > Duration::from_secs(90) {
            bail!("the engines did not start within 90 s; see {}", folder().join("engines.log").display());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    println!("engines are running (pid {}); stop them with `cargo xtask engines down`", server.id());
    print_env()
}

fn serve() -> Result<()> {
    let engines = Engines::start(StateDir::open(&folder())?, None)?;
    let lines: String =
        engines.env().iter().map(|(name, value)| format!("export {name}='{value}'\n")).collect();
    let temporary = env_file().with_extension("new");
    write_private(&temporary, &lines)?;
    fs::rename(&temporary, env_file())?;
    // `down` removes the file as the signal to stop.
    while env_file().exists() {
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

fn down() -> Result<()> {
    if fs::remove_file(env_file()).is_err() {
        println!("no engines are running");
        return Ok(());
    }
    let start = Instant::now();
    while StateDir::open(&folder()).is_err() {
        if start.elapsed() > Duration::from_secs(30) {
            bail!("the engines did not stop within 30 s; see {}", folder().join("engines.log").display());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    println!("engines stopped");
    Ok(())
}

fn print_env() -> Result<()> {
    let lines = fs::read_to_string(env_file())
        .context("no engines are running; start them with `cargo xtask engines up`")?;
    print!("{lines}");
    Ok(())
}

fn write_private(path: &std::path::Path, text: &str) -> Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    Ok(file.write_all(text.as_bytes())?)
}
