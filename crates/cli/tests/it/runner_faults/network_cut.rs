//! A runner in its own network namespace, whose link goes down during a turn.

use std::process::Command;
use std::time::{Duration, Instant};

use super::agent::Agent;
use serde_json::Value;

use super::fixture::{RunnerFixture, TestRun, phase_payloads};
use super::{DETECTION_TIMEOUT, LEASE, LEASE_SETTING};
use crate::support::proxy::{self, ProxyAction};
use crate::support::runner_process::{RunnerProcess, descendants, is_running, wait_for_lines, wait_for_pids};

/// A veth link between this host and a network namespace. Removed when dropped.
struct Link {
    name: String,
    host_address: String,
}

impl Link {
    /// Creates the link. It needs root and iproute2: without them the test fails, it does not pass.
    fn create() -> Self {
        let number = std::process::id();
        let (name, subnet) = (format!("gh{number}"), number % 16384);
        let address = |host: u32| {
            format!("10.{}.{}.{}", 192 + subnet / 4096, subnet / 16 % 256, subnet % 16 * 16 + host)
        };
        let (host_address, namespace_address) = (address(1), address(2));
        assert!(ip(&format!("netns add {name}")), "cannot create a network namespace: run the test as root");
        let link = Self { name: name.clone(), host_address };
        let (host_device, namespace_device) = (link.host_device(), format!("gf{number}"));
        let configured = ip(&format!("link add {host_device} type veth peer name {namespace_device}"))
            && ip(&format!("link set {namespace_device} netns {name}"))
            && ip(&format!("addr add {}/28 dev {host_device}", link.host_address))
            && ip(&format!("link set {host_device} up"))
            && ip(&format!("-n {name} addr add {namespace_address}/28 dev {namespace_device}"))
            && ip(&format!("-n {name} link set {namespace_device} up"))
            && ip(&format!("-n {name} link set lo up"));
        assert!(configured, "cannot connect the network namespace {name}");
        link
    }

    fn host_device(&self) -> String {
        format!("{}n", self.name)
    }

    fn set_state(&self, state: &str) {
        assert!(ip(&format!("link set {} {state}", self.host_device())));
    }

    /// Starts a runner in the namespace.
    fn start_runner(&self, fixture: &RunnerFixture, run: &TestRun) -> RunnerProcess {
        let inner = fixture.runner_command(&fixture.cluster.url(0, ""), run, &[]);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(inner.get_program()).args(inner.get_args());
        RunnerProcess::start(&mut command, fixture.new_log_path())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Deleting the namespace also deletes the veth pair.
        ip(&format!("netns del {}", self.name));
    }
}

fn ip(arguments: &str) -> bool {
    Command::new("ip").args(arguments.split(' ')).status().is_ok_and(|status| status.success())
}

const LEASE_LEFT_MS_SQL: &str =
    "SELECT min((extract(epoch FROM expires_at - clock_timestamp()) * 1000)::bigint) FROM leases";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn disconnected_runner_ends_its_backend_before_lease_expiry() {
    let link = Link::create();
    let fixture = RunnerFixture::start_with(&link.host_address, LEASE_SETTING).await;
    // The fake model runs on this host and is reached over the link.
    let (model, path) = (fixture.model.base_url(), "/v1");
    let proxy_url =
        proxy::start_on(&link.host_address, &[model.trim_end_matches(path)], |_| ProxyAction::Forward);
    Agent::Codex.write_profile(&fixture.folder.path().join("profiles"), &format!("{proxy_url}{path}"));
    let (tool, slow) = (fixture.create_run_for(Agent::Codex).await, fixture.create_run().await);
    let (mut first_runner, mut second_runner) =
        (link.start_runner(&fixture, &tool), link.start_runner(&fixture, &slow));
    let command =
        fixture.send(&tool, "run:echo $$ >> pids; sh -c 'echo $$ >> pids; exec sleep 60'; true").await;
    let mut pids_to_exit = wait_for_pids(&tool.workspace.join("pids"), 2).await;
    pids_to_exit.extend(descendants(first_runner.worker_pid()));
    assert!(pids_to_exit.len() > 3, "expected the agent and its tool: {pids_to_exit:?}");
    fixture.send(&slow, "slow").await;
    let is_delta = |event: &Value| event["type"] == "assistant_delta";
    fixture.wait_for_events(&slow, |events| events.iter().any(is_delta)).await;
    let mut sql = fixture.cluster.db.sql().await;
    link.set_state("down");
    let cut_at = Instant::now();
    let mut left_ms = sql.number(LEASE_LEFT_MS_SQL).await;
    while pids_to_exit.iter().any(|pid| is_running(*pid)) {
        assert!(cut_at.elapsed() < 2 * LEASE, "the tool still runs");
        tokio::time::sleep(Duration::from_millis(5)).await;
        // Read before the next liveness check, so this is a lower bound of the lease time left.
        left_ms = sql.number(LEASE_LEFT_MS_SQL).await;
    }
    eprintln!("exited {:?} after the cut, {left_ms} ms before the lease expired", cut_at.elapsed());
    assert!(left_ms > 0, "the backend exited {} ms after its lease expired", -left_ms);
    assert!(
        first_runner.process.wait().success() && second_runner.process.wait().success(),
        "{}{}",
        first_runner.log_text(),
        second_runner.log_text()
    );
    link.set_state("up");
    let _next = [link.start_runner(&fixture, &tool), link.start_runner(&fixture, &slow)];
    let result = fixture.wait_for_result(&tool, &command, DETECTION_TIMEOUT).await;
    assert!(result["blocker"].to_string().contains("side effects unknown"), "{result}");
    let file = format!("{}-1.jsonl", slow.id);
    let spooled = wait_for_lines(&fixture.state_folder().join("spool").join(&file), 1).await;
    let payload = fixture.wait_for_phase(&slow, "events-left-behind", DETECTION_TIMEOUT).await;
    assert_eq!((&payload["file"], &payload["epoch"]), (&file.into(), &1.into()), "{payload}");
    assert_eq!(payload["events"].as_u64(), u64::try_from(spooled.len()).ok(), "{payload}");
    assert!(!payload["host"].as_str().unwrap_or_default().is_empty(), "{payload}");
    let events = fixture.events(&slow).await;
    let recovered = events.iter().position(|event| event["payload"]["phase"] == "lease-recovered");
    let late = events[recovered.expect("recovered")..].iter();
    let late: Vec<_> =
        late.filter(|event| event["eventId"].as_str().is_some_and(|id| id.starts_with("1-"))).collect();
    assert!(late.is_empty(), "spooled events were appended as live events: {late:#?}");
    assert_eq!(phase_payloads(&events, "lease-recovered").len(), 1);
}
