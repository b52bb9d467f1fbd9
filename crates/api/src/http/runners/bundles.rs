//! Uploaded workspaces, as runners read them.

use axum::Json;
use axum::extract::State;
use guildhall_domain::ids::RunId;
use guildhall_protocol::base64_bytes::Base64Bytes;
use guildhall_protocol::rest::runs::bundle::BundlePartView;

use super::grant_for;
use crate::App;
use crate::edge::caller::RunHolder;
use crate::edge::error::ApiError;
use crate::edge::input::PathIds;
use crate::http::responses::CommonErrors;

/// Get a part of a run's uploaded workspace
///
/// Requires a run token.
#[utoipa::path(
    get, path = "/api/v1/runs/{run}/bundle/parts/{number}", tag = "runners", operation_id = "getBundlePart",
    security(("bearer" = [])),
    params(
        ("run" = String, Path, description = "Run id"),
        ("number" = u32, Path, description = "Number of the part, from 0"),
    ),
    responses((status = 200, description = "The part", body = BundlePartView), CommonErrors)
)]
pub(crate) async fn get_part(
    State(app): State<App>,
    RunHolder(token): RunHolder,
    PathIds((run, number)): PathIds<(RunId, u32)>,
) -> Result<Json<BundlePartView>, ApiError> {
    let content = app.runners.bundles.get_part(grant_for(&token, run)?, number).await?;
    Ok(Json(BundlePartView { run_id: run.to_string(), number, content: Base64Bytes(content) }))
}
