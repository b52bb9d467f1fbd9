//! One round: an agent asks, something is killed, and the action is asked for again if need be.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use guildhall_domain::approvals::state::ApprovalStatus;
use guildhall_domain::ids::{ApprovalId, CommandId, RunId};
use guildhall_testkit::{Rounds, Stopwatch};
use reqwest::{Method, StatusCode};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::super::LEASE;
use super::super::approvals::create_asking_run;
use super::super::fixture::{RunnerFixture, TestRun};
use super::history::{ApprovalRecord, RoundHistory, TurnHistory};
use super::kill::{Kill, KilledProcess, Moment};
use crate::support::proxy::{self, Gate};
use crate::support::runner_process::{
    RunnerProcess, descendants, send_signal, wait_for_lines, wait_until_exited,
};

const TIMEOUT: Duration = Duration::from_secs(90);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A run whose agent asks for one action, and the answers that it got.
struct Round<'a> {
    fixture: &'a RunnerFixture,
    run: TestRun,
    /// The file to which the action appends a line.
    file: String,
    allowed: Vec<String>,
    turns: Vec<EndedTurn>,
}

/// A turn that has ended, and how often the action was executed in it.
struct EndedTurn {
    command: String,
    executions: usize,
    is_process_lost: bool,
}

/// Plays one round and returns its history. `agents` limits the agents that work at the same time.
pub(super) async fn play(
    fixture: &RunnerFixture,
    agents: &Semaphore,
    kill: Kill,
    number: u32,
    mut rounds: Rounds,
) -> RoundHistory {
    let run = create_asking_run(fixture, kill.agent).await;
    let file = format!("effects-{number}");
    let mut round = Round { fixture, run, file, allowed: Vec::new(), turns: Vec::new() };
    let gate = Arc::new(Gate::default());
    let url = proxy::start(&fixture.cluster.url(0, ""), {
        let gate = Arc::clone(&gate);
        move |request| kill.moment.action(request, &gate)
    });
    let slot = agents.acquire().await;
    let runner = fixture.start_runner_at(&url, &round.run, &[]);
    let command = round.send_turn().await;
    round.reach(kill.moment).await;
    tokio::time::sleep(rounds.random_duration(Duration::from_millis(100))).await;
    let is_lost = kill.process == KilledProcess::Runner;
    match kill.process {
        KilledProcess::Runner => kill_runner(&runner, &mut rounds).await,
        KilledProcess::Server => {
            fixture.cluster.kill_replica(0);
            fixture.cluster.restart_replica(0).await;
        }
        KilledProcess::Postgres => fixture.cluster.kill_and_restart_postgres().await,
    }
    gate.open();
    let replacement = is_lost.then(|| fixture.start_runner(&round.run, &[]));
    let slot = if is_lost {
        drop(slot);
        // The lease of the killed runner must expire; others may work.
        round.wait_for_end(&command).await;
        agents.acquire().await
    } else {
        round.allow_until_end(&command).await;
        slot
    };
    round.end_turn(command, is_lost && kill.moment != Moment::Settled);
    if kill.needs_second_turn() {
        let command = round.send_turn().await;
        round.allow_until_end(&command).await;
        round.end_turn(command, false);
    }
    drop((slot, runner, replacement));
    round.into_history(kill).await
}

/// Kills the parent process of the runner or its child. All its processes exit with it.
async fn kill_runner(runner: &RunnerProcess, rounds: &mut Rounds) {
    let (guard, worker) = (runner.guard_pid(), runner.worker_pid());
    let mut pids = descendants(guard);
    pids.push(guard);
    let process = if rounds.random().is_multiple_of(2) { guard } else { worker };
    send_signal(process, Signal::KILL);
    wait_until_exited(&pids, LEASE).await;
}

