//! Remembered rules: the answer to the same action, within a stated scope.

use jiff::{SignedDuration, Timestamp};

use super::digest::ActionDigest;
use super::policy::Mediation;
use super::question::{AnswerOption, OptionEffect, Question};
use crate::access::authorized::TenantObject;
use crate::ids::{ApprovalId, ApprovalRuleId, PrincipalId, RunId, SessionId, TenantId};
use crate::named_enum::named_enum;

named_enum! {
    /// How far an answer is remembered.
    RuleScopeKind, "scope";
    Run = "run",
    Session = "session",
    AgentInProject = "agent-and-project",
}

/// Where a rule holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleScope {
    Run(RunId),
    Session(SessionId),
    /// Every session of one agent in one project.
    AgentInProject {
        /// The backend profile.
        agent: String,
        /// The name of the project.
        project: String,
    },
}

impl RuleScope {
    #[must_use]
    pub const fn kind(&self) -> RuleScopeKind {
        match self {
            Self::Run(_) => RuleScopeKind::Run,
            Self::Session(_) => RuleScopeKind::Session,
            Self::AgentInProject { .. } => RuleScopeKind::AgentInProject,
        }
    }
}

/// A remembered answer to one exact action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRule {
    pub id: ApprovalRuleId,
    pub tenant: TenantId,
    /// The approval whose answer is remembered. It shows the action.
    pub approval: ApprovalId,
    pub scope: RuleScope,
    pub action: ActionDigest,
    pub effect: RuleEffect,
    /// The person who made it.
    pub author: PrincipalId,
    /// Version of the policy that it was made under. It answers under no other.
    pub policy_version: u32,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// How often it may still be used; none for any number.
    pub uses_left: Option<u32>,
    /// How often it was used.
    pub used: u32,
    pub is_revoked: bool,
}

impl TenantObject for ApprovalRule {
    fn tenant(&self) -> TenantId {
        self.tenant
    }
}

/// What a rule does. It cannot answer a question to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleEffect {
    Allow,
    Deny,
}

/// How long a rule holds.
pub const RULE_LIFETIME: SignedDuration = SignedDuration::from_hours(30 * 24);

impl RuleEffect {
    /// Returns the effect of an option that a rule can remember.
    #[must_use]
    pub const fn of(effect: OptionEffect) -> Option<Self> {
        match effect {
            OptionEffect::Allow => Some(Self::Allow),
            OptionEffect::Deny => Some(Self::Deny),
            OptionEffect::Answer => None,
        }
    }

    /// Returns the option of a question that the rule chooses; none if a person has to read the options.
    #[must_use]
    pub fn option(self, question: &Question) -> Option<&AnswerOption> {
        match self {
            Self::Allow => question.plain_allowance(),
            Self::Deny => question.denial(),
        }
    }
}

impl From<RuleEffect> for OptionEffect {
    fn from(effect: RuleEffect) -> Self {
        match effect {
            RuleEffect::Allow => Self::Allow,
            RuleEffect::Deny => Self::Deny,
        }
    }
}

/// Why an answer cannot be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotRememberable {
    #[error("where several answers decide, the answer of one person is not remembered")]
    Quorum,
    #[error("this answer cannot be remembered: the action is not known, or several options allow it")]
    Ambiguous,
}

/// Decides whether a rule can give the same answer. Returns what the rule does, and to which action.
pub fn check_rememberable(
    question: &Question,
    option: &AnswerOption,
    mediation: Mediation,
) -> Result<(RuleEffect, ActionDigest), NotRememberable> {
    match mediation {
        Mediation::Consensus { .. } => return Err(NotRememberable::Quorum),
        Mediation::FirstResponder | Mediation::Designated { .. } | Mediation::LocalOnly => {}
    }
    let effect = RuleEffect::of(option.effect).ok_or(NotRememberable::Ambiguous)?;
    let action = question.action.digest().ok_or(NotRememberable::Ambiguous)?;
    // A rule chooses its option alone, so it must be the one that was chosen here.
    if effect.option(question) != Some(option) {
        return Err(NotRememberable::Ambiguous);
    }
    Ok((effect, action))
}

