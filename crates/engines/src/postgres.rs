//! PostgreSQL as a supervised child process.

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
use crate::process::{ProcessSpec, RestartPolicy, SupervisedProcess, log_tail};
use crate::programs::{self, InstalledProgram};
use crate::{EngineError, StateDir, leftovers, port, secret_file};

/// The role and the database of the server. The role is not a superuser: a leaked URL cannot run programs.
const ROLE: &str = "guildhall";
const DATABASE: &str = "guildhall";
const ADMIN: &str = "postgres";

/// Includes crash recovery.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

/// Another process may take the port before it is used.
const PORT_ATTEMPTS: usize = 3;

/// A running PostgreSQL. Dropping it stops it.
#[derive(Debug)]
pub struct Postgres {
    process: SupervisedProcess,
    data: PathBuf,
    version: String,
    port: u16,
    role_password: SecretString,
    admin_password: SecretString,
}

impl Postgres {
    /// Finds PostgreSQL, creates its data directory if it is missing, starts it and waits until it is ready.
    pub fn start(state: &StateDir, restart: RestartPolicy) -> Result<Self, EngineError> {
        let program = programs::find_postgres()?;
        let account = Account::for_postgres()?;
        let folder = state.dir_for_account("postgres", account.as_ref())?;
        leftovers::kill_leftovers(&folder);
        let role_password = secret_file::load_or_create(&state.folder().join("postgres.password"))?;
        let admin_password = secret_file::load_or_create(&state.folder().join("postgres-admin.password"))?;
        let installation =
            Installation { program: &program, account, folder: &folder, log: folder.join("postgres.log") };
        installation.create_data_dir(&role_password, &admin_password)?;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let port = port::find_free().map_err(EngineError::io("find a free port for", &folder))?;
            let started = Self {
                process: SupervisedProcess::start(installation.spec(port), restart)?,
                data: installation.data(),
                version: program.version.clone(),
                port,
                role_password: role_password.clone(),
                admin_password: admin_password.clone(),
            };
            match started.wait_ready() {
                Ok(()) => return Ok(started),
                Err(error) if attempts >= PORT_ATTEMPTS => return Err(error),
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

    /// Returns the data directory.
    #[must_use]
    pub fn data_folder(&self) -> &Path {
        &self.data
    }

    /// Returns the URL for the server.
    #[must_use]
    pub fn url(&self) -> SecretString {
        server_url(&self.role_password, self.port)
    }

    /// Returns the URL of a superuser, for tests that create databases.
    #[must_use]
    pub fn admin_url(&self, database: &str) -> SecretString {
        url(ADMIN, &self.admin_password, self.port, database)
    }

    /// Kills PostgreSQL (SIGKILL), as a power failure would, and leaves it down.
    pub fn kill(&self) {
        self.process.kill();
        // The children of a killed postmaster exit soon; it must not restart before they are gone.
        leftovers::kill_leftovers(&self.data);
    }

    /// Restarts PostgreSQL on the same port and waits until it is ready.
    pub fn restart(&self) -> Result<(), EngineError> {
        self.process.restart();
        self.wait_ready()
    }

    /// Pauses the process (SIGSTOP): connections stay open and get no response.
    pub fn pause(&self) {
        self.process.signal(Signal::STOP);
    }

    /// Resumes a paused process.
    pub fn resume(&self) {
        self.process.signal(Signal::CONT);
    }

    fn wait_ready(&self) -> Result<(), EngineError> {
        let (began, exits) = (Instant::now(), self.process.exits());
        while began.elapsed() < READY_TIMEOUT {
            if self.process.pid().is_some_and(|pid| is_ready(&self.data, pid)) {
                return Ok(());
            }
            if self.process.exits() > exits {
                break;
            }
            sleep(Duration::from_millis(10));
        }
        let path = self.process.spec().log.clone();
        let log = log_tail(&path);
        Err(EngineError::NotReady { engine: "PostgreSQL", seconds: began.elapsed().as_secs(), path, log })
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.resume();
        let seconds = Duration::from_secs;
        // Fast shutdown, then immediate shutdown, then SIGKILL.
        self.process.stop(&[
            (Signal::INT, seconds(10)),
            (Signal::QUIT, seconds(5)),
            (Signal::KILL, seconds(5)),
        ]);
    }
}

/// Returns the URL for the server.
pub(crate) fn server_url(password: &SecretString, port: u16) -> SecretString {
    url(ROLE, password, port, DATABASE)
}

fn url(role: &str, password: &SecretString, port: u16, database: &str) -> SecretString {
    format!("postgres://{role}:{}@127.0.0.1:{port}/{database}", password.expose_secret()).into()
}

/// An installed PostgreSQL with its account and directory.
struct Installation<'a> {
    program: &'a InstalledProgram,
    account: Option<Account>,
    folder: &'a Path,
    log: PathBuf,
}

impl Installation<'_> {
    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn spec(&self, port: u16) -> ProcessSpec {
        let settings = [
            "listen_addresses=127.0.0.1".to_owned(),
            format!("port={port}"),
            // Only loopback connections with a password.
            "unix_socket_directories=".to_owned(),
            "max_connections=200".to_owned(),
            "log_line_prefix=%m [%p] ".to_owned(),
        ];
        let mut args: Vec<OsString> = vec!["-D".into(), self.data().into()];
        args.extend(settings.into_iter().flat_map(|setting| [OsString::from("-c"), setting.into()]));
        // SIGQUIT: immediate shutdown; the next start recovers from the log.
        self.spec_of(self.program.program.clone(), args, "QUIT")
    }

