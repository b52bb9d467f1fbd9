//! `guildhall runs`.

mod create;
mod events;
mod explain;
mod jobs;
mod list;
mod reply;
mod screen;
mod send;
mod watch;
mod words;
mod workspace;

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::ids::{CommandId, RunId};

pub(super) use events::sentence;
pub(super) use screen::Screen;

use super::session::Common;
use super::wait;

const EXAMPLES: &str = "Examples:
  guildhall runs create 'tidy my notes' --watch      a run, its first turn, and what happens
  guildhall runs ls                                  what is open, and what it waits for
  guildhall runs send RUN 'now the other folder'     the next turn
  guildhall runs events RUN -f                       everything as it happens
  guildhall runs result RUN                          what the agent answered

A run waits until a runner that serves its profile claims it; `guildhall runs explain RUN` says what it waits for.";

const FOLLOW_HELP: &str = "Following goes on across restarts of the server and shows every event once. With --json it prints \
the events as the server wrote them, one a line.

Exit codes when it is over: 0 completed, 1 failed or blocked, 3 cancelled. Others are those of every command; 3 with an \
error that says so is a login that has ended.";

const EVENTS_EXAMPLES: &str = "Examples:
  guildhall runs events RUN                   what happened, an event a line
  guildhall runs events RUN -f                and what happens, until the run ends
  guildhall runs events RUN --after 120 --json | jq .type";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Makes a run, and sends it a first turn
    #[command(after_help = format!("{}\n\n{FOLLOW_HELP}", create::EXAMPLES))]
    Create(create::CreateArgs),
    /// Lists the runs that are open, newest first
    Ls(list::LsArgs),
    /// Shows a run
    Show {
        /// The run's id
        run: RunId,
        #[command(flatten)]
        common: Common,
    },
    /// Shows the events of a run, and follows them
    #[command(after_help = format!("{EVENTS_EXAMPLES}\n\n{FOLLOW_HELP}"))]
    Events(events::EventsArgs),
    /// Sends a run the next turn, or words for the turn that runs
    #[command(after_help = format!("{}\n\n{FOLLOW_HELP}", send::EXAMPLES))]
    Send(send::SendArgs),
    /// Shows what the agent answered, or how far it is
    Result {
        /// The run's id
        run: RunId,
        /// One of its commands; the newest without it
        #[arg(long)]
        command: Option<CommandId>,
        #[command(flatten)]
        common: Common,
    },
    /// Asks a run to end, or one of its commands; asking again changes nothing
    Cancel {
        /// The run's id
        run: RunId,
        /// The one command to end; the run stays open
        #[arg(long)]
        command: Option<CommandId>,
        #[command(flatten)]
        common: Common,
    },
    /// Has the server start a runner for a run whose command waits
    Launch(jobs::LaunchArgs),
    /// Lists the runners that the server started for a run, and how their processes do
    Jobs(jobs::JobsArgs),
    /// Says in one sentence what a run waits for, what happens next by itself, and what you can do
    Explain {
        /// The run's id
        run: RunId,
        #[command(flatten)]
        common: Common,
    },
}

pub(crate) fn run(args: &RunsArgs) -> Result<()> {
    match &args.verb {
        Verb::Create(args) => wait(create::run(args)),
        Verb::Ls(args) => wait(list::list(args)),
        Verb::Show { run, common } => wait(list::show_one(*run, common)),
        Verb::Events(args) => wait(events::run(args)),
        Verb::Send(args) => wait(send::run(args)),
        Verb::Launch(args) => wait(jobs::launch(args)),
        Verb::Jobs(args) => wait(jobs::list(args)),
        Verb::Result { run, command, common } => wait(reply::result(*run, *command, common)),
        Verb::Cancel { run, command, common } => wait(reply::cancel(*run, *command, common)),
        Verb::Explain { run, common } => wait(explain::run(*run, common)),
    }
}