/// Where a question is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionContext {
    pub run: RunId,
    pub session: SessionId,
    pub agent: String,
    pub project: String,
    /// Version of the tenant's policy now.
    pub policy_version: u32,
}

impl QuestionContext {
    /// Returns the scope of a rule that is made here.
    #[must_use]
    pub fn scope(&self, kind: RuleScopeKind) -> RuleScope {
        match kind {
            RuleScopeKind::Run => RuleScope::Run(self.run),
            RuleScopeKind::Session => RuleScope::Session(self.session),
            RuleScopeKind::AgentInProject => {
                RuleScope::AgentInProject { agent: self.agent.clone(), project: self.project.clone() }
            }
        }
    }
}

impl ApprovalRule {
    /// Returns whether the rule answers an action now.
    #[must_use]
    pub fn matches(&self, context: &QuestionContext, action: ActionDigest, now: Timestamp) -> bool {
        let is_in_scope = match &self.scope {
            RuleScope::Run(run) => *run == context.run,
            RuleScope::Session(session) => *session == context.session,
            RuleScope::AgentInProject { agent, project } => {
                *agent == context.agent && *project == context.project
            }
        };
        is_in_scope
            && self.policy_version == context.policy_version
            && self.action == action
            && !self.is_revoked
            && now < self.expires_at
            && self.uses_left != Some(0)
    }
}

