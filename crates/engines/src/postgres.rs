//! PostgreSQL as a supervised child.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use secrecy::{ExposeSecret, SecretString};

use crate::account::Account;
use crate::find::{self, Found};
use crate::process::{Launch, Restart, Supervised, last_words};
use crate::{EngineError, Home, leftovers, port, secret_file};

/// The role and the database of the server. The role is no superuser: a leaked address runs no programs.
const ROLE: &str = "guildhall";
const DATABASE: &str = "guildhall";
const ADMIN: &str = "postgres";

/// Recovery after a crash included.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Ports are asked for, then used; in between another process may take one.
const PORT_TRIES: usize = 3;

/// A running PostgreSQL. Dropping it stops it.
#[derive(Debug)]
pub struct Postgres {
    process: Supervised,
    data: PathBuf,
    version: String,
    port: u16,
    role_password: SecretString,
    admin_password: SecretString,
}

impl Postgres {
    /// Finds PostgreSQL, makes its data folder where it is missing, starts it and waits until it answers.
    pub fn start(home: &Home, restart: Restart) -> Result<Self, EngineError> {
        let found = find::postgres()?;
        let account = Account::for_postgres()?;
        let folder = home.for_account("postgres", account.as_ref())?;
        leftovers::end_all_within(&folder);
        let role_password = secret_file::keep(&home.folder().join("postgres.password"))?;
        let admin_password = secret_file::keep(&home.folder().join("postgres-admin.password"))?;
        let install = Install { found: &found, account, folder: &folder, log: folder.join("postgres.log") };
        install.make_data(&role_password, &admin_password)?;
        let mut tries = 0;
        loop {
            tries += 1;
            let port = port::free().map_err(EngineError::io("find a free port for", &folder))?;
            let started = Self {
                process: Supervised::start(install.launch(port), restart)?,
                data: install.data(),
                version: found.version.clone(),
                port,
                role_password: role_password.clone(),
                admin_password: admin_password.clone(),
            };
            match started.wait_ready() {
                Ok(()) => return Ok(started),
                Err(error) if tries >= PORT_TRIES => return Err(error),
                Err(_) => {}
            }
        }
    }

    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    /// Returns the folder that holds the data.
    #[must_use]
    pub fn data_folder(&self) -> &Path {
        &self.data
    }

    /// Returns the address that the server connects to.
    #[must_use]
    pub fn url(&self) -> SecretString {
        address_of_server(&self.role_password, self.port)
    }

    /// Returns an address with every right, for tests that make databases.
    #[must_use]
    pub fn admin_url(&self, database: &str) -> SecretString {
        address(ADMIN, &self.admin_password, self.port, database)
    }

    /// Kills PostgreSQL as a power cut would (SIGKILL), and leaves it down.
    pub fn kill(&self) {
        self.process.kill();
        // The children of a killed postmaster notice within moments; nothing new starts before they are gone.
        leftovers::end_all_within(&self.data);
    }

    /// Starts PostgreSQL again on the same port and waits until it answers.
    pub fn up(&self) -> Result<(), EngineError> {
        self.process.up();
        self.wait_ready()
    }

    /// Stops the process in its tracks (SIGSTOP): connections stay open and nothing answers.
    pub fn freeze(&self) {
        self.process.signal(Signal::STOP);
    }

    /// Lets a frozen process go on.
    pub fn thaw(&self) {
        self.process.signal(Signal::CONT);
    }

    fn wait_ready(&self) -> Result<(), EngineError> {
        let (began, exits) = (Instant::now(), self.process.exits());
        while began.elapsed() < READY_WITHIN {
            if self.process.pid().is_some_and(|pid| is_ready(&self.data, pid)) {
                return Ok(());
            }
            if self.process.exits() > exits {
                break;
            }
            sleep(Duration::from_millis(10));
        }
        let path = self.process.launch().log.clone();
        let log = last_words(&path);
        Err(EngineError::NotReady { engine: "PostgreSQL", seconds: began.elapsed().as_secs(), path, log })
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.thaw();
        let seconds = Duration::from_secs;
        // Fast shutdown first, then at once, then by force.
        self.process.stop(&[
            (Signal::INT, seconds(10)),
            (Signal::QUIT, seconds(5)),
            (Signal::KILL, seconds(5)),
        ]);
    }
}

/// Returns the address that a server connects to.
pub(crate) fn address_of_server(password: &SecretString, port: u16) -> SecretString {
    address(ROLE, password, port, DATABASE)
}

fn address(role: &str, password: &SecretString, port: u16, database: &str) -> SecretString {
    format!("postgres://{role}:{}@127.0.0.1:{port}/{database}", password.expose_secret()).into()
}

