//! Benchmarks: ours beside the bare engine or a peer, in one run.

use anyhow::Result;
use clap::Args;

use crate::command::{cargo, step};

#[derive(Args)]
pub(crate) struct BenchArgs {
    /// The benchmark; without a name they are listed
    name: Option<String>,
}

pub(crate) fn run(args: &BenchArgs) -> Result<()> {
    let mut command = cargo(["run", "--quiet", "--release", "--package", "guildhall-bench", "--"]);
    command.args(args.name.as_deref());
    step("bench", &mut command)
}
