//! Every route, tried without a token and with another tenant's. The list comes from the router itself.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::people::World;
use crate::support::runs::{Yard, ask, text};
use crate::support::{Answer, TestServer, read};

/// The routes that anyone may call. Nothing is added here without a reason beside it.
const PUBLIC: [(&str, &str); 11] = [
    ("GET", "/health"),                       // the installation's probe
    ("GET", "/health/live"),                  // a restart's probe
    ("GET", "/health/readiness"),             // a balancer's probe
    ("GET", "/capabilities"),                 // what a client asks first
    ("GET", "/.well-known/jwks.json"),        // keys for checking tokens
    ("POST", "/api/v1/auth/login"),           // how one gets a token
    ("POST", "/api/v1/auth/refresh"),         // its own token is in the body
    ("POST", "/api/v1/auth/browser-session"), // how a browser gets its session
    ("GET", "/api/v1/auth/oidc/start"),       // where a browser begins a sign-in
    ("GET", "/api/v1/auth/oidc/callback"),    // where it comes back; proved by its cookie
    ("POST", "/api/v1/auth/handoff"),         // its own code and proof are in the body
];

/// The routes that a runner comes to with an enrolment token.
const ENROLLED: [(&str, &str); 4] = [
    ("GET", "/api/v1/runner/enrolment"),
    ("POST", "/api/v1/runners/register"),
    ("POST", "/api/v1/runs/{run}/claim"),
    ("POST", "/api/v1/runners/claim"),
];

/// The routes that a runner comes to with the token of a claim.
const HOLDING: [(&str, &str); 8] = [
    ("GET", "/api/v1/runner/grant"),
    ("PATCH", "/api/v1/runs/{run}/lease"),
    ("GET", "/api/v1/runs/{run}/commands"),
    ("POST", "/api/v1/runs/{run}/events"),
    ("PATCH", "/api/v1/runs/{run}/status"),
    ("POST", "/api/v1/commands/{command}/ack"),
    ("PATCH", "/api/v1/commands/{command}/status"),
    ("POST", "/api/v1/sessions/{session}/storage/refresh"),
];

/// A body that each route with one takes, so that a refusal is about authority and not about form.
fn bodies() -> BTreeMap<(&'static str, &'static str), Value> {
    BTreeMap::from([
        (("POST", "/api/v1/users"), json!({ "name": "mallory", "password": "long enough for one" })),
        (("POST", "/api/v1/tenants"), json!({ "slug": "mallory", "name": "M" })),
        (("PUT", "/api/v1/tenants/{tenant}/members/{principal}"), json!({ "role": "owner" })),
        (("POST", "/api/v1/tenants/{tenant}/invitations"), json!({ "role": "owner" })),
        (("POST", "/api/v1/invitations/accept"), json!({ "secret": "ghi_" })),
        (("POST", "/api/v1/tenants/{tenant}/keys"), json!({ "name": "backdoor", "role": "viewer" })),
        (("POST", "/api/v1/tenants/{tenant}/enrolments"), json!({ "name": "backdoor" })),
        (("POST", "/api/v1/tenants/{tenant}/projects"), json!({ "slug": "mallory", "name": "M" })),
        (("POST", "/api/v1/tenants/{tenant}/subject-tokens"), json!({ "subject": "victim" })),
        (("POST", "/api/v1/runs"), ask("acme")),
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
        (("PATCH", "/api/v1/runs/{run}/status"), json!({ "status": "completed" })),
        (("PATCH", "/api/v1/commands/{command}/status"), json!({ "status": "completed" })),
    ])
}

