//! Answers of people that are remembered.

use guildhall_domain::approvals::digest::ActionDigest;
use guildhall_domain::approvals::question::OptionEffect;
use guildhall_domain::approvals::rule::{
    ApprovalRule, QuestionContext, RuleEffect, RuleScope, RuleScopeKind,
};
use guildhall_domain::ids::{ApprovalId, ApprovalRuleId, PrincipalId, RunId, SessionId, TenantId};
use jiff_sqlx::{Timestamp, ToSqlx};
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// The columns that every query selects.
struct Row {
    id: Uuid,
    tenant: Uuid,
    approval: Uuid,
    action_digest: Vec<u8>,
    scope: String,
    run: Uuid,
    session: Uuid,
    agent: String,
    project: String,
    effect: String,
    policy_version: i32,
    author: Uuid,
    uses_left: Option<i32>,
    used: i32,
    is_revoked: bool,
    created_at: Timestamp,
    expires_at: Timestamp,
}

impl Row {
    /// Returns an error if a column is unknown: such a rule answers nothing.
    fn into_rule(self) -> Result<ApprovalRule, StoreError> {
        let unreadable = || StoreError::Unreadable {
            column: "approval_rules",
            source: "the columns of a rule contradict each other".into(),
        };
        let scope = match RuleScopeKind::from_name(&self.scope).map_err(|_| unreadable())? {
            RuleScopeKind::Run => RuleScope::Run(RunId::from_uuid(self.run)),
            RuleScopeKind::Session => RuleScope::Session(SessionId::from_uuid(self.session)),
            RuleScopeKind::AgentInProject => {
                RuleScope::AgentInProject { agent: self.agent, project: self.project }
            }
        };
        let effect = OptionEffect::from_name(&self.effect).ok().and_then(RuleEffect::of);
        let digest = <[u8; 32]>::try_from(self.action_digest.as_slice()).map_err(|_| unreadable())?;
        let number = |value: i32| u32::try_from(value).map_err(|_| unreadable());
        Ok(ApprovalRule {
            id: ApprovalRuleId::from_uuid(self.id),
            tenant: TenantId::from_uuid(self.tenant),
            approval: ApprovalId::from_uuid(self.approval),
            scope,
            action: ActionDigest::from_bytes(digest),
            effect: effect.ok_or_else(unreadable)?,
            author: PrincipalId::from_uuid(self.author),
            policy_version: number(self.policy_version)?,
            created_at: self.created_at.to_jiff(),
            expires_at: self.expires_at.to_jiff(),
            uses_left: self.uses_left.map(number).transpose()?,
            used: number(self.used)?,
            is_revoked: self.is_revoked,
        })
    }
}

pub async fn find(store: &Store, id: ApprovalRuleId) -> Result<Option<ApprovalRule>, StoreError> {
    find_with(&store.pool, id).await
}

pub async fn load(tx: &mut Tx, id: ApprovalRuleId) -> Result<Option<ApprovalRule>, StoreError> {
    find_with(tx.connection(), id).await
}

async fn find_with(
    executor: impl PgExecutor<'_>,
    id: ApprovalRuleId,
) -> Result<Option<ApprovalRule>, StoreError> {
    let row = sqlx::query_file_as!(Row, "queries/approval_rules/find.sql", id.as_uuid());
    row.fetch_optional(executor).await?.map(Row::into_rule).transpose()
}

/// Lists the valid rules of a tenant, newest first.
pub async fn list(
    store: &Store,
    tenant: TenantId,
    before: Option<ApprovalRuleId>,
    limit: u32,
) -> Result<Vec<ApprovalRule>, StoreError> {
    let before = before.map(ApprovalRuleId::as_uuid);
    let rows = sqlx::query_file_as!(
        Row,
        "queries/approval_rules/list.sql",
        tenant.as_uuid(),
        before,
        i64::from(limit)
    );
    rows.fetch_all(&store.pool).await?.into_iter().map(Row::into_rule).collect()
}

/// Lists and locks the valid rules of an action where it is asked, so that no two questions use the last use of one.
pub async fn lock_of_action(
    tx: &mut Tx,
    tenant: TenantId,
    action: ActionDigest,
    context: &QuestionContext,
    limit: u32,
) -> Result<Vec<ApprovalRule>, StoreError> {
    let rows = sqlx::query_file_as!(
        Row,
        "queries/approval_rules/lock_of_action.sql",
        tenant.as_uuid(),
        action.as_bytes().as_slice(),
        i32::try_from(context.policy_version).unwrap_or(i32::MAX),
        context.run.as_uuid(),
        context.session.as_uuid(),
        context.agent,
        context.project,
        i64::from(limit)
    );
    rows.fetch_all(tx.connection()).await?.into_iter().map(Row::into_rule).collect()
}

/// Inserts a rule that was made in a context.
pub async fn insert(tx: &mut Tx, rule: &ApprovalRule, context: &QuestionContext) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/approval_rules/insert.sql",
        rule.id.as_uuid(),
        rule.tenant.as_uuid(),
        rule.approval.as_uuid(),
        rule.action.as_bytes().as_slice(),
        rule.scope.kind().as_str(),
        context.run.as_uuid(),
        context.session.as_uuid(),
        context.agent,
        context.project,
        OptionEffect::from(rule.effect).as_str(),
        i32::try_from(rule.policy_version).unwrap_or(i32::MAX),
        rule.author.as_uuid(),
        rule.expires_at.to_sqlx() as Timestamp
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Counts a use of a rule.
pub async fn count_use(tx: &mut Tx, id: ApprovalRuleId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/approval_rules/use.sql", id.as_uuid()).execute(tx.connection()).await?;
    Ok(())
}

/// Revokes a rule. Returns false if it was revoked before.
pub async fn revoke(tx: &mut Tx, id: ApprovalRuleId) -> Result<bool, StoreError> {
    let revoked = sqlx::query_file!("queries/approval_rules/revoke.sql", id.as_uuid());
    Ok(revoked.execute(tx.connection()).await?.rows_affected() == 1)
}
