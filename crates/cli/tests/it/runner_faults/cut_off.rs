//! A runner on a host of its own, whose link goes down in the middle of a turn.

use std::process::Command;
use std::time::{Duration, Instant};

use super::agent::Agent;
use super::process::{Runner, descendants, lines, lives, pids};
use super::proxy::{self, Fate};
use super::world::{Run, World, phases};
use super::{LEASE, NOTICED_WITHIN};

/// A network of two hosts: this one, and one that is a name space of its own. Gone with this value.
struct Link {
    name: String,
    ours: String,
}

impl Link {
    /// Lays the link; none where the kernel does not let us.
    fn lay() -> Option<Self> {
        let number = std::process::id();
        let (name, subnet) = (format!("gh{number}"), number % 16384);
        let address = |host: u32| {
            format!("10.{}.{}.{}", 192 + subnet / 4096, subnet / 16 % 256, subnet % 16 * 16 + host)
        };
        let (ours, theirs) = (address(1), address(2));
        if !ip(&format!("netns add {name}")) {
            return None;
        }
        let link = Self { name: name.clone(), ours };
        let (near, far) = (link.near(), format!("gf{number}"));
        let laid = ip(&format!("link add {near} type veth peer name {far}"))
            && ip(&format!("link set {far} netns {name}"))
            && ip(&format!("addr add {}/28 dev {near}", link.ours))
            && ip(&format!("link set {near} up"))
            && ip(&format!("-n {name} addr add {theirs}/28 dev {far}"))
            && ip(&format!("-n {name} link set {far} up"))
            && ip(&format!("-n {name} link set lo up"));
        laid.then_some(link)
    }

    fn near(&self) -> String {
        format!("{}n", self.name)
    }

    fn set(&self, state: &str) {
        assert!(ip(&format!("link set {} {state}", self.near())));
    }

    /// Starts a runner on the other host.
    fn runner(&self, world: &World, run: &Run) -> Runner {
        let inner = world.runner_command(&world.fleet.url(0, ""), run, &[]);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(inner.get_program()).args(inner.get_args());
        Runner::start(&mut command, world.log())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The pair of devices goes with the name space that one of them is in.
        ip(&format!("netns del {}", self.name));
    }
}

fn ip(arguments: &str) -> bool {
    Command::new("ip").args(arguments.split(' ')).status().is_ok_and(|status| status.success())
}

const LEFT_MS: &str =
    "SELECT min((extract(epoch FROM expires_at - clock_timestamp()) * 1000)::bigint) FROM leases";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runner_that_is_cut_off_ends_its_backend_before_its_lease_ends_and_the_next_names_what_it_kept() {
    let Some(link) = Link::lay() else {
        eprintln!("SKIPPED: this kernel lets nobody make a network name space; nothing was tested");
        return;
    };
    let world = World::start_with(&link.ours, "6s").await;
    // The agent's model is this host's, and answers over the link.
    let (model, path) = (world.model.base_url(), "/v1");
    let door = proxy::open_on(&link.ours, &[model.trim_end_matches(path)], |_| Fate::Pass);
    Agent::Codex.describe(&world.folder.path().join("profiles"), &format!("{door}{path}"));
    let (tool, slow) = (world.run_of(Agent::Codex).await, world.run().await);
    let (mut one, mut other) = (link.runner(&world, &tool), link.runner(&world, &slow));
    let command =
        world.send(&tool, "run:echo $$ >> pids; sh -c 'echo $$ >> pids; exec sleep 60'; true").await;
    let mut doomed = pids(&tool.workspace.join("pids"), 2).await;
    doomed.extend(descendants(one.worker()));
    assert!(doomed.len() > 3, "the agent and its tool: {doomed:?}");
    world.send(&slow, "slow").await;
    while !world.events(&slow).await.iter().any(|event| event["type"] == "assistant_delta") {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let mut sql = world.fleet.db.sql().await;
    link.set("down");
    let cut = Instant::now();
    let mut left_ms = sql.number(LEFT_MS).await;
    while doomed.iter().any(|pid| lives(*pid)) {
        assert!(cut.elapsed() < 2 * LEASE, "the tool lives on");
        tokio::time::sleep(Duration::from_millis(5)).await;
        // Read before the next look: what is dead then was dead with so much left, or more.
        left_ms = sql.number(LEFT_MS).await;
    }
    eprintln!("dead {:?} after the cut, {left_ms} ms before the end of the lease", cut.elapsed());
    assert!(left_ms > 0, "the backend died {} ms after the end of its lease", -left_ms);
    assert!(one.running.wait().success() && other.running.wait().success(), "{}{}", one.said(), other.said());
    link.set("up");
    let _next = [link.runner(&world, &tool), link.runner(&world, &slow)];
    let result = world.ended(&tool, &command, NOTICED_WITHIN).await;
    assert!(result["blocker"].to_string().contains("side effects unknown"), "{result}");
    let file = format!("{}-1.jsonl", slow.id);
    let kept = lines(&world.state().join("spool").join(&file), 1).await;
    let named = world.phase(&slow, "events-left-behind", NOTICED_WITHIN).await;
    assert_eq!((&named["file"], &named["epoch"]), (&file.into(), &1.into()), "{named}");
    assert_eq!(named["events"].as_u64(), u64::try_from(kept.len()).ok(), "{named}");
    assert!(!named["host"].as_str().unwrap_or_default().is_empty(), "{named}");
    let events = world.events(&slow).await;
    let recovered = events.iter().position(|event| event["payload"]["phase"] == "lease-recovered");
    let late = events[recovered.expect("recovered")..].iter();
    let late: Vec<_> =
        late.filter(|event| event["eventId"].as_str().is_some_and(|id| id.starts_with("1-"))).collect();
    assert!(late.is_empty(), "what was kept was appended as if it were live: {late:#?}");
    assert_eq!(phases(&events, "lease-recovered").len(), 1);
}
