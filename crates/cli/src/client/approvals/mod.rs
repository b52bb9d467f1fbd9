//! `guildhall approvals`.

mod answer;
mod answer_form;
mod choices;
mod form_draft;
mod form_text;
mod known_questions;
mod list;
mod pending_questions;
mod policy;
pub(crate) mod prompt;
pub(crate) mod question_text;
mod rules;
pub(crate) mod terminal_input;
mod watch;
mod withdraw;

use std::io::stdout;

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::approvals::question::OptionEffect;
use guildhall_domain::ids::ApprovalId;
use serde_json::json;

use self::answer::AnswerArgs;
use self::answer_form::FormAnswerArgs;
use self::list::ListArgs;
use self::policy::PolicyArgs;
use self::question_text::{QuestionDetail, format_question};
use self::rules::{RevokeArgs, RulesArgs};
use self::watch::WatchArgs;
use self::withdraw::WithdrawArgs;
use crate::async_runtime::block_on;
use crate::client::connection::CommonArgs;
use crate::output::{Colour, print_result};

const EXAMPLES: &str = "Examples:
  guildhall approvals ls               List the questions that wait for an answer
  guildhall approvals watch            Print them as they come, and answer them on the terminal
  guildhall approvals show APPROVAL    Show everything that would be executed
  guildhall approvals allow APPROVAL   Allow it once
  guildhall approvals deny APPROVAL
  guildhall approvals withdraw APPROVAL
  guildhall approvals allow APPROVAL --remember session
  guildhall approvals answer APPROVAL --field colour=red
  guildhall approvals revoke RULE      Ask again; `guildhall approvals rules` lists what is remembered
  guildhall approvals policy show      Show who answers, and what happens without an answer

An agent asks if its run has the approval policy on-request, the default of `guildhall run`, or untrusted.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand)]
enum Commands {
    /// List the questions of agents that wait for an answer, newest first
    Ls(ListArgs),
    /// Print the questions that wait for an answer, and new ones as they come; on a terminal, answer them
    #[command(after_help = watch::HELP)]
    Watch(WatchArgs),
    /// Show a question, with everything that would be executed
    Show {
        /// Id of the approval
        approval: ApprovalId,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Allow what an agent asks for, once
    Allow(AnswerArgs),
    /// Deny what an agent asks for
    Deny(AnswerArgs),
    /// Withdraw a question without an answer: an agent that waits is declined
    Withdraw(WithdrawArgs),
    /// Answer a question that asks for values
    #[command(after_help = answer_form::HELP)]
    Answer(FormAnswerArgs),
    /// List the remembered answers, newest first
    Rules(RulesArgs),
    /// Revoke a remembered answer: people are asked again
    Revoke(RevokeArgs),
    /// Show and set who answers the questions of a tenant, and what happens without an answer
    Policy(PolicyArgs),
}

pub(crate) fn run(args: &ApprovalsArgs) -> Result<()> {
    match &args.command {
        Commands::Ls(args) => block_on(list::run(args)),
        Commands::Watch(args) => block_on(watch::run(args)),
        Commands::Show { approval, common } => block_on(show(*approval, common)),
        Commands::Allow(args) => block_on(answer::run(args, OptionEffect::Allow)),
        Commands::Deny(args) => block_on(answer::run(args, OptionEffect::Deny)),
        Commands::Withdraw(args) => block_on(withdraw::run(args)),
        Commands::Answer(args) => block_on(answer_form::run(args)),
        Commands::Rules(args) => block_on(rules::list(args)),
        Commands::Revoke(args) => block_on(rules::revoke(args)),
        Commands::Policy(args) => policy::run(args),
    }
}

async fn show(id: ApprovalId, common: &CommonArgs) -> Result<()> {
    let approval = common.connect()?.client.get_approval(id).await?;
    let colour = Colour::of(&stdout());
    print_result(common.json, &json!(approval), || format_question(&approval, QuestionDetail::All, colour))?;
    Ok(())
}
