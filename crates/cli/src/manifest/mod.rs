//! `guildhall manifest`: checks, compares and sends capability manifests. Only sending needs a server.

mod diff;
mod file;
mod lint;
mod push;

use anyhow::Result;
use clap::{Args, Subcommand};

const EXAMPLES: &str = "Examples:
  guildhall manifest lint manifest.json
  guildhall manifest diff published.json manifest.json
  guildhall manifest push manifest.json --agent helper";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ManifestArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check a manifest and print everything that is wrong, with its place
    Lint(lint::LintArgs),
    /// Compare two versions of a manifest: what breaks, and what users are told or asked again
    Diff(diff::DiffArgs),
    /// Make a manifest the next version of an agent, after its changes are shown
    Push(push::PushArgs),
}

pub(crate) fn run(args: &ManifestArgs) -> Result<()> {
    match &args.command {
        Command::Lint(args) => lint::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Push(args) => push::run(args),
    }
}
