//! A server configuration for `guildhall doctor`.

use std::process::{Command, Output};

use guildhall_testkit::subject_prefix;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tempfile::TempDir;
use url::Url;

use super::guildhall;
use super::user::{stderr, stdout};

/// A valid server configuration, which a test then breaks.
pub(crate) struct DoctorFixture {
    pub(crate) folder: TempDir,
    variables: Vec<(&'static str, String)>,
}

impl DoctorFixture {
    pub(crate) fn new(postgres: &SecretString, nats: &SecretString) -> Self {
        let folder = tempfile::Builder::new().prefix("guildhall-doctor-").tempdir().expect("a folder");
        let variables = vec![
            ("GUILDHALL_POSTGRES_URL", postgres.expose_secret().to_owned()),
            ("GUILDHALL_NATS_URL", nats.expose_secret().to_owned()),
            ("GUILDHALL_NATS_SUBJECT_PREFIX", subject_prefix()),
            ("GUILDHALL_HTTP_LISTEN", "127.0.0.1:0".to_owned()),
            ("GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY", "5eed".repeat(16)),
        ];
        std::fs::write(folder.path().join("guildhall.toml"), "[telemetry]\nlog_filter = \"warn\"\n")
            .expect("written");
        Self { folder, variables }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.retain(|(existing, _)| *existing != name);
        self.variables.push((name, value.into()));
        self
    }

    pub(crate) fn with_file(self, text: &str) -> Self {
        std::fs::write(self.folder.path().join("guildhall.toml"), text).expect("written");
        self
    }

    fn command(&self) -> Command {
        let mut command = guildhall();
        command
            .args(["doctor", "--config", "guildhall.toml"])
            .current_dir(self.folder.path())
            .envs(self.variables.iter().map(|(name, value)| (*name, value)));
        command
    }

    /// Runs `doctor` with and without `--json`. Asserts that neither output contains a secret of the configuration.
    pub(crate) fn run_doctor(&self) -> (Value, Output) {
        let json = self.command().arg("--json").output().expect("the command runs");
        let text = self.command().output().expect("the command runs");
        let combined = [stdout(&json), stderr(&json), stdout(&text), stderr(&text)].concat();
        for (name, value) in &self.variables {
            let secret = match Url::parse(value) {
                Ok(url) => url.password().map(str::to_owned),
                Err(_) => name.ends_with("_KEY").then(|| value.clone()),
            };
            let secret = secret.filter(|secret| !secret.is_empty());
            assert!(
                secret.is_none_or(|secret| !combined.contains(&secret)),
                "the secret in {name} is in the output: {combined}"
            );
        }
        assert_eq!((json.status.code(), stderr(&json).as_str()), (text.status.code(), ""));
        (serde_json::from_slice(&json.stdout).expect("JSON"), text)
    }
}

/// Returns the id and status of each check, with the details of those that failed.
pub(crate) fn report_summary(report: &Value) -> Value {
    let checks = report["checks"].as_array().expect("checks").iter().map(|check| {
        let status = check["status"].as_str().expect("a status");
        match status {
            "ok" | "warning" => json!([check["id"], status]),
            "skipped" => json!([check["id"], "skipped", check["because"]]),
            _ => json!([check["id"], status, check["detail"], check["fix"]]),
        }
    });
    json!({
        "v": report["v"], "mode": report["mode"], "ok": report["ok"], "rootCause": report["rootCause"],
        "checks": checks.collect::<Vec<_>>(),
    })
}
