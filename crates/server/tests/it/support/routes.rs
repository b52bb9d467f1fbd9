//! The routes of the server: who may call each, and a valid request for each.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::runs::{agent_request, command_question, run_agent_input, run_request};
use crate::support::{TestResponse, TestServer, read_response};

/// The routes that need no token. Each needs a reason.
pub(crate) const PUBLIC: [(&str, &str); 30] = [
    ("GET", "/health"),                       // probe of the installation
    ("GET", "/health/live"),                  // liveness probe
    ("GET", "/health/readiness"),             // readiness probe
    ("GET", "/capabilities"),                 // first request of a client
    ("GET", "/.well-known/jwks.json"),        // keys for verifying tokens
    ("POST", "/api/v1/auth/login"),           // issues a token
    ("POST", "/api/v1/auth/refresh"),         // the token is in the body
    ("POST", "/api/v1/auth/browser-session"), // issues a browser session
    ("GET", "/api/v1/auth/oidc/start"),       // starts a sign-in
    ("GET", "/api/v1/auth/oidc/callback"),    // ends a sign-in; authenticated by a cookie
    ("POST", "/api/v1/auth/handoff"),         // code and verifier are in the body
    ("GET", ATTACHMENT_CONTENT),              // the URL is signed
    ("GET", "/.well-known/aun-gateway"),      // where clients find the socket
    ("GET", "/pki/cert/{aid}"),               // certificates verify what others sign
    ("GET", "/pki/chain"),
    ("GET", "/pki/crl.json"),
    ("GET", "/pki/ocsp/{serial}"),
    ("GET", "/root.crt"),
    ("GET", "/pki/trust-authority.crt"),
    ("GET", "/pki/trust-roots.json"),
    ("GET", "/trust-root.json"),
    ("GET", "/ct/sth"), // the log of certificates is for everybody
    ("GET", "/ct/entries"),
    ("GET", "/ct/entries/{log_id}"),
    ("GET", "/ct/certs/{serial}"),
    ("GET", "/ct/proof/{tree_size}/{log_id}"),
    ("GET", "/ct/consistency/{first}/{second}"),
    ("GET", "/agents/{agent}"), // published agents only
    ("GET", "/agents/{agent}/versions/{version}"),
    ("GET", "/api/v1/scopes"), // texts of the platform
];

/// Images are shown by browsers, which send no token.
const ATTACHMENT_CONTENT: &str = "/api/v1/agent/attachments/{attachment}/content";

/// The page of a question, which shows a sign-in form to callers without a session, and that form.
pub(crate) const QUESTION_PAGE: &str = "/approve/apr_01920000000070008000000000000000";
pub(crate) const QUESTION_SIGN_IN: &str = "/approve/apr_01920000000070008000000000000000/sign-in";

/// The same for the page on which people grant scopes to an agent.
pub(crate) const CONSENT_PAGE: &str = "/consent/agt_01920000000070008000000000000000";
pub(crate) const CONSENT_SIGN_IN: &str = "/consent/agt_01920000000070008000000000000000/sign-in";

