//! Fencing under the worst case for leases: a writer is stopped just before its statement, replaced, and continued.
//!
//! The writer is a separate process: this test binary, started again. The test stops it with SIGSTOP when its statement
//! is ready, starts the next epoch of the stream, and continues it with SIGCONT.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use guildhall_domain::ids::{AttemptId, EntryId, RunId};
use guildhall_domain::journal::{AppendRejection, Epoch, Fence, Journal, Seq, Stream};
use guildhall_domain::runs::event::ParsedEvent;
use guildhall_runtime::Tasks;
use guildhall_store::journal::{self, AppendError, AppendRequest, GroupWriter, NewEntry, Scope};
use guildhall_store::{Store, Tx, leases, runners, runs};
use guildhall_testkit::TestDb;
use rustix::process::{Pid, Signal, kill_process};
use secrecy::ExposeSecret;
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::{fixtures, store};

const ROUNDS: i64 = 200;
const URL: &str = "GUILDHALL_STOPPED_WRITER_URL";
const OWNER: &str = "GUILDHALL_STOPPED_WRITER_OWNER";
const JOURNAL: &str = "GUILDHALL_STOPPED_WRITER_JOURNAL";

#[tokio::test]
async fn stopped_writer_is_rejected_after_a_takeover() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let stream = Stream { journal: Journal::Audit, owner: Uuid::now_v7() };
    let mut writer = Writer::start(&db, stream);
    let mut refused = 0;
    for _ in 0..ROUNDS {
        let held = take_over(&store, stream).await;
        writer.prepare(held);
        writer.stop();
        take_over(&store, stream).await;
        writer.resume();
        let outcome = writer.outcome();
        assert!(outcome.starts_with("refused"), "{outcome}");
        refused += 1;
    }
    assert_eq!(refused, ROUNDS);
    assert_eq!(
        journal::page(&store, stream, Seq::ZERO, 10).await.expect("read"),
        vec![],
        "a late write was accepted"
    );

    // Control: without a takeover the same writer succeeds.
    let held = take_over(&store, stream).await;
    writer.prepare(held);
    writer.stop();
    writer.resume();
    assert_eq!(writer.outcome(), "written");
}

/// A runner writes in three ways: events in a group, events in a transaction, and its lease.
#[tokio::test]
async fn stopped_runner_changes_no_fold_or_lease_after_a_takeover() {
    let db = TestDb::new().await;
    let store = store(db.url());
    let (run, runner) = fixtures::insert_run(&db).await;
    let stream = runs::stream(run);
    let enrolment = runners::find(&store, runner).await.expect("read").expect("a runner").enrolment;
    let mut writer = Writer::start(&db, stream);
    let claim = async || {
        let mut tx = store.begin().await.expect("a transaction");
        let epoch = journal::take_over(&mut tx, stream).await.expect("a new epoch");
        // So short that any renewal changes it.
        let (hold, attempt) = (Duration::from_millis(1), AttemptId::generate());
        let lease = leases::NewLease { run, runner, epoch, hold, enrolment, attempt, is_new_epoch: false };
        leases::upsert(&mut tx, &lease).await.expect("put").expect("a valid enrolment");
        tx.commit().await.expect("committed");
        epoch
    };
    let lease = async || runs::find(&store, run).await.expect("read").and_then(|run| run.lease);
    let fold = async || {
        let stored = journal::load_folds(&store, run, &[Scope::Run]).await.expect("read");
        assert_eq!(
            stored[&Scope::Run],
            journal::rebuild_fold(&store, run, Scope::Run).await.expect("folded")
        );
        stored[&Scope::Run].events
    };
    for _ in 0..ROUNDS {
        writer.prepare(claim().await);
        writer.stop();
        claim().await;
        let expected = lease().await;
        writer.resume();
        let outcome = writer.outcome();
        assert!(outcome.starts_with("refused"), "{outcome}");
        assert_eq!(lease().await, expected, "a lost runner renewed its successor's lease");
    }
    assert_eq!(fold().await, 0, "a late event was counted");

    // Control: without a takeover each of the three writes succeeds.
    for _ in 0..3 {
        writer.prepare(claim().await);
        let before = lease().await.expect("held");
        writer.stop();
        writer.resume();
        assert_eq!(writer.outcome(), "written");
        assert!(lease().await.expect("held").expires_at > before.expires_at, "a write renews the lease");
    }
    assert_eq!(fold().await, 2);
}

async fn take_over(store: &Store, stream: Stream) -> Epoch {
    let mut tx: Tx = store.begin().await.expect("a transaction");
    let epoch = journal::take_over(&mut tx, stream).await.expect("a new epoch");
    tx.commit().await.expect("committed");
    epoch
}

struct Writer {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Writer {
    fn start(db: &TestDb, stream: Stream) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", "stopped_writer::writer_process", "--ignored", "--nocapture"])
            .env(URL, db.url().expose_secret())
            .env(OWNER, stream.owner.to_string())
            .env(JOURNAL, stream.journal.number().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started again");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, output }
    }

