//! `guildhall audit`.

mod chain;
mod export;
mod tail;
mod verify;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::async_runtime::block_on;
use crate::client::connection::{CommonArgs, TenantArg};

/// Entries per request: the maximum of the server.
const PAGE_SIZE: u32 = 500;

const EXAMPLES: &str = "Examples:
  guildhall audit tail --tenant acme          Show the last entries
  guildhall audit tail -f --tenant acme       Show the last entries and follow the log
  guildhall audit tail --installation         Show sign-ins and rejected requests (operators only)
  guildhall audit export --tenant acme > acme.jsonl
  guildhall audit verify acme.jsonl           Verify the export; needs no server";

const VERIFY_HELP: &str = "Each entry has a hash over itself and the hash of the previous entry. This command computes all \
hashes again and reports the first line that was changed, removed, added or moved. It cannot detect that lines are \
missing at the end: for that, compare the last hash with one that you stored elsewhere.

Exit codes: 0 all hashes are valid, 1 a line is not valid or the file cannot be read.

Examples:
  guildhall audit export --tenant acme > acme.jsonl
  guildhall audit verify acme.jsonl";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand)]
enum Commands {
    /// Show the last entries of an audit log
    Tail {
        /// Follow the log: print new entries until interrupted, also across restarts of the server
        #[arg(short, long)]
        follow: bool,
        /// Number of existing entries to show
        #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 20)]
        lines: u32,
        #[command(flatten)]
        log: tail::AuditLogArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Print the complete audit log of a tenant: JSON, one entry per line
    Export {
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Verify the hashes of an exported log; needs no server
    #[command(after_help = VERIFY_HELP)]
    Verify {
        /// Output of `guildhall audit export`; - reads standard input
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(args: &AuditArgs) -> Result<()> {
    match &args.command {
        Commands::Tail { follow, lines, log, common } => block_on(tail::run(*follow, *lines, log, common)),
        Commands::Export { tenant, common } => block_on(export::run(tenant, common)),
        Commands::Verify { file, json } => verify::run(file, *json),
    }
}
