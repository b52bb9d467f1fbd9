//! `guildhall approvals`.

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use guildhall_domain::approvals::question::{OptionEffect, show_hidden_characters};
use guildhall_domain::ids::{ApprovalId, RunId};
use guildhall_protocol::rest::approvals::question::{ActionBody, OptionBody};
use guildhall_protocol::rest::approvals::{ApprovalView, CastVote};
use guildhall_runtime::Clock;
use serde_json::{Value, json};

use crate::async_runtime::block_on;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::output::{format_age, format_fields, format_table, format_time, print_result, sanitize_line};

const EXAMPLES: &str = "Examples:
  guildhall approvals ls               List the questions that wait for an answer
  guildhall approvals show APPROVAL    Show everything that would be executed
  guildhall approvals allow APPROVAL   Allow it once
  guildhall approvals deny APPROVAL

An agent asks if its run has the approval policy on-request or untrusted (`guildhall run --approval on-request`).";

/// Characters of an action in a list.
const MAX_SUMMARY: usize = 60;

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Args)]
struct AnswerArgs {
    /// Id of the approval
    approval: ApprovalId,
    /// Option to choose, where several have the same effect
    #[arg(long)]
    option: Option<String>,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Subcommand)]
enum Commands {
    /// List the questions of agents that wait for an answer, newest first
    Ls {
        /// Also list questions that were answered or withdrawn
        #[arg(long)]
        all: bool,
        /// Only questions of this run
        #[arg(long)]
        run: Option<RunId>,
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
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
}

pub(crate) fn run(args: &ApprovalsArgs) -> Result<()> {
    match &args.command {
        Commands::Ls { all, run, tenant, common } => block_on(list(*all, *run, tenant, common)),
        Commands::Show { approval, common } => block_on(show(*approval, common)),
        Commands::Allow(args) => block_on(answer(args, OptionEffect::Allow)),
        Commands::Deny(args) => block_on(answer(args, OptionEffect::Deny)),
    }
}

async fn list(all: bool, run: Option<RunId>, tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let connection = common.connect()?;
    let tenant = tenant.resolve(&connection).await?;
    let page = connection.client.list_approvals(&tenant.to_string(), run, all).await?;
    let now = Clock::system().now();
    print_result(common.json, &json!(page), || {
        if page.approvals.is_empty() && !all {
            return "no agent waits for an answer; `guildhall approvals ls --all` also lists earlier questions"
                .to_owned();
        }
        let rows = page.approvals.iter().map(|approval| {
            let age = format_age(approval.created_at, now);
            let what = summary(&approval.question.action);
            [approval.approval_id.clone(), approval.status.clone(), age, approval.run_id.clone(), what]
        });
        format_table(["APPROVAL", "STATUS", "AGE", "RUN", "ACTION"], &rows.collect::<Vec<_>>())
    })?;
    Ok(())
}

async fn show(id: ApprovalId, common: &CommonArgs) -> Result<()> {
    let approval = common.connect()?.client.get_approval(id).await?;
    print_result(common.json, &json!(approval), || format_approval(&approval))?;
    Ok(())
}

async fn answer(args: &AnswerArgs, effect: OptionEffect) -> Result<()> {
    let connection = args.common.connect()?;
    let approval = connection.client.get_approval(args.approval).await?;
    let option = choose(&approval.question.options, effect, args.option.as_deref())?;
    let vote = CastVote { option_id: option.id.clone(), shown_digest: approval.shown_digest.clone() };
    let decided = connection.client.vote(args.approval, &vote).await?;
    print_result(args.common.json, &json!(decided), || {
        let verb = if effect == OptionEffect::Allow { "allowed" } else { "denied" };
        format!("{verb}: {}", summary(&decided.question.action))
    })?;
    Ok(())
}

/// Returns the only option with an effect, or the named one of them.
fn choose<'a>(options: &'a [OptionBody], effect: OptionEffect, id: Option<&str>) -> Result<&'a OptionBody> {
    let is_meant =
        |option: &&OptionBody| option.effect == effect.as_str() && id.is_none_or(|id| option.id == id);
    let found: Vec<&OptionBody> = options.iter().filter(is_meant).collect();
    match found[..] {
        [option] => Ok(option),
        [] => bail!("the question has no such option with the effect {effect}"),
        _ => {
            bail!("several options {effect}: choose one with --option; `guildhall approvals show` lists them")
        }
    }
}

