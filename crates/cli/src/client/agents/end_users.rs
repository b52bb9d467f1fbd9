//! What end users of applications may do with an agent.

use clap::Args;
use guildhall_protocol::rest::agents::end_users::{EndUsersBody, EndUsersView};
use serde_json::{Value, json};

#[derive(Args)]
#[command(next_help_heading = "End users")]
pub(super) struct EndUsersArgs {
    /// Whether end users of applications answer the questions of the agent in their own conversations
    #[arg(long, value_name = "BOOL")]
    end_users_answer: Option<bool>,
    /// Turns of each end user in a minute
    #[arg(long, value_name = "NUMBER")]
    end_user_turns: Option<u32>,
    /// Conversations of each end user that may wait for the agent
    #[arg(long, value_name = "NUMBER")]
    end_user_threads: Option<u32>,
    /// Model tokens of each end user in a day
    #[arg(long, value_name = "NUMBER")]
    end_user_tokens: Option<u64>,
}

impl EndUsersArgs {
    /// Returns the values that were given, if any.
    pub(super) fn value(&self) -> Option<Value> {
        let body = EndUsersBody {
            answer_approvals: self.end_users_answer,
            turns_per_minute: self.end_user_turns,
            open_threads: self.end_user_threads,
            tokens_per_day: self.end_user_tokens,
        };
        (body != EndUsersBody::default()).then(|| json!(body))
    }
}

/// Returns the limits in one line.
pub(super) fn text(limits: &EndUsersView) -> String {
    let EndUsersView { answer_approvals, turns_per_minute, open_threads, tokens_per_day } = limits;
    let answers = if *answer_approvals { "answer approvals" } else { "cannot answer approvals" };
    format!(
        "{turns_per_minute} turns a minute, {open_threads} open threads, {tokens_per_day} tokens a day, {answers}"
    )
}