impl Round<'_> {
    async fn send_turn(&self) -> String {
        self.fixture.send(&self.run, &format!("ask:echo once >> {}", self.file)).await
    }

    /// Brings the question to the moment of the kill.
    async fn reach(&mut self, moment: Moment) {
        let asked = self.wait_for_status(ApprovalStatus::Pending).await;
        if moment == Moment::Pending {
            return;
        }
        self.allow(&asked).await;
        let found = self.wait_for_status(moment.status()).await;
        assert_eq!(found, asked, "another question is {moment:?}");
        if moment == Moment::Unconfirmed {
            wait_for_lines(&self.run.workspace.join(&self.file), 1).await;
        }
    }

    /// Waits for a question of the run with this status, and returns its id.
    async fn wait_for_status(&self, status: ApprovalStatus) -> String {
        let (started, mut sql) = (Stopwatch::start(), self.fixture.cluster.db.sql().await);
        loop {
            let rows = sql.texts(format!("{} WHERE run = '{}'", Self::SELECT, self.run_uuid())).await;
            let mut records = rows.iter().map(|row| parse_record(row));
            if let Some(found) = records.find(|record| record.status == status) {
                return found.id;
            }
            assert!(started.elapsed() < TIMEOUT, "no {status} question of {:?}: {rows:?}", self.run);
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    async fn wait_for_end(&self, command: &str) {
        let (started, mut sql) = (Stopwatch::start(), self.fixture.cluster.db.sql().await);
        while sql.number(open_command_sql(command)).await > 0 {
            assert!(started.elapsed() < TIMEOUT, "{command} of {:?} has not ended", self.run);
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits for the end of a turn, and allows what its agent asks.
    async fn allow_until_end(&mut self, command: &str) {
        let (started, mut sql) = (Stopwatch::start(), self.fixture.cluster.db.sql().await);
        let condition = format!("WHERE command = '{}' AND status = 'pending'", command_uuid(command));
        while sql.number(open_command_sql(command)).await > 0 {
            for row in sql.texts(format!("{} {condition}", Self::SELECT)).await {
                self.allow(&parse_record(&row).id).await;
            }
            assert!(started.elapsed() < TIMEOUT, "{command} of {:?} has not ended", self.run);
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Allows an action. Repeats the request until a server responds: PostgreSQL may have been killed.
    async fn allow(&mut self, approval: &str) {
        let started = Stopwatch::start();
        let path = format!("/api/v1/approvals/{approval}");
        let shown = loop {
            if let Some((StatusCode::OK, shown)) = self.call(Method::GET, &path, None).await {
                break shown;
            }
            assert!(started.elapsed() < TIMEOUT, "{approval} cannot be read");
            tokio::time::sleep(POLL_INTERVAL).await;
        };
        let options = shown["question"]["options"].as_array().expect("options");
        let option = options.iter().find(|option| option["effect"] == "allow").expect("an option");
        let body = json!({ "optionId": option["id"], "shownDigest": shown["shownDigest"] });
        let mut is_repeated = false;
        loop {
            match self.call(Method::POST, &format!("{path}/votes"), Some(&body)).await {
                Some((StatusCode::OK, _)) => break,
                // The response to the first request was lost.
                Some((StatusCode::CONFLICT, refused))
                    if is_repeated && refused["optionId"] == option["id"] =>
                {
                    break;
                }
                Some((status, refused)) if status.is_client_error() => panic!("{status}: {refused}"),
                _ => is_repeated = true,
            }
            assert!(started.elapsed() < TIMEOUT, "{approval} cannot be answered");
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        self.allowed.push(approval.to_owned());
    }

    /// Sends a request of the approver to the replica that is not killed.
    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Option<(StatusCode, Value)> {
        let mut request = self.fixture.cluster.request(1, method, path, &self.fixture.bearer);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.ok()?;
        Some((response.status(), response.json().await.ok()?))
    }

    /// Counts the lines that the action has added in a turn that has ended.
    fn end_turn(&mut self, command: String, is_process_lost: bool) {
        let lines = fs::read_to_string(self.run.workspace.join(&self.file)).unwrap_or_default();
        let before: usize = self.turns.iter().map(|turn| turn.executions).sum();
        self.turns.push(EndedTurn { command, executions: lines.lines().count() - before, is_process_lost });
    }

    /// Reads the last states of all questions.
    async fn into_history(self, kill: Kill) -> RoundHistory {
        let (mut sql, mut turns) = (self.fixture.cluster.db.sql().await, Vec::new());
        for EndedTurn { command, executions, is_process_lost } in self.turns {
            let condition = format!("WHERE command = '{}' ORDER BY created_at", command_uuid(&command));
            let rows = sql.texts(format!("{} {condition}", Self::SELECT)).await;
            let approvals = rows.iter().map(|row| parse_record(row)).collect();
            turns.push(TurnHistory { approvals, executions, is_process_lost });
        }
        RoundHistory { turns, allowed_by_people: self.allowed, first_ends: kill.question_ends() }
    }

    const SELECT: &'static str = "SELECT concat_ws(' ', id, status, coalesce(effect, 'none'), \
                                  CASE decided_by_kind WHEN 'earlier' THEN decided_by[1] END) FROM approvals";

    fn run_uuid(&self) -> String {
        self.run.id.parse::<RunId>().expect("an id").as_uuid().to_string()
    }
}

fn command_uuid(command: &str) -> String {
    command.parse::<CommandId>().expect("an id").as_uuid().to_string()
}

fn open_command_sql(command: &str) -> String {
    let id = command_uuid(command);
    format!("SELECT count(*) FROM commands WHERE id = '{id}' AND state IN ('pending', 'running')")
}

fn parse_record(row: &str) -> ApprovalRecord {
    let mut columns = row.split(' ');
    let mut next = || columns.next();
    let id = |column: &str| ApprovalId::from_uuid(column.parse().expect("an id")).to_string();
    ApprovalRecord {
        id: id(next().expect("an id")),
        status: ApprovalStatus::from_name(next().expect("a status")).expect("a known status"),
        is_allowed: next() == Some("allow"),
        answered_by: next().map(id),
    }
}
