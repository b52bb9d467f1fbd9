//! Provider profiles: a credential goes in and never comes out, and trying one leaves a record.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use guildhall_testkit::TestDb;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::people::World;
use crate::support::profiles::keeping;
use crate::support::runs::{Held, Yard, ask, held, text};
use crate::support::{Answer, Setup};

const SECRET: &str = "sk-canary-0123456789";

async fn show(world: &World, tenant: &str, slug: &str) -> Answer {
    let path = format!("/api/v1/provider-profiles/{slug}?tenantId={tenant}");
    world.other.get_as(&path, &world.operator.access).await
}

async fn list(world: &World, tenant: &str, bearer: &str) -> Vec<Value> {
    let answer = world.other.get_as(&format!("/api/v1/provider-profiles?tenantId={tenant}"), bearer).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(!answer.text.contains("canary"), "{}", answer.text);
    answer.body["profiles"].as_array().expect("profiles").clone()
}

fn names(profiles: &[Value]) -> Vec<(&str, &str, bool)> {
    let rows = profiles.iter().map(|profile| {
        let (slug, scope) = (&profile["profile"], &profile["scope"]);
        (slug.as_str().expect("a slug"), scope.as_str().expect("a scope"), profile["configured"] == true)
    });
    rows.collect()
}

// covers: R22
#[tokio::test]
async fn a_credential_goes_in_on_one_replica_and_comes_out_on_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = World::keeping_secrets(&folder).await;
    let tenant = world.tenant("acme").await;
    let missing = show(&world, &tenant, "codex").await;
    assert_eq!((missing.status.as_u16(), &missing.body["configured"]), (200, &json!(false)));
    assert_eq!(missing.body["failureKind"], "secret-unavailable");
    let body = json!({ "credential": SECRET, "baseUrl": "https://api.example.org/v1/", "model": "m-1" });
    let kept = world.one.put_credential(&tenant, "codex", &world.operator.access, body).await;
    assert_eq!(kept.status, 200, "{}", kept.text);
    let shown = show(&world, &tenant, "codex").await;
    assert_eq!(shown.body, kept.body);
    let of = |name: &str| shown.body[name].clone();
    assert_eq!(
        [
            of("configured"),
            of("scope"),
            of("baseUrl"),
            of("model"),
            of("failureKind"),
            of("secretRef")["name"].clone()
        ],
        [
            json!(true),
            json!("tenant"),
            json!("https://api.example.org/v1"),
            json!("m-1"),
            Value::Null,
            json!("guildhall-provider-codex")
        ]
    );
    let audit = world.one.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &world.operator.access).await;
    assert!(audit.text.contains("profile.credential_set"), "{}", audit.text);
    let mut seen = vec![kept.text, shown.text, audit.text];
    let mut sql = world.db.sql().await;
    for table in sql.texts("SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'").await {
        seen.extend(sql.texts(format!("SELECT t::text FROM {table} t")).await);
    }
    assert!(seen.len() > 20 && seen.iter().all(|text| !text.contains("canary")), "{seen:?}");
    let file = folder.path().join(format!("secrets/providers/{tenant}/codex/credential"));
    assert_eq!(fs::read_to_string(&file).expect("it is kept there").trim(), SECRET);
    assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o600);
}

// covers: R22
#[tokio::test]
async fn the_list_shows_built_in_profiles_without_credentials_own_ones_and_those_of_the_operator() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = World::keeping_secrets(&folder).await;
    let (acme, other) = (world.tenant("acme").await, world.tenant("other").await);
    let operator = &world.operator.access;
    let put = async |tenant: &str, slug: &str, scope: &str| {
        let path = format!("/api/v1/provider-profiles/{slug}/credential?tenantId={tenant}&scope={scope}");
        let kept = world.one.ask(Method::PUT, &path, operator, Some(json!({ "credential": SECRET }))).await;
        assert_eq!(kept.status, 200, "{}", kept.text);
    };
    put(&acme, "my-model", "tenant").await;
    put(&acme, "codex", "tenant").await;
    put(&acme, "codex", "shared").await;
    put(&acme, "house", "shared").await;
    let (ours, theirs) = (list(&world, &acme, operator).await, list(&world, &other, operator).await);
    assert_eq!(
        names(&ours),
        [
            ("codex", "tenant", true),
            ("deepseek", "none", false),
            ("dsflash-go", "none", false),
            ("house", "shared", true),
            ("minimax-m3", "none", false),
            ("my-model", "tenant", true),
        ]
    );
    let not_theirs: Vec<_> = names(&theirs).into_iter().map(|(slug, scope, _)| (slug, scope)).collect();
    assert!(
        not_theirs.contains(&("codex", "shared")) && !not_theirs.iter().any(|(slug, _)| *slug == "my-model")
    );
    show(&world, &other, "my-model").await.assert_failure(404, "not-found");
    let remove = format!("/api/v1/provider-profiles/codex?tenantId={acme}");
    assert_eq!(world.one.ask(Method::DELETE, &remove, operator, None).await.status, 204);
    assert_eq!(show(&world, &acme, "codex").await.body["scope"], "shared", "the operator's is there again");
    world.one.ask(Method::DELETE, &remove, operator, None).await.assert_failure(404, "not-found");
}

