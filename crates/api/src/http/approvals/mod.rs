//! Approvals: for people who answer, and for runners that ask.

mod page;
pub(crate) mod policies;
pub(crate) mod questions;
pub(crate) mod rules;
pub(crate) mod stream;

use axum::extract::State;
use axum::{Json, Router};
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{RunsRead, RunsWrite};
use guildhall_domain::approvals::filter::{ApprovalFilter, ApprovalScope};
use guildhall_domain::approvals::rule::RuleScopeKind;
use guildhall_domain::approvals::state::{ApprovalState, Decision};
use guildhall_domain::ids::ApprovalId;
use guildhall_protocol::rest::approvals::{ApprovalView, ApprovalsQuery, ApprovalsView, CastVote};
use guildhall_service::approvals::listed::{ApprovalPage, ListedApproval, PageRequest};
use guildhall_service::approvals::votes::Answer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::page::QUESTION_PAGE_PATH;
use crate::App;
use crate::edge::caller::PendingAuthorization;
use crate::edge::client_address::DirectConnection;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, ValidatedQuery, check_limit, parse};
use crate::edge::long_poll::LongPoll;
use crate::http::responses::{CommonErrors, TooManyStreams};

/// List the approvals of a tenant
///
/// With `after` and `wait`, the request long-polls: it answers when something has changed after that `position`. If nothing
/// has when the time is over, the list is empty and has the same `position`. Open long polls count as streams.
#[utoipa::path(
    get, path = "/api/v1/approvals", tag = "approvals", operation_id = "listApprovals", security(("bearer" = [])),
    params(ApprovalsQuery),
    responses(
        (status = 200, description = "One page, newest first", body = ApprovalsView),
        CommonErrors,
        TooManyStreams,
    )
)]
pub(crate) async fn list(
    State(app): State<App>,
    caller: PendingAuthorization<RunsRead>,
    DirectConnection(peer): DirectConnection,
    ValidatedQuery(query): ValidatedQuery<ApprovalsQuery>,
    long_poll: LongPoll,
) -> Result<Json<ApprovalsView>, ApiError> {
    let page = page_request(&query)?;
    let approvals = &app.approvals.approvals;
    let after = query.after.as_deref().map(|after| parse("after", after)).transpose()?;
    if let Some(after) = after {
        let waiting = caller.in_tenant(&app, &query.tenant_id).await?;
        let _permit = app.streams.permit(waiting.principal, waiting.tenant().as_uuid())?;
        let place = long_poll.begin(&app, query.wait)?;
        tokio::select! {
            changed = approvals.wait_for_change(&waiting, after, place.wait) => changed?,
            // The server stops accepting: the client continues at another replica.
            () = app.closing.cancelled() => {}
        }
    }
    // After the wait: the right may have been taken away.
    let caller = caller.in_tenant(&app, &query.tenant_id).await?;
    // Before the list: what happens in between is reported twice, and never lost.
    let position = approvals.position(&caller).await?;
    let found = match after {
        Some(after) if after == position => ApprovalPage { approvals: Vec::new(), next: None },
        Some(_) | None => approvals.list(&caller, peer, page).await?,
    };
    let (next_cursor, position) = (found.next.map(|next| next.to_string()), position.to_string());
    Ok(Json(ApprovalsView {
        approvals: found.approvals.into_iter().map(view).collect(),
        next_cursor,
        position,
    }))
}

fn page_request(query: &ApprovalsQuery) -> Result<PageRequest, ApiError> {
    let invalid = |message| ApiError::new(FailureKind::SchemaInvalid, message);
    let scope = match (query.run_id.as_deref(), query.session_id.as_deref()) {
        (None, None) => ApprovalScope::Tenant,
        (Some(run), None) => ApprovalScope::Run(parse("runId", run)?),
        (None, Some(session)) => ApprovalScope::Session(parse("sessionId", session)?),
        (Some(_), Some(_)) => return Err(invalid("runId, sessionId: use one of them")),
    };
    let only_pending = match query.state.as_deref() {
        None | Some("pending") => true,
        Some("all") => false,
        Some(_) => return Err(invalid("state: use pending or all")),
    };
    Ok(PageRequest {
        filter: ApprovalFilter { scope, only_pending },
        only_answerable: query.answerable,
        before: query.cursor.as_deref().map(|cursor| parse("cursor", cursor)).transpose()?,
        limit: check_limit("limit", query.limit, 100)?,
    })
}

