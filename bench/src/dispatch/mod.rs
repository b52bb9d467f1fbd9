//! From a command that was accepted to a runner that has it, beside graphile-worker on the same PostgreSQL.
//!
//! The clock starts when whoever asks has the answer that the work is accepted: our `201` over HTTP, their `add_job`
//! over a plain connection. It stops in the process that does the work, when it has it: our runner holds the run and
//! waits in a poll, their worker waits for a notification. Both are warm, and take turns. All processes read the
//! machine's monotonic clock. A time below nothing means that the work was there before the answer was.

mod ours;
mod peer;

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::time::{ClockId, clock_gettime};

use crate::installation::Installation;
use ours::Ours;
pub(crate) use ours::{RUNNER, receive};
use peer::Peer;

/// Works of each side, in turns of so many.
const WORKS: usize = 1000;
const TURN: usize = 50;

/// Whoever has had work has ended it and is waiting again after this long.
const REST: Duration = Duration::from_millis(50);

/// Before any of it counts.
const WARM_UP: usize = 20;

pub(crate) fn run() -> Result<()> {
    let works =
        std::env::args().nth(2).map_or(Ok(WORKS), |count| count.parse()).context("a number of works")?;
    peer::install()?;
    let installation = Installation::start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure(&installation, works))
}

async fn measure(installation: &Installation, works: usize) -> Result<()> {
    let mut ours = Ours::start(installation).await?;
    let mut peer = Peer::start(&installation.postgres.url()).await?;
    let (mut our_times, mut peer_times) = (Vec::new(), Vec::new());
    for number in 1..=WARM_UP {
        ours.work(number).await?;
        peer.work(number).await?;
    }
    for round in 0..works.div_ceil(TURN) {
        let numbers = WARM_UP + round * TURN + 1..=WARM_UP + (round + 1) * TURN;
        for number in numbers.clone() {
            our_times.push(ours.work(number).await?);
        }
        for number in numbers {
            peer_times.push(peer.work(number).await?);
        }
    }
    let (ours, theirs) = (Percentiles::of(our_times), Percentiles::of(peer_times));
    if cfg!(debug_assertions) {
        println!("a debug build: these are no figures");
    }
    println!("{works} works of each side, in turns of {TURN}, one at a time");
    println!("guildhall, 201 to the runner's poll: {ours}");
    println!("graphile-worker, add_job to the task: {theirs}");
    println!("dispatch_p99_ratio={:.2}", ours.p99 / theirs.p99);
    println!("dispatch_ratio={:.2}", ours.p50 / theirs.p50);
    Ok(())
}

/// Milliseconds.
struct Percentiles {
    p50: f64,
    p99: f64,
}

impl Percentiles {
    fn of(mut nanos: Vec<i64>) -> Self {
        nanos.sort_unstable();
        let at = |percent: usize| {
            let place = (nanos.len() * percent / 100).min(nanos.len().saturating_sub(1));
            let nanos = nanos.get(place).copied().unwrap_or_default();
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

/// That work has come: which, and when.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Received {
    n: usize,
    at: i64,
}

/// Returns what every process of this machine reads at this moment.
fn now() -> i64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// A process that receives work and says so, a line each. It ends with this value.
struct Receiver {
    child: Child,
    _until_dropped: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Receiver {
    /// Starts it, tells it a line, and waits until it is ready.
    fn start(command: &mut Command, told: &str) -> Result<Self> {
        use std::io::Write;
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut input = child.stdin.take().context("piped")?;
        // Over a pipe: tokens do not belong into arguments.
        writeln!(input, "{told}")?;
        let lines = BufReader::new(child.stdout.take().context("piped")?).lines();
        let mut receiver = Self { child, _until_dropped: Some(input), lines };
        receiver.next().context("the receiver did not start")?;
        Ok(receiver)
    }

    fn next(&mut self) -> Result<Received> {
        Ok(serde_json::from_str(&self.lines.next().context("the receiver has ended")??)?)
    }

    /// Waits for the work that was accepted at a time. Returns how long after that it came.
    async fn received(&mut self, number: usize, accepted: i64) -> Result<i64> {
        let received = tokio::task::block_in_place(|| self.next())?;
        anyhow::ensure!(received.n == number, "{} came in place of {number}", received.n);
        tokio::time::sleep(REST).await;
        Ok(received.at - accepted)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}
