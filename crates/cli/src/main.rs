//! The `guildhall` command: the server, a server for a developer's machine, and (later) every client command.
//!
//! This crate deliberately holds no rule: it parses, calls, and shows.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command talks to its user")]

mod config;
mod dev;
mod serve;
mod signals;
mod urls;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

const EXAMPLES: &str = "Examples:
  guildhall dev                      a whole installation on this machine, nothing to set up
  guildhall serve --config my.toml   a server on your own PostgreSQL and NATS
  guildhall config example           every setting with its meaning and default";

/// The control plane for AI agents: find, trust, talk to, work with and run them
#[derive(Parser)]
#[command(name = "guildhall", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs everything on this machine: finds and starts PostgreSQL and NATS, migrates, serves
    Dev(dev::DevArgs),
    /// Runs a server on a PostgreSQL and a NATS that are there already
    Serve(serve::ServeArgs),
    /// Shows and checks the configuration
    Config(config::ConfigArgs),
    /// Prints the API document (OpenAPI 3.1) without a server
    Openapi,
}

fn main() -> ExitCode {
    // One TLS provider for the whole process; a second call would mean that somebody was here before us.
    let _already_there = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let outcome = match Arguments::parse().command {
        Command::Dev(args) => dev::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Openapi => openapi(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            for cause in error.chain().skip(1) {
                eprintln!("  because: {cause}");
            }
            ExitCode::FAILURE
        }
    }
}

fn openapi() -> anyhow::Result<()> {
    println!("{}", guildhall_server::openapi().to_pretty_json()?);
    Ok(())
}
