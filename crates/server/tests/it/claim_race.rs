//! Two runners claim the same run concurrently, one on each replica, in many rounds.
//! `cargo xtask long claim-race` writes a report to docs/measured.

use std::collections::BTreeMap;

use guildhall_domain::ids::RunId;
use guildhall_testkit::Rounds;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::runs::{run_claim, text};

/// Why the run has no owner before a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RunState {
    New,
    Released,
    /// The lease of the last winner has expired.
    Expired,
}

// covers: R10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(clippy::too_many_lines, reason = "one scenario, read from top to bottom")]
async fn concurrent_claims_have_one_winner_and_a_conflict_with_owner() {
    let mut rounds = Rounds::from_env(250);
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let runners =
        [cluster.first.register_runner(&tenant).await, cluster.second.register_runner(&tenant).await];
    let (mut sql, mut run, mut winner_token) = (cluster.db.sql().await, String::new(), None::<String>);
    let (mut wins, mut rounds_by_state, mut claims_of_run) = ([0, 0], BTreeMap::<RunState, u32>::new(), 0);
    for _ in 0..rounds.size() {
        let state = match rounds.random() % 5 {
            0 | 1 => RunState::Released,
            2 | 3 => RunState::Expired,
            _ => RunState::New,
        };
        let state = match (state, winner_token.take()) {
            (RunState::Released, Some(token)) => {
                let lease = format!("/api/v1/runs/{run}/lease");
                let body = Some(json!({ "release": true }));
                assert_eq!(cluster.first.request_as(Method::PATCH, &lease, &token, body).await.status, 200);
                RunState::Released
            }
            (RunState::Expired, Some(_)) => {
                let id = run.parse::<RunId>().expect("an id").as_uuid();
                sql.execute(format!(
                    "UPDATE leases SET expires_at = now() - interval '1 h' WHERE run = '{id}'"
                ))
                .await;
                RunState::Expired
            }
            (RunState::New, _) | (_, None) => {
                let claims = count_claims(&cluster, &run).await;
                assert_eq!(claims, claims_of_run, "the events of the run do not match the claims");
                (run, claims_of_run) = (cluster.create_run(&tenant).await, 0);
                RunState::New
            }
        };
        let (one, other) = tokio::join!(
            cluster.first.try_claim(&tenant, &run, &runners[0]),
            cluster.second.try_claim(&tenant, &run, &runners[1])
        );
        let (winner, claimed, refused) = match (one.status.as_u16(), other.status.as_u16()) {
            (200, 409) => (0, one, other),
            (409, 200) => (1, other, one),
            _ => panic!("{state:?}: {} {}", one.text, other.text),
        };
        refused.assert_failure(409, "runner-lease-conflict");
        assert_eq!(
            json!([refused.body["owner"], refused.body["leaseExpiresAt"]]),
            json!([runners[winner], claimed.body["leaseExpiresAt"]])
        );
        winner_token = Some(run_claim(&run, &runners[winner], &claimed).token);
        wins[winner] += 1;
        claims_of_run += 1;
        *rounds_by_state.entry(state).or_default() += 1;
    }
    assert!(
        rounds_by_state.len() == 3 && wins.iter().all(|wins| *wins > 0),
        "not all cases were tested: {rounds_by_state:?} {wins:?}"
    );
    rounds.report(&format!(
        "{} concurrent claims on two replicas ({rounds_by_state:?}): one owner each time (wins: {} and {}); the other \
         claim got a conflict with the owner and the same lease expiry each time.\n",
        rounds.size(),
        wins[0],
        wins[1]
    ));
}

/// Counts the claim events of a run.
async fn count_claims(cluster: &Cluster, run: &str) -> u32 {
    if run.is_empty() {
        return 0;
    }
    let events = cluster.list_events(run).await;
    let is_claim = |event: &&Value| {
        event["type"] == "backend_status"
            && ["run-claimed", "lease-recovered"].contains(&text(&event["payload"], "phase").as_str())
    };
    u32::try_from(events.iter().filter(is_claim).count()).expect("a small number")
}