/// Finds the rule that answers an action. A rule that denies wins.
#[must_use]
pub fn find_rule<'a>(
    rules: &'a [ApprovalRule],
    context: &QuestionContext,
    action: Option<ActionDigest>,
    now: Timestamp,
) -> Option<&'a ApprovalRule> {
    let action = action?;
    let matching = || rules.iter().filter(|rule| rule.matches(context, action, now));
    matching().find(|rule| rule.effect == RuleEffect::Deny).or_else(|| matching().next())
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::json;

    use super::*;
    use crate::approvals::question::{Action, QuestionKind};

    fn now() -> Timestamp {
        Timestamp::from_second(1_800_000_000).expect("in range")
    }

    fn context() -> QuestionContext {
        QuestionContext {
            run: RunId::generate(),
            session: SessionId::generate(),
            agent: "codex".to_owned(),
            project: "acme/web".to_owned(),
            policy_version: 1,
        }
    }

    fn action(command: &str) -> ActionDigest {
        ActionDigest::of(&json!(command))
    }

    fn rule(scope: RuleScope, effect: RuleEffect) -> ApprovalRule {
        ApprovalRule {
            id: ApprovalRuleId::generate(),
            tenant: TenantId::generate(),
            approval: ApprovalId::generate(),
            scope,
            action: action("touch a"),
            effect,
            author: PrincipalId::generate(),
            policy_version: 1,
            created_at: now(),
            expires_at: now() + SignedDuration::from_hours(1),
            uses_left: None,
            used: 0,
            is_revoked: false,
        }
    }

    #[test]
    fn rule_holds_only_within_its_scope() {
        let here = context();
        let elsewhere = [
            (RuleScopeKind::Run, QuestionContext { run: RunId::generate(), ..here.clone() }),
            (RuleScopeKind::Session, QuestionContext { session: SessionId::generate(), ..here.clone() }),
            (
                RuleScopeKind::AgentInProject,
                QuestionContext { project: "acme/api".to_owned(), ..here.clone() },
            ),
            (RuleScopeKind::AgentInProject, QuestionContext { agent: "qwen".to_owned(), ..here.clone() }),
            (RuleScopeKind::Run, QuestionContext { policy_version: 2, ..here.clone() }),
        ];
        for (scope, other) in elsewhere {
            let rule = rule(here.scope(scope), RuleEffect::Allow);
            assert!(rule.matches(&here, rule.action, now()), "{rule:?}");
            assert!(!rule.matches(&other, rule.action, now()), "{rule:?}");
        }
    }

    #[test]
    fn rule_answers_only_the_exact_action_while_it_is_valid() {
        let here = context();
        let valid = rule(RuleScope::Run(here.run), RuleEffect::Allow);
        assert!(!valid.matches(&here, action("touch b"), now()));
        assert!(!valid.matches(&here, valid.action, valid.expires_at));
        for invalid in [
            ApprovalRule { is_revoked: true, ..valid.clone() },
            ApprovalRule { uses_left: Some(0), ..valid.clone() },
        ] {
            assert!(!invalid.matches(&here, invalid.action, now()));
        }
        assert!(ApprovalRule { uses_left: Some(1), ..valid.clone() }.matches(&here, valid.action, now()));
    }

    #[test]
    fn denying_rule_wins_and_an_unknown_action_has_no_rule() {
        let here = context();
        let rules = [
            rule(RuleScope::Run(here.run), RuleEffect::Allow),
            rule(RuleScope::Session(here.session), RuleEffect::Deny),
        ];
        let found = find_rule(&rules, &here, Some(action("touch a")), now());
        assert_eq!(found.map(|rule| rule.id), Some(rules[1].id));
        assert_eq!(find_rule(&rules, &here, None, now()), None);
    }

    fn question(options: &[(&str, OptionEffect)]) -> Question {
        let option = |(id, effect): &(&str, OptionEffect)| AnswerOption {
            id: (*id).to_owned(),
            label: String::new(),
            effect: *effect,
            changes_mode: false,
        };
        Question {
            action: Action {
                kind: QuestionKind::Command,
                tool: "shell".to_owned(),
                arguments: Some(json!({ "command": "touch a" })),
                working_dir: None,
                environment: None,
                lifts: [].into(),
                changes: Vec::new(),
            },
            options: options.iter().map(option).collect(),
            reason: None,
            answer_schema: None,
        }
    }

    #[test]
    fn only_an_unambiguous_answer_of_one_person_is_remembered() {
        let plain = question(&[("yes", OptionEffect::Allow), ("no", OptionEffect::Deny)]);
        let action = plain.action.digest().expect("known");
        let check = |question: &Question, mediation| {
            question
                .options
                .iter()
                .map(|option| check_rememberable(question, option, mediation))
                .collect::<Vec<_>>()
        };
        let both = [Ok((RuleEffect::Allow, action)), Ok((RuleEffect::Deny, action))];
        for mediation in
            [Mediation::FirstResponder, Mediation::LocalOnly, Mediation::Designated { approver: None }]
        {
            assert_eq!(check(&plain, mediation), both);
        }
        let consensus = Mediation::Consensus { quorum: std::num::NonZeroU8::MIN, veto: false };
        assert_eq!(check(&plain, consensus), [Err(NotRememberable::Quorum); 2]);
        let several = question(&[
            ("once", OptionEffect::Allow),
            ("all", OptionEffect::Allow),
            ("no", OptionEffect::Deny),
            ("blue", OptionEffect::Answer),
        ]);
        let ambiguous = Err(NotRememberable::Ambiguous);
        assert_eq!(
            check(&several, Mediation::FirstResponder),
            [
                ambiguous,
                ambiguous,
                Ok((RuleEffect::Deny, several.action.digest().expect("known"))),
                ambiguous
            ]
        );
        let mut unknown = plain;
        unknown.action.arguments = None;
        assert_eq!(check(&unknown, Mediation::FirstResponder), [ambiguous; 2]);
    }

    #[test]
    fn answer_to_a_question_cannot_be_remembered() {
        assert_eq!(
            OptionEffect::ALL.iter().map(|effect| RuleEffect::of(*effect)).collect::<Vec<_>>(),
            [Some(RuleEffect::Allow), Some(RuleEffect::Deny), None]
        );
    }
}
