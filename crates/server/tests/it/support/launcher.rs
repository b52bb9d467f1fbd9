//! Servers that start runners as real processes, in a temporary folder of the test.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use guildhall_domain::ids::{AttemptId, EnrolmentId, PrincipalId, RunnerJobId};
use guildhall_identity::opaque::{OpaqueSecret, OpaqueSecretKind};
use guildhall_testkit::TestDb;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::cluster::Cluster;
use super::runs::{TestTenant, text};
use super::{Setup, TestResponse, TestServer, read_response};

/// The state folder of a launcher. On drop, all runners that still run there are killed.
pub(crate) struct TestLauncher {
    folder: TempDir,
}

impl TestLauncher {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::Builder::new().prefix("guildhall-launcher-").tempdir().expect("a folder") }
    }

    /// Configures a server to start runners here: only on request, with a short idle timeout.
    pub(crate) fn setup(&self, db: &TestDb) -> Setup {
        Setup::new(db)
            .with("launcher.kind", "local")
            .with("launcher.runner", runner_program().display())
            .with("launcher.state", self.folder.path().display())
            .with("launcher.cold_start", false)
            .with("launcher.tend_every", "200ms")
            .with("launcher.idle", "1s")
    }

    /// Configures a server to start a program that never claims its run.
    pub(crate) fn setup_with_idle_runner(&self, db: &TestDb) -> Setup {
        let program = self.folder.path().join("idle-runner");
        std::fs::write(&program, "#!/bin/sh\nwhile true; do sleep 1; done\n").expect("written");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).expect("set");
        self.setup(db).with("launcher.runner", program.display())
    }

    /// Returns the folder for session storage and workspaces of the runners.
    pub(crate) fn storage_folder(&self) -> PathBuf {
        self.folder.path().join("storage")
    }

    /// Returns how many processes were ever started here.
    pub(crate) fn attempt_count(&self) -> usize {
        std::fs::read_dir(self.folder.path().join("attempts")).map_or(0, Iterator::count)
    }

    /// Returns the pids of the live runners: of each the guard process, which is the one that was started.
    pub(crate) fn runner_pids(&self) -> Vec<u32> {
        // The processes of a sandbox have paths of this folder in their arguments too.
        let pids =
            self.pids_where(|line| line.contains("--enrolment-file") && !line.contains("--under-guard"));
        // A guard's child has the arguments of the guard until it executes the runner.
        let is_forked = |pid: &u32| parent(*pid).is_some_and(|parent| pids.contains(&parent));
        pids.iter().copied().filter(|pid| !is_forked(pid)).collect()
    }

    fn pids_where(&self, condition: impl Fn(&str) -> bool) -> Vec<u32> {
        let here = self.folder.path().to_string_lossy().into_owned();
        let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let is_here = |pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            line.contains(&here) && condition(&line)
        };
        pids.filter(is_here).collect()
    }

    pub(crate) fn kill(&self, pid: u32) {
        let killed = Command::new("kill").args(["-9", &pid.to_string()]).status().expect("kill runs");
        assert!(killed.success());
    }
}

/// Returns the parent of a process.
fn parent(pid: u32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}

impl Drop for TestLauncher {
    fn drop(&mut self) {
        for pid in self.pids_where(|_| true) {
            let _already_exited = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
    }
}

/// Returns the path of the runner program, which `cargo xtask test` builds.
fn runner_program() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let program = test.ancestors().nth(2).expect("the build folder").join("guildhall-runner");
    assert!(program.exists(), "{} is missing: run cargo build -p guildhall-runner", program.display());
    program
}

impl TestServer {
    pub(crate) async fn create_runner_job(
        &self,
        cluster: &Cluster,
        run: &str,
        key: &str,
        body: Value,
    ) -> TestResponse {
        let url = self.url(&format!("/api/v1/runs/{run}/runner-jobs"));
        let request = self.client.post(url).bearer_auth(&cluster.operator.token);
        read_response(request.header("idempotency-key", key).json(&body).send().await.expect("a response"))
            .await
    }
}

