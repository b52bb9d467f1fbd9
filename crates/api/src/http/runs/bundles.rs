//! Git bundles that are uploaded as workspaces.

use axum::Json;
use axum::extract::State;
use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::RunsWrite;
use guildhall_domain::ids::RunId;
use guildhall_protocol::rest::runs::bundle::{BundleUploadView, PutBundlePart};

use crate::App;
use crate::edge::error::ApiError;
use crate::edge::input::{Body, PathIds};
use crate::http::responses::CommonErrors;

/// Upload a part of a run's workspace
///
/// For runs whose workspace has the kind bundle: the Git bundle in parts of 1 MiB, counted from 0. The run takes commands
/// when all parts are there. They are erased when the run ends. Idempotent.
#[utoipa::path(
    put, path = "/api/v1/runs/{run}/bundle/parts/{number}", tag = "runs", operation_id = "putBundlePart",
    security(("bearer" = [])),
    params(
        ("run" = String, Path, description = "Run id"),
        ("number" = u32, Path, description = "Number of the part, from 0"),
    ),
    request_body = PutBundlePart,
    responses((status = 200, description = "Stored", body = BundleUploadView), CommonErrors)
)]
pub(crate) async fn put_part(
    State(app): State<App>,
    caller: Authorized<RunsWrite>,
    PathIds((run, number)): PathIds<(RunId, u32)>,
    Body(body): Body<PutBundlePart>,
) -> Result<Json<BundleUploadView>, ApiError> {
    let missing_parts = app.runs.bundles.put_part(&caller, run, number, &body.content.0).await?;
    Ok(Json(BundleUploadView { run_id: run.to_string(), number, missing_parts }))
}
