//! Replicas of an issuer of AIDs, with TLS.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use guildhall_testkit::{SqlConnection, TestDb, TlsFiles, nats_url, subject_prefix};
use rustix::process::Signal;
use secrecy::ExposeSecret;
use tempfile::TempDir;

use crate::support::cluster::PASSWORD;
use crate::support::user::{CliUser, stderr};
use crate::support::{ChildProcess, free_port, guildhall, http_get};

const ISSUER: &str = "guild.test";

/// The value of `aun.registration`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Registration {
    Open,
    Closed,
}

pub(crate) struct AunReplicas {
    db: TestDb,
    folder: TempDir,
    tls: TlsFiles,
    registration: Registration,
    /// Settings of this test.
    settings: Vec<(&'static str, String)>,
    subject_prefix: String,
    servers: Vec<ChildProcess>,
    tls_ports: Vec<u16>,
    ports: Vec<u16>,
}

impl AunReplicas {
    pub(crate) async fn start(registration: Registration, count: usize) -> Self {
        let quiet = vec![("GUILDHALL_TELEMETRY_LOG_FILTER", "off".to_owned())];
        Self::start_with(registration, count, quiet).await
    }

    /// Starts replicas with further settings. Each logs to a file.
    pub(crate) async fn start_with(
        registration: Registration,
        count: usize,
        settings: Vec<(&'static str, String)>,
    ) -> Self {
        let mut replicas = Self {
            db: TestDb::new().await,
            folder: tempfile::tempdir().expect("a folder"),
            tls: TlsFiles::create(&[ISSUER, &format!("*.{ISSUER}")]),
            registration,
            settings,
            subject_prefix: subject_prefix(),
            servers: Vec::new(),
            tls_ports: Vec::new(),
            ports: Vec::new(),
        };
        replicas.create_issuer();
        replicas.ports = (0..count).map(|_| replicas.start_replica()).collect();
        for replica in 0..count {
            replicas.wait_until_ready(replica, replicas.ports[replica]);
        }
        replicas
    }

    /// Returns the arguments of the driver.
    pub(crate) fn arguments(&self) -> DriverArguments {
        let issuer = self.folder.path().join("secrets/aun");
        let mut arguments = DriverArguments::default();
        arguments.arg("--issuer").arg(ISSUER).arg("--root").arg(issuer.join("root.crt"));
        arguments.arg("--authority").arg(issuer.join("trust.crt"));
        arguments.arg("--tls-root").arg(self.tls.authority());
        for (option, port) in ["--port", "--second-port"].into_iter().zip(&self.tls_ports) {
            arguments.arg(option).arg(port.to_string());
        }
        arguments
    }

    /// Returns the URL of a replica, without TLS.
    pub(crate) fn url(&self, replica: usize) -> String {
        format!("http://127.0.0.1:{}", self.ports[replica])
    }

    /// Signs in as the operator who created the issuer.
    pub(crate) fn operator(&self) -> CliUser {
        self.operator_at(0)
    }

    /// The same at another replica.
    pub(crate) fn operator_at(&self, replica: usize) -> CliUser {
        let user = CliUser::new();
        let login = ["login", "--url", &self.url(replica), "--name", "operator", "--password-stdin"];
        let output = user.run_with_stdin(&login, &format!("{PASSWORD}\n"));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        user
    }

    /// Returns the file with the root of the AIDs.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("secrets/aun/root.crt")
    }

    pub(crate) async fn sql(&self) -> SqlConnection {
        self.db.sql().await
    }

    pub(crate) fn db(&self) -> &TestDb {
        &self.db
    }

    pub(crate) fn subject_prefix(&self) -> &str {
        &self.subject_prefix
    }

    /// Stops the replicas and returns their logs.
    pub(crate) fn stop(&mut self) -> Vec<u8> {
        for server in &mut self.servers {
            server.signal(Signal::TERM);
            assert!(server.wait().success());
        }
        (0..self.servers.len()).flat_map(|replica| self.log(replica)).collect()
    }