impl Cluster {
    pub(crate) async fn get_job(&self, run: &str, job: &str) -> Value {
        let path = format!("/api/v1/runs/{run}/runner-jobs/{job}");
        let response = self.second.get_as(&path, &self.operator.token).await;
        assert_eq!(response.status, 200, "{}", response.text);
        response.body
    }

    /// Repeats a GET until the body meets the condition, at most 30 s.
    pub(crate) async fn wait_until(&self, path: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let response = self.second.get_as(path, &self.operator.token).await;
            if response.status == 200 && condition(&response.body) {
                return response.body;
            }
            assert!(Instant::now() < deadline, "{path} after 30 s: {}", response.text);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) async fn wait_for_job(&self, run: &str, job: &str, phase: &str) -> Value {
        let path = format!("/api/v1/runs/{run}/runner-jobs/{job}");
        self.wait_until(&path, |job| job["phase"] == phase).await
    }

    pub(crate) async fn wait_for_command(&self, run: &str, command: &str, status: &str) -> Value {
        self.wait_until(&format!("/api/v1/runs/{run}/commands/{command}"), |body| body["status"] == status)
            .await
    }

    /// Inserts a job that was not started, as a killed server leaves it.
    pub(crate) async fn insert_runner_job(&self, run: &str) -> String {
        let (job, attempt) = (RunnerJobId::generate(), AttemptId::generate().as_uuid());
        let digits = run.trim_start_matches("run_");
        let sql = format!(
            "INSERT INTO runner_jobs (id, attempt, kind, profile, run, command, launcher)
             SELECT '{}', '{attempt}', 'asked', 'demo', run, id, 'local' FROM commands WHERE run = '{digits}'",
            job.as_uuid()
        );
        self.db.sql().await.execute(sql).await;
        job.to_string()
    }

    /// Creates an enrolment of the installation's pool, as a server does for a warm runner.
    pub(crate) async fn create_pool_enrolment(&self) -> String {
        self.create_pool_enrolment_for("demo").await
    }

    pub(crate) async fn create_pool_enrolment_for(&self, profile: &str) -> String {
        let (id, principal) = (EnrolmentId::generate().as_uuid(), PrincipalId::generate().as_uuid());
        let (secret, hash) = OpaqueSecret::generate(OpaqueSecretKind::Enrolment, id);
        let hash: String = hash.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let sql = format!(
            "INSERT INTO principals (id, kind, name) VALUES ('{principal}', 'service', 'pool');
             INSERT INTO enrolments (id, principal, name, profile, hash, expires_at)
             VALUES ('{id}', '{principal}', 'pool', '{profile}', '\\x{hash}', now() + interval '1 hour')"
        );
        self.db.sql().await.execute(sql).await;
        secret.expose_secret().to_owned()
    }

    /// Creates a tenant with pending runs, and returns the runs in their order.
    pub(crate) async fn create_pending_runs(&self, slug: &str, count: usize) -> (TestTenant, Vec<String>) {
        let tenant = self.create_test_tenant(slug).await;
        let mut runs = Vec::new();
        for _ in 0..count {
            let run = self.create_run(&tenant).await;
            self.send_turn(&run, "go").await;
            runs.push(run);
        }
        (tenant, runs)
    }
}

impl TestServer {
    /// Registers a runner with an enrolment of a tenant or of the pool.
    pub(crate) async fn register_runner_with(&self, enrolment: &str) -> String {
        let body = json!({ "name": "played", "backendProfiles": ["demo", "codex"] });
        let response = self.post_as("/api/v1/runners/register", enrolment, body).await;
        assert_eq!(response.status, 201, "{}", response.text);
        text(&response.body, "runnerId")
    }

    /// Claims the next pending run. Returns none where no run is pending.
    pub(crate) async fn claim_next(&self, enrolment: &str, runner: &str) -> Option<Value> {
        let body = json!({ "runnerId": runner, "wait": 300 });
        let response = self.post_as("/api/v1/runners/claim", enrolment, body).await;
        assert_eq!(response.status, 200, "{}", response.text);
        Some(response.body["grant"].clone()).filter(|grant| !grant.is_null())
    }
}
