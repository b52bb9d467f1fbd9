//! NATS as a supervised child process: core NATS only, with nothing on disk but its configuration.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use secrecy::{ExposeSecret, SecretString};

use crate::process::{ProcessSpec, RestartPolicy, SupervisedProcess, log_tail};
use crate::{EngineError, StateDir, leftovers, port, programs, secret_file};

const USER: &str = "guildhall";
const READY_TIMEOUT: Duration = Duration::from_secs(15);
const PORT_ATTEMPTS: usize = 3;

/// A running NATS server. Dropping it stops it.
#[derive(Debug)]
pub struct Nats {
    process: SupervisedProcess,
    version: String,
    port: u16,
    password: SecretString,
}

impl Nats {
    /// Finds NATS, starts it and waits until it is ready.
    pub fn start(state: &StateDir, restart: RestartPolicy) -> Result<Self, EngineError> {
        let found = programs::find_nats()?;
        let folder = state.private_dir("nats")?;
        leftovers::kill_leftovers(&folder);
        let password = secret_file::load_or_create(&state.folder().join("nats.password"))?;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let port = port::find_free().map_err(EngineError::io("find a free port for", &folder))?;
            let config = folder.join("nats.conf");
            secret_file::write(&config, &configuration(port, &password))?;
            let spec = ProcessSpec {
                engine: "NATS",
                program: found.program.clone(),
                args: vec!["-c".into(), config.into()],
                account: None,
                folder: folder.clone(),
                log: folder.join("nats.log"),
                death_signal: "KILL",
            };
            let process = SupervisedProcess::start(spec, restart)?;
            let started = Self { process, version: found.version.clone(), port, password: password.clone() };
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

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.process.spec().folder
    }

    /// Returns the URL for the server.
    #[must_use]
    pub fn url(&self) -> SecretString {
        server_url(&self.password, self.port)
    }

    /// Kills NATS (SIGKILL), and leaves it down.
    pub fn kill(&self) {
        self.process.kill();
    }

    /// Restarts NATS on the same port and waits until it is ready.
    pub fn restart(&self) -> Result<(), EngineError> {
        self.process.restart();
        self.wait_ready()
    }

    fn wait_ready(&self) -> Result<(), EngineError> {
        let (began, exits) = (Instant::now(), self.process.exits());
        while began.elapsed() < READY_TIMEOUT {
            if self.process.pid().is_some() && is_ready(self.port) {
                return Ok(());
            }
            if self.process.exits() > exits {
                break;
            }
            sleep(Duration::from_millis(10));
        }
        let path = self.process.spec().log.clone();
        let log = log_tail(&path);
        Err(EngineError::NotReady { engine: "NATS", seconds: began.elapsed().as_secs(), path, log })
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        let seconds = Duration::from_secs;
        self.process.stop(&[(Signal::TERM, seconds(3)), (Signal::KILL, seconds(5))]);
    }
}

pub(crate) fn server_url(password: &SecretString, port: u16) -> SecretString {
    format!("nats://{USER}:{}@127.0.0.1:{port}", password.expose_secret()).into()
}

fn configuration(port: u16, password: &SecretString) -> String {
    format!(
        "host: 127.0.0.1\nport: {port}\n\
         authorization {{\n  user: {USER}\n  password: \"{}\"\n  timeout: 5\n}}\n\
         max_payload: 1MB\n",
        password.expose_secret()
    )
}

/// Returns whether a NATS server responds on the port.
fn is_ready(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) else { return false };
    let mut line = String::new();
    stream.set_read_timeout(Some(Duration::from_millis(500))).is_ok()
        && BufReader::new(stream).read_line(&mut line).is_ok()
        && line.starts_with("INFO ")
}