/// The tier of each public route: `sign_in` is counted by address; `unlimited` costs a read from memory, or one query
/// at most. The last ones are pages, which the API document does not list.
pub(crate) const PUBLIC_TIERS: [(&str, &str, &str); 43] = [
    ("GET", "/health", "unlimited"),
    ("GET", "/health/live", "unlimited"),
    ("GET", "/health/readiness", "unlimited"),
    ("GET", "/capabilities", "unlimited"),
    ("GET", "/.well-known/jwks.json", "unlimited"),
    ("POST", "/api/v1/auth/login", "sign_in"),
    ("POST", "/api/v1/auth/refresh", "sign_in"),
    ("POST", "/api/v1/auth/browser-session", "sign_in"),
    ("GET", "/api/v1/auth/oidc/start", "sign_in"),
    ("GET", "/api/v1/auth/oidc/callback", "sign_in"),
    ("POST", "/api/v1/auth/handoff", "sign_in"),
    // Without a valid signature; with one, it counts as a read of the owner.
    ("GET", ATTACHMENT_CONTENT, "unlimited"),
    ("GET", "/.well-known/aun-gateway", "unlimited"),
    ("GET", "/pki/cert/{aid}", "unlimited"),
    ("GET", "/pki/chain", "unlimited"),
    ("GET", "/pki/crl.json", "unlimited"),
    ("GET", "/pki/ocsp/{serial}", "unlimited"),
    ("GET", "/root.crt", "unlimited"),
    ("GET", "/pki/trust-authority.crt", "unlimited"),
    ("GET", "/pki/trust-roots.json", "unlimited"),
    ("GET", "/trust-root.json", "unlimited"),
    ("GET", "/ct/sth", "unlimited"),
    ("GET", "/ct/entries", "unlimited"),
    ("GET", "/ct/entries/{log_id}", "unlimited"),
    ("GET", "/ct/certs/{serial}", "unlimited"),
    ("GET", "/ct/proof/{tree_size}/{log_id}", "unlimited"),
    ("GET", "/ct/consistency/{first}/{second}", "unlimited"),
    ("GET", "/agents/{agent}", "unlimited"),
    ("GET", "/agents/{agent}/versions/{version}", "unlimited"),
    ("GET", "/api/v1/scopes", "unlimited"),
    ("GET", "/sign-in/confirm", "sign_in"),
    ("POST", "/sign-in/confirm", "sign_in"),
    ("GET", QUESTION_PAGE, "sign_in"),
    ("POST", QUESTION_PAGE, "sign_in"),
    ("GET", QUESTION_SIGN_IN, "sign_in"),
    ("POST", QUESTION_SIGN_IN, "sign_in"),
    ("GET", CONSENT_PAGE, "sign_in"),
    ("POST", CONSENT_PAGE, "sign_in"),
    ("GET", CONSENT_SIGN_IN, "sign_in"),
    ("POST", CONSENT_SIGN_IN, "sign_in"),
    ("GET", "/metrics", "unlimited"),
    ("GET", "/openapi.json", "unlimited"),
    ("GET", "/docs/", "unlimited"),
];

/// The routes that take an enrolment token.
pub(crate) const ENROLMENT_ROUTES: [(&str, &str); 4] = [
    ("GET", "/api/v1/runner/enrolment"),
    ("POST", "/api/v1/runners/register"),
    ("POST", "/api/v1/runs/{run}/claim"),
    ("POST", "/api/v1/runners/claim"),
];

/// The routes that take a run token.
pub(crate) const RUN_TOKEN_ROUTES: [(&str, &str); 14] = [
    ("GET", "/api/v1/runner/grant"),
    ("PATCH", "/api/v1/runs/{run}/lease"),
    ("GET", "/api/v1/runs/{run}/commands"),
    ("POST", "/api/v1/runs/{run}/events"),
    ("PUT", "/api/v1/runs/{run}/diff"),
    ("GET", "/api/v1/runs/{run}/bundle/parts/{number}"),
    ("GET", "/api/v1/runs/{run}/attachments/{attachment}"),
    ("POST", "/api/v1/runs/{run}/approvals"),
    ("POST", "/api/v1/runs/{run}/approvals/{approval}/take"),
    ("POST", "/api/v1/runs/{run}/approvals/{approval}/confirm"),
    ("PATCH", "/api/v1/runs/{run}/status"),
    ("POST", "/api/v1/commands/{command}/ack"),
    ("PATCH", "/api/v1/commands/{command}/status"),
    ("POST", "/api/v1/sessions/{session}/storage/refresh"),
];

const WEBHOOKS: &str = "/api/v1/tenants/{tenant}/webhooks";
const DIFF: &str = "/api/v1/runs/{run}/diff";