// covers: R22
#[tokio::test]
async fn members_read_and_only_those_who_manage_profiles_change_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = World::keeping_secrets(&folder).await;
    let tenant = world.tenant("acme").await;
    let (_, writer) = world.key(&tenant, "operator").await;
    let body = || json!({ "credential": SECRET });
    // A service key has one tenant and need not name it.
    let path = "/api/v1/provider-profiles/codex/credential";
    assert_eq!(world.one.ask(Method::PUT, path, &writer, Some(body())).await.status, 200);
    let (owner, developer) = (world.user("owner").await, world.user("developer").await);
    world.member(&tenant, &owner, "owner").await;
    world.member(&tenant, &developer, "developer").await;
    assert_eq!(list(&world, &tenant, &developer.access).await.len(), 4);
    world
        .one
        .put_credential(&tenant, "codex", &developer.access, body())
        .await
        .assert_failure(403, "forbidden");
    world.one.validate(&tenant, "codex", &developer.access).await.assert_failure(403, "forbidden");
    let own = format!("/api/v1/provider-profiles/codex?tenantId={tenant}");
    world.one.ask(Method::DELETE, &own, &developer.access, None).await.assert_failure(403, "forbidden");
    // The operator's own are nobody else's to change, whatever their role in a tenant.
    for bearer in [&owner.access, &writer] {
        let shared = format!("{path}?tenantId={tenant}&scope=shared");
        world.one.ask(Method::PUT, &shared, bearer, Some(body())).await.assert_failure(404, "not-found");
        let shared = format!("{own}&scope=shared");
        world.one.ask(Method::DELETE, &shared, bearer, None).await.assert_failure(404, "not-found");
    }
    let unnamed = world.one.get_as("/api/v1/provider-profiles", &owner.access).await;
    unnamed.assert_failure(403, "tenant-policy-denied");
    let subject = world.subject_token(&tenant, &writer, "user-1").await.body["accessToken"].clone();
    let subject = subject.as_str().expect("a token");
    world
        .one
        .get_as(&format!("/api/v1/provider-profiles?tenantId={tenant}"), subject)
        .await
        .assert_failure(404, "not-found");
}

// covers: R22
#[tokio::test]
async fn what_a_tenant_may_not_say_of_its_profile_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = World::keeping_secrets(&folder).await;
    let tenant = world.tenant("acme").await;
    for (kind, more) in [
        ("schema-invalid", json!({ "command": ["sh", "-c", "id"] })),
        ("schema-invalid", json!({ "backend": "acp" })),
        ("schema-invalid", json!({ "envKey": "LD_PRELOAD" })),
        ("schema-invalid", json!({ "baseUrl": "http://api.example.org/v1" })),
        ("schema-invalid", json!({ "baseUrl": "https://me:pw@api.example.org/v1" })),
        ("tenant-policy-denied", json!({ "baseUrl": "http://127.0.0.1:9/v1" })),
        ("tenant-policy-denied", json!({ "baseUrl": "https://169.254.169.254/latest" })),
        ("tenant-policy-denied", json!({ "baseUrl": "https://[fd00::1]/v1" })),
        ("schema-invalid", json!({ "wireApi": "soap" })),
        ("schema-invalid", json!({ "model": "two words" })),
        ("schema-invalid", json!({ "credential": "two words" })),
        ("schema-invalid", json!({ "credential": "" })),
    ] {
        let mut body = json!({ "credential": SECRET });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let refused = world.one.put_credential(&tenant, "codex", &world.operator.access, body).await;
        assert_eq!(refused.body["failureKind"], kind, "{more}: {}", refused.text);
        assert!(!refused.text.contains("canary") && !refused.text.contains("pw@"), "{}", refused.text);
    }
    for slug in ["..%2fshared", "%2e%2e", "UPPER", "a_b", "-x"] {
        let refused = world
            .one
            .put_credential(&tenant, slug, &world.operator.access, json!({ "credential": "x" }))
            .await;
        refused.assert_failure(404, "not-found");
    }
    assert_eq!(show(&world, &tenant, "codex").await.body["configured"], false, "nothing was kept");
    let kept: Vec<_> = fs::read_dir(folder.path().join("secrets/providers")).expect("a folder").collect();
    assert!(kept.is_empty(), "{kept:?}");
}

