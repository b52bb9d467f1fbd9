//! Every route, called without a token, with a token of the wrong kind and with a token of another tenant. The list of
//! routes comes from the router.

use std::collections::BTreeMap;

use guildhall_testkit::TestDb;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::runs::{TestTenant, command_question, run_request, text};
use crate::support::{Setup, TestResponse, TestServer, read_response};

/// The routes that need no token. Each needs a reason.
const PUBLIC: [(&str, &str); 11] = [
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
];

/// The tier of each public route: `sign_in` is counted by address; `unlimited` costs a read from memory, or one query
/// at most. The last ones are pages, which the API document does not list.
const PUBLIC_TIERS: [(&str, &str, &str); 16] = [
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
    ("GET", "/sign-in/confirm", "sign_in"),
    ("POST", "/sign-in/confirm", "sign_in"),
    ("GET", "/metrics", "unlimited"),
    ("GET", "/openapi.json", "unlimited"),
    ("GET", "/docs/", "unlimited"),
];

/// The routes that take an enrolment token.
const ENROLMENT_ROUTES: [(&str, &str); 4] = [
    ("GET", "/api/v1/runner/enrolment"),
    ("POST", "/api/v1/runners/register"),
    ("POST", "/api/v1/runs/{run}/claim"),
    ("POST", "/api/v1/runners/claim"),
];

/// The routes that take a run token.
const RUN_TOKEN_ROUTES: [(&str, &str); 12] = [
    ("GET", "/api/v1/runner/grant"),
    ("PATCH", "/api/v1/runs/{run}/lease"),
    ("GET", "/api/v1/runs/{run}/commands"),
    ("POST", "/api/v1/runs/{run}/events"),
    ("PUT", "/api/v1/runs/{run}/diff"),
    ("POST", "/api/v1/runs/{run}/approvals"),
    ("POST", "/api/v1/runs/{run}/approvals/{approval}/take"),
    ("POST", "/api/v1/runs/{run}/approvals/{approval}/confirm"),
    ("PATCH", "/api/v1/runs/{run}/status"),
    ("POST", "/api/v1/commands/{command}/ack"),
    ("PATCH", "/api/v1/commands/{command}/status"),
    ("POST", "/api/v1/sessions/{session}/storage/refresh"),
];

