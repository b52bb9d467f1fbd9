//! The texts of the page that depend on a value, in both languages.

use guildhall_domain::approvals::form::{AnswerForm, FieldProblem, InvalidContent};
use guildhall_domain::approvals::form_field::FormField;
use guildhall_domain::approvals::policy::{ExpiryEffect, Mediation};
use guildhall_domain::approvals::question::{OptionEffect, QuestionKind};
use guildhall_domain::approvals::state::{ApprovalState, EndReason};
use guildhall_domain::approvals::voter::VoterError;
use guildhall_service::approvals::error::ApprovalError;
use jiff::SignedDuration;

use crate::edge::html::Language;

pub(super) const fn kind(language: Language, kind: QuestionKind) -> &'static str {
    let (english, chinese) = match kind {
        QuestionKind::Command => ("Run a command", "运行命令"),
        QuestionKind::FileChange => ("Change files", "更改文件"),
        QuestionKind::Permissions => ("Get permissions", "获得权限"),
        QuestionKind::McpTool => ("Use a tool of an MCP server", "使用 MCP 服务器的工具"),
        QuestionKind::ToolCall => ("Use a tool", "使用工具"),
        QuestionKind::Plan => ("Follow a plan", "执行计划"),
        QuestionKind::Question => ("A question to you", "向您提问"),
        QuestionKind::ElicitationForm => ("A form of an MCP server", "MCP 服务器的表单"),
        QuestionKind::ElicitationUrl => ("A link of an MCP server", "MCP 服务器的链接"),
    };
    language.pick(english, chinese)
}

/// Returns the words on the button of an option.
pub(super) const fn effect(language: Language, effect: OptionEffect) -> &'static str {
    match effect {
        OptionEffect::Allow => language.pick("Allow", "允许"),
        OptionEffect::Deny => language.pick("Deny", "拒绝"),
        OptionEffect::Answer => language.pick("Give this answer", "作此回答"),
    }
}

pub(super) const fn decided(language: Language, effect: OptionEffect) -> &'static str {
    match effect {
        OptionEffect::Allow => language.pick("Allowed", "已允许"),
        OptionEffect::Deny => language.pick("Denied", "已拒绝"),
        OptionEffect::Answer => language.pick("Answered", "已回答"),
    }
}

/// Says what has become of a question.
pub(super) const fn state(language: Language, state: &ApprovalState) -> &'static str {
    let (english, chinese) = match state {
        ApprovalState::Pending { is_parked: false } => {
            ("The agent waits for an answer.", "智能体正在等待回应。")
        }
        ApprovalState::Pending { is_parked: true } => (
            "The question is parked: the agent continues when there is an answer.",
            "该请求已搁置：有回应后智能体将继续工作。",
        ),
        ApprovalState::Decided(_) => ("The agent gets the answer next.", "智能体即将收到回应。"),
        ApprovalState::Expired(_) => ("The question has expired.", "该请求已过期。"),
        ApprovalState::Delivering(_) => ("The agent is being given the answer.", "正在将回应交给智能体。"),
        ApprovalState::Delivered(_) => ("The agent has the answer.", "智能体已收到回应。"),
        ApprovalState::Settled(_) => ("The action has ended.", "该操作已结束。"),
        ApprovalState::Withdrawn(reason) => return withdrawn(language, *reason),
        ApprovalState::Void(_, EndReason::ApproverRevoked) => (
            "The answer does not count any more: somebody who gave it may not answer any more.",
            "该回应不再有效：作出回应的人已无权回应。",
        ),
        ApprovalState::Void(_, EndReason::PolicyChanged) => (
            "The answer does not count any more: the policy of the tenant has changed.",
            "该回应不再有效：租户的策略已更改。",
        ),
        ApprovalState::Void(
            _,
            EndReason::TurnEnded
            | EndReason::Cancelled
            | EndReason::WithdrawnByAgent
            | EndReason::WithdrawnByPerson
            | EndReason::RunnerLost,
        ) => (
            "The agent did not get the answer: it does not wait any more.",
            "智能体没有收到回应：它已不再等待。",
        ),
        ApprovalState::Reused(_) => (
            "The agent asked for the same action again and got this answer.",
            "智能体再次请求了相同的操作，并收到了此回应。",
        ),
        ApprovalState::Uncertain(_) => (
            "The runner was lost while the agent was given the answer. The action may have been executed.",
            "在将回应交给智能体时运行器丢失。该操作可能已被执行。",
        ),
    };
    language.pick(english, chinese)
}

