//! Server capabilities.

use axum::Json;
use axum::extract::State;
use guildhall_domain::ops::capability::{
    Containment, ENVELOPE_VERSION, PermissionPolicy, advertised_tags, protocol_versions,
};
use guildhall_protocol::rest::ops::capabilities::{CapabilitiesView, PolicyView, ProtocolView};

use crate::App;

/// Get the capabilities of the server
///
/// Computed for each request from the current configuration.
#[utoipa::path(
    get, path = "/capabilities", tag = "capabilities", operation_id = "getCapabilities",
    responses((status = 200, description = "The feature tags, protocol versions and policies", body = CapabilitiesView))
)]
pub(crate) async fn get(State(app): State<App>) -> Json<CapabilitiesView> {
    let (current, supported) = protocol_versions();
    let containment = match app.runners.jobs.is_contained() {
        Some(true) => Containment::Contained,
        Some(false) => Containment::Uncontained,
        None => Containment::Elsewhere,
    };
    Json(CapabilitiesView {
        v: ENVELOPE_VERSION,
        mode: "control-plane".to_owned(),
        features: advertised_tags(current, &app.toggles()).map(str::to_owned).collect(),
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
