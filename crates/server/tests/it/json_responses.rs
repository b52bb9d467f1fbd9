//! Every success is JSON, in the API document and on the wire.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::runs::text;

/// Operations of the API document whose success is a stream of events. `/metrics` is not part of the document.
const STREAMS: [&str; 10] = [
    "connectCopilotKitAgent",
    "followAgentThread",
    "followApprovals",
    "followAudit",
    "followInstallationAudit",
    "followRelations",
    "followRun",
    "followSession",
    "runAgentWithAgui",
    "runCopilotKitAgent",
];

/// The operation whose success is JSON or a stream, as the client accepts.
const NEGOTIATED: &str = "createAgentRun";

/// The operations whose success is the image that was uploaded. Their failures are JSON.
const IMAGES: [&str; 2] = ["getAttachmentContent", "getRunAttachment"];

/// The operations whose success is a certificate in PEM, as the clients of AUN read it.
const CERTIFICATES: [&str; 4] =
    ["getCertificate", "getCertificateChain", "getRootCertificate", "getTrustAuthority"];

// covers: R3
#[tokio::test]
async fn every_success_of_the_api_document_is_json() {
    let cluster = Cluster::new().await;
    let document = cluster.first.get("/openapi.json").await.body;
    let mut streams = Vec::new();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let name = text(operation, "operationId");
            let successes = operation["responses"].as_object().expect("responses").iter();
            for (status, response) in successes.filter(|(status, _)| status.starts_with('2')) {
                let content = response["content"].as_object();
                let kinds: Vec<_> = content.into_iter().flatten().map(|(kind, _)| kind.as_str()).collect();
                if kinds == ["text/event-stream"] {
                    streams.push(name.clone());
                } else if name == NEGOTIATED {
                    assert_eq!(kinds, ["application/json", "text/event-stream"]);
                } else if IMAGES.contains(&name.as_str()) {
                    assert_eq!(kinds, ["image/gif", "image/jpeg", "image/png", "image/webp"]);
                } else if CERTIFICATES.contains(&name.as_str()) {
                    assert_eq!(kinds, ["application/x-pem-file"]);
                } else {
                    assert_eq!(kinds, ["application/json"], "{method} {path} {status} ({name})");
                }
            }
        }
    }
    streams.sort();
    assert_eq!(streams, STREAMS);
}

// covers: R3
#[tokio::test]
async fn delete_revoke_and_sign_out_answer_with_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::with_secrets_folder(&folder).await;
    let operator = &cluster.operator.token;
    let tenant = cluster.create_test_tenant("acme").await;
    let ada = cluster.create_user("ada").await;
    let (key, _) = cluster.create_key(&tenant.id, "viewer").await;
    let (enrolment, _) = cluster.create_enrolment(&tenant.id).await;
    let (invitation, _) = cluster.create_invitation(&tenant.id, "viewer").await;
    let run = cluster.create_run(&tenant).await;
    let body = json!({ "credential": "sk-test", "template": "codex" });
    let stored = cluster.first.put_credential(&tenant.id, "mine", operator, body).await;
    assert_eq!(stored.status, 200, "{}", stored.text);

    let of_tenant = |rest: &str| format!("/api/v1/tenants/{}/{rest}", tenant.id);
    let member = of_tenant(&format!("members/{}", ada.principal));
    let role = Some(json!({ "role": "viewer" }));
    let revoked = |id: &str| json!({ "id": id, "revoked": true });
    let profile = format!("/api/v1/provider-profiles/mine?tenantId={}", tenant.id);
    let requests = [
        (Method::PUT, member.clone(), role, json!({ "principal": ada.principal, "role": "viewer" })),
        (Method::DELETE, member, None, json!({ "principal": ada.principal, "removed": true })),
        (Method::DELETE, of_tenant(&format!("keys/{key}")), None, revoked(&key)),
        (Method::DELETE, of_tenant(&format!("enrolments/{enrolment}")), None, revoked(&enrolment)),
        (Method::DELETE, of_tenant(&format!("invitations/{invitation}")), None, revoked(&invitation)),
        (
            Method::DELETE,
            format!("/api/v1/runs/{run}/events/1"),
            None,
            json!({ "runId": run, "seq": 1, "erased": true }),
        ),
        (Method::DELETE, profile, None, json!({ "profile": "mine", "deleted": true })),
        (Method::POST, "/api/v1/auth/logout".to_owned(), None, json!({ "signedOut": true })),
    ];
    for (method, path, body, expected) in requests {
        let response = cluster.second.request_as(method.clone(), &path, operator, body).await;
        assert_eq!(
            (response.status.as_u16(), response.header("content-type"), &response.body),
            (200, "application/json", &expected),
            "{method} {path}: {}",
            response.text
        );
    }
    let after: Value = cluster.first.get_as("/api/v1/whoami", operator).await.body;
    assert_eq!(after["failureKind"], "unauthenticated", "the sign-out had no effect");
}