/// Returns a valid body for each route that takes one, so that a refusal is about authorization and not validation.
fn valid_bodies() -> BTreeMap<(&'static str, &'static str), Value> {
    BTreeMap::from([
        (("POST", "/api/v1/users"), json!({ "name": "mallory", "password": "long enough for one" })),
        (("POST", "/api/v1/tenants"), json!({ "slug": "mallory", "name": "M" })),
        (("PUT", "/api/v1/users/{principal}/password"), json!({ "password": "long enough for one" })),
        (
            ("PUT", "/api/v1/auth/password"),
            json!({ "currentPassword": "long enough for one", "newPassword": "long enough for two" }),
        ),
        (("PUT", "/api/v1/tenants/{tenant}/bounds"), json!({ "projects": [] })),
        (("POST", "/api/v1/tenants/{tenant}/members"), json!({ "name": "mallory", "role": "owner" })),
        (("PUT", "/api/v1/tenants/{tenant}/members/{principal}"), json!({ "role": "owner" })),
        (("POST", "/api/v1/tenants/{tenant}/invitations"), json!({ "role": "owner" })),
        (("POST", "/api/v1/invitations/accept"), json!({ "secret": "ghi_" })),
        (("POST", "/api/v1/tenants/{tenant}/keys"), json!({ "name": "backdoor", "role": "viewer" })),
        (("POST", "/api/v1/tenants/{tenant}/enrolments"), json!({ "name": "backdoor" })),
        (("POST", "/api/v1/tenants/{tenant}/projects"), json!({ "slug": "mallory", "name": "M" })),
        (("PUT", "/api/v1/tenants/{tenant}/projects/{project}/setup"), json!({ "command": "leak" })),
        (("POST", "/api/v1/tenants/{tenant}/subject-tokens"), json!({ "subject": "victim" })),
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
        (
            ("PUT", "/api/v1/runs/{run}/diff"),
            json!({ "commandId": "cmd_01920000000070008000000000000000", "diff": "" }),
        ),
        (("POST", "/api/v1/approvals/{approval}/votes"), json!({ "optionId": "yes", "shownDigest": "" })),
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

/// Returns every operation of the OpenAPI document, which the router generates.
async fn operations(server: &TestServer) -> Vec<(String, String)> {
    operations_in(&server.get("/openapi.json").await.body)
}

fn operations_in(document: &Value) -> Vec<(String, String)> {
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

async fn send(
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
const PARAMETERS: [&str; 14] = [
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
];

/// Well-formed ids that do not exist.
const MISSING_IDS: [&str; 14] = [
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
];

fn fill(template: &str, values: [&str; 14]) -> String {
    let mut template = template.replace("{seq}", "1");
    // The tenant of a profile is a query parameter.
    if template.contains("{profile}") {
        template.push_str("?tenantId={tenant}");
    }
    PARAMETERS.iter().zip(values).fold(template, |path, (name, value)| path.replace(name, value))
}

fn without_trace(response: &TestResponse) -> Value {
    let mut body = response.body.clone();
    body["traceId"] = json!("");
    body
}

#[tokio::test]
async fn every_non_public_route_without_a_token_gets_the_same_401() {
    let cluster = Cluster::new().await;
    let mut refusals = Vec::new();
    for (method, template) in operations(&cluster.first).await {
        let path = template.replace(['{', '}'], "");
        let response = send(&cluster.first, &method, &path, &template, None).await;
        if PUBLIC.contains(&(method.as_str(), template.as_str())) {
            assert_ne!(response.body["failureKind"], "unauthenticated", "{method} {template} is public");
            continue;
        }
        response.assert_failure(401, "unauthenticated");
        assert_eq!(response.header("www-authenticate"), "Bearer", "{method} {template}");
        refusals.push(without_trace(&response));
    }
    assert!(refusals.len() >= 20, "only {} routes were tested", refusals.len());
    assert!(refusals.iter().all(|body| *body == refusals[0]), "the refusals differ");
}

/// The routes that stay public with `access.require_auth` (ADR 033).
const PUBLIC_WITH_REQUIRE_AUTH: [(&str, &str); 10] = [
    ("GET", "/health/live"),
    ("GET", "/health/readiness"),
    ("GET", "/.well-known/jwks.json"),
    ("POST", "/api/v1/auth/login"),
    ("POST", "/api/v1/auth/refresh"),
    ("POST", "/api/v1/auth/browser-session"),
    ("GET", "/api/v1/auth/oidc/start"),
    ("GET", "/api/v1/auth/oidc/callback"),
    ("POST", "/api/v1/auth/handoff"),
    ("GET", "/sign-in/confirm"),
];

// covers: C6
#[tokio::test]
async fn require_auth_closes_every_route_except_the_named_list() {
    let db = TestDb::new().await;
    let cluster = Cluster::with_setup(Setup::new(&db).with("access.require_auth", "true"), db).await;
    let document = cluster.first.get_as("/openapi.json", &cluster.operator.token).await.body;
    let mut operations = operations_in(&document);
    let others = [
        "/metrics",
        "/openapi.json",
        "/docs/",
        "/docs",
        "/",
        "/health/live/",
        "/sign-in/confirm",
        "/nowhere",
    ];
    operations.extend(others.map(|path| ("GET".to_owned(), path.to_owned())));
    assert!(operations.len() > 60, "only {} routes were tested", operations.len());
    for (method, template) in operations {
        let path = template.replace(['{', '}'], "");
        let response = send(&cluster.second, &method, &path, &template, None).await;
        let is_closed = response.body["failureKind"] == "unauthenticated";
        let is_listed = PUBLIC_WITH_REQUIRE_AUTH.contains(&(method.as_str(), template.as_str()));
        assert_eq!(is_closed, !is_listed, "{method} {template}: {}", response.text);
    }
}

#[tokio::test]
async fn every_public_route_names_its_tier() {
    let db = TestDb::new().await;
    let setup = Setup::new(&db).with("limits.sign_in", "1/24h").with("http.trusted_proxies", "127.0.0.1/32");
    let cluster = Cluster::with_setup(setup, db).await;
    let send_from = async |client: usize, method: &str, path: &str| {
        let method: Method = method.parse().expect("a method");
        let request = cluster.first.client.request(method, cluster.first.url(path));
        let request = request.header("x-forwarded-for", format!("192.0.2.{client}"));
        read_response(request.send().await.expect("a response")).await
    };
    for (method, template) in operations(&cluster.first).await {
        let response = send_from(255, &method, &template.replace(['{', '}'], "")).await;
        let is_named = PUBLIC_TIERS.iter().any(|(m, path, _)| (*m, *path) == (&*method, &*template));
        let is_public = response.body["failureKind"] != "unauthenticated";
        assert_eq!(is_public, is_named, "{method} {template} is public or not, and named or not");
    }
    for (client, (method, path, tier)) in PUBLIC_TIERS.into_iter().enumerate() {
        for attempt in [1, 2] {
            let response = send_from(client, method, path).await;
            let is_counted = response.header("x-ratelimit-limit") == "1";
            assert_eq!(is_counted, tier == "sign_in", "{method} {path}: {}", response.text);
            let is_refused = response.body["failureKind"] == "rate-limited";
            assert_eq!(is_refused, is_counted && attempt == 2, "{method} {path}: {}", response.text);
        }
    }
}

/// A runner is an untrusted client: each kind of its tokens works on its own routes only.
#[tokio::test]
async fn token_of_the_wrong_kind_gets_the_same_401_as_no_token() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let (_, enrolment) = cluster.create_enrolment(&tenant).await;
    let (run, _) = cluster.mint_run_token(&enrolment).await;
    let (_, key) = cluster.create_key(&tenant, "operator").await;
    let subject = cluster.mint_subject_token(&tenant, &key, "user-1").await.body["accessToken"].clone();
    let subject = subject.as_str().expect("a token");
    let (user, key, enrolment, run) = (&*cluster.operator.token, &*key, &*enrolment, &*run);
    let mut tried = 0;
    for (method, template) in operations(&cluster.first).await {
        if PUBLIC.contains(&(method.as_str(), template.as_str())) {
            continue;
        }
        let route = (method.as_str(), template.as_str());
        let wrong: &[&str] = if ENROLMENT_ROUTES.contains(&route) {
            &[user, key, subject, run]
        } else if RUN_TOKEN_ROUTES.contains(&route) {
            &[user, key, subject, enrolment]
        } else {
            assert!(!template.starts_with("/api/v1/runner"), "{template}: add it to a list of runner routes");
            &[enrolment, run]
        };
        let path = template.replace("{tenant}", &tenant).replace(['{', '}'], "");
        let none = without_trace(&send(&cluster.first, &method, &path, &template, None).await);
        for bearer in wrong {
            let response = send(&cluster.second, &method, &path, &template, Some(bearer)).await;
            response.assert_failure(401, "unauthenticated");
            assert_eq!(without_trace(&response), none, "{method} {template}");
            tried += 1;
        }
    }
    assert!(tried >= 40, "only {tried} requests were tested");
}

/// The audit log of the other tenant after all its objects were created.
const EXPECTED_ACTIONS: [&str; 9] = [
    "tenant.created",
    "key.created",
    "enrolment.created",
    "project.created",
    "invitation.created",
    "run.created",
    "command.created",
    "profile.credential_set",
    "profile.validated",
];

async fn audited_actions(cluster: &Cluster, tenant: &str) -> Vec<String> {
    let log = cluster.first.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &cluster.operator.token).await;
    let entries = log.body["entries"].as_array().expect("entries").clone();
    entries.iter().map(|entry| text(entry, "action")).collect()
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one scenario, read from top to bottom")]
async fn object_of_another_tenant_looks_like_a_missing_object() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::with_secrets_folder(&folder).await;
    let (theirs, ours) = (cluster.create_tenant("theirs").await, cluster.create_tenant("ours").await);
    let (key, _) = cluster.create_key(&theirs, "viewer").await;
    let (enrolment, secret) = cluster.create_enrolment(&theirs).await;
    let project = cluster.create_project(&theirs, "website").await;
    let (invitation, _) = cluster.create_invitation(&theirs, "viewer").await;
    let mallory = cluster.create_user("mallory").await;
    cluster.set_role(&ours, &mallory, "owner").await;
    let (_, service_key) = cluster.create_key(&ours, "operator").await;
    let tenant = TestTenant { id: theirs.clone(), enrolment: secret };
    let runner = cluster.first.register_runner(&tenant).await;
    let run = cluster.create_run(&tenant).await;
    let command = cluster.send_turn(&run, "theirs").await;
    let session = text(&cluster.get_run(&run).await, "sessionId");
    // The job stays pending: these servers have no launcher.
    let job = cluster.insert_runner_job(&run).await;
    let (profile, validation) = cluster.start_validation(&theirs).await;
    let claim = cluster.first.claim(&tenant, &run).await;
    assert_eq!(cluster.first.ack(&claim, &command).await.status, 200);
    let approval = cluster.first.ask(&claim, &command, "0", command_question("theirs")).await;
    let before = cluster.list_events(&run).await;
    let operator = cluster.operator.principal.clone();
    let existing_ids = [
        theirs.clone(),
        key,
        operator,
        enrolment,
        project,
        run.clone(),
        command,
        session,
        invitation,
        job,
        profile,
        validation,
        runner,
        approval,
    ];
    let mut tried = 0;
    for (method, template) in operations(&cluster.first).await {
        let route = (method.as_str(), template.as_str());
        if !template.contains('{') || ENROLMENT_ROUTES.contains(&route) || RUN_TOKEN_ROUTES.contains(&route) {
            continue;
        }
        let real = fill(&template, existing_ids.each_ref().map(|id| id.as_str()));
        let named = template.replace("{tenant}", "theirs").replace("{project}", "website");
        let named = fill(&named, existing_ids.each_ref().map(|id| id.as_str()));
        let (missing, malformed) = (fill(&template, MISSING_IDS), fill(&template, ["nonsense"; 14]));
        assert!(!real.contains('{'), "{template} has a parameter that this test does not know");
        for bearer in [&mallory.token, &service_key] {
            let mut responses = Vec::new();
            for path in [&real, &named, &missing, &malformed] {
                let response = send(&cluster.second, &method, path, &template, Some(bearer)).await;
                response.assert_failure(404, "not-found");
                responses.push(without_trace(&response));
            }
            assert!(
                responses.iter().all(|body| *body == responses[0]),
                "{method} {template}: the responses differ"
            );
            tried += 1;
        }
    }
    assert!(tried >= 50, "only {tried} requests were tested");
    assert_eq!(cluster.list_events(&run).await, before, "a request changed the other tenant's run");
    assert_eq!(
        audited_actions(&cluster, &theirs).await,
        EXPECTED_ACTIONS,
        "a request wrote to the other tenant's audit log"
    );
}

#[tokio::test]
async fn session_list_does_not_reveal_whether_a_tenant_exists() {
    let cluster = Cluster::new().await;
    cluster.create_tenant("theirs").await;
    let mallory = cluster.create_user("mallory").await;
    let mut responses = Vec::new();
    for tenant in ["theirs", "no-such-tenant"] {
        let path = format!("/api/v1/sessions?tenantId={tenant}");
        let response = cluster.second.get_as(&path, &mallory.token).await;
        response.assert_failure(404, "not-found");
        responses.push(without_trace(&response));
    }
    assert_eq!(responses[0], responses[1]);
}

/// The key belongs to one tenant, even if its principal is a member of another one.
#[tokio::test]
async fn service_key_lists_only_its_own_tenant() {
    let cluster = Cluster::new().await;
    let tenants = [cluster.create_tenant("ours").await, cluster.create_tenant("theirs").await];
    let (_, key) = cluster.create_key(&tenants[0], "developer").await;
    let principal = text(&cluster.first.get_as("/api/v1/whoami", &key).await.body, "principal");
    cluster.insert_membership(&tenants[1], &principal, "viewer").await;
    for tenant in &tenants {
        cluster.create_run(&TestTenant { id: tenant.clone(), enrolment: String::new() }).await;
    }
    let listed = cluster.second.get_as("/api/v1/tenants", &key).await;
    assert_eq!(listed.body["tenants"].as_array().map(Vec::len), Some(1), "{}", listed.text);
    assert_eq!(listed.body["tenants"][0]["tenant"]["id"], tenants[0].as_str());
    let listed = cluster.second.get_as("/api/v1/sessions?state=all", &key).await;
    assert_eq!(listed.body["sessions"].as_array().map(Vec::len), Some(1), "{}", listed.text);
    assert_eq!(listed.body["sessions"][0]["tenantId"], tenants[0].as_str());
}

#[tokio::test]
async fn authorization_is_checked_before_the_body() {
    let cluster = Cluster::new().await;
    let (tenant, other) = (cluster.create_tenant("acme").await, cluster.create_tenant("globex").await);
    let viewer = cluster.create_user("vera").await;
    cluster.set_role(&tenant, &viewer, "viewer").await;
    for noun in ["projects", "keys", "enrolments", "invitations"] {
        let [own, foreign] = [&tenant, &other].map(|tenant| format!("/api/v1/tenants/{tenant}/{noun}"));
        let invalid = || json!({ "unknown": true });
        cluster.second.post_as(&own, &viewer.token, invalid()).await.assert_failure(403, "forbidden");
        cluster.second.post_as(&foreign, &viewer.token, invalid()).await.assert_failure(404, "not-found");
    }
}

/// The ids of the path are in one tenant: an id of another tenant does not become reachable through the own one.
#[tokio::test]
async fn object_of_another_tenant_is_missing_below_the_own_tenant() {
    let cluster = Cluster::new().await;
    let (theirs, ours) = (cluster.create_tenant("theirs").await, cluster.create_tenant("ours").await);
    let mallory = cluster.create_user("mallory").await;
    cluster.set_role(&ours, &mallory, "owner").await;
    let (key, secret) = cluster.create_key(&theirs, "viewer").await;
    let (enrolment, _) = cluster.create_enrolment(&theirs).await;
    let (invitation, _) = cluster.create_invitation(&theirs, "viewer").await;
    for (noun, id) in [("keys", &key), ("enrolments", &enrolment), ("invitations", &invitation)] {
        let path = format!("/api/v1/tenants/{ours}/{noun}/{id}");
        let response = cluster.second.request_as(Method::DELETE, &path, &mallory.token, None).await;
        response.assert_failure(404, "not-found");
    }
    assert_eq!(cluster.second.get_as("/api/v1/whoami", &secret).await.status, 200, "the key was revoked");
}

#[tokio::test]
async fn operator_routes_are_not_found_for_non_operators() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let owner = cluster.create_user("owner").await;
    cluster.set_role(&tenant, &owner, "owner").await;
    let (_, key) = cluster.create_key(&tenant, "operator").await;
    for bearer in [&owner.token, &key] {
        for path in ["/api/v1/users", "/api/v1/tenants"] {
            send(&cluster.first, "POST", path, path, Some(bearer)).await.assert_failure(404, "not-found");
        }
        cluster.first.get_as("/api/v1/audit", bearer).await.assert_failure(404, "not-found");
    }
}
