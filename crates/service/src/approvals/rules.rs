//! Answers of people that are remembered for the same action.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::Permission;
use guildhall_domain::access::role::rights::{RunsRead, RunsWrite};
use guildhall_domain::approvals::approval::Approval;
use guildhall_domain::approvals::policy::ApprovalPolicy;
use guildhall_domain::approvals::question::{AnswerOption, Question};
use guildhall_domain::approvals::rule::{
    ApprovalRule, QuestionContext, RULE_LIFETIME, RuleScopeKind, check_rememberable, find_rule,
};
use guildhall_domain::approvals::state::{DecidedBy, Decision};
use guildhall_domain::ids::{ApprovalRuleId, TenantId};
use guildhall_domain::runs::Run;
use guildhall_store::{Store, approval_rules as rows, memberships};
use serde_json::json;

use super::error::ApprovalError;
use super::voters::VoterRules;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::deps::Deps;
use crate::run_steps::LockedRun;

/// Rules in one list.
const MAX_LISTED: u32 = 100;

/// Rules of one action that are looked at.
const MAX_OF_ACTION: u32 = 50;

/// Reads and revokes remembered answers.
#[derive(Debug, Clone)]
pub struct Rules {
    store: Store,
}

impl Rules {
    pub(super) fn new(deps: &Deps) -> Self {
        Self { store: deps.store.clone() }
    }

    /// Lists the valid rules of a tenant, newest first.
    pub async fn list(
        &self,
        caller: &Authorized<RunsRead>,
        before: Option<ApprovalRuleId>,
        limit: u32,
    ) -> Result<Vec<ApprovalRule>, ServiceError> {
        let limit = limit.clamp(1, MAX_LISTED);
        Ok(rows::list(&self.store, caller.tenant(), before, limit).await?)
    }

    /// Revokes a rule: for its author, and for members who decide. Repeating it changes nothing.
    pub async fn revoke(
        &self,
        caller: &Authorized<RunsWrite>,
        id: ApprovalRuleId,
    ) -> Result<ApprovalRule, ServiceError> {
        let rule = caller.load(rows::find(&self.store, id).await?)?;
        let mut tx = self.store.begin().await?;
        let role = memberships::lock_member(&mut tx, caller.tenant(), caller.principal).await?;
        let may_decide = role.is_some_and(|role| role.allows(Permission::ApprovalsDecide));
        if !may_decide && rule.author != caller.principal {
            return Err(ApprovalError::NotYourRule.into());
        }
        if rows::revoke(&mut tx, id).await? {
            let detail =
                json!({ "approvalId": rule.approval.to_string(), "author": rule.author.to_string() });
            let event = AuditEvent::by_member(caller, "approval-rule.revoked", id.to_string(), detail);
            audit::record(&mut tx, &event).await?;
        }
        tx.commit().await?;
        Ok(ApprovalRule { is_revoked: true, ..rule })
    }

    /// Returns the tenant of a rule, for the edge to load the caller's role in it.
    pub async fn tenant_of(&self, id: ApprovalRuleId) -> Result<Option<TenantId>, ServiceError> {
        Ok(rows::find(&self.store, id).await?.map(|rule| rule.tenant))
    }
}

fn context(run: &Run, policy_version: u32) -> QuestionContext {
    QuestionContext {
        run: run.id,
        session: run.session,
        agent: run.backend_profile.clone(),
        project: run.project.clone(),
        policy_version,
    }
}

/// Remembers the answer of a person. The answer of one person is not remembered where several are needed.
pub(super) async fn remember(
    locked: &mut LockedRun,
    caller: &Authorized<RunsWrite>,
    approval: &Approval,
    policy: &ApprovalPolicy,
    option: &AnswerOption,
    scope: RuleScopeKind,
) -> Result<(), ServiceError> {
    let checked = check_rememberable(&approval.question, option, policy.mediation);
    let (effect, action) = checked.map_err(ApprovalError::from)?;
    let now = locked.run.now;
    let context = context(&locked.run, policy.version);
    let rule = ApprovalRule {
        id: ApprovalRuleId::generate(),
        tenant: approval.tenant,
        approval: approval.id,
        scope: context.scope(scope),
        action,
        effect,
        author: caller.principal,
        policy_version: policy.version,
        created_at: now,
        expires_at: now + RULE_LIFETIME,
        uses_left: None,
        used: 0,
        is_revoked: false,
    };
    rows::insert(&mut locked.tx, &rule, &context).await?;
    let detail = json!({
        "approvalId": approval.id.to_string(), "scope": scope, "effect": option.effect,
        "expiresAt": rule.expires_at.to_string(),
    });
    let event = AuditEvent::by_member(caller, "approval-rule.created", rule.id.to_string(), detail);
    audit::record(&mut locked.tx, &event).await
}

/// Returns the answer of a rule whose author may still answer.
pub(super) async fn find_answer(
    locked: &mut LockedRun,
    question: &Question,
    voter_rules: &VoterRules<'_>,
) -> Result<Option<Decision>, ServiceError> {
    let Some(action) = question.action.digest() else { return Ok(None) };
    let (tenant, now) = (locked.run.tenant, locked.run.now);
    let context = context(&locked.run, voter_rules.policy.version);
    let mut found = rows::lock_of_action(&mut locked.tx, tenant, action, &context, MAX_OF_ACTION).await?;
    while let Some(rule) = find_rule(&found, &context, Some(action), now).cloned() {
        let Some(option) = rule.effect.option(question) else { return Ok(None) };
        if is_author_allowed(locked, &rule, voter_rules).await? {
            rows::count_use(&mut locked.tx, rule.id).await?;
            let decision = Decision::new(option, DecidedBy::Rule(rule.id), now);
            return Ok(Some(decision.map_err(ApprovalError::from)?));
        }
        found.retain(|other| other.id != rule.id);
    }
    Ok(None)
}

/// Returns whether a rule may still answer: nobody has revoked it, and its author may answer.
pub(super) async fn is_valid(
    locked: &mut LockedRun,
    id: ApprovalRuleId,
    voter_rules: &VoterRules<'_>,
) -> Result<bool, ServiceError> {
    match rows::load(&mut locked.tx, id).await? {
        Some(rule) if !rule.is_revoked => is_author_allowed(locked, &rule, voter_rules).await,
        Some(_) | None => Ok(false),
    }
}

async fn is_author_allowed(
    locked: &mut LockedRun,
    rule: &ApprovalRule,
    voter_rules: &VoterRules<'_>,
) -> Result<bool, ServiceError> {
    let role = memberships::lock_member(&mut locked.tx, rule.tenant, rule.author).await?;
    Ok(voter_rules.allows(rule.author, role))
}
