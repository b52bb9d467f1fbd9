//! Compares the incrementally updated folds with folds rebuilt from the whole history.

use std::collections::BTreeMap;

use futures::future::join_all;
use guildhall_domain::ids::{CommandId, EntryId, RunId};
use guildhall_domain::journal::{AppendRejection, AppendedEntry, Epoch, Fence, Seq};
use guildhall_domain::runs::event::{self, EventBody, ParsedEvent};
use guildhall_domain::runs::fold::Fold;
use guildhall_runtime::Tasks;
use guildhall_store::journal::{self, AppendError, AppendRequest, GroupWriter, NewEntry, Scope};
use guildhall_store::{Store, runs};
use guildhall_testkit::{Rounds, TestDb};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{fixtures, store};

const RUNS: usize = 3;
const CONCURRENT_APPENDS: usize = 8;

/// A run, the commands that its events may name, and the entries sent to it so far.
struct TestRun {
    run: RunId,
    commands: Vec<CommandId>,
    epoch: Epoch,
    sent: Vec<NewEntry>,
}

/// A way to append: in a transaction or through a group, on either replica.
enum AppendPath<'a> {
    Transaction(&'a Store),
    Group(&'a GroupWriter),
}

impl AppendPath<'_> {
    async fn append(&self, append: AppendRequest) -> Result<Vec<AppendedEntry>, AppendError> {
        match self {
            Self::Group(writer) => writer.append(append).await,
            Self::Transaction(store) => {
                let mut tx = store.begin().await?;
                let appended = journal::append(&mut tx, &append).await?;
                tx.commit().await?;
                Ok(appended)
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stored_folds_equal_rebuilt_folds_after_random_appends() {
    let db = TestDb::new().await;
    let mut rounds = Rounds::from_env(60);
    let stores = [store(db.url()), store(db.url())];
    let (tasks, (updates, _receiver)) = (Tasks::new(), mpsc::channel(1));
    let writers = stores.each_ref().map(|store| GroupWriter::start(store, &tasks, 2, &updates));
    let mut test_runs = Vec::new();
    for _ in 0..RUNS {
        let (run, _) = fixtures::insert_run(&db).await;
        let commands: Vec<_> = (0..3).map(|_| CommandId::generate()).collect();
        submit(&AppendPath::Transaction(&stores[0]), run, &commands).await;
        test_runs.push(TestRun { run, commands, epoch: Epoch::ZERO, sent: Vec::new() });
    }
    let (mut written, mut stale, mut replayed) = (BTreeMap::<RunId, usize>::new(), 0, 0);
    for _ in 0..rounds.size() {
        for test_run in &mut test_runs {
            if random_below(&mut rounds, 8) == 0 {
                test_run.epoch = take_over(&stores[0], test_run.run).await;
            }
        }
        let appends: Vec<_> =
            (0..CONCURRENT_APPENDS).map(|_| random_append(&mut rounds, &mut test_runs)).collect();
        let outcomes = join_all(appends.into_iter().enumerate().map(async |(number, (run, append))| {
            let replica = number % 2;
            let path = match number % 3 {
                0 => AppendPath::Transaction(&stores[replica]),
                _ => AppendPath::Group(&writers[replica]),
            };
            (run, path.append(append).await)
        }))
        .await;
        for (run, outcome) in outcomes {
            match outcome {
                Ok(appended) => {
                    let new = appended.iter().filter(|entry| matches!(entry, AppendedEntry::New(_))).count();
                    *written.entry(run).or_default() += new;
                    replayed += appended.len() - new;
                }
                Err(AppendError::Rejected(AppendRejection::StaleEpoch { .. })) => stale += 1,
                Err(error) => panic!("{error:?}"),
            }
        }
    }
    assert!(
        stale > 10 && replayed > 10,
        "only {stale} stale and {replayed} repeated appends: nothing was tested"
    );
    for test_run in &test_runs {
        let folds = assert_folds_equal(&stores[1], test_run).await;
        let whole = &folds[&Scope::Run];
        let written = written[&test_run.run] + test_run.commands.len();
        assert_eq!(whole.events, u64::try_from(written).expect("few"));
        assert!(whole.late_events > 0, "no late event: nothing was tested");
    }
}

/// Appends the event that the server writes when a command is submitted.
async fn submit(path: &AppendPath<'_>, run: RunId, commands: &[CommandId]) {
    let submitted =
        |command: &CommandId| entry(event::COMMAND_STATUS, Some(*command), json!({ "status": "pending" }));
    let entries = commands.iter().map(submitted).collect();
    let append = AppendRequest { stream: runs::stream(run), fence: Fence::Open, entries, quota: None };
    path.append(append).await.expect("appended");
}

#[tokio::test]
async fn runner_cannot_append_to_a_command_that_its_run_does_not_have() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let (tasks, (updates, _receiver)) = (Tasks::new(), mpsc::channel(1));
    let writer = GroupWriter::start(&store, &tasks, 1, &updates);
    let (run, _) = fixtures::insert_run(&db).await;
    let (known, unknown) = (CommandId::generate(), CommandId::generate());
    submit(&AppendPath::Transaction(&store), run, &[known]).await;
    for path in [AppendPath::Group(&writer), AppendPath::Transaction(&store)] {
        for (command, is_known) in [(known, true), (unknown, false), (known, true), (unknown, false)] {
            let entries = vec![entry(event::USAGE, Some(command), json!({}))];
            let fence = Fence::Holder(Epoch::ZERO);
            let outcome =
                path.append(AppendRequest { stream: runs::stream(run), fence, entries, quota: None }).await;
            match outcome {
                Ok(_) => assert!(is_known),
                Err(AppendError::UnknownCommand(named)) => assert_eq!((named, is_known), (unknown, false)),
                Err(error) => panic!("{error:?}"),
            }
        }
    }
    let whole = journal::rebuild_fold(&store, run, Scope::Run).await.expect("folded");
    assert_eq!(whole.events, 5);
}

async fn assert_folds_equal(store: &Store, test_run: &TestRun) -> BTreeMap<Scope, Fold> {
    let commands = test_run.commands.iter().map(|command| Scope::Command(*command));
    let scopes: Vec<Scope> = commands.chain([Scope::Run]).collect();
    let stored = journal::load_folds(store, test_run.run, &scopes).await.expect("read");
    let mut rebuilt = BTreeMap::new();
    for scope in scopes {
        rebuilt.insert(scope, journal::rebuild_fold(store, test_run.run, scope).await.expect("folded"));
    }
    assert_eq!(stored.into_iter().collect::<BTreeMap<_, _>>(), rebuilt);
    assert_ne!(rebuilt[&Scope::Run], Fold::default(), "nothing was written");
    rebuilt
}

async fn take_over(store: &Store, run: RunId) -> Epoch {
    let mut tx = store.begin().await.expect("a transaction");
    let epoch = journal::take_over(&mut tx, runs::stream(run)).await.expect("a new epoch");
    tx.commit().await.expect("committed");
    epoch
}

/// Generates an append: new entries, sometimes a repeated one, by the holder, by a stale holder, or without a holder.
fn random_append(rounds: &mut Rounds, test_runs: &mut [TestRun]) -> (RunId, AppendRequest) {
    let test_run = &mut test_runs[random_below(rounds, RUNS)];
    let mut entries: Vec<NewEntry> =
        (0..=random_below(rounds, 4)).map(|_| random_entry(rounds, &test_run.commands)).collect();
    if !test_run.sent.is_empty() && random_below(rounds, 3) == 0 {
        let old = test_run.sent[random_below(rounds, test_run.sent.len())].clone();
        entries.insert(random_below(rounds, entries.len()), old);
    }
    test_run.sent.extend(entries.iter().cloned());
    let fence = match random_below(rounds, 6) {
        0 => Fence::Open,
        1 => Fence::Holder(Epoch::new(test_run.epoch.get() - 1)),
        _ => Fence::Holder(test_run.epoch),
    };
    (test_run.run, AppendRequest { stream: runs::stream(test_run.run), fence, entries, quota: None })
}

fn random_entry(rounds: &mut Rounds, commands: &[CommandId]) -> NewEntry {
    let command = commands.get(random_below(rounds, commands.len() + 1)).copied();
    let call = format!("call-{}", random_below(rounds, 5));
    let flip = random_below(rounds, 2) == 0;
    let number = random_below(rounds, 1000);
    let (kind, payload): (&'static str, Value) = match random_below(rounds, 9) {
        0 => (
            event::ASSISTANT_MESSAGE,
            json!({ "text": "so", "replyAuthority": flip, "textTruncated": !flip }),
        ),
        1 => (event::ASSISTANT_MESSAGE, json!({ "text": if flip { "" } else { "words" } })),
        2 => (event::TOOL_CALL, json!({ "callId": call, "status": "started" })),
        3 => (event::TOOL_CALL, json!({ "callId": call, "status": "completed", "exitCode": number % 3 })),
        4 => (event::COMMAND_OUTPUT, json!({ "bytes": number, "outputTruncated": flip })),
        5 => (event::ARTIFACT, json!({ "bytes": number })),
        6 => {
            let phase = if flip { "transport-disconnected" } else { "transport-connected" };
            (event::BACKEND_STATUS, json!({ "phase": phase }))
        }
        7 => (event::USAGE, json!({ "inputTokens": number, "outputTokens": 1 })),
        _ => (event::TERMINAL_STATUS, json!({ "scope": "command" })),
    };
    entry(kind, command, payload)
}

fn entry(kind: &'static str, command: Option<CommandId>, payload: Value) -> NewEntry {
    let parsed_event = Some(ParsedEvent::new(kind, command, &payload));
    let body = EventBody::new(None, command, payload).to_json();
    NewEntry { id: EntryId::generate(), kind: kind.into(), body, parsed_event }
}

fn random_below(rounds: &mut Rounds, below: usize) -> usize {
    usize::try_from(rounds.random() % u64::try_from(below.max(1)).expect("small")).expect("small")
}

#[tokio::test]
async fn fold_of_unknown_version_is_kept_and_rebuilt_on_read() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let (tasks, (updates, _receiver)) = (Tasks::new(), mpsc::channel(1));
    let writer = GroupWriter::start(&store, &tasks, 1, &updates);
    let (run, _) = fixtures::insert_run(&db).await;
    let (mut rounds, command) = (Rounds::from_env(1), CommandId::generate());
    for round in 0..4 {
        let entries: Vec<NewEntry> = (0..10).map(|_| random_entry(&mut rounds, &[command])).collect();
        let append = AppendRequest { stream: runs::stream(run), fence: Fence::Open, entries, quota: None };
        let path = if round % 2 == 0 { AppendPath::Group(&writer) } else { AppendPath::Transaction(&store) };
        path.append(append).await.expect("appended");
        if round == 0 {
            let newer =
                format!("UPDATE run_folds SET fold = '{{\"v\": 99}}' WHERE run = '{}'", run.as_uuid());
            db.sql().await.execute(newer).await;
        }
    }
    let stored = format!(
        "SELECT fold FROM run_folds WHERE run = '{}' AND scope = '{}'",
        run.as_uuid(),
        uuid::Uuid::nil()
    );
    assert_eq!(db.sql().await.texts(stored).await, [r#"{"v": 99}"#]);
    let test_run = TestRun { run, commands: vec![command], epoch: Epoch::ZERO, sent: Vec::new() };
    let folds = assert_folds_equal(&store, &test_run).await;
    assert_eq!(folds[&Scope::Run].last_seq, Seq::new(40).expect("positive"));
}
