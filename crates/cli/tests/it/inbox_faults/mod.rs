//! Fault injection for inboxes: two replicas and AIDs with three devices each, which send, read, confirm, recall and connect
//! again at random, while servers, PostgreSQL and NATS are killed with SIGKILL. CI runs a few rounds;
//! `cargo xtask long inbox-faults` runs all.
//!
//! The ids of messages are chosen by their senders, so that a send with an unknown outcome is repeated with the same id.

mod agent_answers;
mod connection;
mod device;
mod history;
mod planted;
mod sealing;
mod sender_view;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt;
use futures::future::try_join_all;
use guildhall_runtime::Tasks;
use guildhall_testkit::{Rounds, spawn_task};
use tempfile::TempDir;

use self::connection::{DeviceConnection, Identity};
use self::device::{SharedDeviceState, SimulatedDevice};
use self::history::{Device, DeviceRecord, InboxHistory, Principal, StoredInbox, StoredMessage};
use self::sender_view::SenderViews;
use crate::support::cluster::{Cluster, KillCounts};

const ISSUER: &str = "guild.example";

/// AIDs for each kill: 200 at full size.
const PRINCIPALS_PER_KILL: usize = 2;

const DEVICES: usize = 3;

/// All devices together make about so many calls a second, which debug builds handle on two cores.
const CALLS_PER_SECOND: u32 = 100;

/// AIDs that are registered, and devices that end, at the same time.
const CONCURRENT: usize = 16;

// covers: A2, A4, A6, A7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_messages_survive_kills_without_loss_or_duplicate() {
    let mut rounds = Rounds::from_env(5);
    let started = Instant::now();
    let fixture = InboxFixture::start(&rounds).await;
    let running: Vec<_> = fixture.devices(&mut rounds).map(|device| spawn_task(device.run())).collect();
    fixture.cluster.progress.require();
    let kill_counts = fixture.cluster.kill_at_random(&mut rounds).await;
    fixture.world.stop.store(true, Ordering::SeqCst);
    let devices = try_join_all(running).await.expect("the devices do not panic");
    // Nobody sends any more: now every device can read to the end.
    let finishing = futures::stream::iter(devices).map(SimulatedDevice::finish);
    let finished: Vec<(DeviceRecord, usize)> = finishing.buffer_unordered(CONCURRENT).collect().await;
    let connections = finished.iter().map(|(_, opened)| opened).sum();
    let devices = finished.into_iter().map(|(record, _)| record).collect();
    let history = InboxHistory { devices, inboxes: fixture.stored_inboxes().await };
    assert_eq!(history.violations(), vec![], "seed {}", rounds.seed());
    let totals = Totals::of(&history, connections);
    let sent_meanwhile = fixture.cluster.progress.counts();
    let least: Vec<(&str, bool)> =
        sent_meanwhile.iter().map(|(what, counts)| (*what, counts.iter().all(|count| *count > 0))).collect();
    assert_eq!(least, [("NATS", true), ("a server", true)], "messages are accepted during each outage");
    assert!(totals.sealed > 20 && totals.sender_pages > 10, "too few for a test: {totals:?}");
    assert!(totals.sends > 100 && totals.recalls > 5 && totals.pushes > 50, "too few for a test: {totals:?}");
    let downtime = fixture.cluster.downtime();
    rounds.report(&report(&kill_counts, &sent_meanwhile, &totals, started.elapsed(), downtime));
}

/// What the devices have done.
#[derive(Debug)]
struct Totals {
    devices: usize,
    connections: usize,
    sends: usize,
    sealed: usize,
    recalls: usize,
    pages: usize,
    sender_pages: usize,
    rows: usize,
    pushes: usize,
    cursors: usize,
}

impl Totals {
    fn of(history: &InboxHistory, connections: usize) -> Self {
        let sum = |count: fn(&DeviceRecord) -> usize| history.devices.iter().map(count).sum();
        Self {
            devices: history.devices.len(),
            connections,
            sends: sum(|record| record.sends.len()),
            sealed: sum(|record| record.sealed),
            recalls: sum(|record| record.recalls.len()),
            pages: sum(|record| record.pages().count()),
            sender_pages: sum(|record| record.senders.iter().flat_map(SenderViews::pages).count()),
            rows: sum(|record| record.pages().map(|(_, rows)| rows.len()).sum()),
            pushes: sum(|record| record.pushes.len()),
            cursors: sum(|record| record.cursors.len()),
        }
    }
}

