//! Benchmarks: Guildhall compared with the plain engine or with a comparable product, in the same run.
//!
//! `cargo xtask bench NAME` runs one in release mode. The last line is the result, `name=value`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its results")]

mod agui;
mod approvals;
mod aun;
mod baseline;
mod commit_and_message;
mod cpu;
mod dispatch;
mod events;
mod follow;
mod growth;
mod guard;
mod inbox;
mod installation;
mod journal;
mod memory;
mod model_proxy;
mod percentile;
mod results;
mod sandbox;
mod sockets;

use std::process::ExitCode;

/// The allocator of the shipped server.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const BENCHMARKS: [(&str, &str); 12] = [
    ("agui", "first text of a turn and memory of a stream of AG-UI, compared with the API of runs"),
    ("approvals", "lists, answers and an idle server with 100,000 pending questions, compared with few"),
    ("growth", "statements for N and for 10 N followers, waiting runners, held, listed and pending runs"),
    ("guard", "check of a tool call, compared with bare schema validation, and a diff of large manifests"),
    ("inbox", "durable messages between AIDs, compared with plain inserts and with a commit and a message"),
    ("journal", "append throughput of group commit, compared with plain inserts"),
    ("events", "append throughput of run events over HTTP, compared with plain inserts"),
    ("results", "latency of the result of a long run, compared with a short run"),
    ("dispatch", "latency from an accepted command to a warm runner, compared with graphile-worker"),
    ("follow", "latency from an append to a stream on another replica, compared with a commit and a message"),
    (
        "sandbox",
        "start of a command in the sandbox and streams through the model proxy, compared without them",
    ),
    ("sockets", "memory of an idle authenticated socket, and of 10,000 that never authenticate"),
];

fn main() -> ExitCode {
    let outcome = match std::env::args().nth(1).as_deref() {
        None => {
            for (name, about) in BENCHMARKS {
                println!("{name:12} {about}");
            }
            Ok(())
        }
        Some("agui") => agui::run(),
        Some("approvals") => approvals::run(),
        Some("dispatch") => dispatch::run(),
        Some("follow") => follow::run(),
        Some("growth") => growth::run(),
        Some("guard") => guard::run(),
        Some("inbox") => inbox::run(),
        Some("journal") => journal::run(),
        Some("events") => events::run(),
        Some("results") => results::run(),
        Some("sandbox") => sandbox::run(),
        Some("sockets") => sockets::run(),
        // This program as a child process of a benchmark.
        Some(installation::SERVER) => installation::serve(),
        Some(agui::RUNNER) => agui::serve_turns(),
        Some(dispatch::RUNNER) => dispatch::receive(),
        Some(events::GENERATOR) => events::generate(),
        Some(name) => Err(anyhow::anyhow!("unknown benchmark `{name}`: `cargo xtask bench` lists all")),
    };
    if let Err(error) = outcome {
        eprintln!("error: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
