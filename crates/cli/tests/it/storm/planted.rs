//! The storm without faults on a broken database: its clients and its checker find each class of bug.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use guildhall_testkit::{HistoryViolation, Rounds};

use super::checker::{StormHistory, Violation};
use super::injector::wait_until_recovered;
use super::replicas::REPLICAS;
use super::{Storm, StormClients, StormSize, stored_keys};

/// How long clients run with each bug.
const PLANTED_TIME: Duration = Duration::from_secs(3);

/// A trigger that damages what is written, and how the checker names it.
struct PlantedBug {
    name: &'static str,
    /// Statements before the row is written.
    body: &'static str,
    is_found: fn(&Violation) -> bool,
}

const PREVIOUS: &str = "SELECT body INTO earlier FROM journal_entries WHERE journal = NEW.journal \
                        AND owner = NEW.owner AND seq = NEW.seq - 1 AND kind = 'assistant_message'; ";

const PLANTED_BUGS: [PlantedBug; 4] = [
    PlantedBug {
        name: "lost",
        body: "IF NEW.kind = 'assistant_message' AND NEW.seq % 7 = 0 THEN RETURN NULL; END IF;",
        is_found: |violation| matches!(violation, Violation::Run(_, HistoryViolation::Lost(_))),
    },
    PlantedBug {
        name: "doubled",
        body: "IF NEW.kind = 'assistant_message' AND NEW.seq % 7 = 0 AND earlier IS NOT NULL THEN \
               NEW.body := earlier; END IF;",
        is_found: |violation| matches!(violation, Violation::Run(_, HistoryViolation::Duplicate { .. })),
    },
    PlantedBug {
        name: "reordered",
        body: "IF NEW.kind = 'assistant_message' AND NEW.seq % 7 = 0 AND earlier IS NOT NULL THEN \
               UPDATE journal_entries SET body = NEW.body WHERE journal = NEW.journal AND owner = NEW.owner \
               AND seq = NEW.seq - 1; NEW.body := earlier; END IF;",
        is_found: |violation| matches!(violation, Violation::Run(_, HistoryViolation::Renumbered { .. })),
    },
    PlantedBug {
        name: "stuck",
        body: "IF NEW.kind = 'terminal_status' THEN RETURN NULL; END IF;",
        is_found: |violation| matches!(violation, Violation::Stuck { .. }),
    },
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storm_finds_planted_bugs_of_each_class() {
    let mut rounds = Rounds::from_env(0);
    let storm = Arc::new(Storm::start(StormSize::without_faults()).await);
    let history = run_clients(&storm, &mut rounds).await;
    assert_eq!(history.violations(), vec![], "nothing is planted");
    for bug in PLANTED_BUGS {
        let mut sql = storm.db.sql().await;
        sql.execute(format!(
            "CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE earlier text; \
             BEGIN {PREVIOUS} {} RETURN NEW; END $$; \
             CREATE TRIGGER planted BEFORE INSERT ON journal_entries_run FOR EACH ROW EXECUTE FUNCTION planted()",
            bug.body
        ))
        .await;
        let history = run_clients(&storm, &mut rounds).await;
        sql.execute("DROP FUNCTION planted CASCADE").await;
        let found = history.violations();
        assert!(found.iter().any(bug.is_found), "{} is not found: {found:#?}", bug.name);
    }
}

/// With an asynchronous standby confirmed writes can be lost, and the checker says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failover_loses_confirmed_writes_only_without_a_synchronous_standby() {
    let storm = Arc::new(Storm::start(StormSize::without_faults()).await);
    for is_synchronous in [true, false] {
        storm.keys.lock().expect("the lock is not poisoned").clear();
        for replica in 0..REPLICAS {
            assert!(storm.probe_write(replica).await, "a write before the failover");
        }
        let mut is_confirmed = false;
        let write = async || is_confirmed = storm.probe_write(0).await;
        storm.postgres.fail_over_behind(is_synchronous, write).await;
        assert_eq!(is_confirmed, !is_synchronous, "a commit must wait for a synchronous standby");
        let keys = storm.keys.lock().expect("the lock is not poisoned").clone();
        let stored_keys = stored_keys(&mut storm.db.sql().await).await;
        let history = StormHistory { keys, stored_keys, ..StormHistory::default() };
        let lost = history.violations().len();
        assert_eq!(lost, usize::from(!is_synchronous), "of {} confirmed writes", history.keys.len());
        wait_until_recovered(&storm).await;
        storm.postgres.rebuild_standby().await;
    }
}

async fn run_clients(storm: &Arc<Storm>, rounds: &mut Rounds) -> StormHistory {
    storm.stop.store(false, Ordering::SeqCst);
    storm.writers_done.store(false, Ordering::SeqCst);
    let clients = StormClients::start(storm, rounds);
    tokio::time::sleep(PLANTED_TIME).await;
    clients.stop(storm).await
}
