//! Benchmarks, each next to a reference measured in the same run.

use anyhow::Result;
use clap::Args;

use crate::command::{cargo, step};

#[derive(Args)]
pub(crate) struct BenchArgs {
    /// Name of the benchmark; omit it to list all
    name: Option<String>,
}

pub(crate) fn run(args: &BenchArgs) -> Result<()> {
    if args.name.as_deref() == Some("sandbox") {
        // The sandbox enters through the runner's program.
        step("runner", &mut cargo(["build", "--release", "--package", "guildhall-runner"]))?;
    }
    let mut command = cargo(["run", "--quiet", "--release", "--package", "guildhall-bench", "--"]);
    command.args(args.name.as_deref());
    step("bench", &mut command)
}
