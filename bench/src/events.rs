//! Events of sixteen runs appended over HTTP, beside the same rows into the same table over sixteen plain connections.
//!
//! The server, the generator and PostgreSQL are processes of their own; the generator plays both sides, in turns. The
//! bare side checks nothing, numbers nothing that anyone could rely on and keeps no fold: it is the floor.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use guildhall_domain::journal::Journal;
use reqwest::Method;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::{Connection, PgConnection};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::installation::{Held, Installation, client};
use crate::times::percentile;
use crate::{bare, cpu};

/// The name under which this program starts itself as the generator.
pub(crate) const GENERATOR: &str = "as-generator";

const RUNS: usize = 16;
const BATCH: usize = 50;
const BODY_BYTES: usize = 1000;
const ROUNDS: u32 = 5;
const ROUND: Duration = Duration::from_secs(4);

/// What the generator needs to know.
#[derive(Serialize, Deserialize)]
struct Task {
    base: String,
    postgres: String,
    held: Vec<Held>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Side {
    Ours,
    Bare,
}

/// What one round of the generator came to.
#[derive(Default, Serialize, Deserialize)]
struct Round {
    rows: u32,
    /// Calls that the server asked to make again.
    refused: u32,
    calls: Vec<Duration>,
}

pub(crate) fn run() -> Result<()> {
    let installation = Installation::start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let held = runtime.block_on(async {
        let tenant = installation.tenant().await?;
        let mut held = Vec::new();
        for _ in 0..RUNS {
            let one = installation.held(&tenant).await?;
            // The server opens its connections now, one after the other, and not in the first round.
            let path = format!("/api/v1/runs/{}/events", one.run);
            let first = json!({ "events": [event(&one.command)] });
            installation.ask(Method::POST, &path, &one.token, first).await?;
            held.push(one);
        }
        anyhow::Ok(held)
    })?;
    let postgres = installation.postgres.url().expose_secret().to_owned();
    let mut generator = Generator::start(&Task { base: installation.base.clone(), postgres, held })?;
    let pids = [
        ("server", installation.server_pid()),
        ("generator", generator.child.id()),
        ("PostgreSQL", installation.postgres.pid().context("PostgreSQL runs")?),
    ];
    let (mut bare, mut ours) = (Measured::default(), Measured::default());
    for _ in 0..ROUNDS {
        bare.add(&mut generator, Side::Bare, &pids)?;
        ours.add(&mut generator, Side::Ours, &pids)?;
    }
    let ratio = ours.per_second() / bare.per_second();
    bare.print("bare", &pids);
    ours.print("ours", &pids);
    println!("events_append_ratio={ratio:.2}");
    Ok(())
}

/// All rounds of one side.
#[derive(Default)]
struct Measured {
    rows: u32,
    refused: u32,
    calls: Vec<Duration>,
    seconds: f64,
    cpu: [f64; 3],
}

impl Measured {
    fn add(&mut self, generator: &mut Generator, side: Side, pids: &[(&str, u32); 3]) -> Result<()> {
        let before = pids.map(|(_, pid)| cpu::seconds(pid));
        let began = Instant::now();
        let round = generator.round(side)?;
        self.seconds += began.elapsed().as_secs_f64();
        for ((total, before), (_, pid)) in self.cpu.iter_mut().zip(before).zip(pids) {
            *total += cpu::seconds(*pid)? - before?;
        }
        self.rows += round.rows;
        self.refused += round.refused;
        self.calls.extend(round.calls);
        Ok(())
    }

    fn per_second(&self) -> f64 {
        // What opening connections takes is no part of it.
        f64::from(self.rows) / (ROUND * ROUNDS).as_secs_f64()
    }

    fn print(&mut self, name: &str, pids: &[(&str, u32); 3]) {
        let (p50, p99) = (percentile(&mut self.calls, 50), percentile(&mut self.calls, 99));
        let shares =
            pids.iter().zip(self.cpu).map(|((of, _), cpu)| format!("{of} {:.2}", cpu / self.seconds));
        println!(
            "{name}: {RUNS} callers, {BATCH} rows of {BODY_BYTES} bytes a call: {:.0} rows/s, p50 {p50:.1?}, p99 \
             {p99:.1?}, {} calls refused; processors used: {}",
            self.per_second(),
            self.refused,
            shares.collect::<Vec<_>>().join(", ")
        );
    }
}

/// The generator as the parent sees it.
struct Generator {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Generator {
    fn start(task: &Task) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(GENERATOR)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut input = child.stdin.take().context("piped")?;
        let output = BufReader::new(child.stdout.take().context("piped")?).lines();
        // Over a pipe: tokens do not belong into arguments.
        writeln!(input, "{}", serde_json::to_string(task)?)?;
        Ok(Self { child, input, output })
    }

