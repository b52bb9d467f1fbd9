//! Two replicas, sixteen writers, two followers, and a SIGKILL every moment: over servers, PostgreSQL and NATS.
//! CI runs a few; `cargo xtask long journal-faults` runs them all.
//!
//! A writer makes service keys, each under an idempotency key of its own, and asks again until it is told that the key
//! is made. Whatever it was told must stand in the audit log once, and the followers must have seen all of it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use guildhall_domain::ids::{EntryId, ServiceKeyId, TenantId};
use guildhall_domain::journal::{Journal, Seq, Stream};
use guildhall_testkit::{History, Rounds, Sighting};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::fleet::{Fleet, Killed};

const WRITERS: usize = 16;
const TENANTS: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_confirmed_is_lost_or_doubled_whatever_is_killed() {
    let mut rounds = Rounds::of_this_run(10);
    let began = Instant::now();
    let world = World::start().await;
    let stop = AtomicBool::new(false);
    let writers = (0..WRITERS).map(|number| world.write(number, &stop));
    let followers =
        world.tenants.iter().flat_map(|tenant| (0..2).map(|replica| world.follow(tenant, replica, &stop)));
    let killing = async {
        let killed = world.fleet.kill_at_random(&mut rounds).await;
        stop.store(true, Ordering::SeqCst);
        killed
    };
    let (killed, acknowledged, followed) =
        tokio::join!(killing, futures::future::join_all(writers), futures::future::join_all(followers),);
    let log = world.log().await;
    let acknowledged = told_with_numbers(acknowledged.concat(), &log);
    let (confirmed, entries) = (acknowledged.len(), log.len());
    // Each follower reads one tenant's log; both replicas' followers of all tenants together must have seen it whole.
    let by_replica =
        |replica: usize| followed.iter().skip(replica).step_by(2).flatten().copied().collect::<Vec<_>>();
    let history = History { acknowledged, log, followed: vec![by_replica(0), by_replica(1)] };
    assert_eq!(history.faults(), vec![]);
    assert!(confirmed > 50, "only {confirmed} were confirmed: nothing was tested");
    rounds.report(&report(&killed, confirmed, entries, began.elapsed()));
}

fn report(killed: &Killed, confirmed: usize, entries: usize, took: Duration) -> String {
    let mut text = String::from("| killed | times |\n|---|---|\n");
    for (what, times) in killed {
        let _infallible = writeln!(text, "| {what} | {times} |");
    }
    let _infallible = writeln!(
        text,
        "\n{WRITERS} writers on 2 replicas and {TENANTS} streams, {} followers, {} s: {confirmed} appends confirmed, \
         {entries} entries in the log. Faults found by the history checker: none.",
        TENANTS * 2,
        took.as_secs()
    );
    text
}

/// Numbers what writers were told by the log itself: they were told which key was made, not where its entry stands.
fn told_with_numbers(told: Vec<(Stream, EntryId)>, log: &[Sighting]) -> Vec<Sighting> {
    let places: BTreeMap<(Stream, EntryId), Seq> =
        log.iter().map(|(stream, seq, id)| ((*stream, *id), *seq)).collect();
    told.into_iter()
        .map(|(stream, id)| (stream, places.get(&(stream, id)).copied().unwrap_or_default(), id))
        .collect()
}

struct World {
    fleet: Fleet,
    tenants: Vec<Tenant>,
}

struct Tenant {
    id: String,
    stream: Stream,
    /// A key that may make keys; it does not expire during the test.
    bearer: String,
}

impl World {
    async fn start() -> Self {
        let fleet = Fleet::start(&[]).await;
        let access = fleet.operator().await;
        let mut tenants = Vec::new();
        for number in 0..TENANTS {
            let (id, bearer) = fleet.tenant(&access, &format!("tenant-{number}")).await;
            let owner = id.parse::<TenantId>().expect("an id").as_uuid();
            tenants.push(Tenant { id, stream: Stream { journal: Journal::Audit, owner }, bearer });
        }
        Self { fleet, tenants }
    }

