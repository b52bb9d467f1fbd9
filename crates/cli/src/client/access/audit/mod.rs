//! `guildhall audit`.

mod chain;
mod export;
mod log;
mod public_key;
mod tail;
mod trust;
mod verify;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::async_runtime::block_on;
use crate::client::connection::CommonArgs;

/// Entries per request: the maximum of the server.
const PAGE_SIZE: u32 = 500;

const EXAMPLES: &str = "Examples:
  guildhall audit tail --tenant acme          Show the last entries
  guildhall audit tail -f --tenant acme       Show the last entries and follow the log
  guildhall audit tail --installation         Show sign-ins and rejected requests (operators only)
  guildhall audit export --tenant acme > acme.jsonl
  guildhall audit public-key > audit.pub      Store it outside the database
  guildhall audit verify acme.jsonl --public-key audit.pub --anchor anchors.jsonl";

const VERIFY_HELP: &str = "Each entry has a hash over itself and the hash of the previous entry. This command computes all \
hashes again and reports the first line that was changed, removed, added or moved. Whoever can write to the database can \
also compute new hashes:
  --public-key finds a log that was rewritten: the server signs the hashes with a key that is not in the database.
  --anchor also finds entries that are missing at the end. The server writes the file named by audit.anchor_file.

Exit codes: 0 the log is valid, 1 the log is not valid, proves nothing, or cannot be read, 2 usage error.

Examples:
  guildhall audit export --tenant acme > acme.jsonl
  guildhall audit verify acme.jsonl --public-key audit.pub --anchor anchors.jsonl";

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
        log: log::AuditLogArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Print a complete audit log: JSON, one entry per line
    Export {
        #[command(flatten)]
        log: log::AuditLogArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Print the key that verifies the signatures of audit logs
    PublicKey {
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Verify an exported log; needs no server
    #[command(after_help = VERIFY_HELP)]
    Verify(verify::VerifyArgs),
}

pub(crate) fn run(args: &AuditArgs) -> Result<()> {
    match &args.command {
        Commands::Tail { follow, lines, log, common } => block_on(tail::run(*follow, *lines, log, common)),
        Commands::Export { log, common } => block_on(export::run(log, common)),
        Commands::PublicKey { common } => block_on(public_key::run(common)),
        Commands::Verify(args) => verify::run(args),
    }
}