fn codex(tenant: &str) -> Value {
    let mut run = ask(tenant);
    run["backendProfile"] = json!("codex");
    run["executionPolicy"]["secretScope"] =
        json!({ "providerCredentials": [{ "name": "guildhall-provider-codex", "keys": ["credential"] }] });
    run
}

// covers: R22
#[tokio::test]
async fn a_run_of_a_profile_without_its_credential_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = World::keeping_secrets(&folder).await;
    let tenant = world.tenant("acme").await;
    let make = || world.other.post_as("/api/v1/runs", &world.operator.access, codex(&tenant));
    make().await.assert_failure(409, "secret-unavailable");
    world
        .one
        .validate(&tenant, "codex", &world.operator.access)
        .await
        .assert_failure(409, "secret-unavailable");
    world.one.put_credential(&tenant, "codex", &world.operator.access, json!({ "credential": SECRET })).await;
    assert_eq!(make().await.status, 201);
    let own = format!("/api/v1/provider-profiles/codex?tenantId={tenant}");
    assert_eq!(world.one.ask(Method::DELETE, &own, &world.operator.access, None).await.status, 204);
    make().await.assert_failure(409, "secret-unavailable");
    // A runner that is started by hand may bring its own.
    world.enrolment(&tenant).await;
    assert_eq!(make().await.status, 201);
}

async fn register(world: &World, yard: &Yard) -> String {
    let body = json!({ "name": "played", "backendProfiles": ["codex"] });
    let answer = world.one.post_as("/api/v1/runners/register", &yard.enrolment, body).await;
    text(&answer.body, "runnerId")
}

/// A profile that is being tried, and the runner that serves it.
async fn tried(world: &World, yard: &Yard) -> (Value, Held) {
    let body = json!({ "credential": SECRET });
    world.one.put_credential(&yard.tenant, "codex", &world.operator.access, body).await;
    let begun = world.one.validate(&yard.tenant, "codex", &world.operator.access).await;
    assert_eq!((begun.status.as_u16(), &begun.body["status"]), (202, &json!("pending")), "{}", begun.text);
    let runner = register(world, yard).await;
    let run = text(&begun.body, "runId");
    let claimed = world.other.try_claim(yard, &run, &runner).await;
    assert_eq!(claimed.status, 200, "{}", claimed.text);
    let held = held(&run, &runner, &claimed);
    world.one.ack(&held, &text(&begun.body, "commandId")).await;
    (begun.body, held)
}