    /// Makes keys until told to stop; returns those that it was told are made.
    async fn write(&self, number: usize, stop: &AtomicBool) -> Vec<(Stream, EntryId)> {
        let tenant = &self.tenants[number % TENANTS];
        let path = format!("/api/v1/tenants/{}/keys", tenant.id);
        let (mut told, mut turn) = (Vec::new(), 0);
        while !stop.load(Ordering::SeqCst) {
            turn += 1;
            let key = format!("writer-{number}-{turn}");
            let body = json!({ "name": key, "role": "viewer" });
            // Any replica, the same key, until somebody says that it is done.
            let mut attempt = number;
            let made = loop {
                attempt += 1;
                if let Some(made) = self.fleet.make(attempt % 2, &path, &tenant.bearer, &key, &body).await {
                    break made;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            };
            told.push((tenant.stream, entry_of(&made["id"])));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        told
    }

    /// Follows a tenant's log on one replica, over as many connections as it takes, until all is seen.
    async fn follow(&self, tenant: &Tenant, replica: usize, stop: &AtomicBool) -> Vec<Sighting> {
        let (mut seen, mut cursor): (Vec<Sighting>, Option<String>) = (Vec::new(), None);
        loop {
            let stopped = stop.load(Ordering::SeqCst);
            let last = if stopped { self.last_seq(tenant).await } else { i64::MAX };
            if seen.last().is_some_and(|(_, seq, _)| seq.get() >= last) {
                return seen;
            }
            let path = format!("/api/v1/tenants/{}/audit/stream", tenant.id);
            let mut request = self.fleet.request(replica, Method::GET, &path, &tenant.bearer);
            if let Some(cursor) = &cursor {
                request = request.header("last-event-id", cursor);
            }
            if let Ok(mut response) = request.send().await {
                let mut text = String::new();
                while let Ok(Some(chunk)) = response.chunk().await {
                    text.push_str(&String::from_utf8_lossy(&chunk));
                    while let Some((event, rest)) = text.split_once("\n\n") {
                        take(event, tenant.stream, &mut seen, &mut cursor);
                        text = rest.to_owned();
                    }
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn last_seq(&self, tenant: &Tenant) -> i64 {
        let sql = format!("SELECT last_seq FROM journal_heads WHERE owner = '{}'", tenant.stream.owner);
        self.fleet.db.sql().await.number(sql).await
    }

    async fn log(&self) -> Vec<Sighting> {
        let mut log = Vec::new();
        for tenant in &self.tenants {
            let sql = format!(
                "SELECT seq || ' ' || (body::json ->> 'object') FROM journal_entries WHERE owner = '{}' ORDER BY seq",
                tenant.stream.owner
            );
            for row in self.fleet.db.sql().await.texts(sql).await {
                let (seq, object) = row.split_once(' ').expect("two words");
                let seq = seq.parse().ok().and_then(Seq::new).expect("a number");
                log.push((tenant.stream, seq, entry_of(&json!(object))));
            }
        }
        log
    }
}

/// Reads one event of a stream; entries that were seen before over another connection must not come again.
fn take(event: &str, stream: Stream, seen: &mut Vec<Sighting>, cursor: &mut Option<String>) {
    let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
    let (Some(data), Some(id)) = (field("data: "), field("id: ")) else { return };
    let data: Value = serde_json::from_str(data).expect("JSON");
    let seq = data["seq"].as_i64().and_then(Seq::new).expect("a number");
    assert!(seen.last().is_none_or(|(_, last, _)| *last < seq), "{seq} came again");
    seen.push((stream, seq, entry_of(&data["body"]["object"])));
    *cursor = Some(id.to_owned());
}

/// Names an entry by the object that it is about: each object is made once.
fn entry_of(object: &Value) -> EntryId {
    let text = object.as_str().expect("an id");
    let uuid = text.parse::<ServiceKeyId>().map(ServiceKeyId::as_uuid);
    let uuid =
        uuid.or_else(|_| text.parse::<TenantId>().map(TenantId::as_uuid)).expect("a key's or a tenant's id");
    EntryId::from_uuid(uuid)
}
