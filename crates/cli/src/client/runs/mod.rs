//! `guildhall runs`.

mod cancel;
mod close;
mod create;
mod diff;
mod event_renderer;
mod events;
mod explain;
mod history;
mod jobs;
mod list;
mod logs;
mod new_run;
mod outage;
mod prompt;
mod result;
pub(crate) mod run_in_copy;
mod send;
mod tool_output;
mod upload;
mod watch;
mod watch_display;
mod watch_outcome;
mod watch_questions;
mod watch_status;
mod working_tree;
mod working_tree_summary;
pub(crate) mod workspace;

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::ids::{CommandId, RunId};

pub(super) use event_renderer::EventRenderer;
pub(super) use events::format_event;

use super::connection::CommonArgs;
use crate::async_runtime::block_on;

const EXAMPLES: &str = "Examples:
  guildhall runs create 'tidy my notes' --watch      Create a run and follow its first turn
  guildhall runs ls                                  List open runs and what they wait for
  guildhall runs send RUN 'now the other folder'     Send the next turn
  guildhall runs events RUN -f                       Follow all events
  guildhall runs result RUN                          Show the reply of the agent
  guildhall runs apply RUN                           Apply what the agent changed to this repository

A run waits until a runner for its profile claims it; `guildhall runs explain RUN` shows what a run waits for.";

const FOLLOW_HELP: &str = "Following continues across restarts of the server and prints each event once. With --json each event \
is printed as the server sent it, one per line. On a terminal you are asked the questions of the agent.

Exit codes of a followed turn or run: 0 completed, 1 failed or blocked, 3 cancelled, 130 you stopped to follow it (Ctrl-C) and \
it goes on.";

const EVENTS_EXAMPLES: &str = "Examples:
  guildhall runs events RUN                   Show all events, one per line
  guildhall runs events RUN -f                Show all events and follow the run until it ends
  guildhall runs events RUN --after 120 --json | jq .type";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand)]
enum Commands {
    /// Create a run and send its first turn
    #[command(after_help = format!("{}\n\n{FOLLOW_HELP}", create::EXAMPLES))]
    Create(create::CreateArgs),
    /// List open runs, newest first
    Ls(list::ListRunsArgs),
    /// Show a run
    Show {
        /// Id of the run
        run: RunId,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Show or follow the events of a run
    #[command(after_help = format!("{EVENTS_EXAMPLES}\n\n{FOLLOW_HELP}"))]
    Events(events::EventsArgs),
    /// List what was sent to a run
    History {
        /// Id of the run
        run: RunId,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Show the log of the runners of a run, and the errors of its agent
    Logs {
        /// Id of the run
        run: RunId,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Send the next turn, or steer the running turn
    #[command(after_help = format!("{}\n\n{FOLLOW_HELP}", send::EXAMPLES))]
    Send(send::SendArgs),
    /// Show the reply of the agent, or the progress of the run
    Result {
        /// Id of the run
        run: RunId,
        /// Id of a command of the run; without it the newest command
        #[arg(long)]
        command: Option<CommandId>,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Print what the agent changed in its workspace, as a diff for `git apply`
    Diff {
        /// Id of the run
        run: RunId,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Apply what the agent changed to the Git repository of the working directory, completely or not at all
    Apply {
        /// Id of the run
        run: RunId,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Commit what the agent changed to a new branch; the working tree stays as it is
    Branch {
        /// Id of the run
        run: RunId,
        /// Name of the branch; without it guildhall/RUN
        name: Option<String>,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Delete what the agent changed, and close the run
    Discard {
        /// Id of the run
        run: RunId,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Close a run whose work is done; its session can then have the next run
    Close {
        /// Id of the run
        run: RunId,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Cancel a run or one of its commands; can be repeated
    Cancel {
        /// Id of the run
        run: RunId,
        /// Id of the command to cancel; the run stays open
        #[arg(long)]
        command: Option<CommandId>,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Start a runner on the server for a waiting command
    Launch(jobs::LaunchArgs),
    /// List the runners that the server started for a run
    Jobs(jobs::JobsArgs),
    /// Explain what a run waits for, what happens next and what you can do
    Explain {
        /// Id of the run
        run: RunId,
        #[command(flatten)]
        common: CommonArgs,
    },
}

pub(crate) fn run(args: &RunsArgs) -> Result<()> {
    match &args.command {
        Commands::Create(args) => block_on(create::run(args)),
        Commands::Ls(args) => block_on(list::list(args)),
        Commands::Show { run, common } => block_on(list::show_one(*run, common)),
        Commands::Events(args) => block_on(events::run(args)),
        Commands::Logs { run, common } => block_on(logs::run(*run, common)),
        Commands::History { run, common } => block_on(history::run(*run, common)),
        Commands::Send(args) => block_on(send::run(args)),
        Commands::Launch(args) => block_on(jobs::launch(args)),
        Commands::Jobs(args) => block_on(jobs::list(args)),
        Commands::Result { run, command, common } => block_on(result::run(*run, *command, common)),
        Commands::Diff { run, common } => block_on(diff::show(*run, common)),
        Commands::Apply { run, common } => block_on(diff::apply(*run, common)),
        Commands::Branch { run, name, common } => block_on(diff::branch(*run, name.as_deref(), common)),
        Commands::Discard { run, common } => block_on(diff::discard(*run, common)),
        Commands::Close { run, common } => block_on(close::run(*run, common)),
        Commands::Cancel { run, command, common } => block_on(cancel::run(*run, *command, common)),
        Commands::Explain { run, common } => block_on(explain::run(*run, common)),
    }
}
