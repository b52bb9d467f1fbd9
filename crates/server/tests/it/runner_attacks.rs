//! Attacks by a runner that holds a run: changing an ended result, and speaking for others.

use guildhall_testkit::TestDb;
use serde_json::{Value, json};

use crate::support::Setup;
use crate::support::cluster::Cluster;
use crate::support::runs::{assistant_message, text};

/// Returns a result without the parts that describe the log of the whole run, which grows.
fn frozen(mut result: Value) -> Value {
    for name in ["lastSeq", "eventCount", "nextAfterSeq"] {
        result.as_object_mut().expect("an object").remove(name);
    }
    for name in ["lastSeq", "lastEventAgeMs", "lease", "heartbeat", "sentence"] {
        result["liveness"].as_object_mut().expect("an object").remove(name);
    }
    result["liveness"]["lastCommandActivity"]["ageMs"] = json!(0);
    result
}

// covers: R16
#[tokio::test]
async fn late_events_are_kept_and_marked_and_change_no_result() {
    let cluster = Cluster::new().await;
    let (claim, command) = cluster.start_command(&cluster.create_test_tenant("acme").await).await;
    cluster.first.append_events(&claim, json!([assistant_message("e-1", &command, "the answer")])).await;
    let done = cluster.first.finish(&claim, &command, json!({ "status": "completed" })).await;
    assert_eq!(done.status, 200, "{}", done.text);
    let before = cluster.get_result(&claim.run, &command).await;
    let late = |id: &str, kind: &str, payload: Value| json!({ "id": id, "type": kind, "commandId": command, "payload": payload });
    let rewrite = json!([
        late(
            "l-1",
            "assistant_message",
            json!({ "text": "rewritten", "replyAuthority": true, "final": true })
        ),
        late("l-2", "tool_call", json!({ "callId": "c", "status": "failed", "exitCode": 1 })),
        late("l-3", "artifact", json!({ "path": "evil", "bytes": 7 })),
        late("l-4", "usage", json!({ "inputTokens": 1_000_000 })),
    ]);
    // The second time it is a retry.
    let first = cluster.first.append_events(&claim, rewrite.clone()).await;
    let retry = cluster.second.append_events(&claim, rewrite).await;
    assert_eq!((first.status.as_u16(), retry.status.as_u16()), (200, 200), "{} {}", first.text, retry.text);
    let one_more = json!([late("l-5", "assistant_message", json!({ "text": "again", "final": true }))]);
    assert_eq!(cluster.second.append_events(&claim, one_more).await.status, 200);
    let after = cluster.get_result(&claim.run, &command).await;
    assert_eq!(frozen(after), frozen(before));
    let events = cluster.list_events(&claim.run).await;
    let marked: Vec<_> =
        events.iter().filter(|event| event["late"] == true).map(|event| text(event, "eventId")).collect();
    assert_eq!(marked, ["l-1", "l-2", "l-3", "l-4", "l-5"]);
    assert_eq!(cluster.get_run(&claim.run).await["usage"]["inputTokens"], 0);
}

#[tokio::test]
async fn event_cannot_name_a_command_of_another_run() {
    let cluster = Cluster::new().await;
    let (claim, own) = cluster.start_command(&cluster.create_test_tenant("acme").await).await;
    let (victim, command) = cluster.start_command(&cluster.create_test_tenant("other").await).await;
    let forged =
        json!([assistant_message("e-1", &own, "mine"), assistant_message("e-2", &command, "forged")]);
    for server in [&cluster.first, &cluster.second] {
        let refused = server.append_events(&claim, forged.clone()).await;
        assert_eq!(
            (refused.status.as_u16(), refused.body["message"].clone()),
            (400, json!(format!("commandId: the run has no command {command}"))),
            "{}",
            refused.text
        );
    }
    let kinds = async |run: &str| {
        let events = cluster.list_events(run).await;
        events.iter().filter(|event| event["type"] == "assistant_message").count()
    };
    assert_eq!((kinds(&claim.run).await, kinds(&victim.run).await), (0, 0), "the whole append is refused");
}

