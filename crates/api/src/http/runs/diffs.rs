//! The changes of a run's workspace.

use axum::Json;
use axum::extract::State;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{RunsRead, RunsWrite};
use guildhall_domain::ids::RunId;
use guildhall_protocol::base64_bytes::Base64Bytes;
use guildhall_protocol::rest::runs::diff::{DeletedDiffView, DiffView};

use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::PathIds;
use crate::http::responses::CommonErrors;

/// Get the changes of a run's workspace
///
/// The changes since the start of the workspace, as the runner reported them after the last turn. Only workspaces of the
/// kinds copy and git have them.
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/diff", tag = "runs", operation_id = "getRunDiff", security(("bearer" = [])),
    params(("run" = String, Path, description = "Run id")),
    responses((status = 200, description = "The changes", body = DiffView), CommonErrors)
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: Authorized<RunsRead>,
    PathIds(run): PathIds<RunId>,
) -> Result<Json<DiffView>, ApiError> {
    let diff = app.runs.diffs.get(&caller, run).await?;
    Ok(Json(DiffView {
        run_id: diff.run.to_string(),
        command_id: diff.command.to_string(),
        bytes: diff.content.len() as u64,
        diff: Base64Bytes(diff.content),
        created_at: diff.created_at,
    }))
}

/// Delete the changes of a run's workspace
///
/// The workspace itself stays as it is, and the next turn reports its changes again. Idempotent.
#[utoipa::path(
    delete, path = "/api/v1/runs/{run}/diff", tag = "runs", operation_id = "deleteRunDiff", security(("bearer" = [])),
    params(("run" = String, Path, description = "Run id")),
    responses((status = 200, description = "Deleted", body = DeletedDiffView), CommonErrors)
)]
pub(crate) async fn delete(
    State(app): State<App>,
    caller: Authorized<RunsWrite>,
    PathIds(run): PathIds<RunId>,
) -> Result<Json<DeletedDiffView>, ApiError> {
    app.runs.diffs.delete(&caller, run).await?;
    Ok(Json(DeletedDiffView { run_id: run.to_string(), deleted: true }))
}
