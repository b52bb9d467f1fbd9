//! Every route, called without a token, with a token of the wrong kind and with a token of another tenant. The list of
//! routes comes from the router.

use guildhall_testkit::TestDb;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::attachments::{PNG, upload_to};
use crate::support::cluster::Cluster;
use crate::support::profiles::with_secrets_folder;
use crate::support::routes::{
    CONSENT_PAGE, CONSENT_SIGN_IN, ENROLMENT_ROUTES, MISSING_IDS, PUBLIC, PUBLIC_TIERS, QUESTION_PAGE,
    QUESTION_SIGN_IN, RUN_TOKEN_ROUTES, fill, operations, operations_in, send,
};
use crate::support::runs::{TestTenant, command_question, text};
use crate::support::{Setup, TestResponse, read_response};

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
const PUBLIC_WITH_REQUIRE_AUTH: [(&str, &str); 32] = [
    ("GET", "/health/live"),
    ("GET", "/health/readiness"),
    ("GET", "/.well-known/jwks.json"),
    ("POST", "/api/v1/auth/login"),
    ("POST", "/api/v1/auth/refresh"),
    ("POST", "/api/v1/auth/browser-session"),
    ("GET", "/api/v1/auth/oidc/start"),
    ("GET", "/api/v1/auth/oidc/callback"),
    ("POST", "/api/v1/auth/handoff"),
    ("GET", "/api/v1/agent/attachments/{attachment}/content"),
    ("GET", "/.well-known/aun-gateway"),
    ("GET", "/pki/cert/{aid}"),
    ("GET", "/pki/chain"),
    ("GET", "/pki/crl.json"),
    ("GET", "/pki/ocsp/{serial}"),
    ("GET", "/pki/trust-authority.crt"),
    ("GET", "/pki/trust-roots.json"),
    ("GET", "/trust-root.json"),
    ("GET", "/root.crt"),
    ("GET", "/ct/sth"),
    ("GET", "/ct/entries"),
    ("GET", "/ct/entries/{log_id}"),
    ("GET", "/ct/certs/{serial}"),
    ("GET", "/ct/proof/{tree_size}/{log_id}"),
    ("GET", "/ct/consistency/{first}/{second}"),
    ("GET", "/agents/{agent}"),
    ("GET", "/agents/{agent}/versions/{version}"),
    ("GET", "/sign-in/confirm"),
    ("GET", QUESTION_PAGE),
    ("GET", QUESTION_SIGN_IN),
    ("GET", CONSENT_PAGE),
    ("GET", CONSENT_SIGN_IN),
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
        QUESTION_PAGE,
        QUESTION_SIGN_IN,
        CONSENT_PAGE,
        CONSENT_SIGN_IN,
        "/consent",
        "/consent/a/b",
        "/approve",
        "/approve/",
        "/approve/a/b",
        "/approve/a/sign-in/b",
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
            // A page for people says it without a failure kind.
            let is_refused = response.status == 429;
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
const EXPECTED_ACTIONS: [&str; 16] = [
    "tenant.created",
    "key.created",
    "enrolment.created",
    "project.created",
    "invitation.created",
    "webhook.created",
    "agent.created",
    "agent.changed",
    "relation.granted",
    "automation.created",
    "run.created",
    "command.created",
    "profile.credential_set",
    "profile.validated",
    "approval-rule.created",
    "approval.decided",
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
    let db = TestDb::new().await;
    let setup = with_secrets_folder(Setup::new(&db), &folder);
    let setup = setup.with("attachments.folder", folder.path().join("attachments").display());
    let cluster = Cluster::with_setup(setup, db).await;
    let (theirs, ours) = (cluster.create_tenant("theirs").await, cluster.create_tenant("ours").await);
    let (key, _) = cluster.create_key(&theirs, "viewer").await;
    let (enrolment, secret) = cluster.create_enrolment(&theirs).await;
    let project = cluster.create_project(&theirs, "website").await;
    let (invitation, _) = cluster.create_invitation(&theirs, "viewer").await;
    let (webhook, _) = cluster.create_webhook(&theirs, "https://hooks.example.org/").await;
    let agent = cluster.create_agent(&theirs, "helper").await;
    let relation = cluster.create_relation(&agent).await;
    let automation = cluster.create_automation(&theirs, "helper").await;
    let attachment = upload_to(&cluster.first, &theirs, &cluster.operator.token, "image/png", PNG).await;
    let attachment = text(&attachment.body, "id");
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
    let rule = cluster.create_approval_rule(&claim, &command).await;
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
        rule,
        webhook,
        agent,
        automation,
        attachment,
        relation,
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
        let (missing, malformed) = (fill(&template, MISSING_IDS), fill(&template, ["nonsense"; 20]));
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
