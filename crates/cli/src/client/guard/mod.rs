//! `guildhall guard`: a guard of tools on the terminal, for testing.

mod command_tools;
mod consent;
mod log;
mod prompts;
mod run;
mod texts;
mod tool_file;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::identity::Aid;

use self::texts::Language;
use crate::client::aid_socket::AidSocketArgs;

/// Separates this client from others of the same device.
const SLOT: &str = "guard";

/// The audit log, in the folder of the AID below that of all devices.
const AUDIT_DIR: &str = "guard";

const EXAMPLES: &str = "Examples:
  guildhall guard --agent helper.guild.example --tool read_file='jq -r .path | xargs cat'
  guildhall guard --agent helper.guild.example --file tools.toml
  guildhall guard --agent helper.guild.example --tool notify=cat --scope notification:send
  guildhall guard log                 What agents have called, without the arguments

A command gets the arguments as JSON on standard input, and prints the result. The first time, the scopes of the agent are shown and \
have to be granted on this device; a relation with the agent must exist on the server too. Tools of scopes with high sensitivity are \
asked about each time, those with medium sensitivity once a day and conversation. Run one guard for each AID.";

#[derive(Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct GuardArgs {
    #[command(subcommand)]
    command: Option<GuardCommand>,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Subcommand)]
enum GuardCommand {
    /// Show what agents have called on this device in the last 30 days
    Log(log::LogArgs),
}

#[derive(Args)]
struct RunArgs {
    /// AID of the agent
    #[arg(long, value_name = "AID", required = true)]
    agent: Option<Aid>,
    /// Run a command for a tool, with `sh -c`
    #[arg(long = "tool", value_name = "NAME=COMMAND", value_parser = tool_file::parse_tool)]
    tools: Vec<(String, String)>,
    /// File with a table `[tools]` of names and commands
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Grant only this scope; without it all that the relation has
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Grant without a question, if the manifest has this hash
    #[arg(long, value_name = "HASH")]
    accept: Option<String>,
    /// Language of questions; without it that of the environment
    #[arg(long, value_enum)]
    lang: Option<Language>,
    #[command(flatten)]
    socket: AidSocketArgs,
}

pub(crate) fn run(args: &GuardArgs) -> Result<()> {
    match &args.command {
        Some(GuardCommand::Log(args)) => log::run(args),
        None => run::run(&args.run),
    }
}
