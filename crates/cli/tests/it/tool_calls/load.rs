//! Many agents call tools within a minute. CI runs a few; `cargo xtask long tool-calls` 167 agents with 60 calls each: 10,000 in all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::{join_all, try_join_all};
use guildhall_domain::FailureKind;
use guildhall_domain::agents::tool_calls::{ToolCall, ToolMessageKind, tool_headers};
use guildhall_sdk::messages::MessengerError;
use guildhall_testkit::{Rounds, SqlConnection, spawn_task};
use serde_json::Value;

use super::fixture::ToolFixture;
use super::send_call;
use crate::aun_clients::rust_device::RustDevice;

/// Calls of an agent in a minute.
const LIMIT: i64 = 60;

/// The second of the minute, by the clock of the database.
const SECOND: &str = "SELECT floor(extract(second FROM now()))::bigint";

/// So many agents need the whole minute.
const MANY_AGENTS: u32 = 20;

// covers: M24
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_up_to_the_limit_are_stored_once_and_the_next_is_refused() {
    let rounds = Rounds::from_env(4);
    let fixture = ToolFixture::start().await;
    let (operator, mut agents) = (fixture.replicas.operator(), Vec::new());
    for number in 0..rounds.size() {
        let replica = usize::try_from(number % 2).expect("small");
        agents.push(fixture.add_agent(&operator, &format!("caller{number}"), replica).await);
    }
    let mut sql = fixture.replicas.sql().await;
    let has_many = rounds.size() > MANY_AGENTS;
    if has_many {
        // Each connects, and learns the keys of the user, in a minute before the one that counts.
        let first = join_all(agents.iter().map(|agent| call(agent, &fixture, 0))).await;
        assert!(first.iter().all(Option::is_none), "{first:?}");
        wait_for_second(&mut sql, 59).await;
        wait_for_second(&mut sql, 0).await;
    } else {
        while sql.number(SECOND).await > 35 {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
    let minute = minute(&mut sql).await;
    let started = Instant::now();
    // Tasks: one thread cannot seal so many calls in time.
    let fixture = Arc::new(fixture);
    let calling = agents.into_iter().map(|agent| spawn_task(call_until_refused(agent, Arc::clone(&fixture))));
    let refused = try_join_all(calling).await.expect("no panic");
    let took = started.elapsed();
    assert_eq!(self::minute(&mut sql).await, minute, "seed {}: {took:?} are too long", rounds.seed());
    let expected = (LIMIT, Some(FailureKind::RateLimited));
    assert!(refused.iter().all(|refused| *refused == expected), "{refused:?}");
    let (agents, of_each) = (i64::from(rounds.size()), LIMIT + i64::from(has_many));
    let stored = [
        "SELECT count(*) FROM inbox_messages WHERE relation IS NOT NULL",
        "SELECT count(DISTINCT (sender, message_id)) FROM inbox_messages WHERE relation IS NOT NULL",
    ];
    for query in stored {
        assert_eq!(sql.number(query).await, agents * of_each, "{query}");
    }
    let senders = format!(
        "SELECT count(*) FROM (SELECT FROM inbox_messages WHERE relation IS NOT NULL GROUP BY sender HAVING count(*) = {of_each}) AS each"
    );
    assert_eq!(sql.number(senders).await, agents);
    rounds.report(&format!(
        "{agents} agents on two replicas sent {} sealed tool calls to one user in {:.1} s: each call is stored once, and the 61st \
         of each agent in the minute was refused (debug build, clients on the same machine).\n",
        agents * LIMIT,
        took.as_secs_f64()
    ));
}

/// Calls one after the other. Returns how many were accepted, and why the next one was not.
async fn call_until_refused(agent: RustDevice, fixture: Arc<ToolFixture>) -> (i64, Option<FailureKind>) {
    for number in 1..=LIMIT + 1 {
        if let Some(error) = call(&agent, &fixture, number).await {
            return (number - 1, error);
        }
    }
    (LIMIT + 1, None)
}

/// Returns why a call was refused, if it was.
async fn call(agent: &RustDevice, fixture: &ToolFixture, number: i64) -> Option<Option<FailureKind>> {
    let call = ToolCall {
        id: format!("call-{number}").parse().expect("an id"),
        tool: "notify".to_owned(),
        arguments: Value::Null,
        scope: "notification:send".to_owned(),
        timeout_ms: None,
    };
    match send_call(agent, fixture, call, tool_headers(ToolMessageKind::Call, "")).await {
        Ok(()) => None,
        Err(MessengerError::Socket(error)) => Some(error.kind()),
        Err(error) => panic!("{error:?}"),
    }
}

/// Calls are counted in minutes of the database.
async fn minute(sql: &mut SqlConnection) -> i64 {
    sql.number("SELECT floor(extract(epoch FROM now()) / 60)::bigint").await
}

async fn wait_for_second(sql: &mut SqlConnection, second: i64) {
    while sql.number(SECOND).await != second {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
