//! Servers that start runners: real processes, in a folder of the test's own.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use guildhall_domain::ids::{AttemptId, EnrolmentId, PrincipalId, RunnerJobId};
use guildhall_identity::opaque::{Opaque, OpaqueKind};
use guildhall_testkit::TestDb;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::people::World;
use super::runs::{Yard, text};
use super::{Answer, Setup, TestServer, read};

/// Where runners of a test are started. Those that still run end with it.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::Builder::new().prefix("guildhall-place-").tempdir().expect("a folder") }
    }

    /// Sets a server up to start runners here: none by itself, and none that waits long.
    pub(crate) fn setup(&self, db: &TestDb) -> Setup {
        Setup::on(db)
            .with("launcher.kind", "local")
            .with("launcher.runner", runner().display())
            .with("launcher.state", self.folder.path().display())
            .with("launcher.cold_start", false)
            .with("launcher.tend_every", "200ms")
            .with("launcher.idle", "1s")
    }

    /// Sets a server up to start something that never comes for its run.
    pub(crate) fn idle_setup(&self, db: &TestDb) -> Setup {
        let program = self.folder.path().join("idle-runner");
        std::fs::write(&program, "#!/bin/sh\nwhile true; do sleep 1; done\n").expect("written");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).expect("set");
        self.setup(db).with("launcher.runner", program.display())
    }

    /// Returns where runners that are started here keep sessions.
    pub(crate) fn storage(&self) -> PathBuf {
        self.folder.path().join("storage")
    }

    /// Counts the processes that were ever started here.
    pub(crate) fn attempts(&self) -> usize {
        std::fs::read_dir(self.folder.path().join("attempts")).map_or(0, Iterator::count)
    }

    /// Returns the runners that run here: of each the process that was started, which guards the one that works.
    pub(crate) fn processes(&self) -> Vec<u32> {
        self.processes_where(|line| !line.contains("--under-guard"))
    }

    fn processes_where(&self, pleases: impl Fn(&str) -> bool) -> Vec<u32> {
        let here = self.folder.path().to_string_lossy().into_owned();
        let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let is_here = |pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            line.contains(&here) && pleases(&line)
        };
        pids.filter(is_here).collect()
    }

    pub(crate) fn kill(&self, pid: u32) {
        let killed = Command::new("kill").args(["-9", &pid.to_string()]).status().expect("kill runs");
        assert!(killed.success());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for pid in self.processes_where(|_| true) {
            let _already_gone = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
    }
}

/// The runner's program: `cargo xtask test` builds it.
fn runner() -> PathBuf {
    let test = std::env::current_exe().expect("we run");
    let built = test.ancestors().nth(2).expect("the folder of the build").join("guildhall-runner");
    assert!(built.exists(), "{} is not there: cargo build -p guildhall-runner", built.display());
    built
}

impl TestServer {
    pub(crate) async fn launch(&self, world: &World, run: &str, key: &str, body: Value) -> Answer {
        let url = self.url(&format!("/api/v1/runs/{run}/runner-jobs"));
        let request = self.client.post(url).bearer_auth(&world.operator.access);
        read(request.header("idempotency-key", key).json(&body).send().await.expect("an answer")).await
    }
}

impl World {
    pub(crate) async fn job(&self, run: &str, job: &str) -> Value {
        let path = format!("/api/v1/runs/{run}/runner-jobs/{job}");
        let answer = self.other.get_as(&path, &self.operator.access).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.body
    }

    /// Looks at something until it pleases, at most 30 s.
    pub(crate) async fn until(&self, path: &str, pleases: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let answer = self.other.get_as(path, &self.operator.access).await;
            if answer.status == 200 && pleases(&answer.body) {
                return answer.body;
            }
            assert!(Instant::now() < deadline, "{path} after 30 s: {}", answer.text);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) async fn until_job(&self, run: &str, job: &str, phase: &str) -> Value {
        let path = format!("/api/v1/runs/{run}/runner-jobs/{job}");
        self.until(&path, |job| job["phase"] == phase).await
    }

    pub(crate) async fn until_command(&self, run: &str, command: &str, status: &str) -> Value {
        self.until(&format!("/api/v1/runs/{run}/commands/{command}"), |body| body["status"] == status).await
    }

    /// Writes a job down that nobody starts, as a server that was killed leaves it.
    pub(crate) async fn runner_job(&self, run: &str) -> String {
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

    /// Makes an enrolment of the installation's own pool, as a server does for a warm runner.
    pub(crate) async fn pool_enrolment(&self) -> String {
        self.pool_enrolment_for("demo").await
    }

    pub(crate) async fn pool_enrolment_for(&self, profile: &str) -> String {
        let (id, principal) = (EnrolmentId::generate().as_uuid(), PrincipalId::generate().as_uuid());
        let (secret, hash) = Opaque::generate(OpaqueKind::Enrolment, id);
        let hash: String = hash.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let sql = format!(
            "INSERT INTO principals (id, kind, name) VALUES ('{principal}', 'service', 'pool');
             INSERT INTO enrolments (id, principal, name, profile, hash, expires_at)
             VALUES ('{id}', '{principal}', 'pool', '{profile}', '\\x{hash}', now() + interval '1 hour')"
        );
        self.db.sql().await.execute(sql).await;
        secret.expose_secret().to_owned()
    }

    /// Makes a tenant with runs that wait, and returns them in their order.
    pub(crate) async fn waiting(&self, slug: &str, count: usize) -> (Yard, Vec<String>) {
        let yard = self.yard(slug).await;
        let mut runs = Vec::new();
        for _ in 0..count {
            let run = self.run(&yard).await;
            self.command(&run, "go").await;
            runs.push(run);
        }
        (yard, runs)
    }
}

impl TestServer {
    /// Registers a runner under an enrolment, which may be of the pool.
    pub(crate) async fn register_under(&self, enrolment: &str) -> String {
        let body = json!({ "name": "played", "backendProfiles": ["demo", "codex"] });
        let answer = self.post_as("/api/v1/runners/register", enrolment, body).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        text(&answer.body, "runnerId")
    }

    /// Claims whichever run comes next. Returns none where there is nothing.
    pub(crate) async fn claim_next(&self, enrolment: &str, runner: &str) -> Option<Value> {
        let body = json!({ "runnerId": runner, "wait": 300 });
        let answer = self.post_as("/api/v1/runners/claim", enrolment, body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        Some(answer.body["grant"].clone()).filter(|grant| !grant.is_null())
    }
}