/// What is needed to make and start a data folder.
struct Install<'a> {
    found: &'a Found,
    account: Option<Account>,
    folder: &'a Path,
    log: PathBuf,
}

impl Install<'_> {
    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn launch(&self, port: u16) -> Launch {
        let settings = [
            "listen_addresses=127.0.0.1".to_owned(),
            format!("port={port}"),
            // Loopback and a password are the only way in.
            "unix_socket_directories=".to_owned(),
            "max_connections=200".to_owned(),
            "log_line_prefix=%m [%p] ".to_owned(),
        ];
        let mut args: Vec<OsString> = vec!["-D".into(), self.data().into()];
        args.extend(settings.into_iter().flat_map(|setting| [OsString::from("-c"), setting.into()]));
        // QUIT: all children end at once; the next start recovers from the log.
        self.launch_of(self.found.program.clone(), args, "QUIT")
    }

    fn launch_of(&self, program: PathBuf, args: Vec<OsString>, death_signal: &'static str) -> Launch {
        Launch {
            engine: "PostgreSQL",
            program,
            args,
            account: self.account.clone(),
            folder: self.folder.to_owned(),
            log: self.log.clone(),
            death_signal,
        }
    }

    /// Makes the data folder beside its place and moves it there when it is whole: a kill half-way leaves nothing
    /// that looks finished.
    fn make_data(
        &self,
        role_password: &SecretString,
        admin_password: &SecretString,
    ) -> Result<(), EngineError> {
        let data = self.data();
        if data.exists() {
            return Ok(());
        }
        let unfinished = self.folder.join("data.new");
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished).map_err(EngineError::io("remove the unfinished", &unfinished))?;
        }
        self.initdb(&unfinished, admin_password)?;
        self.make_role(&unfinished, role_password)?;
        fs::rename(&unfinished, &data).map_err(EngineError::io("finish", &data))?;
        let parent = fs::File::open(self.folder).map_err(EngineError::io("open", self.folder))?;
        parent.sync_all().map_err(EngineError::io("finish", self.folder))
    }

    fn initdb(&self, data: &Path, admin_password: &SecretString) -> Result<(), EngineError> {
        let password_file = self.folder.join("initdb.password");
        secret_file::write(&password_file, admin_password.expose_secret())?;
        if let Some(account) = &self.account {
            account.give(&password_file)?;
        }
        let mut pwfile = OsString::from("--pwfile=");
        pwfile.push(&password_file);
        let user = format!("--username={ADMIN}");
        let mut args: Vec<OsString> = vec!["-D".into(), data.into(), pwfile, user.into()];
        args.extend(["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"].map(OsString::from));
        let made = self.run("initdb", self.launch_of(self.found.sibling("initdb"), args, "KILL"), "");
        fs::remove_file(&password_file).map_err(EngineError::io("remove", &password_file))?;
        made
    }

    /// Makes the server's role and database before the first start, while nobody can connect.
    fn make_role(&self, data: &Path, password: &SecretString) -> Result<(), EngineError> {
        let sql = format!(
            "CREATE ROLE {ROLE} LOGIN PASSWORD '{}'\nCREATE DATABASE {DATABASE} OWNER {ROLE}\n",
            password.expose_secret()
        );
        let args = ["--single", "-D"].map(OsString::from);
        let args = args.into_iter().chain([data.into(), "template1".into()]).collect();
        self.run("making the server's role", self.launch_of(self.found.program.clone(), args, "KILL"), &sql)
    }

    fn run(&self, step: &'static str, launch: Launch, input: &str) -> Result<(), EngineError> {
        let spawn_error =
            |source| EngineError::Spawn { program: launch.program.display().to_string(), source };
        let mut child = launch
            .command()?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(spawn_error)?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes()).map_err(spawn_error)?;
        }
        let output = child.wait_with_output().map_err(spawn_error)?;
        if output.status.success() {
            return Ok(());
        }
        let log =
            String::from_utf8_lossy(&output.stderr).lines().map(|line| format!("    {line}\n")).collect();
        Err(EngineError::Setup { step, log })
    }
}

/// Reads what the postmaster writes about itself: its pid first, its state on the eighth line.
fn is_ready(data: &Path, pid: u32) -> bool {
    let Ok(text) = fs::read_to_string(data.join("postmaster.pid")) else { return false };
    let mut lines = text.lines();
    lines.next().and_then(|line| line.parse().ok()) == Some(pid)
        && lines.nth(6).is_some_and(|state| state.trim() == "ready")
}