    fn round(&mut self, side: Side) -> Result<Round> {
        writeln!(self.input, "{}", serde_json::to_string(&side)?)?;
        let line = self.output.next().context("the generator has ended")??;
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// The other process: does a round whenever it is told to, and says what it came to.
pub(crate) fn generate() -> Result<()> {
    let mut lines = std::io::stdin().lines();
    let task: Task = serde_json::from_str(&lines.next().context("a task")??)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    for line in lines {
        let side: Side = serde_json::from_str(&line?)?;
        let round = runtime.block_on(async {
            let mut callers = JoinSet::new();
            for held in task.held.clone() {
                match side {
                    Side::Ours => callers.spawn(append(task.base.clone(), held)),
                    Side::Bare => callers.spawn(insert(task.postgres.clone())),
                };
            }
            let mut round = Round::default();
            while let Some(one) = callers.join_next().await {
                let one = one??;
                round.rows += one.rows;
                round.refused += one.refused;
                round.calls.extend(one.calls);
            }
            anyhow::Ok(round)
        })?;
        println!("{}", serde_json::to_string(&round)?);
    }
    Ok(())
}

async fn append(base: String, held: Held) -> Result<Round> {
    let (client, url) = (client()?, format!("{base}/api/v1/runs/{}/events", held.run));
    let (until, mut round) = (Instant::now() + ROUND, Round::default());
    while Instant::now() < until {
        let events: Vec<Event> = (0..BATCH).map(|_| event(&held.command)).collect();
        let began = Instant::now();
        let sent = client.post(&url).bearer_auth(&held.token).json(&Batch { events }).send().await;
        let Some(answer) = sent.ok().filter(|answer| ![429, 503].contains(&answer.status().as_u16())) else {
            // A runner would send them again; it is counted, and its time is lost.
            round.refused += 1;
            continue;
        };
        if answer.status() != 200 {
            bail!("{}", answer.text().await?);
        }
        let _appended: Appended = answer.json().await?;
        round.calls.push(began.elapsed());
        round.rows += u32::try_from(BATCH)?;
    }
    Ok(round)
}

async fn insert(postgres: String) -> Result<Round> {
    let mut connection = PgConnection::connect(&postgres).await?;
    let (owner, mut after) = (Uuid::now_v7(), 0);
    let (until, mut round) = (Instant::now() + ROUND, Round::default());
    while Instant::now() < until {
        let bodies =
            (0..BATCH).map(|_| serde_json::to_string(&event("cmd_01920000000070008000000000000000")));
        let bodies = bodies.collect::<Result<Vec<_>, _>>()?;
        let began = Instant::now();
        bare::insert(&mut connection, Journal::Run, owner, after, &bodies).await?;
        round.calls.push(began.elapsed());
        after += i64::try_from(BATCH)?;
        round.rows += u32::try_from(BATCH)?;
    }
    connection.close().await?;
    Ok(round)
}

/// An event as a runner writes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    id: Uuid,
    r#type: &'static str,
    command_id: &'a str,
    payload: Payload,
}

#[derive(Serialize)]
struct Payload {
    text: &'static str,
}

#[derive(Serialize)]
struct Batch<'a> {
    events: Vec<Event<'a>>,
}

/// What the answer says and a runner looks at.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Appended {
    #[expect(dead_code, reason = "that it is there is what is checked")]
    last_seq: i64,
}

fn event(command: &str) -> Event<'_> {
    Event {
        id: Uuid::now_v7(),
        r#type: "assistant_message",
        command_id: command,
        payload: Payload { text: &TEXT },
    }
}

/// What an agent prints: lines, paths, numbers and quotes, cut to size.
static TEXT: LazyLock<String> = LazyLock::new(|| {
    let lines = (1..)
        .map(|n| format!("   Compiling part_{n} v0.{n}.1 (\"crates/part_{n}\"): {} ms, ok = true\n", n * 37));
    let text = lines.take(BODY_BYTES / 40).collect::<String>();
    text.chars().take(BODY_BYTES).collect()
});
