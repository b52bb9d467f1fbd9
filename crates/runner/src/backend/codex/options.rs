//! The options of questions that Codex answers itself: once, or not at all.

use guildhall_domain::approvals::question::{AnswerOption, OptionEffect};

use crate::backend::question::answer_option;

/// The option that allows.
pub(super) const ACCEPT: &str = "accept";

pub(super) fn allow_or_deny() -> Vec<AnswerOption> {
    vec![
        answer_option(ACCEPT, "Allow once", OptionEffect::Allow),
        answer_option("decline", "Deny", OptionEffect::Deny),
    ]
}
