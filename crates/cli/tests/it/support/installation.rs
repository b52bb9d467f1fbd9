//! Replicas as processes of their own.

use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use guildhall_testkit::{TestDb, nats_url, subject_prefix};
use rustix::process::Signal;
use secrecy::ExposeSecret;
use tempfile::TempDir;

use super::channels::Channels;
use super::{Running, guildhall};

/// Two replicas that log all there is to log, and what they say.
pub(crate) struct Installation {
    pub(crate) replicas: Vec<(Running, String)>,
    logs: Vec<PathBuf>,
    pub(crate) environment: Vec<(&'static str, String)>,
    folder: TempDir,
}

impl Installation {
    pub(crate) fn start(db: &TestDb, kek: &str, collector: String) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let environment = vec![
            ("GUILDHALL_POSTGRES_URL", db.url().expose_secret().to_owned()),
            ("GUILDHALL_NATS_URL", nats_url().expose_secret().to_owned()),
            ("GUILDHALL_NATS_SUBJECT_PREFIX", subject_prefix()),
            ("GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY", kek.to_owned()),
            ("GUILDHALL_TELEMETRY_LOG_FILTER", "trace".to_owned()),
            ("GUILDHALL_TELEMETRY_OTLP_ENDPOINT", collector),
            ("GUILDHALL_HTTP_DRAIN_DELAY", "0s".to_owned()),
            ("GUILDHALL_SECRETS_FOLDER", folder.path().join("secrets").display().to_string()),
        ];
        let mut installation = Self { replicas: Vec::new(), logs: Vec::new(), environment, folder };
        for format in ["text", "json"] {
            installation.replica(format);
        }
        installation
    }

    fn replica(&mut self, format: &str) {
        let port =
            std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port").port();
        let log = self.folder.path().join(format);
        let mut command = guildhall();
        command
            .args(["serve", "--listen", &format!("127.0.0.1:{port}")])
            .envs(self.environment.iter().map(|(name, value)| (*name, value)))
            .env("GUILDHALL_TELEMETRY_LOG_FORMAT", format);
        let running = Running::start_logging(&mut command, Stdio::from(File::create(&log).expect("a log")));
        let deadline = Instant::now() + Duration::from_secs(20);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            assert!(Instant::now() < deadline, "nobody listens after 20 s: {said}");
            std::thread::sleep(Duration::from_millis(20));
        }
        self.replicas.push((running, format!("http://127.0.0.1:{port}")));
        self.logs.push(log);
    }

    /// Ends both and takes what they logged.
    pub(crate) fn end(mut self, channels: &mut Channels) {
        for (running, _) in &mut self.replicas {
            running.signal(Signal::TERM);
            assert!(running.wait().success());
        }
        for log in &self.logs {
            channels.add("logs", std::fs::read(log).expect("a log"));
        }
    }
}