/// Returns every operation of the document that the router wrote.
async fn operations(server: &TestServer) -> Vec<(String, String)> {
    let document = server.get("/openapi.json").await.body;
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

async fn send(server: &TestServer, method: &str, path: &str, template: &str, bearer: Option<&str>) -> Answer {
    let method: Method = method.parse().expect("a method");
    let body = bodies().remove(&(method.as_str(), template));
    let mut request = server.client.request(method, server.url(path));
    if let Some(bearer) = bearer {
        request = request.bearer_auth(bearer);
    }
    if let Some(body) = body {
        request = request.json(&body);
    }
    read(request.send().await.expect("an answer")).await
}

/// The ids that paths name, in the order of the lists below.
const NAMES: [&str; 12] = [
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
];

/// Ids of the right form that nobody has.
const INVENTED: [&str; 12] = [
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
];

fn fill(template: &str, values: [&str; 12]) -> String {
    let mut template = template.replace("{seq}", "1");
    // The tenant of a profile stands in the query.
    if template.contains("{profile}") {
        template.push_str("?tenantId={tenant}");
    }
    NAMES.iter().zip(values).fold(template, |path, (name, value)| path.replace(name, value))
}

fn without_trace(answer: &Answer) -> Value {
    let mut body = answer.body.clone();
    body["traceId"] = json!("");
    body
}

#[tokio::test]
async fn without_a_token_every_route_but_the_public_ones_answers_the_same_401() {
    let world = World::new().await;
    let mut refusals = Vec::new();
    for (method, template) in operations(&world.one).await {
        let path = template.replace(['{', '}'], "");
        let answer = send(&world.one, &method, &path, &template, None).await;
        if PUBLIC.contains(&(method.as_str(), template.as_str())) {
            assert_ne!(answer.body["failureKind"], "unauthenticated", "{method} {template} is public");
            continue;
        }
        answer.assert_failure(401, "unauthenticated");
        assert_eq!(answer.header("www-authenticate"), "Bearer", "{method} {template}");
        refusals.push(without_trace(&answer));
    }
    assert!(refusals.len() >= 20, "only {} routes were tried", refusals.len());
    assert!(refusals.iter().all(|body| *body == refusals[0]), "a refusal tells more than another");
}

/// A runner is an untrusted client: its tokens open its own routes, and each of them one sort alone.
#[tokio::test]
async fn a_token_of_the_wrong_kind_is_answered_like_none() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let (_, enrolment) = world.enrolment(&tenant).await;
    let (run, _) = world.run_token(&enrolment).await;
    let (_, key) = world.key(&tenant, "operator").await;
    let subject = world.subject_token(&tenant, &key, "user-1").await.body["accessToken"].clone();
    let subject = subject.as_str().expect("a token");
    let (user, key, enrolment, run) = (&*world.operator.access, &*key, &*enrolment, &*run);
    let mut tried = 0;
    for (method, template) in operations(&world.one).await {
        if PUBLIC.contains(&(method.as_str(), template.as_str())) {
            continue;
        }
        let route = (method.as_str(), template.as_str());
        let wrong: &[&str] = if ENROLLED.contains(&route) {
            &[user, key, subject, run]
        } else if HOLDING.contains(&route) {
            &[user, key, subject, enrolment]
        } else {
            assert!(!template.starts_with("/api/v1/runner"), "{template}: whose tokens does it take?");
            &[enrolment, run]
        };
        let path = template.replace("{tenant}", &tenant).replace(['{', '}'], "");
        let none = without_trace(&send(&world.one, &method, &path, &template, None).await);
        for bearer in wrong {
            let answer = send(&world.other, &method, &path, &template, Some(bearer)).await;
            answer.assert_failure(401, "unauthenticated");
            assert_eq!(without_trace(&answer), none, "{method} {template}");
            tried += 1;
        }
    }
    assert!(tried >= 40, "only {tried} were tried");
}

/// What stands in the log of the other tenant when all its objects are made.
const THEIR_ACTIONS: [&str; 7] = [
    "tenant.created",
    "key.created",
    "enrolment.created",
    "project.created",
    "invitation.created",
    "profile.credential_set",
    "profile.validated",
];

async fn actions_in(world: &World, tenant: &str) -> Vec<String> {
    let log = world.one.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &world.operator.access).await;
    let entries = log.body["entries"].as_array().expect("entries").clone();
    entries.iter().map(|entry| text(entry, "action")).collect()
}

#[tokio::test]
async fn with_another_tenants_token_an_object_looks_like_one_that_never_existed() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = World::keeping_secrets(&folder).await;
    let (theirs, ours) = (world.tenant("theirs").await, world.tenant("ours").await);
    let (key, _) = world.key(&theirs, "viewer").await;
    let (enrolment, _) = world.enrolment(&theirs).await;
    let project = world.project(&theirs, "website").await;
    let (invitation, _) = world.invitation(&theirs, "viewer").await;
    let mallory = world.user("mallory").await;
    world.member(&ours, &mallory, "owner").await;
    let (_, service_key) = world.key(&ours, "operator").await;
    let yard = Yard { tenant: theirs.clone(), enrolment: String::new() };
    let run = world.run(&yard).await;
    let command = world.command(&run, "theirs").await;
    let session = text(&world.show(&run).await, "sessionId");
    // Nothing starts it: these servers have no launcher.
    let job = world.runner_job(&run).await;
    let (profile, validation) = world.tried_profile(&theirs).await;
    let before = world.events(&run).await;
    let operator = world.operator.principal.clone();
    let theirs_all = [
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
    ];
    let mut tried = 0;
    for (method, template) in operations(&world.one).await {
        let route = (method.as_str(), template.as_str());
        if !template.contains('{') || ENROLLED.contains(&route) || HOLDING.contains(&route) {
            continue;
        }
        let real = fill(&template, theirs_all.each_ref().map(|id| id.as_str()));
        let (invented, nonsense) = (fill(&template, INVENTED), fill(&template, ["nonsense"; 12]));
        assert!(!real.contains('{'), "{template} names an object that this test does not know");
        for bearer in [&mallory.access, &service_key] {
            let mut answers = Vec::new();
            for path in [&real, &invented, &nonsense] {
                let answer = send(&world.other, &method, path, &template, Some(bearer)).await;
                answer.assert_failure(404, "not-found");
                answers.push(without_trace(&answer));
            }
            assert!(answers.iter().all(|body| *body == answers[0]), "{method} {template} tells them apart");
            tried += 1;
        }
    }
    assert!(tried >= 50, "only {tried} were tried");
    assert_eq!(world.events(&run).await, before, "something was done to the other tenant's run");
    assert_eq!(
        actions_in(&world, &theirs).await,
        THEIR_ACTIONS,
        "something was written into the other tenant's log"
    );
}

#[tokio::test]
async fn routes_of_the_installation_do_not_exist_for_those_who_do_not_operate_it() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let owner = world.user("owner").await;
    world.member(&tenant, &owner, "owner").await;
    let (_, key) = world.key(&tenant, "operator").await;
    for bearer in [&owner.access, &key] {
        for path in ["/api/v1/users", "/api/v1/tenants"] {
            send(&world.one, "POST", path, path, Some(bearer)).await.assert_failure(404, "not-found");
        }
        world.one.get_as("/api/v1/audit", bearer).await.assert_failure(404, "not-found");
    }
}