const fn withdrawn(language: Language, reason: EndReason) -> &'static str {
    let (english, chinese) = match reason {
        EndReason::TurnEnded => {
            ("The question was withdrawn: the turn has ended.", "该请求已撤回：轮次已结束。")
        }
        EndReason::Cancelled => {
            ("The question was withdrawn: the turn was cancelled.", "该请求已撤回：轮次已取消。")
        }
        EndReason::WithdrawnByAgent => ("The agent has withdrawn the question.", "智能体已撤回该请求。"),
        EndReason::WithdrawnByPerson => {
            ("A person has withdrawn the question without an answer.", "有人撤回了该请求，未作回应。")
        }
        EndReason::RunnerLost => {
            ("The question was withdrawn: the runner was lost.", "该请求已撤回：运行器已丢失。")
        }
        EndReason::ApproverRevoked | EndReason::PolicyChanged => {
            ("The question was withdrawn: who may answer has changed.", "该请求已撤回：可以回应的人已变更。")
        }
    };
    language.pick(english, chinese)
}

/// Says who may answer under a policy.
pub(super) const fn voters(language: Language, mediation: Mediation) -> &'static str {
    let (english, chinese) = match mediation {
        Mediation::FirstResponder => (
            "Who created the run, and members with the permission approvals:decide. The first answer counts.",
            "运行的创建者，以及拥有 approvals:decide 权限的成员。以首个回应为准。",
        ),
        Mediation::Designated { approver: Some(_) } => ("One designated person", "一位指定的人员"),
        Mediation::Designated { approver: None } => ("Who sent the turn.", "轮次的发送者。"),
        Mediation::Consensus { .. } => (
            "Who created the run, and members with the permission approvals:decide. Several equal answers are needed.",
            "运行的创建者，以及拥有 approvals:decide 权限的成员。需要多个相同的回应。",
        ),
        Mediation::LocalOnly => (
            "Who created the run, and members with the permission approvals:decide, on the machine of the server. The first \
             answer counts.",
            "运行的创建者，以及拥有 approvals:decide 权限的成员，且须在服务器本机上操作。以首个回应为准。",
        ),
    };
    language.pick(english, chinese)
}

/// Says what happens to a question without an answer.
pub(super) const fn expiry(language: Language, effect: ExpiryEffect, is_escalated: bool) -> &'static str {
    let (english, chinese) = match effect {
        ExpiryEffect::Escalate if !is_escalated => (
            "The owners of the tenant are asked for the same time once more. Then it is denied.",
            "将在同样长的时间内再询问租户的所有者。之后将被拒绝。",
        ),
        ExpiryEffect::Deny | ExpiryEffect::Escalate => ("It is denied.", "将被拒绝。"),
        ExpiryEffect::Interrupt => {
            ("It is denied, and the turn of the agent ends.", "将被拒绝，并且智能体的轮次结束。")
        }
    };
    language.pick(english, chinese)
}

/// Says why a person cannot answer.
pub(super) const fn voter_error(language: Language, error: VoterError) -> &'static str {
    let (english, chinese) = match error {
        VoterError::NotAPerson => ("Agents and runners cannot answer.", "智能体和运行器不能回应。"),
        VoterError::NotAMember => (
            "You cannot answer: several members of the tenant decide.",
            "您不能回应：需由租户的多名成员决定。",
        ),
        VoterError::ExternalSubject => {
            ("The agent does not let its end users answer.", "该智能体不允许其最终用户回应。")
        }
        VoterError::NotDesignated => {
            ("You cannot answer: another person is designated.", "您不能回应：已指定其他人员。")
        }
        VoterError::NotLocal => (
            "You cannot answer from here: the policy of the tenant wants an answer from the server's own machine.",
            "您不能在此处回应：租户的策略要求在服务器本机上回应。",
        ),
        VoterError::NoPermission => (
            "You cannot answer: only who created the run, and members with the permission approvals:decide, can.",
            "您不能回应：只有运行的创建者以及拥有 approvals:decide 权限的成员可以回应。",
        ),
    };
    language.pick(english, chinese)
}

/// Says why an answer was not taken. `form` has the names of fields that people see.
pub(super) fn refusal(language: Language, error: &ApprovalError, form: Option<&AnswerForm>) -> String {
    let ApprovalError::Content(error) = error else { return general_refusal(language, error).to_owned() };
    content_error(language, error, form)
}

fn content_error(language: Language, error: &InvalidContent, form: Option<&AnswerForm>) -> String {
    let start = language.pick("Your answer was not taken. ", "您的回应未被采纳。");
    match error {
        InvalidContent::Missing => {
            format!("{start}{}", language.pick("Fill in the form.", "请填写表单。"))
        }
        InvalidContent::NotExpected => {
            format!("{start}{}", language.pick("This option takes no values.", "此选项不接受任何值。"))
        }
        InvalidContent::TooLarge => {
            format!("{start}{}", language.pick("It is longer than 64 KiB.", "它超过了 64 KiB。"))
        }
        InvalidContent::Field { name, problem } => {
            let label = form.and_then(|form| form.field(name)).map_or(name.as_str(), FormField::label);
            format!("{start}{label}{}{}", language.pick(": ", "："), field_problem(language, problem))
        }
    }
}

