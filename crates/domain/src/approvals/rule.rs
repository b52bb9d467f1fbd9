//! Remembered rules: the answer to the same action, within a stated scope.

use jiff::Timestamp;

use super::digest::ActionDigest;
use super::question::OptionEffect;
use crate::ids::{ApprovalRuleId, PrincipalId, ProjectId, RunId, SessionId};
use crate::runs::policy::BackendProfile;

/// Where a rule holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleScope {
    Run(RunId),
    Session(SessionId),
    /// Every session of one agent in one project.
    AgentInProject {
        agent: BackendProfile,
        project: ProjectId,
    },
}

/// A remembered answer to one exact action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRule {
    pub id: ApprovalRuleId,
    pub scope: RuleScope,
    pub action: ActionDigest,
    pub effect: RuleEffect,
    /// The person who made it.
    pub author: PrincipalId,
    pub expires_at: Timestamp,
    /// How often it may still be used; none for any number.
    pub uses_left: Option<u32>,
    pub is_revoked: bool,
}

/// What a rule does. It cannot answer a question to the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleEffect {
    Allow,
    Deny,
}

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
}

/// Where a question is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionContext {
    pub run: RunId,
    pub session: SessionId,
    pub agent: BackendProfile,
    pub project: Option<ProjectId>,
}

impl ApprovalRule {
    /// Returns whether the rule answers an action now.
    #[must_use]
    pub fn matches(&self, context: &QuestionContext, action: ActionDigest, now: Timestamp) -> bool {
        let is_in_scope = match &self.scope {
            RuleScope::Run(run) => *run == context.run,
            RuleScope::Session(session) => *session == context.session,
            RuleScope::AgentInProject { agent, project } => {
                *agent == context.agent && Some(*project) == context.project
            }
        };
        is_in_scope
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

    fn now() -> Timestamp {
        Timestamp::from_second(1_800_000_000).expect("in range")
    }

    fn context() -> QuestionContext {
        QuestionContext {
            run: RunId::generate(),
            session: SessionId::generate(),
            agent: "codex".parse().expect("a profile"),
            project: Some(ProjectId::generate()),
        }
    }

    fn action(command: &str) -> ActionDigest {
        ActionDigest::of(&json!(command))
    }

    fn rule(scope: RuleScope, effect: RuleEffect) -> ApprovalRule {
        ApprovalRule {
            id: ApprovalRuleId::generate(),
            scope,
            action: action("touch a"),
            effect,
            author: PrincipalId::generate(),
            expires_at: now() + SignedDuration::from_hours(1),
            uses_left: None,
            is_revoked: false,
        }
    }

    #[test]
    fn rule_holds_only_within_its_scope() {
        let here = context();
        let project = here.project.expect("a project");
        let agent = here.agent.clone();
        for (scope, other) in [
            (RuleScope::Run(here.run), QuestionContext { run: RunId::generate(), ..here.clone() }),
            (
                RuleScope::Session(here.session),
                QuestionContext { session: SessionId::generate(), ..here.clone() },
            ),
            (
                RuleScope::AgentInProject { agent: agent.clone(), project },
                QuestionContext { project: Some(ProjectId::generate()), ..here.clone() },
            ),
            (
                RuleScope::AgentInProject { agent: agent.clone(), project },
                QuestionContext { agent: "qwen".parse().expect("a profile"), ..here.clone() },
            ),
            (RuleScope::AgentInProject { agent, project }, QuestionContext { project: None, ..here.clone() }),
        ] {
            let rule = rule(scope, RuleEffect::Allow);
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

    #[test]
    fn answer_to_a_question_cannot_be_remembered() {
        assert_eq!(
            OptionEffect::ALL.iter().map(|effect| RuleEffect::of(*effect)).collect::<Vec<_>>(),
            [Some(RuleEffect::Allow), Some(RuleEffect::Deny), None]
        );
    }
}
