//! Nothing hangs: a runner that gives no sign of life loses its run, and what nobody comes for ends by itself.

use std::time::{Duration, Instant};

use guildhall_domain::ids::RunId;
use guildhall_testkit::TestDb;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::people::World;
use crate::support::runs::{Held, Yard, held, said, text};
use crate::support::{Answer, Setup};

const LEASE: Duration = Duration::from_secs(2);
const GRACE: Duration = Duration::from_secs(1);

/// After its lease and the grace a runner is taken for lost within this long, on a busy machine too.
const TENDED_WITHIN: Duration = Duration::from_secs(15);

/// Two replicas that do not wait long.
async fn hasty(flags: &[(&'static str, &str)]) -> World {
    let db = TestDb::new().await;
    let short = [("runs.lease", "2s"), ("runs.lease_grace", "1s"), ("runs.tend_every", "200ms")];
    let setup = short.iter().chain(flags).fold(Setup::on(&db), |setup, (key, value)| setup.with(key, value));
    World::on(setup, db).await
}

impl World {
    /// Asks for a run until it pleases, at most until a lost runner must have been noticed.
    async fn run_until(&self, run: &str, pleases: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + LEASE + GRACE + TENDED_WITHIN;
        loop {
            let shown = self.show(run).await;
            if pleases(&shown) {
                return shown;
            }
            assert!(Instant::now() < deadline, "nothing happened: {shown}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Everything that the holder of a run could still try to write.
    async fn late_writes(&self, late: &Held, ran: &str, pending: &str) -> Vec<Answer> {
        let lease = format!("/api/v1/runs/{}/lease", late.run);
        let status = format!("/api/v1/runs/{}/status", late.run);
        let failed = json!({ "status": "failed", "failureKind": "backend-failed" });
        vec![
            self.one.append(late, json!([said("late", ran, "too late")])).await,
            // What is there already, even: who lost the run must learn it.
            self.other.append(late, json!([said("in-time", ran, "working")])).await,
            self.one.ack(late, ran).await,
            self.other.ack(late, pending).await,
            self.one.finish(late, ran, json!({ "status": "completed" })).await,
            self.other.ask(Method::PATCH, &status, &late.token, Some(failed)).await,
            self.one.ask(Method::PATCH, &lease, &late.token, Some(json!({}))).await,
            self.other.ask(Method::PATCH, &lease, &late.token, Some(json!({ "release": true }))).await,
            self.one.poll(late, 0, 0).await,
        ]
    }
}

fn phases(events: &[Value]) -> Vec<String> {
    let of = |event: &&Value| event["type"] == "backend_status";
    events.iter().filter(of).map(|event| text(&event["payload"], "phase")).collect()
}

// covers: R10
#[tokio::test]
async fn a_replacement_waits_takes_over_and_the_old_runner_is_refused_whatever_it_writes() {
    let world = hasty(&[]).await;
    let yard = world.yard("acme").await;
    let run = world.run(&yard).await;
    let (ran, pending) = (world.command(&run, "ran").await, world.command(&run, "pending").await);
    let began = Instant::now();
    let old = world.one.claim(&yard, &run).await;
    assert_eq!(world.one.ack(&old, &ran).await.status, 200);
    let tool = json!({ "id": "tool", "type": "tool_call", "commandId": ran,
        "payload": { "callId": "c1", "status": "started" } });
    let appended = world.one.append(&old, json!([said("in-time", &ran, "working"), tool])).await;
    assert_eq!(appended.status, 200, "{}", appended.text);

    let next = world.other.register(&yard).await;
    let new = loop {
        let claimed = world.other.try_claim(&yard, &run, &next).await;
        if claimed.status == 200 {
            assert_eq!(claimed.body["recoveredFrom"], json!(old.runner), "{}", claimed.text);
            break held(&run, &next, &claimed);
        }
        claimed.assert_failure(409, "runner-lease-conflict");
        assert_eq!(claimed.body["owner"], json!(old.runner));
        assert!(began.elapsed() < LEASE + GRACE + TENDED_WITHIN, "still held: {}", claimed.text);
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert!(
        began.elapsed() >= LEASE + GRACE,
        "taken after {:?}: the old runner may be alive",
        began.elapsed()
    );

    let lost = world.result(&run, &ran).await;
    assert_eq!(json!([lost["terminalStatus"], lost["failureKind"]]), json!(["failed", "runner-lost"]));
    assert!(text(&lost, "blocker").contains("side effects unknown"), "{lost}");
    for late in world.late_writes(&old, &ran, &pending).await {
        late.assert_failure(409, "runner-lease-conflict");
    }
    let work = world.other.poll(&new, 0, 0).await;
    let offered: Vec<_> = work.body["commands"].as_array().expect("commands").iter().collect();
    assert_eq!(offered.iter().map(|c| text(c, "commandId")).collect::<Vec<_>>(), [pending.as_str()]);
    assert_eq!(world.other.ack(&new, &pending).await.status, 200);
    assert_eq!(world.show(&run).await["liveness"]["phase"], "waiting-model", "the lost runner's tool counts");
    let done = world.one.finish(&new, &pending, json!({ "status": "completed" })).await;
    assert_eq!(done.body["status"], "completed", "{}", done.text);

    let events = world.events(&run).await;
    assert_eq!(phases(&events), ["run-claimed", "lease-waiting", "lease-recovered"]);
    let of_ran = |event: &&Value| event["commandId"] == json!(ran) && event["type"] == "terminal_status";
    assert_eq!(events.iter().filter(of_ran).count(), 1, "a command ends once");
}

// covers: R10
#[tokio::test]
async fn a_run_whose_runner_was_lost_is_offered_again_before_anyone_asks() {
    let world = hasty(&[]).await;
    let yard = world.yard("acme").await;
    let run = world.run(&yard).await;
    let command = world.command(&run, "ran").await;
    let old = world.one.claim(&yard, &run).await;
    world.one.ack(&old, &command).await;
    let shown = world.run_until(&run, |shown| shown["status"] == "pending").await;
    assert_eq!(
        json!([shown["lease"], shown["openCommandIds"], shown["liveness"]["phase"]]),
        json!([null, [], "waiting-runner"])
    );
    assert_eq!(world.result(&run, &command).await["failureKind"], "runner-lost");
    // Whoever comes next learns that there may be something to look at, whenever that is.
    let next = world.other.register(&yard).await;
    let claimed = world.other.try_claim(&yard, &run, &next).await;
    assert_eq!(claimed.body["recoveredFrom"], json!(old.runner), "{}", claimed.text);
    let again = world.one.try_claim(&yard, &run, &next).await;
    assert_eq!(again.body["recoveredFrom"], json!(old.runner), "the first answer may have been lost");
    let events = world.events(&run).await;
    assert_eq!(phases(&events), ["run-claimed", "lease-recovered"]);
    let reasons: Vec<_> = events.iter().filter_map(|event| event["payload"]["reason"].as_str()).collect();
    assert_eq!(reasons, ["runner-lost"]);
    // Given back and taken again is no recovery.
    let new = held(&run, &next, &claimed);
    let lease = format!("/api/v1/runs/{run}/lease");
    let release = Some(json!({ "release": true }));
    assert_eq!(world.one.ask(Method::PATCH, &lease, &new.token, release).await.status, 200);
    let again = world.one.try_claim(&yard, &run, &next).await;
    assert_eq!(json!([again.status.as_u16(), again.body["recoveredFrom"]]), json!([200, null]));
}

// covers: R11
#[tokio::test]
async fn a_run_that_is_being_cancelled_ends_cancelled_when_its_runner_is_lost() {
    let world = hasty(&[]).await;
    let yard = world.yard("acme").await;
    let run = world.run(&yard).await;
    let (ran, pending) = (world.command(&run, "ran").await, world.command(&run, "pending").await);
    let old = world.one.claim(&yard, &run).await;
    world.one.ack(&old, &ran).await;
    let cancel = format!("/api/v1/runs/{run}/cancel");
    let asked = world.other.post_as(&cancel, &world.operator.access, json!({})).await;
    assert_eq!(asked.body["status"], "cancelling", "{}", asked.text);
    assert_eq!(world.result(&run, &pending).await["terminalStatus"], "cancelled", "nobody began it");
    let next = world.one.register(&yard).await;
    world.one.try_claim(&yard, &run, &next).await.assert_failure(409, "conflict");
    world.send(&run, "turn", "one more").await.assert_failure(409, "conflict");

    let shown = world.run_until(&run, |shown| !shown["endedAt"].is_null()).await;
    assert_eq!(json!([shown["status"], shown["failureKind"]]), json!(["cancelled", "cancelled"]));
    let lost = world.result(&run, &ran).await;
    assert_eq!(json!([lost["terminalStatus"], lost["failureKind"]]), json!(["cancelled", "cancelled"]));
    assert!(text(&lost, "blocker").contains("side effects unknown"), "{lost}");
    world.one.try_claim(&yard, &run, &next).await.assert_failure(409, "conflict");
    let again = world.one.post_as(&cancel, &world.operator.access, json!({})).await;
    assert_eq!(json!([again.body["status"], again.body["endedAt"]]), json!(["cancelled", shown["endedAt"]]));
}

#[tokio::test]
async fn what_nobody_comes_for_ends_by_itself_and_what_is_held_does_not() {
    let world = hasty(&[("runs.unclaimed_after", "1s"), ("runs.idle_after", "4s")]).await;
    let yard = world.yard("acme").await;
    let (unclaimed, idle, kept) = (world.run(&yard).await, world.run(&yard).await, world.run(&yard).await);
    let waits = world.command(&unclaimed, "anyone").await;
    let holder = world.one.claim(&yard, &kept).await;
    world.command(&kept, "patience").await;
    let lease = format!("/api/v1/runs/{kept}/lease");
    let holding = async {
        for _ in 0..12 {
            tokio::time::sleep(Duration::from_millis(400)).await;
            let renewed = world.other.ask(Method::PATCH, &lease, &holder.token, Some(json!({}))).await;
            assert_eq!(renewed.status, 200, "{}", renewed.text);
        }
    };
    let ending = async {
        let ended = |shown: &Value| !shown["endedAt"].is_null();
        let first = world.run_until(&unclaimed, ended).await;
        assert_eq!(json!([first["status"], first["failureKind"]]), json!(["failed", "infra-failed"]));
        let last = world.run_until(&idle, ended).await;
        assert_eq!(json!([last["status"], last["failureKind"]]), json!(["cancelled", "cancelled"]));
    };
    tokio::join!(holding, ending);
    let left = world.result(&unclaimed, &waits).await;
    assert_eq!(json!([left["terminalStatus"], left["failureKind"]]), json!(["failed", "infra-failed"]));
    assert_eq!(world.show(&kept).await["status"], "claimed");
}

#[tokio::test]
async fn a_run_that_cannot_be_tended_keeps_no_other_waiting() {
    let world = hasty(&[("postgres.statement_timeout", "1s")]).await;
    let yard = world.yard("acme").await;
    let (stuck, free) = (world.run(&yard).await, world.run(&yard).await);
    world.one.claim(&yard, &stuck).await;
    world.one.claim(&yard, &free).await;
    let head = stuck.parse::<RunId>().expect("an id").as_uuid();
    let mut sql = world.db.sql().await;
    sql.execute(format!("BEGIN; SELECT FROM journal_heads WHERE owner = '{head}' FOR UPDATE")).await;
    world.run_until(&free, |shown| shown["status"] == "pending").await;
    assert_eq!(world.show(&stuck).await["status"], "claimed", "it was not stuck: nothing was tested");
    sql.execute("ROLLBACK").await;
    world.run_until(&stuck, |shown| shown["status"] == "pending").await;
}

#[tokio::test]
async fn every_open_run_says_who_holds_it_until_when_and_what_happens_next() {
    let world = hasty(&[("runs.lease", "1s"), ("runs.lease_grace", "10m")]).await;
    let yard = world.yard("acme").await;
    for (at, with_command) in [(0, false), (1, true), (2, false), (3, true), (4, true), (5, true)] {
        let run = world.run(&yard).await;
        let command = if with_command { Some(world.command(&run, "go").await) } else { None };
        if at >= 2 {
            serve(&world, &yard, &run, command.as_deref(), at).await;
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    // Their leases end while we look; nobody takes them, the grace is long.
    let deadline = Instant::now() + Duration::from_secs(20);
    while !seen.contains("runner-heartbeat-stale") {
        assert!(Instant::now() < deadline, "no lease ended: {seen:?}");
        let list = world.other.get_as("/api/v1/runs?tenantId=acme&state=all", &world.operator.access).await;
        let runs = list.body["runs"].as_array().expect("runs");
        assert_eq!(runs.len(), 6);
        for run in runs {
            assert_says_what_is_next(run);
            seen.extend([text(run, "status"), text(&run["liveness"], "phase")]);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for wanted in ["pending", "claimed", "running", "cancelling", "waiting-runner"] {
        assert!(seen.contains(wanted), "no run was {wanted}: {seen:?}");
    }
}

/// Claims a run and lets it come as far as its number says: claimed, running, cancelling.
async fn serve(world: &World, yard: &Yard, run: &str, command: Option<&str>, far: u8) {
    let held = world.one.claim(yard, run).await;
    if let (4.., Some(command)) = (far, command) {
        assert_eq!(world.one.ack(&held, command).await.status, 200);
    }
    if far == 5 {
        let cancel = format!("/api/v1/runs/{run}/cancel");
        world.other.post_as(&cancel, &world.operator.access, json!({})).await;
    }
}

fn assert_says_what_is_next(run: &Value) {
    let (lease, liveness) = (&run["lease"], &run["liveness"]);
    match run["status"].as_str().expect("a status") {
        "pending" => assert_eq!(*lease, Value::Null, "{run}"),
        "claimed" | "running" | "cancelling" => {
            assert!(text(lease, "runnerId").starts_with("rnr_"), "{run}");
            assert!(text(lease, "expiresAt").ends_with('Z'), "{run}");
        }
        other => panic!("{other} is no status of an open run: {run}"),
    }
    assert!(!text(liveness, "nextStep").is_empty() && text(liveness, "nextStepAt").ends_with('Z'), "{run}");
    assert!(liveness["recoveryActions"].as_array().is_some_and(|actions| !actions.is_empty()), "{run}");
}