#[tokio::test]
async fn status_phases_of_the_server_cannot_be_forged() {
    let cluster = Cluster::new().await;
    let (claim, command) = cluster.start_command(&cluster.create_test_tenant("acme").await).await;
    for phase in ["run-claimed", "lease-recovered", "lease-waiting"] {
        let payload = json!({ "phase": phase, "runnerId": "rnr_forged" });
        let event =
            json!({ "id": phase, "type": "backend_status", "commandId": command, "payload": payload });
        let refused = cluster.first.append_events(&claim, json!([event])).await;
        assert_eq!(
            (refused.status.as_u16(), refused.body["message"].clone()),
            (400, json!(format!("payload.phase: `{phase}` is reserved for the server"))),
            "{}",
            refused.text
        );
    }
}

#[tokio::test]
async fn events_over_the_quota_of_a_run_are_refused() {
    let db = TestDb::new().await;
    let setup =
        Setup::new(&db).with("runs.max_event_bytes", "2000").with("runs.max_event_bytes_per_run", "20000");
    let cluster = Cluster::with_setup(setup, db).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let (claim, command) = cluster.start_command(&tenant).await;
    let large = json!([assistant_message("large", &command, &"x".repeat(2_000))]);
    let refused = cluster.first.append_events(&claim, large).await;
    refused.assert_failure(400, "schema-invalid");
    let mut accepted = 0;
    let refused = loop {
        // Both replicas count what the other one stored.
        let server = if accepted % 2 == 0 { &cluster.first } else { &cluster.second };
        let event = assistant_message(&format!("e-{accepted}"), &command, &"x".repeat(1_000));
        let response = server.append_events(&claim, json!([event])).await;
        if response.status != 200 {
            break response;
        }
        accepted += 1;
    };
    refused.assert_failure(403, "tenant-policy-denied");
    assert!((14..20).contains(&accepted), "{accepted} events of about 1,100 bytes");
    let repeated = json!([assistant_message("e-0", &command, &"x".repeat(1_000))]);
    assert_eq!(cluster.first.append_events(&claim, repeated).await.body["events"][0]["replayed"], true);
    let done = cluster.second.finish(&claim, &command, json!({ "status": "completed" })).await;
    assert_eq!(done.status, 200, "{}", done.text);
}

#[tokio::test]
async fn events_over_the_limit_of_a_tenant_are_refused_on_both_replicas() {
    let db = TestDb::new().await;
    let cluster = Cluster::with_setup(Setup::new(&db).with("limits.tenant_events", "40KiB/24h"), db).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let other = cluster.start_command(&cluster.create_test_tenant("other").await).await;
    let runs = [cluster.start_command(&tenant).await, cluster.start_command(&tenant).await];
    let servers = [&cluster.first, &cluster.second];
    let append = async |number: usize, bytes: usize| {
        // Each run is served by each replica.
        let ((claim, command), server) = (&runs[number % 2], servers[number / 2 % 2]);
        let event = assistant_message(&format!("e-{number}"), command, &"x".repeat(bytes));
        server.append_events(claim, json!([event])).await
    };
    let mut accepted = 0;
    let refused = loop {
        // With its envelope more than 3 KiB, and counted as 4 KiB.
        let response = append(accepted, 3_100).await;
        if response.status != 200 {
            break response;
        }
        accepted += 1;
        assert!(accepted < 100, "no event is refused");
    };
    refused.assert_failure(403, "tenant-policy-denied");
    let message = refused.body["message"].as_str().expect("a message");
    assert!(message.contains("limits.tenant_events (40KiB/86400s): end the run"), "{message}");
    // A replica may hold a part of the last block that the other one would need.
    assert!((9..=10).contains(&accepted), "{accepted} events of 4 KiB");
    for number in 100..104 {
        append(number, 3_100).await.assert_failure(403, "tenant-policy-denied");
    }
    // Runs end as usual, and other tenants are not affected.
    for (claim, command) in &runs {
        let done = cluster.second.finish(claim, command, json!({ "status": "completed" })).await;
        assert_eq!(done.status, 200, "{}", done.text);
    }
    let event = json!([assistant_message("e-1", &other.1, &"x".repeat(3_100))]);
    assert_eq!(cluster.first.append_events(&other.0, event).await.status, 200);
}
