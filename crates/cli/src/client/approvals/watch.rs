//! `guildhall approvals watch`.

use std::io::{Write, stderr};

use anyhow::Result;
use clap::Args;
use guildhall_protocol::rest::approvals::ApprovalView;
use guildhall_sdk::Client;
use serde_json::json;

use super::pending_questions::PendingQuestions;
use super::prompt::{AnswerPrompt, PromptStep};
use super::question_text::{QuestionDetail, format_end, summary};
use super::terminal_input::{TerminalInput, discard_typed_input};
use crate::client::connection::{CommonArgs, TenantArg};
use crate::output::{Colour, print_json, print_line, sanitize_line};

pub(super) const HELP: &str = "On a terminal each question is shown whole, and you answer it with a key; Ctrl-D leaves it to others, Ctrl-C ends \
the command. Without a terminal, or if you may not answer, a question is one line: its id, its run and what the agent asks for. With --json it is \
one JSON object per line.";

#[derive(Args)]
pub(super) struct WatchArgs {
    /// End after this many questions
    #[arg(short = 'n', long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

/// Prints or asks questions until the command is stopped, or has shown enough.
pub(super) async fn run(args: &WatchArgs) -> Result<()> {
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let mut input = if args.common.json { None } else { TerminalInput::open() };
    if input.is_some() {
        eprintln!("waiting for questions of agents; Ctrl-C ends");
    }
    let mut questions = PendingQuestions::new(&client, tenant);
    for _ in 0..args.limit.unwrap_or(u64::MAX) {
        let question = questions.next().await?;
        match &mut input {
            Some(input) if question.can_answer => {
                ask(&client, &mut questions, input, question).await?;
            }
            _ if args.common.json => print_json(&json!(question).to_string())?,
            _ => print_line(&format_line(&question))?,
        }
    }
    Ok(())
}

/// Shows a question and waits for a typed answer, or for the answer of somebody else.
async fn ask(
    client: &Client,
    questions: &mut PendingQuestions<'_>,
    input: &mut TerminalInput,
    question: ApprovalView,
) -> Result<()> {
    let id = question.approval_id.parse()?;
    let header = sanitize_line(&format!("{} of {}", question.approval_id, question.run_id));
    let mut prompt = AnswerPrompt::new(question, Colour::of(&stderr()));
    eprintln!("\n{header}\n{}", prompt.question(QuestionDetail::Question));
    discard_typed_input();
    loop {
        input.set_echo(!prompt.hides_input());
        eprint!("{}", prompt.text());
        stderr().flush()?;
        let line = tokio::select! {
            line = input.read_line() => line?,
            ended = questions.wait_for_end(id) => {
                input.set_echo(true);
                eprintln!("\n{}", format_end(&ended?));
                return Ok(());
            }
        };
        input.set_echo(true);
        if line.is_none() {
            eprintln!();
        }
        let end = match prompt.handle_line(client, line.as_deref()).await? {
            PromptStep::AskAgain(text) => {
                eprintln!("{text}");
                continue;
            }
            PromptStep::Answered => "answered".to_owned(),
            PromptStep::Closed(reason) => reason,
        };
        eprintln!("{end}");
        return Ok(());
    }
}

fn format_line(question: &ApprovalView) -> String {
    let (id, run) = (&question.approval_id, &question.run_id);
    sanitize_line(&format!("{id}  {run}  {}", summary(&question.question.action)))
}
