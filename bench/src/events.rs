//! Throughput of event appends of sixteen runs over HTTP, compared with inserts of the same rows into the same table
//! over sixteen plain connections.
//!
//! The server, the load generator and PostgreSQL are separate processes. The generator runs both sides in turns. The
//! baseline has no checks, no reliable numbering and no derived state: it is the lower bound of the cost.

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

use crate::installation::{Installation, RunClaim, client};
use crate::percentile::percentile;
use crate::{baseline, cpu};

/// The argument with which this program starts itself as the load generator.
pub(crate) const GENERATOR: &str = "as-generator";

const RUNS: usize = 16;
const BATCH: usize = 50;
const BODY_BYTES: usize = 1000;
const ROUNDS: u32 = 5;
const ROUND: Duration = Duration::from_secs(4);

/// The input of the generator.
#[derive(Serialize, Deserialize)]
struct GeneratorInput {
    base: String,
    postgres: String,
    claims: Vec<RunClaim>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Side {
    Guildhall,
    Baseline,
}

/// The result of one round of the generator.
#[derive(Default, Serialize, Deserialize)]
struct RoundResult {
    rows: u32,
    /// Calls that the server refused temporarily.
    refused: u32,
    calls: Vec<Duration>,
}

pub(crate) fn run() -> Result<()> {
    let installation = Installation::start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let claims = runtime.block_on(async {
        let tenant = installation.create_tenant().await?;
        let mut claims = Vec::new();
        for _ in 0..RUNS {
            let claim = installation.start_command(&tenant).await?;
            // A first append, so that the server opens its connections before the first round.
            let path = format!("/api/v1/runs/{}/events", claim.run);
            let first = json!({ "events": [event(&claim.command)] });
            installation.request(Method::POST, &path, &claim.token, first).await?;
            claims.push(claim);
        }
        anyhow::Ok(claims)
    })?;
    let postgres = installation.postgres.url().expose_secret().to_owned();
    let mut generator =
        Generator::start(&GeneratorInput { base: installation.base.clone(), postgres, claims })?;
    let pids = [
        ("server", installation.server_pid()),
        ("generator", generator.child.id()),
        ("PostgreSQL", installation.postgres.pid().context("PostgreSQL does not run")?),
    ];
    let (mut baseline, mut guildhall) = (SideTotals::default(), SideTotals::default());
    for _ in 0..ROUNDS {
        baseline.add(&mut generator, Side::Baseline, &pids)?;
        guildhall.add(&mut generator, Side::Guildhall, &pids)?;
    }
    let ratio = guildhall.per_second() / baseline.per_second();
    baseline.print("baseline", &pids);
    guildhall.print("guildhall", &pids);
    println!("events_append_ratio={ratio:.2}");
    Ok(())
}

/// The totals of one side over all rounds.
#[derive(Default)]
struct SideTotals {
    rows: u32,
    refused: u32,
    calls: Vec<Duration>,
    seconds: f64,
    cpu: [f64; 3],
}

impl SideTotals {
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
        // The time for opening connections is not counted.
        f64::from(self.rows) / (ROUND * ROUNDS).as_secs_f64()
    }

    fn print(&mut self, name: &str, pids: &[(&str, u32); 3]) {
        let (p50, p99) = (percentile(&mut self.calls, 50), percentile(&mut self.calls, 99));
        let shares =
            pids.iter().zip(self.cpu).map(|((name, _), cpu)| format!("{name} {:.2}", cpu / self.seconds));
        println!(
            "{name}: {RUNS} callers, {BATCH} rows of {BODY_BYTES} bytes per call: {:.0} rows/s, p50 {p50:.1?}, p99 \
             {p99:.1?}, {} calls refused; CPUs used: {}",
            self.per_second(),
            self.refused,
            shares.collect::<Vec<_>>().join(", ")
        );
    }
}

