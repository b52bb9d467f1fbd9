//! Benchmarks: what we add, measured beside the bare engine or a peer in the same run.
//!
//! `cargo xtask bench NAME` runs one in release mode; the last line is its figure, `name=value`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark talks to a person at a terminal")]

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1) {
        None => {
            println!("no benchmark is written yet");
            ExitCode::SUCCESS
        }
        Some(name) => {
            eprintln!("no benchmark is called `{name}`; `cargo xtask bench` lists them");
            ExitCode::FAILURE
        }
    }
}
