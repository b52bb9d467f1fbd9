//! Reading a long run takes as long as reading a short one. CI uses a run of 100,000 events, `cargo xtask long
//! run-size` one of a million.

use std::time::{Duration, Instant};

use guildhall_domain::ids::{CommandId, EntryId, RunId};
use guildhall_domain::journal::{Epoch, Fence};
use guildhall_domain::runs::event::{EventBody, ParsedEvent};
use guildhall_runtime::Tasks;
use guildhall_store::journal::{AppendRequest, GroupWriter, NewEntry};
use guildhall_store::{Store, StoreOptions, runs};
use guildhall_testkit::Rounds;
use serde_json::json;
use tokio::sync::mpsc;

use crate::support::cluster::Cluster;
use crate::support::runs::TestTenant;

/// Events of the short run.
const SHORT_RUN_EVENTS: u32 = 10;

/// Entries of one append: the maximum of a group commit.
const BATCH: u32 = 2_000;

/// Requests per path. The paths alternate, so that other load of the machine affects all of them.
const SAMPLES: usize = 300;

/// The latencies of one path.
struct Measurement {
    name: String,
    path: String,
    latencies: Vec<Duration>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn result_and_page_latency_do_not_depend_on_run_length() {
    let rounds = Rounds::from_env(100_000);
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let short = create_completed_run(&cluster, &tenant, SHORT_RUN_EVENTS).await;
    let began = Instant::now();
    let long = create_completed_run(&cluster, &tenant, rounds.size()).await;
    let loading = began.elapsed();
    for (run, events) in [(&short, SHORT_RUN_EVENTS), (&long, rounds.size())] {
        let result =
            cluster.first.get_as(&format!("/api/v1/runs/{run}/result"), &cluster.operator.token).await;
        // The server adds six events: run created, command created, its text, run claimed, command started, command ended.
        assert_eq!(result.body["eventCount"], json!(events + 6), "{}", result.text);
        assert_eq!(result.body["lastSeq"], json!(events + 6));
        assert_eq!(result.body["reply"], json!(format!("{} {}", events - 1, "x".repeat(100))));
    }
    let page = |run: &str, after: u32| format!("/api/v1/runs/{run}/events?afterSeq={after}&limit=100");
    let measurement =
        |name: String, path: String| Measurement { name, path, latencies: Vec::with_capacity(SAMPLES) };
    let mut measurements = [
        measurement(format!("result of {SHORT_RUN_EVENTS} events"), format!("/api/v1/runs/{short}/result")),
        measurement(format!("result of {} events", rounds.size()), format!("/api/v1/runs/{long}/result")),
        measurement("first page".to_owned(), page(&long, 5)),
        measurement("page in the middle".to_owned(), page(&long, rounds.size() / 2)),
        measurement("last page".to_owned(), page(&long, rounds.size() - 100)),
    ];
    for sample in 0..SAMPLES {
        let server = if sample % 2 == 0 { &cluster.first } else { &cluster.second };
        for measurement in &mut measurements {
            let began = Instant::now();
            let response = server.get_as(&measurement.path, &cluster.operator.token).await;
            measurement.latencies.push(began.elapsed());
            assert_eq!(response.status, 200, "{}", response.text);
        }
    }
    let mut text = String::from("| request | p50 | p95 |\n|---|---|---|\n");
    for measurement in &mut measurements {
        measurement.latencies.sort();
        let (p50, p95) = (measurement.percentile(50), measurement.percentile(95));
        text += &format!("| {} | {p50:.1?} | {p95:.1?} |\n", measurement.name);
    }
    text += &format!(
        "\n{SAMPLES} requests each, alternating, over HTTP, {} build; {} events were appended in {} s.\n",
        if cfg!(debug_assertions) { "debug" } else { "release" },
        rounds.size(),
        loading.as_secs()
    );
    rounds.report(&text);
    let [short_result, long_result, first, middle, last] = &measurements;
    assert!(long_result.percentile(95) <= 2 * short_result.percentile(95), "{text}");
    for later in [middle, last] {
        assert!(later.percentile(95) <= 2 * first.percentile(95), "{text}");
    }
}

impl Measurement {
    /// Returns a percentile of the sorted latencies.
    fn percentile(&self, percent: usize) -> Duration {
        self.latencies[(self.latencies.len() * percent / 100).min(self.latencies.len() - 1)]
    }
}

/// Creates a run with one completed command and this many messages. They are appended to the journal directly, without
/// HTTP.
async fn create_completed_run(cluster: &Cluster, tenant: &TestTenant, events: u32) -> String {
    let run = cluster.create_run(tenant).await;
    let command = cluster.send_turn(&run, "go").await;
    let claim = cluster.first.claim(tenant, &run).await;
    assert_eq!(cluster.first.ack(&claim, &command).await.status, 200);
    let id: RunId = run.parse().expect("an id");
    let scope: CommandId = command.parse().expect("an id");
    let epoch = cluster.get_run(&run).await["lease"]["epoch"].as_i64().map(Epoch::new).expect("a number");
    let timeout = Duration::from_secs(60);
    let options = StoreOptions {
        url: cluster.db.url(),
        max_connections: 2,
        acquire_timeout: timeout,
        statement_timeout: timeout,
    };
    let store = Store::new(&options).expect("a URL");
    let (tasks, (wakes, _receiver)) = (Tasks::new(), mpsc::channel(1));
    let writer = GroupWriter::start(&store, &tasks, 1, &wakes);
    for first in (0..events).step_by(usize::try_from(BATCH).expect("small")) {
        let entries = (first..events.min(first + BATCH)).map(|number| entry(scope, number)).collect();
        let append =
            AppendRequest { stream: runs::stream(id), fence: Fence::Holder(epoch), entries, quota: None };
        writer.append(append).await.expect("appended");
    }
    tasks.shutdown(timeout).await;
    let done = cluster.second.finish(&claim, &command, json!({ "status": "completed" })).await;
    assert_eq!(done.status, 200, "{}", done.text);
    run
}

fn entry(command: CommandId, number: u32) -> NewEntry {
    let kind = if number.is_multiple_of(8) { "tool_call" } else { "assistant_message" };
    let payload = json!({
        "text": format!("{number} {}", "x".repeat(100)),
        "callId": format!("call-{number}"),
        "status": "completed",
    });
    let parsed_event = Some(ParsedEvent::new(kind, Some(command), &payload));
    let body = EventBody::new(Some(format!("e{number}")), Some(command), payload).to_json();
    NewEntry { id: EntryId::generate(), kind: kind.into(), body, parsed_event }
}
