//! Changes of workspaces as runners report them.

use axum::Json;
use axum::extract::State;
use guildhall_domain::ids::RunId;
use guildhall_protocol::rest::runs::diff::{PutDiff, StoredDiffView};

use super::grant_for;
use crate::App;
use crate::edge::caller::RunHolder;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds, parse};
use crate::http::responses::CommonErrors;

/// Set the changes of a run's workspace
///
/// Requires a run token. Replaces the changes that were reported before.
#[utoipa::path(
    put, path = "/api/v1/runs/{run}/diff", tag = "runners", operation_id = "putRunDiff",
    security(("bearer" = [])), params(("run" = String, Path, description = "Run id")), request_body = PutDiff,
    responses((status = 200, description = "Stored", body = StoredDiffView), CommonErrors)
)]
pub(crate) async fn put(
    State(app): State<App>,
    RunHolder(token): RunHolder,
    PathIds(run): PathIds<RunId>,
    Body(body): Body<PutDiff>,
) -> Result<Json<StoredDiffView>, ApiError> {
    let grant = grant_for(&token, run)?;
    app.runners.diffs.put(grant, parse("commandId", &body.command_id)?, &body.diff.0).await?;
    Ok(Json(StoredDiffView { run_id: run.to_string(), bytes: body.diff.0.len() as u64 }))
}