    /// Sends an epoch to the process, and waits until its statement is ready.
    fn prepare(&mut self, epoch: Epoch) {
        writeln!(self.child.stdin.as_mut().expect("piped"), "{epoch}").expect("sent");
        assert_eq!(self.line("ready"), "");
    }

    fn stop(&self) {
        kill_process(self.pid(), Signal::STOP).expect("stopped");
        let status = Path::new("/proc").join(self.child.id().to_string()).join("stat");
        let deadline = Instant::now() + Duration::from_secs(120);
        while !std::fs::read_to_string(&status).expect("it lives").contains(") T ") {
            assert!(Instant::now() < deadline, "the process does not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Continues the process, which then runs its statement.
    fn resume(&mut self) {
        writeln!(self.child.stdin.as_mut().expect("piped"), "go").expect("sent");
        kill_process(self.pid(), Signal::CONT).expect("continued");
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).expect("a pid")).expect("a pid")
    }

    fn outcome(&mut self) -> String {
        self.line("outcome: ")
    }

    /// Waits for a line with this prefix, and returns the rest of it.
    fn line(&mut self, prefix: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).expect("readable"), 0, "the writer died");
            if let Some(rest) = line.trim().strip_prefix(prefix) {
                return rest.to_owned();
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// The body of the writer process. It does nothing unless it was started by [`Writer::start`].
#[tokio::test]
#[ignore = "not a test: the process of Writer::start"]
async fn writer_process() {
    let Some((url, owner)) = std::env::var_os(URL).zip(std::env::var_os(OWNER)) else { return };
    let store = store(url.into_string().expect("text").into());
    let owner = owner.into_string().expect("text").parse().expect("a uuid");
    let number = std::env::var_os(JOURNAL).and_then(|number| number.into_string().ok()?.parse().ok());
    let journal = number.and_then(Journal::from_number).expect("a journal");
    let stream = Stream { journal, owner };
    let (tasks, (updates, _receiver)) = (Tasks::new(), mpsc::channel(1));
    let group = GroupWriter::start(&store, &tasks, 1, &updates);
    let mut lines = std::io::stdin().lines().map(|line| line.expect("a line"));
    let mut round = 0;
    while let Some(epoch) = lines.next() {
        round += 1;
        let epoch = Epoch::new(epoch.trim().parse().expect("an epoch"));
        let append = AppendRequest {
            stream,
            fence: Fence::Holder(epoch),
            entries: vec![late_entry(journal)],
            quota: None,
        };
        // Alternates between a group, an open transaction and, for a run, its lease.
        let outcome = match (round % 3, journal) {
            (2, Journal::Run) => renew(&store, stream, epoch, &mut lines).await,
            (1, _) => in_transaction(&store, &append, &mut lines).await,
            (_, _) => {
                wait_for_go(&mut lines);
                group.append(append).await.map(drop)
            }
        };
        match outcome {
            Ok(()) => println!("outcome: written"),
            Err(AppendError::Rejected(refusal)) => println!("outcome: refused: {refusal}"),
            Err(error) => println!("outcome: failed: {error:?}"),
        }
    }
}

fn late_entry(journal: Journal) -> NewEntry {
    let parsed_event =
        (journal == Journal::Run).then(|| ParsedEvent::new("late", None, &serde_json::Value::Null));
    NewEntry {
        id: EntryId::generate(),
        kind: "late".into(),
        body: r#"{"payload":null}"#.to_owned(),
        parsed_event,
    }
}

async fn in_transaction(
    store: &Store,
    append: &AppendRequest,
    lines: &mut impl Iterator<Item = String>,
) -> Result<(), AppendError> {
    let mut tx = store.begin().await.expect("a transaction");
    wait_for_go(lines);
    match journal::append(&mut tx, append).await {
        Ok(_) => Ok(tx.commit().await?),
        Err(error) => {
            tx.rollback().await.expect("undone");
            Err(error)
        }
    }
}

async fn renew(
    store: &Store,
    stream: Stream,
    epoch: Epoch,
    lines: &mut impl Iterator<Item = String>,
) -> Result<(), AppendError> {
    let mut tx = store.begin().await.expect("a transaction");
    wait_for_go(lines);
    let renewed = leases::extend(&mut tx, RunId::from_uuid(stream.owner), epoch).await?;
    tx.commit().await?;
    let stale = AppendRejection::StaleEpoch { given: epoch, current: Epoch::ZERO };
    renewed.map(drop).ok_or(AppendError::Rejected(stale))
}

/// Reports that the statement is ready, and waits. The test stops this process here.
#[expect(clippy::print_stdout, reason = "the test reads the output of this process")]
fn wait_for_go(lines: &mut impl Iterator<Item = String>) {
    println!("ready");
    assert_eq!(lines.next().as_deref(), Some("go"));
}
