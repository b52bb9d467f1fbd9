//! `guildhall audit`.

mod chain;
mod export;
mod tail;
mod verify;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::client::session::{Common, OfTenant};
use crate::client::wait;

/// Entries that are asked for at once: the most that a server gives.
const PAGE: u32 = 500;

const EXAMPLES: &str = "Examples:
  guildhall audit tail --tenant acme          the last entries
  guildhall audit tail -f --tenant acme       and whatever happens from now on
  guildhall audit tail --installation         sign-ins and refused requests, for who operates the server
  guildhall audit export --tenant acme > acme.jsonl
  guildhall audit verify acme.jsonl           without a server; names the first changed line";

const VERIFY_HELP: &str = "Every entry is sealed with a hash over itself and the entry before it. This command \
computes all of them again: a line that was changed, removed, added or moved does not fit. It cannot see that lines \
are missing at the end: for that, compare the last hash with one that you noted elsewhere.

Exit code 0: everything that is sealed is proved. 1: a line does not fit, or the file cannot be read.

Examples:
  guildhall audit export --tenant acme > acme.jsonl
  guildhall audit verify acme.jsonl";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Shows the last entries of an audit log
    Tail {
        /// Goes on with new entries as they are recorded, also across restarts of the server
        #[arg(short, long)]
        follow: bool,
        /// How many of the entries that are there already
        #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 20)]
        lines: u32,
        #[command(flatten)]
        log: tail::Log,
        #[command(flatten)]
        common: Common,
    },
    /// Prints a tenant's whole audit log as the server has it: JSON, one entry a line
    Export {
        #[command(flatten)]
        tenant: OfTenant,
        #[command(flatten)]
        common: Common,
    },
    /// Checks an exported log, without a server
    #[command(after_help = VERIFY_HELP)]
    Verify {
        /// What `guildhall audit export` printed; - is standard input
        file: PathBuf,
        /// Prints the verdict as JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(args: &AuditArgs) -> Result<()> {
    match &args.verb {
        Verb::Tail { follow, lines, log, common } => wait(tail::run(*follow, *lines, log, common)),
        Verb::Export { tenant, common } => wait(export::run(tenant, common)),
        Verb::Verify { file, json } => verify::run(file, *json),
    }
}
