//! Two replica processes with full logging.

use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use guildhall_testkit::{TestDb, nats_url, subject_prefix};
use rustix::process::Signal;
use secrecy::ExposeSecret;
use tempfile::TempDir;

use super::channels::CapturedOutput;
use super::{ChildProcess, guildhall};

/// Two replicas with trace-level logging to files, one in text and one in JSON format.
pub(crate) struct LoggedReplicas {
    pub(crate) processes: Vec<(ChildProcess, String)>,
    logs: Vec<PathBuf>,
    pub(crate) environment: Vec<(&'static str, String)>,
    folder: TempDir,
}

impl LoggedReplicas {
    pub(crate) fn start(db: &TestDb, kek: &str, trace_endpoint: String) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let environment = vec![
            ("GUILDHALL_POSTGRES_URL", db.url().expose_secret().to_owned()),
            ("GUILDHALL_NATS_URL", nats_url().expose_secret().to_owned()),
            ("GUILDHALL_NATS_SUBJECT_PREFIX", subject_prefix()),
            ("GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY", kek.to_owned()),
            ("GUILDHALL_TELEMETRY_LOG_FILTER", "trace".to_owned()),
            ("GUILDHALL_TELEMETRY_OTLP_ENDPOINT", trace_endpoint),
            ("GUILDHALL_HTTP_DRAIN_DELAY", "0s".to_owned()),
            ("GUILDHALL_SECRETS_FOLDER", folder.path().join("secrets").display().to_string()),
        ];
        let mut started = Self { processes: Vec::new(), logs: Vec::new(), environment, folder };
        for format in ["text", "json"] {
            started.start_replica(format);
        }
        started
    }

    fn start_replica(&mut self, format: &str) {
        let port =
            std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port").port();
        let log = self.folder.path().join(format);
        let mut command = guildhall();
        command
            .args(["serve", "--listen", &format!("127.0.0.1:{port}")])
            .envs(self.environment.iter().map(|(name, value)| (*name, value)))
            .env("GUILDHALL_TELEMETRY_LOG_FORMAT", format);
        let process =
            ChildProcess::start_with_stderr(&mut command, Stdio::from(File::create(&log).expect("a log")));
        let deadline = Instant::now() + Duration::from_secs(120);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log_text = std::fs::read_to_string(&log).unwrap_or_default();
            assert!(Instant::now() < deadline, "the replica does not listen after 120 s: {log_text}");
            std::thread::sleep(Duration::from_millis(20));
        }
        self.processes.push((process, format!("http://127.0.0.1:{port}")));
        self.logs.push(log);
    }

    /// Stops both replicas and captures their logs.
    pub(crate) fn stop(mut self, channels: &mut CapturedOutput) {
        for (process, _) in &mut self.processes {
            process.signal(Signal::TERM);
            assert!(process.wait().success());
        }
        for log in &self.logs {
            channels.add("logs", std::fs::read(log).expect("a log"));
        }
    }
}
