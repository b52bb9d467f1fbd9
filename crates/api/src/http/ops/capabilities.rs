//! Server capabilities.

use axum::Json;
use axum::extract::State;
use guildhall_domain::approvals::policy::{ApprovalPolicy, Mediation};
use guildhall_domain::ops::capability::{Containment, ENVELOPE_VERSION, REGISTRY, Registry, Toggles};
use guildhall_protocol::rest::ops::capabilities::{
    CapabilitiesQuery, CapabilitiesView, PermissionPolicy, PolicyView, ProtocolView, ServerMode,
};

use crate::App;
use crate::edge::caller::OptionalCaller;
use crate::edge::error::ApiError;
use crate::edge::input::ValidatedQuery;
use crate::http::responses::CommonErrors;

/// Get the capabilities of the server
///
/// Computed for each request from the current configuration. `policy` is that of the tenant in `tenantId`, or of the
/// tenant that the service key belongs to; without a tenant, the default of the server.
#[utoipa::path(
    get, path = "/capabilities", tag = "capabilities", operation_id = "getCapabilities",
    security((), ("bearer" = [])), params(CapabilitiesQuery),
    responses(
        (status = 200, description = "The feature tags, protocol versions and policies", body = CapabilitiesView),
        CommonErrors
    )
)]
pub(crate) async fn get(
    State(app): State<App>,
    caller: OptionalCaller,
    ValidatedQuery(query): ValidatedQuery<CapabilitiesQuery>,
) -> Result<Json<CapabilitiesView>, ApiError> {
    let policy = match caller.tenant(&app, query.tenant_id.as_deref()).await? {
        Some(tenant) => app.approvals.policies.of_tenant(tenant).await?,
        None => ApprovalPolicy::default(),
    };
    let containment = match app.runners.jobs.is_contained() {
        Some(true) => Containment::Contained,
        Some(false) => Containment::Uncontained,
        None => Containment::Elsewhere,
    };
    Ok(Json(view(ENVELOPE_VERSION, &REGISTRY, &app.toggles(), containment, policy.mediation)))
}

fn view(
    envelope_version: u32,
    registry: &Registry,
    toggles: &Toggles,
    containment: Containment,
    mediation: Mediation,
) -> CapabilitiesView {
    let protocol = registry.versions();
    CapabilitiesView {
        v: envelope_version,
        mode: ServerMode::HttpBridge,
        features: registry.advertised(protocol.current, toggles).map(|known| known.tag.to_owned()).collect(),
        workspace_cwd: None,
        protocol: ProtocolView {
            current: protocol.current.to_string(),
            supported: protocol.supported.iter().map(ToString::to_string).collect(),
        },
        policy: PolicyView {
            permission: match mediation {
                Mediation::FirstResponder => PermissionPolicy::FirstResponder,
                Mediation::Designated { .. } => PermissionPolicy::Designated,
                Mediation::Consensus { .. } => PermissionPolicy::Consensus,
                Mediation::LocalOnly => PermissionPolicy::LocalOnly,
            },
        },
        containment: containment.as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use guildhall_domain::ids::EntryId;
    use guildhall_domain::journal::follow::ClientId;
    use guildhall_domain::journal::{Entry, Seq};
    use guildhall_domain::ops::capability::{Protocol, ProtocolVersions};
    use guildhall_protocol::stream::NoticeFrame;
    use serde_json::{Value, json};

    use super::*;
    use crate::edge::stream::hello;
    use crate::http::runs::events;

    const V2: Protocol = Protocol::new(2);

    /// Returns where each version appears: in the capabilities, in the first frame of a stream and in an event.
    fn versions_sent(envelope: u32, protocol: ProtocolVersions, event: u32) -> Value {
        let registry = Registry { protocol, ..REGISTRY };
        let capabilities = json!(view(
            envelope,
            &registry,
            &Toggles::default(),
            Containment::Elsewhere,
            Mediation::FirstResponder
        ));
        let client = "client_1".parse::<ClientId>().unwrap();
        let frame = json!(NoticeFrame { v: event, notice: hello(&client, protocol.current) });
        let entry = Entry {
            seq: Seq::new(1).unwrap(),
            id: EntryId::generate(),
            kind: "run_created".to_owned(),
            body: None,
            recorded_at: jiff::Timestamp::UNIX_EPOCH,
        };
        let event = json!(events::versioned_view(event, &entry));
        json!({
            "capabilities": [capabilities["v"], capabilities["protocol"]],
            "hello": [frame["v"], frame["protocol"]],
            "event": event["v"],
        })
    }

    // covers: C5
    #[test]
    fn each_version_changes_without_the_others() {
        let (one, two) = (REGISTRY.versions(), ProtocolVersions { current: V2, supported: &[V2] });
        let (v1, v2) = (
            json!({ "current": "v1", "supported": ["v1"] }),
            json!({ "current": "v2", "supported": ["v2"] }),
        );
        assert_eq!(
            versions_sent(7, one, 1),
            json!({ "capabilities": [7, v1], "hello": [1, "v1"], "event": 1 }),
            "the envelope"
        );
        assert_eq!(
            versions_sent(1, two, 1),
            json!({ "capabilities": [1, v2], "hello": [1, "v2"], "event": 1 }),
            "the protocol"
        );
        assert_eq!(
            versions_sent(1, one, 5),
            json!({ "capabilities": [1, v1], "hello": [5, "v1"], "event": 5 }),
            "the events"
        );
    }
}