fn field_problem(language: Language, problem: &FieldProblem) -> String {
    let Language::Chinese = language else { return format!("{problem}.") };
    match problem {
        FieldProblem::Unknown => "表单没有此字段。".to_owned(),
        FieldProblem::Missing => "此字段必填。".to_owned(),
        FieldProblem::Type(_) | FieldProblem::Format(_) => "值的格式不正确。".to_owned(),
        FieldProblem::NotAChoice => "值不在可选项中。".to_owned(),
        FieldProblem::TooSmall(least) => format!("值不能小于 {least}。"),
        FieldProblem::TooBig(most) => format!("值不能大于 {most}。"),
        FieldProblem::TooShort(least) => format!("至少需要 {least} 个字符。"),
        FieldProblem::TooLong(most) => format!("最多 {most} 个字符。"),
        FieldProblem::TooFew(least) => format!("至少选择 {least} 项。"),
        FieldProblem::TooMany(most) => format!("最多选择 {most} 项，且不能重复。"),
    }
}

const fn general_refusal(language: Language, error: &ApprovalError) -> &'static str {
    let (english, chinese) = match error {
        ApprovalError::AlreadyDecided(_) => (
            "Your answer came too late: the question had already ended. Below is how it ended.",
            "您的回应来得太晚：该请求已经结束。下方显示其结果。",
        ),
        ApprovalError::Expired => {
            ("Your answer came too late: the question has expired.", "您的回应来得太晚：该请求已过期。")
        }
        ApprovalError::OtherAnswer(_) => {
            ("You have answered already, and an answer cannot be changed.", "您已经回应过，回应不能更改。")
        }
        ApprovalError::NotShown => (
            "Your answer was not taken: it was for another text than the one below. Read it and answer again.",
            "您的回应未被采纳：它针对的是与下方不同的内容。请阅读后再次回应。",
        ),
        ApprovalError::Voter(error) => return voter_error(language, *error),
        ApprovalError::NotRememberable(_) => (
            "Your answer was not taken: it cannot be remembered. Answer without remembering it.",
            "您的回应未被采纳：它无法被记住。请不要勾选记住，再次回应。",
        ),
        ApprovalError::Question(_)
        | ApprovalError::TooLarge(_)
        | ApprovalError::TooMany(_)
        | ApprovalError::OtherQuestion
        | ApprovalError::NoRunningTurn
        | ApprovalError::UnknownOption
        | ApprovalError::Content(_)
        | ApprovalError::Policy(_)
        | ApprovalError::PolicyChanged(_)
        | ApprovalError::UnknownApprover
        | ApprovalError::NotYourRule
        | ApprovalError::Withdrawal(_)
        | ApprovalError::Decision(_)
        | ApprovalError::State(_)
        | ApprovalError::Seal(_)
        | ApprovalError::UnreadableQuestion => (
            "Your answer was not taken. Below is the current question.",
            "您的回应未被采纳。下方是当前的请求。",
        ),
    };
    language.pick(english, chinese)
}

/// Says how many answers there are and how many are needed.
pub(super) fn votes(language: Language, votes: usize, quorum: u8) -> String {
    match language {
        Language::English => format!("Answers so far: {votes}. Equal answers that decide: {quorum}."),
        Language::Chinese => format!("目前的回应数：{votes}。作出决定所需的相同回应数：{quorum}。"),
    }
}

/// Says how much time is left, in parentheses; nothing if none is.
pub(super) fn time_left(language: Language, left: SignedDuration) -> String {
    let minutes = left.as_secs() / 60;
    if left <= SignedDuration::ZERO {
        return String::new();
    }
    let (days, hours, minutes) = (minutes / (24 * 60), minutes / 60 % 24, minutes % 60);
    match (language, days) {
        (Language::English, 0) => format!(" (in {hours} h {minutes} min)"),
        (Language::English, days) => format!(" (in {days} d {hours} h)"),
        (Language::Chinese, 0) => format!("（还有 {hours} 小时 {minutes} 分钟）"),
        (Language::Chinese, days) => format!("（还有 {days} 天 {hours} 小时）"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_is_rounded_down_and_absent_when_over() {
        let left = |seconds| time_left(Language::English, SignedDuration::from_secs(seconds));
        assert_eq!(
            [left(59), left(3 * 3600 + 61), left(26 * 3600), left(0), left(-5)],
            [" (in 0 h 0 min)", " (in 3 h 1 min)", " (in 1 d 2 h)", "", ""]
        );
        assert_eq!(time_left(Language::Chinese, SignedDuration::from_secs(60)), "（还有 0 小时 1 分钟）");
    }
}
