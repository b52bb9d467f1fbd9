//! `guildhall approvals allow` and `deny`.

use anyhow::{Result, bail};
use clap::Args;
use guildhall_domain::approvals::question::OptionEffect;
use guildhall_domain::approvals::rule::RuleScopeKind;
use guildhall_domain::ids::ApprovalId;
use guildhall_protocol::rest::approvals::question::OptionBody;
use guildhall_protocol::rest::approvals::{ApprovalView, CastVote};
use serde_json::json;

use super::question_text::summary;
use crate::client::connection::CommonArgs;
use crate::output::print_result;

#[derive(Args)]
pub(super) struct AnswerArgs {
    /// Id of the approval
    approval: ApprovalId,
    /// Option to choose, where several have the same effect
    #[arg(long)]
    option: Option<String>,
    /// Answer the same action without asking, for 30 days: run, session or agent-and-project
    #[arg(long, value_name = "SCOPE", value_parser = RuleScopeKind::from_name)]
    remember: Option<RuleScopeKind>,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) async fn run(args: &AnswerArgs, effect: OptionEffect) -> Result<()> {
    let connection = args.common.connect()?;
    let approval = connection.client.get_approval(args.approval).await?;
    let option = choose(&approval.question.options, effect, args.option.as_deref())?;
    let vote = CastVote {
        option_id: option.id.clone(),
        shown_digest: approval.shown_digest.clone(),
        remember: args.remember.map(|scope| scope.to_string()),
        content: None,
    };
    let decided = connection.client.vote(args.approval, &vote).await?;
    print_result(args.common.json, &json!(decided), || format_outcome(&decided))?;
    Ok(())
}

/// Says what has become of a question that was answered.
pub(super) fn format_outcome(decided: &ApprovalView) -> String {
    let what = summary(&decided.question.action);
    match (decided.status.as_str(), decided.effect.as_deref()) {
        ("pending", _) => format!("your answer is counted; the question waits for others: {what}"),
        (_, Some("deny")) => format!("denied: {what}"),
        (_, Some("answer")) => format!("answered: {what}"),
        (_, _) => format!("allowed: {what}"),
    }
}

/// Returns the only option with an effect, or the named one of them.
pub(super) fn choose<'a>(
    options: &'a [OptionBody],
    effect: OptionEffect,
    id: Option<&str>,
) -> Result<&'a OptionBody> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
