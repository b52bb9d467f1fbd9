//! A long run costs its readers what a short one costs. CI makes a run of 100,000 events; `cargo xtask long run-size` one
//! of a million.

use std::time::{Duration, Instant};

use guildhall_domain::ids::{CommandId, EntryId, RunId};
use guildhall_domain::journal::{Epoch, Fence};
use guildhall_domain::runs::event::{Body, Mark};
use guildhall_runtime::Tasks;
use guildhall_store::journal::{Append, GroupWriter, NewEntry};
use guildhall_store::{Store, StoreOptions, runs};
use guildhall_testkit::Rounds;
use serde_json::json;
use tokio::sync::mpsc;

use crate::support::people::World;
use crate::support::runs::Yard;

/// Events of the run that the long one is held against.
const SHORT: u32 = 10;

/// Entries of one append: as many as a group takes.
const BATCH: u32 = 2_000;

/// How often each is asked for, in turns, so that whatever else the machine does hits them all.
const SAMPLES: usize = 300;

/// What may be asked for, and how long it took each time.
struct Question {
    about: String,
    path: String,
    took: Vec<Duration>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_and_a_page_cost_the_same_at_any_length_of_the_run() {
    let rounds = Rounds::of_this_run(100_000);
    let world = World::new().await;
    let yard = world.yard("acme").await;
    let short = filled(&world, &yard, SHORT).await;
    let began = Instant::now();
    let long = filled(&world, &yard, rounds.size()).await;
    let loading = began.elapsed();
    for (run, events) in [(&short, SHORT), (&long, rounds.size())] {
        let result = world.one.get_as(&format!("/api/v1/runs/{run}/result"), &world.operator.access).await;
        // Around them: made, commanded, claimed, taken, ended.
        assert_eq!(result.body["eventCount"], json!(events + 5), "{}", result.text);
        assert_eq!(result.body["lastSeq"], json!(events + 5));
        assert_eq!(result.body["reply"], json!(format!("{} {}", events - 1, "x".repeat(100))));
    }
    let page = |run: &str, after: u32| format!("/api/v1/runs/{run}/events?afterSeq={after}&limit=100");
    let ask = |about: String, path: String| Question { about, path, took: Vec::with_capacity(SAMPLES) };
    let mut asked = [
        ask(format!("result of {SHORT} events"), format!("/api/v1/runs/{short}/result")),
        ask(format!("result of {} events", rounds.size()), format!("/api/v1/runs/{long}/result")),
        ask("first page".to_owned(), page(&long, 5)),
        ask("page in the middle".to_owned(), page(&long, rounds.size() / 2)),
        ask("last page".to_owned(), page(&long, rounds.size() - 100)),
    ];
    for sample in 0..SAMPLES {
        let server = if sample % 2 == 0 { &world.one } else { &world.other };
        for question in &mut asked {
            let began = Instant::now();
            let answer = server.get_as(&question.path, &world.operator.access).await;
            question.took.push(began.elapsed());
            assert_eq!(answer.status, 200, "{}", answer.text);
        }
    }
    let mut text = String::from("| asked | p50 | p95 |\n|---|---|---|\n");
    for question in &mut asked {
        question.took.sort();
        text += &format!("| {} | {:.1?} | {:.1?} |\n", question.about, question.at(50), question.at(95));
    }
    text += &format!(
        "\n{SAMPLES} times each, in turns, over HTTP, {} build; {} events were appended in {} s.\n",
        if cfg!(debug_assertions) { "debug" } else { "release" },
        rounds.size(),
        loading.as_secs()
    );
    rounds.report(&text);
    let [of_short, of_long, first, middle, last] = &asked;
    assert!(of_long.at(95) <= 2 * of_short.at(95), "{text}");
    for later in [middle, last] {
        assert!(later.at(95) <= 2 * first.at(95), "{text}");
    }
}

impl Question {
    /// Returns the time below which a share of the answers came.
    fn at(&self, percent: usize) -> Duration {
        self.took[(self.took.len() * percent / 100).min(self.took.len() - 1)]
    }
}

/// Makes a run whose one command has completed after so many messages. They go in as a runner's do, below HTTP.
async fn filled(world: &World, yard: &Yard, events: u32) -> String {
    let run = world.run(yard).await;
    let command = world.command(&run, "go").await;
    let held = world.one.claim(yard, &run).await;
    assert_eq!(world.one.ack(&held, &command).await.status, 200);
    let id: RunId = run.parse().expect("an id");
    let scope: CommandId = command.parse().expect("an id");
    let epoch = world.show(&run).await["lease"]["epoch"].as_i64().map(Epoch::new).expect("a number");
    let within = Duration::from_secs(60);
    let options = StoreOptions {
        url: world.db.url(),
        max_connections: 2,
        acquire_timeout: within,
        statement_timeout: within,
    };
    let store = Store::new(&options).expect("an address");
    let (tasks, (wakes, _nobody)) = (Tasks::new(), mpsc::channel(1));
    let writer = GroupWriter::start(&store, &tasks, 1, &wakes);
    for first in (0..events).step_by(usize::try_from(BATCH).expect("small")) {
        let entries = (first..events.min(first + BATCH)).map(|number| entry(scope, number)).collect();
        let append = Append { stream: runs::stream(id), fence: Fence::Holder(epoch), entries };
        writer.append(append).await.expect("appended");
    }
    tasks.shutdown(within).await;
    let done = world.other.finish(&held, &command, json!({ "status": "completed" })).await;
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
    let mark = Some(Mark::of(kind, Some(command), &payload));
    let body = Body { id: Some(format!("e{number}")), command_id: Some(command), payload }.write();
    NewEntry { id: EntryId::generate(), kind: kind.into(), body, mark }
}
