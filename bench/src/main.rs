//! Benchmarks: what we add, measured beside the bare engine or a peer in the same run.
//!
//! `cargo xtask bench NAME` runs one in release mode; the last line is its figure, `name=value`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark talks to a person at a terminal")]

mod follow;
mod journal;

use std::process::ExitCode;

const ALL: [(&str, &str); 2] = [
    ("follow", "from an append to a stream on another replica, beside a bare commit and a message"),
    ("journal", "group commit beside plain inserts of the same rows"),
];

fn main() -> ExitCode {
    let outcome = match std::env::args().nth(1).as_deref() {
        None => {
            for (name, about) in ALL {
                println!("{name:10} {about}");
            }
            Ok(())
        }
        Some("follow") => follow::run(),
        Some("journal") => journal::run(),
        Some(name) => Err(anyhow::anyhow!("no benchmark is called `{name}`; `cargo xtask bench` lists them")),
    };
    if let Err(error) = outcome {
        eprintln!("error: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
