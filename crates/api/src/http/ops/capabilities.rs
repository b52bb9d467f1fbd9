//! What this server can do.

use axum::Json;
use axum::extract::State;
use guildhall_domain::ops::capability::{
    Containment, ENVELOPE_VERSION, PermissionPolicy, advertised, versions,
};
use guildhall_protocol::rest::ops::capabilities::{CapabilitiesView, PolicyView, ProtocolView};

use crate::App;

/// What this server can do
///
/// Computed for each request from what is there under this configuration.
#[utoipa::path(
    get, path = "/capabilities", tag = "capabilities", operation_id = "showCapabilities",
    responses((status = 200, description = "The tags to rely on", body = CapabilitiesView))
)]
pub(crate) async fn show(State(app): State<App>) -> Json<CapabilitiesView> {
    let (current, supported) = versions();
    let containment = match app.runner_jobs.is_contained() {
        Some(true) => Containment::Contained,
        Some(false) => Containment::Uncontained,
        None => Containment::Elsewhere,
    };
    Json(CapabilitiesView {
        v: ENVELOPE_VERSION,
        mode: "control-plane".to_owned(),
        features: advertised(current, &app.toggles()).map(str::to_owned).collect(),
        workspace_cwd: None,
        protocol: ProtocolView {
            current: current.as_str().to_owned(),
            supported: supported.iter().map(|version| version.as_str().to_owned()).collect(),
        },
        policy: PolicyView {
            permission: PermissionPolicy::ACTIVE.as_str().to_owned(),
            containment: containment.as_str().to_owned(),
        },
    })
}