async fn settled(world: &World, tenant: &str, begun: &Value, within: Duration) -> Value {
    let id = text(begun, "validationId");
    let path = format!("/api/v1/provider-profiles/codex/validations/{id}?tenantId={tenant}");
    let began = Instant::now();
    loop {
        let answer = world.other.get_as(&path, &world.operator.access).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        if answer.body["status"] != "pending" {
            return answer.body;
        }
        assert!(began.elapsed() < within, "still {}", answer.text);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

// covers: R22
#[tokio::test]
async fn trying_a_profile_ends_as_its_canary_turn_ended_and_ends_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = World::keeping_secrets(&folder).await;
    let yard = world.yard("acme").await;
    let refused =
        json!({ "status": "failed", "failureKind": "provider-auth-failed", "message": "refused (401)" });
    for (ending, status, kind) in [
        (json!({ "status": "completed" }), "ok", Value::Null),
        (refused, "failed", json!("provider-auth-failed")),
    ] {
        let (begun, held) = tried(&world, &yard).await;
        let ended = world.one.finish(&held, &text(&begun, "commandId"), ending).await;
        assert_eq!(ended.status, 200, "{}", ended.text);
        let outcome = settled(&world, &yard.tenant, &begun, Duration::from_secs(10)).await;
        assert_eq!((&outcome["status"], &outcome["failureKind"]), (&json!(status), &kind), "{outcome}");
        assert_eq!(show(&world, &yard.tenant, "codex").await.body["lastValidation"], outcome);
        let run = world.show(&held.run).await;
        assert!(run["terminalStatus"].is_string(), "its runner is free for others: {run}");
    }
    let listed = world.one.get_as("/api/v1/sessions", &world.operator.access).await;
    assert_eq!(listed.body["sessions"], json!([]), "a canary turn is nobody's conversation");
}

#[tokio::test]
async fn the_same_key_tries_a_profile_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = World::keeping_secrets(&folder).await;
    let tenant = world.tenant("acme").await;
    world.one.put_credential(&tenant, "codex", &world.operator.access, json!({ "credential": SECRET })).await;
    let url = world.one.url(&format!("/api/v1/provider-profiles/codex/validate?tenantId={tenant}"));
    let mut ids = Vec::new();
    for _ in 0..2 {
        let request = world.one.client.post(&url).bearer_auth(&world.operator.access);
        let answer =
            crate::support::read(request.header("idempotency-key", "k").send().await.expect("sent")).await;
        assert_eq!(answer.status, 202, "{}", answer.text);
        ids.push(text(&answer.body, "validationId"));
    }
    assert_eq!(ids[0], ids[1]);
}

// covers: R22
#[tokio::test]
async fn without_a_runner_trying_a_profile_fails_in_time_also_when_the_replica_that_began_it_is_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = TestDb::new().await;
    let setup = keeping(Setup::on(&db), &folder).with("secrets.validate_within", "2s");
    let world = World::on(setup, db).await;
    let tenant = world.tenant("acme").await;
    world.one.put_credential(&tenant, "codex", &world.operator.access, json!({ "credential": SECRET })).await;
    let begun = world.one.validate(&tenant, "codex", &world.operator.access).await.body;
    let World { one, other, operator, db } = world;
    assert!(one.server.shutdown().await);
    let mut sql = db.sql().await;
    let began = Instant::now();
    // Nobody asks: it settles by itself.
    while sql.number("SELECT count(*) FROM profile_validations WHERE status = 'pending'").await > 0 {
        assert!(began.elapsed() < Duration::from_secs(8), "it hangs");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let id = text(&begun, "validationId");
    let path = format!("/api/v1/provider-profiles/codex/validations/{id}?tenantId={tenant}");
    let outcome = other.get_as(&path, &operator.access).await.body;
    assert_eq!(
        (&outcome["status"], &outcome["failureKind"]),
        (&json!("failed"), &json!("infra-failed")),
        "{outcome}"
    );
    assert!(text(&outcome, "message").contains("no runner"), "{outcome}");
    let run = other.get_as(&format!("/api/v1/runs/{}", text(&begun, "runId")), &operator.access).await.body;
    assert_eq!(run["failureKind"], "infra-failed", "{run}");
}

#[tokio::test]
async fn a_server_without_a_folder_says_so_and_one_whose_folder_is_open_does_not_start() {
    let world = World::new().await;
    let tenant = world.tenant("acme").await;
    let refused = world
        .one
        .put_credential(&tenant, "codex", &world.operator.access, json!({ "credential": "x" }))
        .await;
    refused.assert_failure(409, "secret-unavailable");
    assert_eq!(list(&world, &tenant, &world.operator.access).await.len(), 4);
    let folder = tempfile::tempdir().expect("a folder");
    let open = folder.path().join("secrets");
    fs::create_dir(&open).expect("a folder");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).expect("ours");
    let failed = keeping(Setup::on(&world.db), &folder).try_start().await.expect_err("others can read it");
    assert!(format!("{failed:?}").contains("Open"), "{failed:?}");
}