fn format_approval(approval: &ApprovalView) -> String {
    let question = &approval.question;
    let action = &question.action;
    let mut fields = vec![
        ("approval", approval.approval_id.clone()),
        ("status", approval.status.clone()),
        ("run", approval.run_id.clone()),
        ("tool", sanitize_line(&action.tool)),
    ];
    fields.extend(action.working_dir.as_ref().map(|dir| ("directory", shown_line(dir))));
    let lifts = action.lifts.iter().map(|lifted| shown_line(lifted)).collect::<Vec<_>>();
    fields.extend((!lifts.is_empty()).then(|| ("lifts", lifts.join(", "))));
    fields.extend(question.reason.as_ref().map(|reason| ("the agent says", shown_line(reason))));
    let options =
        question.options.iter().map(|option| format!("{} ({})", shown_line(&option.id), option.effect));
    fields.push(("options", options.collect::<Vec<_>>().join(", ")));
    fields.extend(approval.option_id.as_ref().map(|option| ("answer", shown_line(option))));
    fields.extend((!approval.decided_by.is_empty()).then(|| ("by", approval.decided_by.join(", "))));
    fields.push(("asked", format_time(approval.created_at)));
    fields.push(("denied at", format_time(approval.expires_at)));
    let mut text = format_fields(&fields);
    text.push_str("\n\n");
    text.push_str(&show_hidden_characters(&executed(action)));
    text
}

/// Returns everything that would be executed, whole.
fn executed(action: &ActionBody) -> String {
    let arguments = match &action.arguments {
        None if action.changes.is_empty() => "the agent did not give its arguments".to_owned(),
        None => String::new(),
        Some(arguments) => match command_text(arguments) {
            Some(command) => command.to_owned(),
            None => serde_json::to_string_pretty(arguments).unwrap_or_default(),
        },
    };
    let changes = action.changes.iter().map(|change| format!("{}\n{}", change.path, change.text));
    let parts = std::iter::once(arguments).chain(changes).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n")
}

/// Returns the command, if it is the only argument.
fn command_text(arguments: &Value) -> Option<&str> {
    let arguments = arguments.as_object().filter(|arguments| arguments.len() == 1)?;
    arguments.get("command")?.as_str()
}

/// Returns one line for a list; `show` prints the whole action.
fn summary(action: &ActionBody) -> String {
    let paths = action.changes.iter().map(|change| change.path.as_str()).collect::<Vec<_>>().join(", ");
    let what = if paths.is_empty() { executed(action) } else { paths };
    let line = shown_line(&format!("{}: {what}", action.tool));
    let cut = line.floor_char_boundary(MAX_SUMMARY);
    if cut < line.len() { format!("{}…", &line[..cut]) } else { line }
}

fn shown_line(text: &str) -> String {
    sanitize_line(&show_hidden_characters(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn action(arguments: Option<Value>) -> ActionBody {
        serde_json::from_value(json!({ "kind": "command", "tool": "shell", "arguments": arguments }))
            .expect("an action")
    }

    #[test]
    fn whole_command_is_shown_and_a_list_has_one_line() {
        let command = format!("{}; rm -rf ~\u{202e}", "echo x; ".repeat(512));
        let action = action(Some(json!({ "command": command })));
        assert_eq!(executed(&action), command);
        assert!(summary(&action).ends_with('…') && !summary(&action).contains('\n'));
    }

    #[test]
    fn unknown_and_other_arguments_are_shown_as_such() {
        assert_eq!(executed(&action(None)), "the agent did not give its arguments");
        let shown = executed(&action(Some(json!({ "command": "ls", "timeout": 5 }))));
        assert!(shown.contains("\"timeout\": 5"), "{shown}");
    }

    #[test]
    fn several_options_of_one_effect_need_a_choice() {
        let option = |id: &str, effect: &str| OptionBody {
            id: id.to_owned(),
            label: String::new(),
            effect: effect.to_owned(),
            changes_mode: false,
        };
        let options = [option("a", "allow"), option("b", "allow"), option("no", "deny")];
        let chosen = |effect, id| choose(&options, effect, id).map(|option| option.id.as_str()).ok();
        assert_eq!(chosen(OptionEffect::Allow, None), None);
        assert_eq!(chosen(OptionEffect::Allow, Some("b")), Some("b"));
        assert_eq!(chosen(OptionEffect::Allow, Some("no")), None);
        assert_eq!(chosen(OptionEffect::Deny, None), Some("no"));
    }
}
