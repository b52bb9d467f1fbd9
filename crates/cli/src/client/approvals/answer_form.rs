//! `guildhall approvals answer`.

use std::io::{Write, stderr};

use anyhow::{Result, bail};
use clap::Args;
use guildhall_domain::approvals::form::{AnswerContent, AnswerForm};
use guildhall_domain::approvals::question::OptionEffect;
use guildhall_domain::ids::ApprovalId;
use guildhall_protocol::rest::approvals::CastVote;
use guildhall_protocol::rest::approvals::question::OptionBody;
use serde_json::json;

use super::answer::{choose, format_outcome};
use super::form_draft::{DraftStep, FormDraft};
use super::form_text::{read_content, read_fields};
use super::terminal_input::TerminalInput;
use crate::client::connection::CommonArgs;
use crate::error::UsageError;
use crate::output::print_result;

pub(super) const HELP: &str = "Without --field and --content, the values are typed on the terminal, field by field; secrets are not shown. \
`guildhall approvals show` lists the fields. Other processes can read the arguments of a command: give a secret with `--content -`, or type it.";

#[derive(Args)]
pub(super) struct FormAnswerArgs {
    /// Id of the approval
    approval: ApprovalId,
    /// A value of the form, such as colour=red; several choices are separated by commas
    #[arg(long = "field", value_name = "NAME=VALUE")]
    fields: Vec<String>,
    /// All values as a JSON object; - reads it from standard input
    #[arg(long, value_name = "JSON", conflicts_with = "fields")]
    content: Option<String>,
    /// Option to choose, where several answer
    #[arg(long)]
    option: Option<String>,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) async fn run(args: &FormAnswerArgs) -> Result<()> {
    let connection = args.common.connect()?;
    let approval = connection.client.get_approval(args.approval).await?;
    let option = choose(&approval.question.options, OptionEffect::Answer, args.option.as_deref())?;
    let Some(schema) = &approval.question.answer_schema else { bail!("the question has no form") };
    let form = AnswerForm::parse(schema)?;
    let content = match &args.content {
        Some(json) => read_content(&form, json)?,
        None if !args.fields.is_empty() => read_fields(&form, &args.fields)?,
        None => type_values(option, form).await?,
    };
    let vote = CastVote {
        option_id: option.id.clone(),
        shown_digest: approval.shown_digest.clone(),
        remember: None,
        content: Some(content),
    };
    let decided = connection.client.vote(args.approval, &vote).await?;
    print_result(args.common.json, &json!(decided), || format_outcome(&decided))?;
    Ok(())
}

/// Lets the user type the values.
async fn type_values(option: &OptionBody, form: AnswerForm) -> Result<AnswerContent> {
    let Some(mut input) = TerminalInput::open() else {
        return Err(UsageError(
            "cannot ask for the values: this is not a terminal\n  next: add --field NAME=VALUE, or --content JSON",
        )
        .into());
    };
    let mut draft = FormDraft::new(option.clone(), form);
    let mut text = draft.text();
    loop {
        eprintln!("{text}");
        input.set_echo(!draft.hides_input());
        eprint!("{}", draft.prompt());
        stderr().flush()?;
        let line = input.read_line().await?;
        input.set_echo(true);
        let Some(line) = line else {
            eprintln!();
            bail!("not answered");
        };
        match draft.take_line(&line) {
            DraftStep::Ask(next) => text = next,
            DraftStep::Send(_, content) => return Ok(content),
        }
    }
}