/// Get an approval
///
/// The whole question: everything that would be executed.
#[utoipa::path(
    get, path = "/api/v1/approvals/{approval}", tag = "approvals", operation_id = "getApproval",
    security(("bearer" = [])), params(("approval" = String, Path, description = "Approval id")),
    responses((status = 200, description = "The approval", body = ApprovalView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: Authorized<RunsRead>,
    PathIds(approval): PathIds<ApprovalId>,
    DirectConnection(peer): DirectConnection,
) -> Result<Json<ApprovalView>, ApiError> {
    Ok(Json(view(app.approvals.approvals.get(&caller, peer, approval).await?)))
}

/// Answer a question of an agent
///
/// For who created the run, and members with the permission approvals:decide, unless the approval policy of the tenant
/// says otherwise. An answer after the decision fails with 409 and names who decided. An option with the effect answer needs
/// the values of the form in `content`; a value that the form does not allow fails with 400 and names the field.
#[utoipa::path(
    post, path = "/api/v1/approvals/{approval}/votes", tag = "approvals", operation_id = "voteOnApproval",
    security(("bearer" = [])), params(("approval" = String, Path, description = "Approval id")),
    request_body = CastVote,
    responses((status = 200, description = "The approval, with its answer", body = ApprovalView), CommonErrors)
)]
pub(crate) async fn vote(
    State(app): State<App>,
    caller: Authorized<RunsWrite>,
    PathIds(approval): PathIds<ApprovalId>,
    DirectConnection(peer): DirectConnection,
    Body(body): Body<CastVote>,
) -> Result<Json<ApprovalView>, ApiError> {
    let remember = body.remember.as_deref().map(RuleScopeKind::from_name).transpose();
    let remember =
        remember.map_err(|error| ApiError::new(FailureKind::SchemaInvalid, format!("remember: {error}")))?;
    let answer = Answer {
        option: body.option_id,
        shown_digest: body.shown_digest,
        peer,
        remember,
        content: body.content,
    };
    Ok(Json(view(app.approvals.votes.vote(&caller, approval, &answer).await?)))
}

/// Withdraw a question of an agent without an answer
///
/// For who created the run, and members with the permission approvals:decide. An agent that waits is declined. Repeating it
/// changes nothing; a question that has ended otherwise fails with 409 and its state.
#[utoipa::path(
    post, path = "/api/v1/approvals/{approval}/withdraw", tag = "approvals", operation_id = "withdrawApproval",
    security(("bearer" = [])), params(("approval" = String, Path, description = "Approval id")),
    responses((status = 200, description = "The withdrawn approval", body = ApprovalView), CommonErrors)
)]
pub(crate) async fn withdraw(
    State(app): State<App>,
    caller: Authorized<RunsWrite>,
    PathIds(approval): PathIds<ApprovalId>,
) -> Result<Json<ApprovalView>, ApiError> {
    Ok(Json(view(app.approvals.withdrawals.withdraw(&caller, approval).await?)))
}

fn view(ListedApproval { approval, can_answer, mediation }: ListedApproval) -> ApprovalView {
    let decision = approval.state.decision();
    ApprovalView {
        approval_id: approval.id.to_string(),
        tenant_id: approval.tenant.to_string(),
        session_id: approval.session.to_string(),
        run_id: approval.run.to_string(),
        command_id: approval.command.to_string(),
        status: approval.state.status().to_string(),
        shown_digest: approval.shown.to_string(),
        option_id: decision.map(|decision| decision.option().to_owned()),
        effect: decision.map(|decision| decision.effect().to_string()),
        decided_by: decision.map(|decision| decision.by().names()).unwrap_or_default(),
        decided_at: decision.map(Decision::at),
        end_reason: approval.state.end_reason().map(|reason| reason.to_string()),
        created_at: approval.created_at,
        expires_at: approval.expires_at,
        policy_version: approval.policy_version,
        parked: approval.state == ApprovalState::Pending { is_parked: true },
        escalated: approval.is_escalated,
        can_answer,
        mode: mediation.name().to_owned(),
        question: approval.question.into(),
    }
}

/// Returns the page of this group. It is HTML, hence not in the API document.
pub(super) fn pages() -> Router<App> {
    Router::new().route(QUESTION_PAGE_PATH, axum::routing::get(page::show).post(page::answer))
}

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(vote))
        .routes(routes!(withdraw))
        .routes(routes!(stream::follow))
        .routes(routes!(policies::get, policies::set))
        .routes(routes!(rules::list))
        .routes(routes!(rules::revoke))
        .routes(routes!(questions::ask))
        .routes(routes!(questions::take))
        .routes(routes!(questions::confirm))
}