/// The generator process.
struct Generator {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Generator {
    fn start(generator_input: &GeneratorInput) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg(GENERATOR)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut input = child.stdin.take().context("piped")?;
        let output = BufReader::new(child.stdout.take().context("piped")?).lines();
        // Over a pipe: other processes can read arguments, and the input contains tokens.
        writeln!(input, "{}", serde_json::to_string(generator_input)?)?;
        Ok(Self { child, input, output })
    }

    fn round(&mut self, side: Side) -> Result<RoundResult> {
        writeln!(self.input, "{}", serde_json::to_string(&side)?)?;
        let line = self.output.next().context("the generator has exited")??;
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        let _already_exited = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// The generator process: runs a round for each line of its stdin and prints the result.
pub(crate) fn generate() -> Result<()> {
    let mut lines = std::io::stdin().lines();
    let input: GeneratorInput = serde_json::from_str(&lines.next().context("no input")??)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    for line in lines {
        let side: Side = serde_json::from_str(&line?)?;
        let round = runtime.block_on(async {
            let mut callers = JoinSet::new();
            for claim in input.claims.clone() {
                match side {
                    Side::Guildhall => callers.spawn(append(input.base.clone(), claim)),
                    Side::Baseline => callers.spawn(insert(input.postgres.clone())),
                };
            }
            let mut round = RoundResult::default();
            while let Some(caller) = callers.join_next().await {
                let caller = caller??;
                round.rows += caller.rows;
                round.refused += caller.refused;
                round.calls.extend(caller.calls);
            }
            anyhow::Ok(round)
        })?;
        println!("{}", serde_json::to_string(&round)?);
    }
    Ok(())
}

async fn append(base: String, claim: RunClaim) -> Result<RoundResult> {
    let (client, url) = (client()?, format!("{base}/api/v1/runs/{}/events", claim.run));
    let (until, mut round) = (Instant::now() + ROUND, RoundResult::default());
    while Instant::now() < until {
        let events: Vec<Event> = (0..BATCH).map(|_| event(&claim.command)).collect();
        let began = Instant::now();
        let sent = client.post(&url).bearer_auth(&claim.token).json(&Batch { events }).send().await;
        let is_accepted = |response: &reqwest::Response| ![429, 503].contains(&response.status().as_u16());
        let Some(response) = sent.ok().filter(is_accepted) else {
            // A runner would retry. The call is counted as refused, and its time is lost.
            round.refused += 1;
            continue;
        };
        if response.status() != 200 {
            bail!("{}", response.text().await?);
        }
        let _appended: AppendResponse = response.json().await?;
        round.calls.push(began.elapsed());
        round.rows += u32::try_from(BATCH)?;
    }
    Ok(round)
}

async fn insert(postgres: String) -> Result<RoundResult> {
    let mut connection = PgConnection::connect(&postgres).await?;
    let (owner, mut after) = (Uuid::now_v7(), 0);
    let (until, mut round) = (Instant::now() + ROUND, RoundResult::default());
    while Instant::now() < until {
        let bodies =
            (0..BATCH).map(|_| serde_json::to_string(&event("cmd_01920000000070008000000000000000")));
        let bodies = bodies.collect::<Result<Vec<_>, _>>()?;
        let began = Instant::now();
        baseline::insert(&mut connection, Journal::Run, owner, after, &bodies).await?;
        round.calls.push(began.elapsed());
        after += i64::try_from(BATCH)?;
        round.rows += u32::try_from(BATCH)?;
    }
    connection.close().await?;
    Ok(round)
}

/// An event as a runner sends it.
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

/// The part of the response that a runner reads.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AppendResponse {
    #[expect(dead_code, reason = "deserializing checks that the field exists")]
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

/// Typical output of an agent: lines with paths, numbers and quotes.
static TEXT: LazyLock<String> = LazyLock::new(|| {
    let lines = (1..)
        .map(|n| format!("   Compiling part_{n} v0.{n}.1 (\"crates/part_{n}\"): {} ms, ok = true\n", n * 37));
    let text = lines.take(BODY_BYTES / 40).collect::<String>();
    text.chars().take(BODY_BYTES).collect()
});
