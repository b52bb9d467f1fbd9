//! Time from a request that sends a prompt to the first text of the answer.
//!
//! All sides send their turns to the same run, which one warm runner holds, in turns. AG-UI is one request. With the API of
//! runs a client sends a command, and then opens the stream of events after its last event; or it has a stream open all the
//! time, which is the lower bound.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use reqwest::{Method, Response};
use serde_json::json;

use super::runner::{RUNNER, RunnerInput};
use super::thread::{Application, open};
use crate::installation::Installation;
use crate::percentile::percentile;

/// Turns of each side.
const TURNS: usize = 500;

/// Turns of each side that are not counted.
const WARM_UP_TURNS: usize = 30;

pub(super) const THREAD: &str = "550e8400-e29b-41d4-a716-446655440000";

/// The median of AG-UI over those of the API of runs.
pub(super) struct StreamLatencyRatios {
    pub(super) to_new_stream: f64,
    pub(super) to_open_stream: f64,
}

pub(super) async fn measure() -> Result<StreamLatencyRatios> {
    let installation = Installation::start()?;
    let app = Application::create(&installation).await?;
    app.start_turn(THREAD, "first").await?;
    let run = app.only_run().await?;
    let _runner = RunnerProcess::start(&app, &run)?;
    let mut client = TurnClient::start(&app, &run).await?;
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for number in 0..WARM_UP_TURNS + TURNS {
        let turn = [
            client.agui_turn(number).await?,
            client.turn_with_new_stream().await?,
            client.turn_with_open_stream().await?,
        ];
        if number >= WARM_UP_TURNS {
            times.iter_mut().zip(turn).for_each(|(times, time)| times.push(time));
        }
    }
    println!("first text of a turn, {TURNS} turns of each kind, alternating, one at a time:");
    let names = ["AG-UI", "a command, then a stream of events", "a command, with a stream that is open"];
    let medians = [0, 1, 2].map(|side| {
        let (p50, p99) = (percentile(&mut times[side], 50), percentile(&mut times[side], 99));
        println!("{}: p50 {p50:.2?}, p99 {p99:.2?}", names[side]);
        p50.as_secs_f64()
    });
    Ok(StreamLatencyRatios {
        to_new_stream: medians[0] / medians[1],
        to_open_stream: medians[0] / medians[2],
    })
}

struct TurnClient<'a> {
    app: &'a Application<'a>,
    run: &'a str,
    /// A stream of the run's events that stays open.
    stream: EventStream,
}

impl<'a> TurnClient<'a> {
    async fn start(app: &'a Application<'a>, run: &'a str) -> Result<Self> {
        let mut client = Self { app, run, stream: EventStream::open(app, run, None).await? };
        client.stream.read_until("terminal_status").await?;
        Ok(client)
    }

    async fn agui_turn(&mut self, number: usize) -> Result<Duration> {
        let began = Instant::now();
        let response = open(self.app.agui_request(THREAD, &format!("run-{number}"))).await?;
        let mut frames = EventStream { response, text: String::new(), cursor: None };
        frames.read_until("TEXT_MESSAGE_CONTENT").await?;
        let time = began.elapsed();
        frames.read_until("RUN_FINISHED").await?;
        self.stream.read_until("terminal_status").await?;
        Ok(time)
    }

    async fn turn_with_new_stream(&mut self) -> Result<Duration> {
        let began = Instant::now();
        self.send_command().await?;
        let mut stream = EventStream::open(self.app, self.run, self.stream.cursor.as_deref()).await?;
        stream.read_until("assistant_delta").await?;
        let time = began.elapsed();
        self.stream.read_until("terminal_status").await?;
        Ok(time)
    }

    async fn turn_with_open_stream(&mut self) -> Result<Duration> {
        let began = Instant::now();
        self.send_command().await?;
        self.stream.read_until("assistant_delta").await?;
        let time = began.elapsed();
        self.stream.read_until("terminal_status").await?;
        Ok(time)
    }

    async fn send_command(&self) -> Result<()> {
        let turn = json!({ "type": "turn", "payload": { "prompt": "go" } });
        let path = format!("/api/v1/runs/{}/commands", self.run);
        open(self.app.request(Method::POST, &path).json(&turn)).await?.bytes().await?;
        Ok(())
    }
}

/// A stream of server-sent events.
struct EventStream {
    response: Response,
    text: String,
    /// The id of the last event that was read.
    cursor: Option<String>,
}

impl EventStream {
    async fn open(app: &Application<'_>, run: &str, cursor: Option<&str>) -> Result<Self> {
        let mut request = app.request(Method::GET, &format!("/api/v1/runs/{run}/events/stream"));
        if let Some(cursor) = cursor {
            request = request.header("last-event-id", cursor);
        }
        Ok(Self { response: open(request).await?, text: String::new(), cursor: None })
    }

    /// Reads events until one has a type.
    async fn read_until(&mut self, kind: &str) -> Result<()> {
        let expected = format!("\"type\":\"{kind}\"");
        loop {
            while let Some((event, rest)) = self.text.split_once("\n\n") {
                let found = event.contains(&expected);
                if let Some(id) = event.lines().find_map(|line| line.strip_prefix("id: ")) {
                    self.cursor = Some(id.to_owned());
                }
                self.text = rest.to_owned();
                if found {
                    return Ok(());
                }
            }
            let chunk = self.response.chunk().await?.context("the stream has ended")?;
            self.text.push_str(&String::from_utf8_lossy(&chunk));
        }
    }
}

/// The runner, killed on drop.
struct RunnerProcess(Child);

impl RunnerProcess {
    fn start(app: &Application<'_>, run: &str) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let child = command.arg(RUNNER).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut runner = Self(child);
        let input = RunnerInput {
            base: app.installation.base.clone(),
            enrolment: app.tenant.enrolment.clone(),
            run: run.to_owned(),
        };
        // Over a pipe: other processes can read arguments, and the input contains a token.
        writeln!(runner.0.stdin.as_mut().context("piped")?, "{}", serde_json::to_string(&input)?)?;
        let mut ready = String::new();
        BufReader::new(runner.0.stdout.take().context("piped")?).read_line(&mut ready)?;
        anyhow::ensure!(!ready.is_empty(), "the runner did not start");
        Ok(runner)
    }
}

impl Drop for RunnerProcess {
    fn drop(&mut self) {
        let _already_exited = self.0.kill();
        let _reaped = self.0.wait();
    }
}