/// Returns a valid body for each route that takes one, so that a refusal is about authorization and not validation.
#[expect(clippy::too_many_lines, reason = "one line per route")]
pub(crate) fn valid_bodies() -> BTreeMap<(&'static str, &'static str), Value> {
    BTreeMap::from([
        (("POST", "/api/v1/users"), json!({ "name": "mallory", "password": "long enough for one" })),
        (("POST", "/api/v1/tenants"), json!({ "slug": "mallory", "name": "M" })),
        (("PUT", "/api/v1/users/{principal}/password"), json!({ "password": "long enough for one" })),
        (
            ("PUT", "/api/v1/auth/password"),
            json!({ "currentPassword": "long enough for one", "newPassword": "long enough for two" }),
        ),
        (("PUT", "/api/v1/tenants/{tenant}/bounds"), json!({ "projects": [] })),
        (("PUT", "/api/v1/tenants/{tenant}/retention"), json!({ "historyDays": 1 })),
        (("POST", "/api/v1/tenants/{tenant}/members"), json!({ "name": "mallory", "role": "owner" })),
        (("PUT", "/api/v1/tenants/{tenant}/members/{principal}"), json!({ "role": "owner" })),
        (("POST", "/api/v1/tenants/{tenant}/invitations"), json!({ "role": "owner" })),
        (("POST", "/api/v1/invitations/accept"), json!({ "secret": "ghi_" })),
        (("POST", "/api/v1/tenants/{tenant}/keys"), json!({ "name": "backdoor", "role": "viewer" })),
        (
            ("POST", WEBHOOKS),
            json!({ "url": "https://hooks.example.org/", "events": ["approval.requested"] }),
        ),
        (("PATCH", "/api/v1/webhooks/{webhook}"), json!({ "enabled": false })),
        (("POST", "/api/v1/webhooks/{webhook}/trigger"), json!({ "type": "message.new" })),
        (("POST", "/api/v1/webhooks/{webhook}/resend"), json!({ "since": "2026-11-17T08:00:00Z" })),
        (("POST", "/api/v1/webhooks/{webhook}/claim"), json!({})),
        (
            ("POST", "/api/v1/webhooks/{webhook}/reports"),
            json!({
                "eventId": "evt_01920000000070008000000000000000",
                "claim": "01920000-0000-7000-8000-000000000000", "durationMs": 1,
            }),
        ),
        (("POST", "/api/v1/tenants/{tenant}/enrolments"), json!({ "name": "backdoor" })),
        (("POST", "/api/v1/tenants/{tenant}/projects"), json!({ "slug": "mallory", "name": "M" })),
        (("PUT", "/api/v1/tenants/{tenant}/projects/{project}/setup"), json!({ "command": "leak" })),
        (("POST", "/api/v1/tenants/{tenant}/subject-tokens"), json!({ "subject": "victim" })),
        (("POST", "/api/v1/aids"), json!({ "name": "mallory", "publicKey": "AAAA" })),
        (("POST", "/api/v1/aid-reservations"), json!({ "name": "mallory", "address": "127.0.0.1" })),
        (("POST", "/api/v1/aids/{aid}/revoke"), json!({ "reason": "unspecified" })),
        (("POST", "/api/v1/agents"), agent_request("acme", "mallory")),
        (("PATCH", "/api/v1/agents/{agent}"), json!({ "name": "Mallory" })),
        (("PUT", "/api/v1/agents/{agent}/aid"), json!({ "aid": "mallory.guild.example" })),
        (("POST", "/api/v1/relations"), relation_request()),
        (("POST", "/h2a/relations"), relation_request()),
        (("PATCH", "/api/v1/relations/{relation}"), json!({ "granted_scopes": [] })),
        (("PATCH", "/h2a/relations/{relation}"), json!({ "granted_scopes": [] })),
        (("POST", "/api/v1/relations/{relation}/acknowledge"), json!({ "manifest_version": 1 })),
        (("POST", "/agents"), agent_request("acme", "mallory")),
        (("PATCH", "/agents/{agent}"), json!({ "name": "Mallory", "published": true })),
        (
            ("POST", "/api/v1/automations"),
            json!({ "tenantId": "acme", "agentId": "helper", "slug": "mallory", "name": "M", "prompt": "leak" }),
        ),
        (("PATCH", "/api/v1/automations/{automation}"), json!({ "prompt": "leak" })),
        (("POST", "/api/v1/automations/{automation}/runs"), json!({})),
        (("PUT", "/api/v1/account/settings"), json!({ "timeZone": "Asia/Tokyo" })),
        (("POST", "/api/v1/agent/runs"), run_agent_input("leak")),
        (("POST", "/api/v1/agents/{agent}/agui"), run_agent_input("leak")),
        (("POST", "/api/v1/copilotkit/agent/{agent}/run"), run_agent_input("leak")),
        (("POST", "/api/v1/copilotkit/agent/{agent}/connect"), run_agent_input("leak")),
        (("POST", "/api/v1/runs"), run_request("acme")),
        (("POST", "/api/v1/runs/{run}/commands"), json!({ "type": "turn", "payload": { "prompt": "leak" } })),
        (("POST", "/api/v1/runs/{run}/runner-jobs"), json!({})),
        (
            ("POST", "/api/v1/sessions/{session}/storage/refresh"),
            json!({ "sizeBytes": 0, "filesCount": 0, "sha256": "0".repeat(64) }),
        ),
        (
            ("POST", "/api/v1/sessions"),
            json!({ "tenantId": "acme", "projectId": "acme/web", "backendProfile": "demo" }),
        ),
        (("POST", "/api/v1/sessions/{session}/read"), json!({ "readerId": "mallory" })),
        (("POST", "/api/v1/sessions/{session}/control"), json!({ "action": "cancel" })),
        (("PUT", "/api/v1/provider-profiles/{profile}/credential"), json!({ "credential": "leak" })),
        (("POST", "/api/v1/runners/register"), json!({ "name": "mallory" })),
        (("POST", "/api/v1/runs/{run}/claim"), json!({ "runnerId": "rnr_01920000000070008000000000000000" })),
        (("POST", "/api/v1/runners/claim"), json!({ "runnerId": "rnr_01920000000070008000000000000000" })),
        (("PATCH", "/api/v1/runs/{run}/lease"), json!({})),
        (("POST", "/api/v1/runs/{run}/events"), json!({ "events": [] })),
        (("PUT", DIFF), json!({ "commandId": "cmd_01920000000070008000000000000000", "diff": "" })),
        (("PUT", "/api/v1/tenants/{tenant}/git-credentials/{host}/{kind}"), json!({ "credential": "leak" })),
        (("PUT", "/api/v1/runs/{run}/bundle/parts/{number}"), json!({ "content": "" })),
        (("POST", "/api/v1/approvals/{approval}/votes"), json!({ "optionId": "yes", "shownDigest": "" })),
        (("PUT", "/api/v1/tenants/{tenant}/approval-policy"), json!({ "mode": "first-responder" })),
        (
            ("POST", "/api/v1/runs/{run}/approvals"),
            json!({
                "commandId": "cmd_01920000000070008000000000000000", "process": "p", "request": "0",
                "question": command_question("ls"),
            }),
        ),
        (("POST", "/api/v1/runs/{run}/approvals/{approval}/take"), json!({ "process": "p" })),
        (("POST", "/api/v1/runs/{run}/approvals/{approval}/confirm"), json!({ "process": "p" })),
        (("PATCH", "/api/v1/runs/{run}/status"), json!({ "status": "completed" })),
        (("PATCH", "/api/v1/commands/{command}/status"), json!({ "status": "completed" })),
    ])
}