    fn spec_of(&self, program: PathBuf, args: Vec<OsString>, death_signal: &'static str) -> ProcessSpec {
        ProcessSpec {
            engine: "PostgreSQL",
            program,
            args,
            account: self.account.clone(),
            folder: self.folder.to_owned(),
            log: self.log.clone(),
            death_signal,
        }
    }

    /// Creates the data directory under a temporary name and renames it when it is complete, so that a crash leaves no
    /// partial data directory.
    fn create_data_dir(
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
        self.create_role(&unfinished, role_password)?;
        fs::rename(&unfinished, &data).map_err(EngineError::io("finish", &data))?;
        let parent = fs::File::open(self.folder).map_err(EngineError::io("open", self.folder))?;
        parent.sync_all().map_err(EngineError::io("finish", self.folder))
    }

    fn initdb(&self, data: &Path, admin_password: &SecretString) -> Result<(), EngineError> {
        let password_file = self.folder.join("initdb.password");
        secret_file::write(&password_file, admin_password.expose_secret())?;
        if let Some(account) = &self.account {
            account.chown(&password_file)?;
        }
        let mut pwfile = OsString::from("--pwfile=");
        pwfile.push(&password_file);
        let user = format!("--username={ADMIN}");
        let mut args: Vec<OsString> = vec!["-D".into(), data.into(), pwfile, user.into()];
        args.extend(["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"].map(OsString::from));
        let result = self.run("initdb", self.spec_of(self.program.sibling("initdb"), args, "KILL"), "");
        fs::remove_file(&password_file).map_err(EngineError::io("remove", &password_file))?;
        result
    }

    /// Creates the server's role and database before the first start, while nobody can connect.
    fn create_role(&self, data: &Path, password: &SecretString) -> Result<(), EngineError> {
        let sql = format!(
            "CREATE ROLE {ROLE} LOGIN PASSWORD '{}'\nCREATE DATABASE {DATABASE} OWNER {ROLE}\n",
            password.expose_secret()
        );
        let args = ["--single", "-D"].map(OsString::from);
        let args = args.into_iter().chain([data.into(), "template1".into()]).collect();
        self.run("creating the server's role", self.spec_of(self.program.program.clone(), args, "KILL"), &sql)
    }

    fn run(&self, step: &'static str, spec: ProcessSpec, input: &str) -> Result<(), EngineError> {
        let spawn_error = |source| EngineError::Spawn { program: spec.program.display().to_string(), source };
        let mut child = spec
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

/// Reads `postmaster.pid`: the pid is on the first line, the state on the eighth.
fn is_ready(data: &Path, pid: u32) -> bool {
    let Ok(text) = fs::read_to_string(data.join("postmaster.pid")) else { return false };
    let mut lines = text.lines();
    lines.next().and_then(|line| line.parse().ok()) == Some(pid)
        && lines.nth(6).is_some_and(|state| state.trim() == "ready")
}
