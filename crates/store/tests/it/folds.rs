//! The folds that are kept while events are appended, held against the folds of the whole history.

use std::collections::BTreeMap;

use futures::future::join_all;
use guildhall_domain::ids::{CommandId, EntryId, RunId};
use guildhall_domain::journal::{Epoch, Fence, Placed, Refusal, Seq};
use guildhall_domain::runs::event::{self, Body, Mark};
use guildhall_domain::runs::fold::Fold;
use guildhall_runtime::Tasks;
use guildhall_store::journal::{self, Append, AppendError, GroupWriter, NewEntry, Scope};
use guildhall_store::{Store, runs};
use guildhall_testkit::{Rounds, TestDb};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{made, store};

const RUNS: usize = 3;
const AT_ONCE: usize = 8;

/// A run, the commands that its events may name, and what was sent to it so far.
struct Subject {
    run: RunId,
    commands: Vec<CommandId>,
    epoch: Epoch,
    sent: Vec<NewEntry>,
}

/// A way to append: in a transaction, or through a group, on either replica.
enum Way<'a> {
    Transaction(&'a Store),
    Group(&'a GroupWriter),
}

impl Way<'_> {
    async fn append(&self, append: Append) -> Result<Vec<Placed>, AppendError> {
        match self {
            Self::Group(writer) => writer.append(append).await,
            Self::Transaction(store) => {
                let mut tx = store.begin().await?;
                let placed = journal::append(&mut tx, &append).await?;
                tx.commit().await?;
                Ok(placed)
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_appended_by_whom_the_kept_folds_are_those_of_the_whole_history() {
    let db = TestDb::new().await;
    let mut rounds = Rounds::of_this_run(60);
    let stores = [store(db.url()), store(db.url())];
    let (tasks, (wakes, _nobody)) = (Tasks::new(), mpsc::channel(1));
    let writers = stores.each_ref().map(|store| GroupWriter::start(store, &tasks, 2, &wakes));
    let mut subjects = Vec::new();
    for _ in 0..RUNS {
        let (run, _) = made::run(&db).await;
        let commands = (0..3).map(|_| CommandId::generate()).collect();
        subjects.push(Subject { run, commands, epoch: Epoch::ZERO, sent: Vec::new() });
    }
    let (mut written, mut stale, mut replayed) = (BTreeMap::<RunId, usize>::new(), 0, 0);
    for _ in 0..rounds.size() {
        for subject in &mut subjects {
            if pick(&mut rounds, 8) == 0 {
                subject.epoch = take_over(&stores[0], subject.run).await;
            }
        }
        let appends: Vec<_> = (0..AT_ONCE).map(|_| any_append(&mut rounds, &mut subjects)).collect();
        let outcomes = join_all(appends.into_iter().enumerate().map(async |(number, (run, append))| {
            let replica = number % 2;
            let way = match number % 3 {
                0 => Way::Transaction(&stores[replica]),
                _ => Way::Group(&writers[replica]),
            };
            (run, way.append(append).await)
        }))
        .await;
        for (run, outcome) in outcomes {
            match outcome {
                Ok(placed) => {
                    let new = placed.iter().filter(|placed| matches!(placed, Placed::New(_))).count();
                    *written.entry(run).or_default() += new;
                    replayed += placed.len() - new;
                }
                Err(AppendError::Refused(Refusal::Stale { .. })) => stale += 1,
                Err(error) => panic!("{error:?}"),
            }
        }
    }
    assert!(stale > 10 && replayed > 10, "{stale} were refused and {replayed} repeated: nothing was tested");
    for subject in &subjects {
        let folds = assert_same(&stores[1], subject).await;
        assert_eq!(folds[&Scope::Run].events, u64::try_from(written[&subject.run]).expect("few"));
    }
}

async fn assert_same(store: &Store, subject: &Subject) -> BTreeMap<Scope, Fold> {
    let commands = subject.commands.iter().map(|command| Scope::Command(*command));
    let scopes: Vec<Scope> = commands.chain([Scope::Run]).collect();
    let kept = journal::load_folds(store, subject.run, &scopes).await.expect("read");
    let mut whole = BTreeMap::new();
    for scope in scopes {
        whole.insert(scope, journal::rebuild_fold(store, subject.run, scope).await.expect("folded"));
    }
    assert_eq!(kept.into_iter().collect::<BTreeMap<_, _>>(), whole);
    assert_ne!(whole[&Scope::Run], Fold::default(), "nothing was written");
    whole
}

async fn take_over(store: &Store, run: RunId) -> Epoch {
    let mut tx = store.begin().await.expect("begun");
    let epoch = journal::take_over(&mut tx, runs::stream(run)).await.expect("taken");
    tx.commit().await.expect("committed");
    epoch
}

/// Makes an append: new entries, at times an old one among them, by the holder, by one who lost the run, or by no
/// holder at all.
fn any_append(rounds: &mut Rounds, subjects: &mut [Subject]) -> (RunId, Append) {
    let subject = &mut subjects[pick(rounds, RUNS)];
    let mut entries: Vec<NewEntry> =
        (0..=pick(rounds, 4)).map(|_| any_entry(rounds, &subject.commands)).collect();
    if !subject.sent.is_empty() && pick(rounds, 3) == 0 {
        let old = subject.sent[pick(rounds, subject.sent.len())].clone();
        entries.insert(pick(rounds, entries.len()), old);
    }
    subject.sent.extend(entries.iter().cloned());
    let fence = match pick(rounds, 6) {
        0 => Fence::Open,
        1 => Fence::Holder(Epoch::new(subject.epoch.get() - 1)),
        _ => Fence::Holder(subject.epoch),
    };
    (subject.run, Append { stream: runs::stream(subject.run), fence, entries })
}

fn any_entry(rounds: &mut Rounds, commands: &[CommandId]) -> NewEntry {
    let command = commands.get(pick(rounds, commands.len() + 1)).copied();
    let call = format!("call-{}", pick(rounds, 5));
    let flip = pick(rounds, 2) == 0;
    let number = pick(rounds, 1000);
    let (kind, payload): (&'static str, Value) = match pick(rounds, 8) {
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
        _ => (event::USAGE, json!({ "inputTokens": number, "outputTokens": 1 })),
    };
    let mark = Some(Mark::of(kind, command, &payload));
    let body = Body { id: None, command_id: command, payload }.write();
    NewEntry { id: EntryId::generate(), kind: kind.into(), body, mark }
}

fn pick(rounds: &mut Rounds, below: usize) -> usize {
    usize::try_from(rounds.random() % u64::try_from(below.max(1)).expect("small")).expect("small")
}

#[tokio::test]
async fn a_fold_of_another_age_is_left_alone_and_folded_anew_by_who_reads_it() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let (tasks, (wakes, _nobody)) = (Tasks::new(), mpsc::channel(1));
    let writer = GroupWriter::start(&store, &tasks, 1, &wakes);
    let (run, _) = made::run(&db).await;
    let (mut rounds, command) = (Rounds::of_this_run(1), CommandId::generate());
    for round in 0..4 {
        let entries: Vec<NewEntry> = (0..10).map(|_| any_entry(&mut rounds, &[command])).collect();
        let append = Append { stream: runs::stream(run), fence: Fence::Open, entries };
        let way = if round % 2 == 0 { Way::Group(&writer) } else { Way::Transaction(&store) };
        way.append(append).await.expect("appended");
        if round == 0 {
            let newer =
                format!("UPDATE run_folds SET fold = '{{\"v\": 99}}' WHERE run = '{}'", run.as_uuid());
            db.sql().await.execute(newer).await;
        }
    }
    let left = format!(
        "SELECT fold FROM run_folds WHERE run = '{}' AND scope = '{}'",
        run.as_uuid(),
        uuid::Uuid::nil()
    );
    assert_eq!(db.sql().await.texts(left).await, [r#"{"v": 99}"#]);
    let subject = Subject { run, commands: vec![command], epoch: Epoch::ZERO, sent: Vec::new() };
    let folds = assert_same(&store, &subject).await;
    assert_eq!(folds[&Scope::Run].last_seq, Seq::new(40).expect("positive"));
}
