//! Two runners claim the same run at the same moment, one on each replica; again and again.
//! `cargo xtask long claim-race` writes what came of it under docs/measured.

use std::collections::BTreeMap;

use guildhall_domain::ids::RunId;
use guildhall_testkit::Rounds;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::people::World;
use crate::support::runs::{held, text};

/// How the run comes free before a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Free {
    New,
    GivenBack,
    /// The lease of the last winner is over.
    Lost,
}

// covers: R10
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_that_claim_at_once_one_gets_the_run_and_the_other_learns_who_and_until_when() {
    let mut rounds = Rounds::of_this_run(1000);
    let world = World::new().await;
    let yard = world.yard("acme").await;
    let runners = [world.one.register(&yard).await, world.other.register(&yard).await];
    let (mut sql, mut run, mut won) = (world.db.sql().await, String::new(), None::<String>);
    let (mut wins, mut races, mut on_this) = ([0, 0], BTreeMap::<Free, u32>::new(), 0);
    for _ in 0..rounds.size() {
        let free = match rounds.random() % 5 {
            0 | 1 => Free::GivenBack,
            2 | 3 => Free::Lost,
            _ => Free::New,
        };
        let free = match (free, won.take()) {
            (Free::GivenBack, Some(token)) => {
                let lease = format!("/api/v1/runs/{run}/lease");
                let body = Some(json!({ "release": true }));
                assert_eq!(world.one.ask(Method::PATCH, &lease, &token, body).await.status, 200);
                Free::GivenBack
            }
            (Free::Lost, Some(_)) => {
                let id = run.parse::<RunId>().expect("an id").as_uuid();
                sql.execute(format!(
                    "UPDATE leases SET expires_at = now() - interval '1 h' WHERE run = '{id}'"
                ))
                .await;
                Free::Lost
            }
            (Free::New, _) | (_, None) => {
                assert_eq!(claims(&world, &run).await, on_this, "a claim was counted twice, or not at all");
                (run, on_this) = (world.run(&yard).await, 0);
                Free::New
            }
        };
        let (one, other) = tokio::join!(
            world.one.try_claim(&yard, &run, &runners[0]),
            world.other.try_claim(&yard, &run, &runners[1])
        );
        let (winner, claimed, refused) = match (one.status.as_u16(), other.status.as_u16()) {
            (200, 409) => (0, one, other),
            (409, 200) => (1, other, one),
            _ => panic!("{free:?}: {} {}", one.text, other.text),
        };
        refused.assert_failure(409, "runner-lease-conflict");
        assert_eq!(
            json!([refused.body["owner"], refused.body["leaseExpiresAt"]]),
            json!([runners[winner], claimed.body["leaseExpiresAt"]])
        );
        won = Some(held(&run, &runners[winner], &claimed).token);
        wins[winner] += 1;
        on_this += 1;
        *races.entry(free).or_default() += 1;
    }
    assert!(races.len() == 3 && wins.iter().all(|wins| *wins > 0), "{races:?} {wins:?}: no race was tested");
    rounds.report(&format!(
        "{} races between two replicas ({races:?}): one owner each time, {} and {} times; the other was told the owner \
         and the same expiry each time.\n",
        rounds.size(),
        wins[0],
        wins[1]
    ));
}

/// Counts the claims that a run tells of.
async fn claims(world: &World, run: &str) -> u32 {
    if run.is_empty() {
        return 0;
    }
    let events = world.events(run).await;
    let is_claim = |event: &&Value| {
        event["type"] == "backend_status"
            && ["run-claimed", "lease-recovered"].contains(&text(&event["payload"], "phase").as_str())
    };
    u32::try_from(events.iter().filter(is_claim).count()).expect("few")
}
