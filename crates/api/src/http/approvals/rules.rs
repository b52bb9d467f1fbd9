//! Answers that are remembered for the same action.

use axum::Json;
use axum::extract::State;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{RunsRead, RunsWrite};
use guildhall_domain::approvals::question::OptionEffect;
use guildhall_domain::approvals::rule::{ApprovalRule, RuleScope};
use guildhall_domain::ids::ApprovalRuleId;
use guildhall_protocol::rest::approvals::rules::{ApprovalRuleView, ApprovalRulesQuery, ApprovalRulesView};

use crate::App;
use crate::edge::caller::PendingAuthorization;
use crate::edge::error::ApiError;
use crate::edge::input::{PathIds, ValidatedQuery, check_limit, parse};
use crate::http::responses::CommonErrors;

/// List the remembered answers of a tenant
///
/// Those that are valid: not expired, not revoked.
#[utoipa::path(
    get, path = "/api/v1/approval-rules", tag = "approvals", operation_id = "listApprovalRules",
    security(("bearer" = [])), params(ApprovalRulesQuery),
    responses((status = 200, description = "One page, newest first", body = ApprovalRulesView), CommonErrors)
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: PendingAuthorization<RunsRead>,
    ValidatedQuery(query): ValidatedQuery<ApprovalRulesQuery>,
) -> Result<Json<ApprovalRulesView>, ApiError> {
    let caller = caller.in_tenant(&app, &query.tenant_id).await?;
    let before = query.cursor.as_deref().map(|cursor| parse("cursor", cursor)).transpose()?;
    let limit = check_limit("limit", query.limit, 100)?;
    let found = app.approvals.rules.list(&caller, before, limit).await?;
    let is_full = found.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
    let next_cursor = found.last().filter(|_| is_full).map(|last| last.id.to_string());
    Ok(Json(ApprovalRulesView { rules: found.into_iter().map(view).collect(), next_cursor }))
}

/// Revoke a remembered answer
///
/// For its author, and members with the permission approvals:decide. People are asked again from then on. Idempotent.
#[utoipa::path(
    delete, path = "/api/v1/approval-rules/{rule}", tag = "approvals", operation_id = "revokeApprovalRule",
    security(("bearer" = [])), params(("rule" = String, Path, description = "Rule id")),
    responses((status = 200, description = "The revoked rule", body = ApprovalRuleView), CommonErrors)
)]
pub(crate) async fn revoke(
    State(app): State<App>,
    caller: Authorized<RunsWrite>,
    PathIds(rule): PathIds<ApprovalRuleId>,
) -> Result<Json<ApprovalRuleView>, ApiError> {
    Ok(Json(view(app.approvals.rules.revoke(&caller, rule).await?)))
}

fn view(rule: ApprovalRule) -> ApprovalRuleView {
    let scope = rule.scope.kind().to_string();
    let (run, session, agent, project) = match rule.scope {
        RuleScope::Run(run) => (Some(run), None, None, None),
        RuleScope::Session(session) => (None, Some(session), None, None),
        RuleScope::AgentInProject { agent, project } => (None, None, Some(agent), Some(project)),
    };
    ApprovalRuleView {
        rule_id: rule.id.to_string(),
        tenant_id: rule.tenant.to_string(),
        approval_id: rule.approval.to_string(),
        scope,
        run_id: run.map(|run| run.to_string()),
        session_id: session.map(|session| session.to_string()),
        backend_profile: agent,
        project_id: project,
        effect: OptionEffect::from(rule.effect).to_string(),
        author_id: rule.author.to_string(),
        used: rule.used,
        created_at: rule.created_at,
        expires_at: rule.expires_at,
        revoked: rule.is_revoked,
    }
}