    fn log(&self, replica: usize) -> Vec<u8> {
        std::fs::read(self.log_file(replica)).expect("a log")
    }

    fn log_file(&self, replica: usize) -> PathBuf {
        self.folder.path().join(format!("replica-{replica}.log"))
    }

    /// Kills the replica that clients in the mode `hold` are connected to.
    pub(crate) fn kill_first(&self) {
        self.servers.first().expect("a replica").signal(Signal::KILL);
    }

    /// Makes the certificate of an AID old enough to be renewed.
    pub(crate) async fn age_certificate(&self, aid: &str) {
        let update = format!(
            "UPDATE aid_certificates SET not_before = not_before - interval '2 hours' WHERE aid = '{aid}'"
        );
        self.db.sql().await.execute(update).await;
    }

    fn create_issuer(&self) {
        let mut command = self.with_settings(guildhall());
        command.args(["init", "--name", "operator", "--password-stdin"]);
        let mut init = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("guildhall init starts");
        let mut stdin = init.stdin.take().expect("piped");
        stdin.write_all(PASSWORD.as_bytes()).expect("read");
        drop(stdin);
        let output = init.wait_with_output().expect("guildhall init ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Returns the port without TLS.
    fn start_replica(&mut self) -> u16 {
        let (port, tls_port) = (free_port(), free_port());
        let mut command = self.with_settings(guildhall());
        command.args(["serve", "--listen", &format!("127.0.0.1:{port}")]);
        command.env("GUILDHALL_HTTP_TLS_LISTEN", format!("127.0.0.1:{tls_port}"));
        let log = File::create(self.log_file(self.servers.len())).expect("a file");
        self.servers.push(ChildProcess::start_with_stderr(&mut command, Stdio::from(log)));
        self.tls_ports.push(tls_port);
        port
    }

    fn wait_until_ready(&mut self, replica: usize, port: u16) {
        let deadline = Instant::now() + Duration::from_secs(120);
        let is_ready = || {
            let listens = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
            listens && http_get(&format!("http://127.0.0.1:{port}/health"), &[]).0 == 200
        };
        while !is_ready() {
            let has_exited = self.servers[replica].has_exited();
            assert!(!has_exited, "{}", String::from_utf8_lossy(&self.log(replica)));
            assert!(Instant::now() < deadline, "the replica is not ready after 120 s");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn with_settings(&self, mut command: Command) -> Command {
        let registration = match self.registration {
            Registration::Open => "open",
            Registration::Closed => "closed",
        };
        command
            .env("GUILDHALL_POSTGRES_URL", self.db.url().expose_secret())
            .env("GUILDHALL_NATS_URL", nats_url().expose_secret())
            .env("GUILDHALL_NATS_SUBJECT_PREFIX", &self.subject_prefix)
            .env("GUILDHALL_HTTP_DRAIN_DELAY", "0s")
            .envs(self.settings.iter().map(|(name, value)| (*name, value)))
            .env("GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY", "0".repeat(64))
            .env("GUILDHALL_SECRETS_FOLDER", self.folder.path().join("secrets"))
            .env("GUILDHALL_HTTP_TLS_CERTIFICATE_FILE", self.tls.certificate())
            .env("GUILDHALL_HTTP_TLS_KEY_FILE", self.tls.key())
            .env("GUILDHALL_AUN_ISSUER", ISSUER)
            .env("GUILDHALL_AUN_REGISTRATION", registration)
            // The driver resolves the name, and ignores the port.
            .env("GUILDHALL_AUN_GATEWAY_URL", format!("wss://gateway.{ISSUER}/aun"));
        command
    }
}

/// Arguments of the driver after its mode.
#[derive(Debug, Default)]
pub(crate) struct DriverArguments(pub(crate) Vec<OsString>);

impl DriverArguments {
    pub(crate) fn arg(&mut self, argument: impl Into<OsString>) -> &mut Self {
        self.0.push(argument.into());
        self
    }
}
