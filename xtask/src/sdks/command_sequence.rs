//! Commands that depend on each other, beside other such sequences.

use std::fs::File;
use std::io::{self, Seek};
use std::process::Command;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};

/// Commands that run one after the other, until one fails.
pub(super) struct CommandSequence {
    name: &'static str,
    commands: Vec<Command>,
}

impl CommandSequence {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, commands: Vec::new() }
    }

    pub(super) fn push(&mut self, command: Command) {
        self.commands.push(command);
    }

    fn run(self, printed: &File) -> Result<()> {
        for mut command in self.commands {
            command.stdout(printed.try_clone()?).stderr(printed.try_clone()?);
            let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
            ensure!(status.success(), "{command:?} failed ({status})");
        }
        Ok(())
    }
}

/// Runs sequences at the same time, and prints what each of them printed after all have ended.
pub(super) fn run_sequences(sequences: Vec<CommandSequence>) -> Result<()> {
    let started: Vec<_> = sequences
        .into_iter()
        .map(|sequence| {
            let start = Instant::now();
            let name = sequence.name;
            let output = thread::spawn(move || -> Result<(File, Result<()>, u64)> {
                let printed = tempfile::tempfile()?;
                let result = sequence.run(&printed);
                Ok((printed, result, start.elapsed().as_secs()))
            });
            (name, output)
        })
        .collect();
    let mut failed = Ok(());
    for (name, output) in started {
        let (mut printed, result, seconds) = output.join().map_err(|_panic| anyhow!("{name} panicked"))??;
        println!("\n=== {name}");
        printed.rewind()?;
        io::copy(&mut printed, &mut io::stdout())?;
        println!("=== {name}: {seconds} s");
        failed = failed.and(result.with_context(|| format!("{name} failed")));
    }
    failed
}