fn relation_request() -> Value {
    json!({ "agent_id": "agt_01920000000070008000000000000000", "granted_scopes": [] })
}

/// Returns every operation of the OpenAPI document, which the router generates.
pub(crate) async fn operations(server: &TestServer) -> Vec<(String, String)> {
    operations_in(&server.get("/openapi.json").await.body)
}

pub(crate) fn operations_in(document: &Value) -> Vec<(String, String)> {
    let paths = document["paths"].as_object().expect("paths");
    let operations = paths.iter().flat_map(|(path, item)| {
        let verbs = item.as_object().expect("operations").keys();
        verbs
            .filter(|verb| ["get", "post", "put", "patch", "delete"].contains(&verb.as_str()))
            .map(|verb| (verb.to_ascii_uppercase(), path.clone()))
            .collect::<Vec<_>>()
    });
    operations.collect()
}

pub(crate) async fn send(
    server: &TestServer,
    method: &str,
    path: &str,
    template: &str,
    bearer: Option<&str>,
) -> TestResponse {
    let method: Method = method.parse().expect("a method");
    let body = valid_bodies().remove(&(method.as_str(), template));
    let mut request = server.client.request(method, server.url(path));
    if let Some(bearer) = bearer {
        request = request.bearer_auth(bearer);
    }
    if let Some(body) = body {
        request = request.json(&body);
    }
    read_response(request.send().await.expect("a response")).await
}

