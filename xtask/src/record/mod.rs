//! Recordings of what a new user does: real commands, with the time of each output.

mod account;
mod own_repository;
mod recording;

use std::process::{Child, Command};

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::command::{build_workspace, program, root};
use recording::Recording;

#[derive(Args)]
pub(crate) struct RecordArgs {
    /// What to record
    #[arg(default_value = "first-run")]
    journey: Journey,
}

#[derive(Clone, Copy, ValueEnum)]
enum Journey {
    /// README.md: the first run, without an agent
    FirstRun,
    /// docs/guides/own-repository.md, by a new account (needs root); also measures it
    OwnRepository,
}

/// The recorded commands. The server keeps running during the others.
const SERVER: &str = "guildhall dev";
const FIRST_RUN: [(&str, &[&str]); 2] = [
    ("guildhall login", &["login"]),
    (
        "guildhall runs create --profile demo \"tidy my notes\" --watch",
        &["runs", "create", "--profile", "demo", "tidy my notes", "--watch"],
    ),
];

/// Writes a recording for asciinema to `docs/recording`, and the same as text.
pub(crate) fn run(args: &RecordArgs) -> Result<()> {
    build_workspace()?;
    match args.journey {
        Journey::FirstRun => record_first_run(),
        Journey::OwnRepository => own_repository::record(),
    }
}

fn record_first_run() -> Result<()> {
    let folder = tempfile::Builder::new().prefix("guildhall-record-").tempdir()?;
    let command = |args: &[&str]| {
        let mut command = Command::new(program("guildhall"));
        command.args(args).current_dir(folder.path()).env("XDG_CONFIG_HOME", folder.path().join("config"));
        command
    };
    let mut recording = Recording::default();
    let mut dev = recording.start(SERVER, &mut command(&["dev"]))?;
    let result = recording.read_until_ready(&mut dev).and_then(|()| {
        FIRST_RUN.into_iter().try_for_each(|(typed, args)| {
            let mut child = recording.start(typed, &mut command(args))?;
            recording.read_to_end(&mut child)
        })
    });
    stop(&mut dev)?;
    result?;
    recording.write(&root().join("docs/recording"), "first-run", "The first run")
}

/// Stops `guildhall dev` with SIGINT, as Ctrl-C does.
fn stop(dev: &mut Child) -> Result<()> {
    Command::new("kill").args(["-INT", &dev.id().to_string()]).status()?;
    dev.wait()?;
    Ok(())
}
