//! Benchmarks: what we add, measured beside the bare engine or a peer in the same run.
//!
//! `cargo xtask bench NAME` runs one in release mode; the last line is its figure, `name=value`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark talks to a person at a terminal")]

mod bare;
mod cpu;
mod dispatch;
mod events;
mod follow;
mod installation;
mod journal;
mod results;
mod times;

use std::process::ExitCode;

/// The one of the server: it is measured as it is shipped.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const ALL: [(&str, &str); 5] = [
    ("journal", "group commit beside plain inserts of the same rows"),
    ("events", "events of runs over HTTP beside plain inserts of the same rows"),
    ("results", "the result of a long run beside that of a short one"),
    ("dispatch", "from an accepted command to a warm runner, beside graphile-worker"),
    ("follow", "from an append to a stream on another replica, beside a bare commit and a message"),
];

fn main() -> ExitCode {
    let outcome = match std::env::args().nth(1).as_deref() {
        None => {
            for (name, about) in ALL {
                println!("{name:10} {about}");
            }
            Ok(())
        }
        Some("dispatch") => dispatch::run(),
        Some("follow") => follow::run(),
        Some("journal") => journal::run(),
        Some("events") => events::run(),
        Some("results") => results::run(),
        // This program again, as another process of a benchmark.
        Some(installation::SERVER) => installation::serve(),
        Some(dispatch::RUNNER) => dispatch::receive(),
        Some(events::GENERATOR) => events::generate(),
        Some(name) => Err(anyhow::anyhow!("no benchmark is called `{name}`; `cargo xtask bench` lists them")),
    };
    if let Err(error) = outcome {
        eprintln!("error: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