/// The path parameters, in the order of the lists below.
pub(crate) const PARAMETERS: [&str; 20] = [
    "{tenant}",
    "{key}",
    "{principal}",
    "{enrolment}",
    "{project}",
    "{run}",
    "{command}",
    "{session}",
    "{invitation}",
    "{job}",
    "{profile}",
    "{validation}",
    "{runner}",
    "{approval}",
    "{rule}",
    "{webhook}",
    "{agent}",
    "{automation}",
    "{attachment}",
    "{relation}",
];

/// Well-formed ids that do not exist.
pub(crate) const MISSING_IDS: [&str; 20] = [
    "ten_01920000000070008000000000000000",
    "key_01920000000070008000000000000000",
    "prn_01920000000070008000000000000000",
    "enr_01920000000070008000000000000000",
    "prj_01920000000070008000000000000000",
    "run_01920000000070008000000000000000",
    "cmd_01920000000070008000000000000000",
    "ses_01920000000070008000000000000000",
    "inv_01920000000070008000000000000000",
    "rjb_01920000000070008000000000000000",
    "invented",
    "val_01920000000070008000000000000000",
    "rnr_01920000000070008000000000000000",
    "apr_01920000000070008000000000000000",
    "apl_01920000000070008000000000000000",
    "whk_01920000000070008000000000000000",
    "agt_01920000000070008000000000000000",
    "aut_01920000000070008000000000000000",
    "att_01920000000070008000000000000000",
    "rel_01920000000070008000000000000000",
];

pub(crate) fn fill(template: &str, values: [&str; 20]) -> String {
    let mut template = template.replace("{seq}", "1").replace("{number}", "0").replace("{version}", "1");
    // The tenant and the agent of a thread are query parameters.
    if template.contains("/copilotkit/") {
        template.push_str("?tenantId={tenant}");
    } else if template.contains("{thread}") {
        template.push_str("?tenantId={tenant}&agentId={agent}");
    }
    template = template.replace("{thread}", "550e8400-e29b-41d4-a716-446655440000");
    template = template.replace("{host}", "git.example").replace("{kind}", "token");
    template = template.replace("{aid}", "nobody.guild.example").replace("{serial}", "1234");
    template = template
        .replace("{log_id}", "0")
        .replace("{tree_size}", "1")
        .replace("{first}", "1")
        .replace("{second}", "1");
    // The tenant of a profile is a query parameter.
    if template.contains("{profile}") {
        template.push_str("?tenantId={tenant}");
    }
    PARAMETERS.iter().zip(values).fold(template, |path, (name, value)| path.replace(name, value))
}
