//! Dispatch latency: from an accepted command to the runner that receives it, compared with graphile-worker on the same
//! PostgreSQL.
//!
//! The clock starts when the client has the response that the job is accepted: a `201` of Guildhall, `add_job` of
//! graphile-worker over a plain connection. It stops when the worker process receives the job: a Guildhall runner waits
//! in a poll, a graphile worker waits for a notification. Both are warm, and take turns. All processes read the
//! monotonic clock of the machine. A negative latency means that the worker got the job before the client got its
//! response.

mod guildhall;
mod peer;

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};

use crate::installation::Installation;
use guildhall::Guildhall;
pub(crate) use guildhall::{RUNNER, receive};
use peer::Peer;

/// Jobs of each side, in turns.
const JOBS: usize = 1000;
const JOBS_PER_TURN: usize = 50;

/// Pause between two jobs, in which a worker ends its job and waits for the next.
const PAUSE: Duration = Duration::from_millis(50);

/// Jobs of each side that are not counted.
const WARM_UP_JOBS: usize = 20;

pub(crate) fn run() -> Result<()> {
    let jobs =
        std::env::args().nth(2).map_or(Ok(JOBS), |count| count.parse()).context("invalid number of jobs")?;
    peer::install()?;
    let installation = Installation::start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(&installation, jobs))
}

async fn measure(installation: &Installation, jobs: usize) -> Result<()> {
    let mut guildhall = Guildhall::start(installation).await?;
    let mut peer = Peer::start(&installation.postgres.url()).await?;
    let (mut guildhall_times, mut peer_times) = (Vec::new(), Vec::new());
    for number in 1..=WARM_UP_JOBS {
        guildhall.run_job(number).await?;
        peer.run_job(number).await?;
    }
    for round in 0..jobs.div_ceil(JOBS_PER_TURN) {
        let numbers = WARM_UP_JOBS + round * JOBS_PER_TURN + 1..=WARM_UP_JOBS + (round + 1) * JOBS_PER_TURN;
        for number in numbers.clone() {
            guildhall_times.push(guildhall.run_job(number).await?);
        }
        for number in numbers {
            peer_times.push(peer.run_job(number).await?);
        }
    }
    let (guildhall, peer) = (Percentiles::of(guildhall_times), Percentiles::of(peer_times));
    if cfg!(debug_assertions) {
        println!("warning: debug build, the figures are not meaningful");
    }
    println!("{jobs} jobs per side, in turns of {JOBS_PER_TURN}, one at a time");
    println!("guildhall, 201 to the runner's poll: {guildhall}");
    println!("graphile-worker, add_job to the task: {peer}");
    println!("dispatch_p99_ratio={:.2}", guildhall.p99 / peer.p99);
    println!("dispatch_ratio={:.2}", guildhall.p50 / peer.p50);
    Ok(())
}

/// Latencies in milliseconds.
struct Percentiles {
    p50: f64,
    p99: f64,
}

impl Percentiles {
    fn of(mut nanos: Vec<i64>) -> Self {
        nanos.sort_unstable();
        let at = |percent: usize| {
            let index = (nanos.len() * percent / 100).min(nanos.len().saturating_sub(1));
            let nanos = nanos.get(index).copied().unwrap_or_default();
            #[expect(clippy::cast_precision_loss, reason = "fractions of a second")]
            let millis = nanos as f64 / 1e6;
            millis
        };
        Self { p50: at(50), p99: at(99) }
    }
}

impl std::fmt::Display for Percentiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "p50 {:.3} ms, p99 {:.3} ms", self.p50, self.p99)
    }
}

/// A job that a worker received: its number, and the time in nanoseconds.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct ReceivedJob {
    n: usize,
    at: i64,
}

/// Returns the monotonic time in nanoseconds, which all processes of the machine share.
fn now() -> i64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// A process that prints a line for each job it receives. It is killed on drop.
struct WorkerProcess {
    child: Child,
    _stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl WorkerProcess {
    /// Starts the process, writes a line to its stdin, and waits until it is ready.
    fn start(command: &mut Command, line: &str) -> Result<Self> {
        use std::io::Write;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut input = child.stdin.take().context("piped")?;
        // Over a pipe: other processes can read arguments, and the line may contain tokens.
        writeln!(input, "{line}")?;
        let lines = BufReader::new(child.stdout.take().context("piped")?).lines();
        let mut worker = Self { child, _stdin: Some(input), lines };
        worker.next().context("the worker did not start")?;
        Ok(worker)
    }

    fn next(&mut self) -> Result<ReceivedJob> {
        Ok(serde_json::from_str(&self.lines.next().context("the worker has exited")??)?)
    }

    /// Waits for a job that was accepted at a time. Returns the latency in nanoseconds.
    async fn wait_for_job(&mut self, number: usize, accepted: i64) -> Result<i64> {
        let received = tokio::task::block_in_place(|| self.next())?;
        anyhow::ensure!(received.n == number, "got job {}, expected job {number}", received.n);
        tokio::time::sleep(PAUSE).await;
        Ok(received.at - accepted)
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let _already_exited = self.child.kill();
        let _reaped = self.child.wait();
    }
}