fn report(
    kill_counts: &KillCounts,
    sent_meanwhile: &BTreeMap<&'static str, Vec<u64>>,
    totals: &Totals,
    elapsed: Duration,
    downtime: Duration,
) -> String {
    let mut text = String::from(
        "| killed | times | sends made and acknowledged until it was started again |\n|---|---|---|\n",
    );
    for (what, times) in kill_counts {
        let meanwhile = sent_meanwhile.get(what).map_or("none is possible".to_owned(), |counts| {
            let (total, least) =
                (counts.iter().sum::<u64>(), counts.iter().min().copied().unwrap_or_default());
            format!("{total}, at least {least} each time")
        });
        let _infallible = writeln!(text, "| {what} | {times} | {meanwhile} |");
    }
    let Totals { devices, connections, sends, sealed, recalls, pages, sender_pages, rows, pushes, cursors } =
        totals;
    let _infallible = writeln!(
        text,
        "\n{} AIDs with {DEVICES} devices each on 2 replicas, {connections} connections, {} s, of which {} s downtime: \
         {sends} sends ({sealed} sealed) and {recalls} recalls acknowledged, {rows} messages read in {pages} pages ({sender_pages} of \
         single senders), {pushes} pushed, {cursors} read positions told. Violations found by the checker: none.",
        devices / DEVICES,
        elapsed.as_secs(),
        downtime.as_secs(),
    );
    text
}

struct InboxFixture {
    cluster: Arc<Cluster>,
    world: Arc<SharedDeviceState>,
    tasks: Tasks,
    _secrets: TempDir,
}

impl InboxFixture {
    async fn start(rounds: &Rounds) -> Self {
        let secrets = tempfile::tempdir().expect("a folder");
        // All devices have one address, and many of them log in at once.
        let limits = [("GUILDHALL_LIMITS_SIGN_IN", "100000/60s"), ("GUILDHALL_LIMITS_ACCOUNT", "10000/60s")];
        let cluster = Arc::new(Cluster::start_issuer(ISSUER, &secrets.path().join("secrets"), &limits).await);
        let count = usize::try_from(rounds.size()).expect("small") * PRINCIPALS_PER_KILL;
        let aids = (0..count).map(|number| format!("member-{number}.{ISSUER}"));
        let registering = aids.map(|aid| Identity::register(&cluster, aid));
        let identities: Vec<Identity> =
            futures::stream::iter(registering).buffered(CONCURRENT).collect().await;
        let devices = u32::try_from(count * DEVICES).expect("small");
        let world = SharedDeviceState {
            identities,
            time: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            pause: Duration::from_secs(1) * devices / CALLS_PER_SECOND,
        };
        Self { cluster, world: Arc::new(world), tasks: Tasks::new(), _secrets: secrets }
    }

    fn devices(&self, rounds: &mut Rounds) -> impl Iterator<Item = SimulatedDevice> {
        self.world
            .identities
            .iter()
            .enumerate()
            .flat_map(|(principal, identity)| {
                (0..DEVICES).map(move |number| (Device { principal, number }, identity))
            })
            .map(|(device, identity)| {
                let connection = DeviceConnection::new(&self.cluster, &self.tasks, identity, device);
                SimulatedDevice::new(&self.world, connection, rounds.fork(), device)
            })
    }

    /// Reads all inboxes from the database.
    async fn stored_inboxes(&self) -> Vec<StoredInbox> {
        let mut sql = self.cluster.db.sql().await;
        let mut inboxes = vec![StoredInbox::default(); self.world.identities.len()];
        let numbers: BTreeMap<&str, Principal> = self
            .world
            .identities
            .iter()
            .enumerate()
            .map(|(number, identity)| (identity.aid.as_str(), number))
            .collect();
        for row in sql.texts("SELECT aid || ' ' || last_seq FROM inboxes").await {
            let [aid, last_seq] = fields(&row);
            inboxes[numbers[aid]].last_seq = last_seq.parse().expect("a seq");
        }
        let messages = "SELECT inbox.aid || ' ' || message.seq || ' ' || message.message_id || ' ' || sender.aid || ' ' || (message.payload IS NULL)
            FROM inbox_messages AS message INNER JOIN inboxes AS inbox ON inbox.id = message.inbox
            INNER JOIN inboxes AS sender ON sender.id = message.sender
            ORDER BY message.inbox, message.seq";
        for row in sql.texts(messages).await {
            let [aid, seq, id, sender, is_recalled] = fields(&row);
            let (seq, is_recalled) = (seq.parse().expect("a seq"), is_recalled == "true");
            let message = StoredMessage { seq, id: id.to_owned(), sender: numbers[sender], is_recalled };
            inboxes[numbers[aid]].messages.push(message);
        }
        let cursors = "SELECT inbox.aid || ' ' || replace(cursor.device, 'device-', '') || ' ' || coalesce(sender.aid, '-') || ' ' || cursor.ack_seq
            FROM inbox_cursors AS cursor INNER JOIN inboxes AS inbox ON inbox.id = cursor.inbox
            LEFT JOIN inboxes AS sender ON sender.id = cursor.sender";
        for row in sql.texts(cursors).await {
            let [aid, device, sender, seq] = fields(&row);
            let (device, seq) = (device.parse().expect("a number"), seq.parse().expect("a seq"));
            let inbox = &mut inboxes[numbers[aid]];
            match numbers.get(sender) {
                None => inbox.cursors.insert(device, seq),
                Some(sender) => inbox.sender_cursors.insert((device, *sender), seq),
            };
        }
        inboxes
    }
}

fn fields<const COUNT: usize>(row: &str) -> [&str; COUNT] {
    let fields: Vec<&str> = row.split(' ').collect();
    fields.try_into().expect("the number of columns")
}

fn base64_text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
