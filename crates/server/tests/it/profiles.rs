//! Provider profiles: credentials are write-only, and each validation leaves a record.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use guildhall_testkit::{Stopwatch, TestDb};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::profiles::with_secrets_folder;
use crate::support::runs::{RunClaim, TestTenant, run_claim, run_request, text};
use crate::support::{Setup, TestResponse, TestServer};

const SECRET: &str = "sk-canary-0123456789";

async fn get_profile(cluster: &Cluster, tenant: &str, slug: &str) -> TestResponse {
    let path = format!("/api/v1/provider-profiles/{slug}?tenantId={tenant}");
    cluster.second.get_as(&path, &cluster.operator.token).await
}

async fn list_profiles(cluster: &Cluster, tenant: &str, bearer: &str) -> Vec<Value> {
    let response =
        cluster.second.get_as(&format!("/api/v1/provider-profiles?tenantId={tenant}"), bearer).await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert!(!response.text.contains("canary"), "{}", response.text);
    response.body["profiles"].as_array().expect("profiles").clone()
}

fn summaries(profiles: &[Value]) -> Vec<(&str, &str, bool)> {
    let rows = profiles.iter().map(|profile| {
        let (slug, scope) = (&profile["profile"], &profile["scope"]);
        (slug.as_str().expect("a slug"), scope.as_str().expect("a scope"), profile["configured"] == true)
    });
    rows.collect()
}

// covers: R22
#[tokio::test]
async fn stored_credential_is_never_returned_by_any_replica() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::with_secrets_folder(&folder).await;
    let tenant = cluster.create_tenant("acme").await;
    let missing = get_profile(&cluster, &tenant, "codex").await;
    assert_eq!((missing.status.as_u16(), &missing.body["configured"]), (200, &json!(false)));
    assert_eq!(missing.body["failureKind"], "secret-unavailable");
    let body = json!({ "credential": SECRET, "baseUrl": "https://api.example.org/v1/", "model": "m-1" });
    let stored = cluster.first.put_credential(&tenant, "codex", &cluster.operator.token, body).await;
    assert_eq!(stored.status, 200, "{}", stored.text);
    let profile = get_profile(&cluster, &tenant, "codex").await;
    assert_eq!(profile.body, stored.body);
    let field = |name: &str| profile.body[name].clone();
    assert_eq!(
        [
            field("configured"),
            field("scope"),
            field("baseUrl"),
            field("model"),
            field("failureKind"),
            field("secretRef")["name"].clone()
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
    let audit =
        cluster.first.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &cluster.operator.token).await;
    assert!(audit.text.contains("profile.credential_set"), "{}", audit.text);
    let mut texts = vec![stored.text, profile.text, audit.text];
    let mut sql = cluster.db.sql().await;
    for table in sql.texts("SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'").await {
        texts.extend(sql.texts(format!("SELECT t::text FROM {table} t")).await);
    }
    assert!(texts.len() > 20 && texts.iter().all(|text| !text.contains("canary")), "{texts:?}");
    let file = folder.path().join(format!("secrets/providers/{tenant}/codex/credential"));
    assert_eq!(fs::read_to_string(&file).expect("a credential file").trim(), SECRET);
    assert_eq!(fs::metadata(&file).expect("a credential file").permissions().mode() & 0o777, 0o600);
}

// covers: R22
#[tokio::test]
async fn profile_list_shows_built_in_tenant_and_shared_profiles() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::with_secrets_folder(&folder).await;
    let (acme, other) = (cluster.create_tenant("acme").await, cluster.create_tenant("other").await);
    let operator = &cluster.operator.token;
    let put = async |tenant: &str, slug: &str, scope: &str| {
        let path = format!("/api/v1/provider-profiles/{slug}/credential?tenantId={tenant}&scope={scope}");
        let body = Some(json!({ "credential": SECRET, "template": "codex" }));
        let stored = cluster.first.request_as(Method::PUT, &path, operator, body).await;
        assert_eq!(stored.status, 200, "{}", stored.text);
    };
    put(&acme, "my-model", "tenant").await;
    put(&acme, "codex", "tenant").await;
    put(&acme, "codex", "shared").await;
    put(&acme, "house", "shared").await;
    let (ours, theirs) =
        (list_profiles(&cluster, &acme, operator).await, list_profiles(&cluster, &other, operator).await);
    assert_eq!(
        summaries(&ours),
        [
            ("claude", "none", false),
            ("codex", "tenant", true),
            ("deepseek", "none", false),
            ("dsflash-go", "none", false),
            ("gemini", "none", false),
            ("house", "shared", true),
            ("minimax-m3", "none", false),
            ("my-model", "tenant", true),
            ("qwen", "none", false),
        ]
    );
    let theirs: Vec<_> = summaries(&theirs).into_iter().map(|(slug, scope, _)| (slug, scope)).collect();
    assert!(theirs.contains(&("codex", "shared")) && !theirs.iter().any(|(slug, _)| *slug == "my-model"));
    get_profile(&cluster, &other, "my-model").await.assert_failure(404, "not-found");
    let remove = format!("/api/v1/provider-profiles/codex?tenantId={acme}");
    assert_eq!(cluster.first.request_as(Method::DELETE, &remove, operator, None).await.status, 200);
    assert_eq!(
        get_profile(&cluster, &acme, "codex").await.body["scope"],
        "shared",
        "the shared profile is visible again"
    );
    cluster.first.request_as(Method::DELETE, &remove, operator, None).await.assert_failure(404, "not-found");
}

// covers: R22
#[tokio::test]
async fn members_read_profiles_and_only_managers_change_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::with_secrets_folder(&folder).await;
    let tenant = cluster.create_tenant("acme").await;
    let (_, writer) = cluster.create_key(&tenant, "operator").await;
    let body = || json!({ "credential": SECRET });
    // A service key belongs to one tenant, so the tenant can be omitted.
    let path = "/api/v1/provider-profiles/codex/credential";
    assert_eq!(cluster.first.request_as(Method::PUT, path, &writer, Some(body())).await.status, 200);
    let (owner, developer) = (cluster.create_user("owner").await, cluster.create_user("developer").await);
    cluster.set_role(&tenant, &owner, "owner").await;
    cluster.set_role(&tenant, &developer, "developer").await;
    assert_eq!(list_profiles(&cluster, &tenant, &developer.token).await.len(), 7);
    cluster
        .first
        .put_credential(&tenant, "codex", &developer.token, body())
        .await
        .assert_failure(403, "forbidden");
    cluster.first.validate_profile(&tenant, "codex", &developer.token).await.assert_failure(403, "forbidden");
    let own = format!("/api/v1/provider-profiles/codex?tenantId={tenant}");
    cluster
        .first
        .request_as(Method::DELETE, &own, &developer.token, None)
        .await
        .assert_failure(403, "forbidden");
    // Shared profiles can be changed by the operator only, whatever the role in a tenant.
    for bearer in [&owner.token, &writer] {
        let shared = format!("{path}?tenantId={tenant}&scope=shared");
        cluster
            .first
            .request_as(Method::PUT, &shared, bearer, Some(body()))
            .await
            .assert_failure(404, "not-found");
        let shared = format!("{own}&scope=shared");
        cluster
            .first
            .request_as(Method::DELETE, &shared, bearer, None)
            .await
            .assert_failure(404, "not-found");
    }
    let without_tenant = cluster.first.get_as("/api/v1/provider-profiles", &owner.token).await;
    without_tenant.assert_failure(403, "tenant-policy-denied");
    let subject = cluster.mint_subject_token(&tenant, &writer, "user-1").await.body["accessToken"].clone();
    let subject = subject.as_str().expect("a token");
    cluster
        .first
        .get_as(&format!("/api/v1/provider-profiles?tenantId={tenant}"), subject)
        .await
        .assert_failure(404, "not-found");
}

// covers: R22
#[tokio::test]
async fn invalid_or_forbidden_profile_settings_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::with_secrets_folder(&folder).await;
    let tenant = cluster.create_tenant("acme").await;
    for (kind, more) in [
        ("schema-invalid", json!({ "command": ["sh", "-c", "id"] })),
        ("schema-invalid", json!({ "backend": "acp" })),
        ("schema-invalid", json!({ "template": "sh" })),
        ("schema-invalid", json!({ "template": "../qwen" })),
        ("schema-invalid", json!({ "envKey": "LD_PRELOAD" })),
        ("schema-invalid", json!({ "baseUrl": "http://api.example.org/v1" })),
        ("schema-invalid", json!({ "baseUrl": "https://me:pw@api.example.org/v1" })),
        ("tenant-policy-denied", json!({ "baseUrl": "http://127.0.0.1:9/v1" })),
        ("tenant-policy-denied", json!({ "baseUrl": "https://169.254.169.254/latest" })),
        ("tenant-policy-denied", json!({ "baseUrl": "https://metadata.google.internal/computeMetadata/v1" })),
        ("tenant-policy-denied", json!({ "baseUrl": "https://[fd00::1]/v1" })),
        ("schema-invalid", json!({ "wireApi": "soap" })),
        ("schema-invalid", json!({ "model": "two words" })),
        ("schema-invalid", json!({ "credential": "two words" })),
        ("schema-invalid", json!({ "credential": "" })),
    ] {
        let mut body = json!({ "credential": SECRET });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let refused = cluster.first.put_credential(&tenant, "codex", &cluster.operator.token, body).await;
        assert_eq!(refused.body["failureKind"], kind, "{more}: {}", refused.text);
        assert!(!refused.text.contains("canary") && !refused.text.contains("pw@"), "{}", refused.text);
    }
    for slug in ["..%2fshared", "%2e%2e", "UPPER", "a_b", "-x"] {
        let refused = cluster
            .first
            .put_credential(&tenant, slug, &cluster.operator.token, json!({ "credential": "x" }))
            .await;
        refused.assert_failure(404, "not-found");
    }
    assert_eq!(
        get_profile(&cluster, &tenant, "codex").await.body["configured"],
        false,
        "a refused credential was stored"
    );
    let stored: Vec<_> = fs::read_dir(folder.path().join("secrets/providers")).expect("a folder").collect();
    assert!(stored.is_empty(), "{stored:?}");
}

fn codex_run_request(tenant: &str) -> Value {
    let mut run = run_request(tenant);
    run["backendProfile"] = json!("codex");
    run["executionPolicy"]["secretScope"] =
        json!({ "providerCredentials": [{ "name": "guildhall-provider-codex", "keys": ["credential"] }] });
    run
}

#[tokio::test]
async fn run_may_use_a_configured_prefix_of_secret_names() {
    let (folder, db) = (tempfile::tempdir().expect("a folder"), TestDb::new().await);
    let setup = with_secrets_folder(Setup::new(&db), &folder);
    let aliases = setup.clone().with("runs.provider_secret_prefixes", "agentrun-v01-provider-");
    let cluster = Cluster::with_setups(setup, aliases, db).await;
    let (tenant, operator) = (cluster.create_tenant("acme").await, &cluster.operator.token);
    cluster.first.put_credential(&tenant, "codex", operator, json!({ "credential": SECRET })).await;
    let create = async |server: &TestServer, name: &str| {
        let mut body = codex_run_request(&tenant);
        body["executionPolicy"]["secretScope"]["providerCredentials"][0]["name"] = json!(name);
        server.post_as("/api/v1/runs", operator, body).await
    };
    // The first replica knows no other prefix.
    create(&cluster.first, "agentrun-v01-provider-codex").await.assert_failure(400, "schema-invalid");
    for name in ["agentrun-v01-provider-codex", "guildhall-provider-codex"] {
        let created = create(&cluster.second, name).await;
        assert_eq!(created.status, 201, "{}", created.text);
        let stored = &created.body["executionPolicy"]["secretScope"]["providerCredentials"][0];
        assert_eq!(*stored, json!({ "name": "guildhall-provider-codex", "keys": ["credential"] }));
    }
    let foreign = create(&cluster.second, "agentrun-v01-provider-deepseek").await;
    foreign.assert_failure(403, "tenant-policy-denied");
    create(&cluster.second, "agentrun-v02-provider-codex").await.assert_failure(400, "schema-invalid");
}

// covers: R12, R22
#[tokio::test]
async fn run_of_a_profile_without_a_credential_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::with_secrets_folder(&folder).await;
    let tenant = cluster.create_tenant("acme").await;
    let create =
        || cluster.second.post_as("/api/v1/runs", &cluster.operator.token, codex_run_request(&tenant));
    create().await.assert_failure(409, "secret-unavailable");
    cluster
        .first
        .validate_profile(&tenant, "codex", &cluster.operator.token)
        .await
        .assert_failure(409, "secret-unavailable");
    cluster
        .first
        .put_credential(&tenant, "codex", &cluster.operator.token, json!({ "credential": SECRET }))
        .await;
    assert_eq!(create().await.status, 201);
    let own = format!("/api/v1/provider-profiles/codex?tenantId={tenant}");
    assert_eq!(
        cluster.first.request_as(Method::DELETE, &own, &cluster.operator.token, None).await.status,
        200
    );
    create().await.assert_failure(409, "secret-unavailable");
    // With an enrolment, a runner that is started by hand can bring its own credential.
    cluster.create_enrolment(&tenant).await;
    assert_eq!(create().await.status, 201);
}

#[tokio::test]
async fn unserved_profile_is_refused_and_the_served_ones_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::with_secrets_folder(&folder).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let body = json!({ "credential": SECRET });
    cluster.first.put_credential(&tenant.id, "deepseek", &cluster.operator.token, body).await;
    let create = async |profile: &str| {
        let mut request = run_request(&tenant.id);
        request["backendProfile"] = json!(profile);
        if profile != "demo" {
            let secret = json!({ "name": format!("guildhall-provider-{profile}"), "keys": ["credential"] });
            request["executionPolicy"]["secretScope"] = json!({ "providerCredentials": [secret] });
        }
        cluster.second.post_as("/api/v1/runs", &cluster.operator.token, request).await
    };
    assert_eq!(create("mine").await.status, 201, "a runner of the enrolment may still register for it");
    register_codex_runner(&cluster, &tenant).await;
    let refused = create("codxe").await;
    refused.assert_failure(400, "schema-invalid");
    assert_eq!(
        refused.body["message"],
        "backendProfile: no runner serves \"codxe\"; use one of codex, deepseek, demo, or start a runner with \
         `--profile codxe`"
    );
    let served = [create("codex").await, create("deepseek").await, create("demo").await];
    assert_eq!(served.map(|response| response.status.as_u16()), [201, 201, 201]);
}

async fn register_codex_runner(cluster: &Cluster, tenant: &TestTenant) -> String {
    let body = json!({ "name": "played", "backendProfiles": ["codex"] });
    let response = cluster.first.post_as("/api/v1/runners/register", &tenant.enrolment, body).await;
    text(&response.body, "runnerId")
}

/// Starts a validation and claims its run. Returns the validation and the claim.
async fn start_validation(cluster: &Cluster, tenant: &TestTenant) -> (Value, RunClaim) {
    let body = json!({ "credential": SECRET });
    cluster.first.put_credential(&tenant.id, "codex", &cluster.operator.token, body).await;
    let started = cluster.first.validate_profile(&tenant.id, "codex", &cluster.operator.token).await;
    assert_eq!(
        (started.status.as_u16(), &started.body["status"]),
        (202, &json!("pending")),
        "{}",
        started.text
    );
    let runner = register_codex_runner(cluster, tenant).await;
    let run = text(&started.body, "runId");
    let claimed = cluster.second.try_claim(tenant, &run, &runner).await;
    assert_eq!(claimed.status, 200, "{}", claimed.text);
    let claim = run_claim(&run, &runner, &claimed);
    cluster.first.ack(&claim, &text(&started.body, "commandId")).await;
    (started.body, claim)
}

async fn wait_for_outcome(cluster: &Cluster, tenant: &str, validation: &Value, within: Duration) -> Value {
    let id = text(validation, "validationId");
    let path = format!("/api/v1/provider-profiles/codex/validations/{id}?tenantId={tenant}");
    let began = Stopwatch::start();
    loop {
        let response = cluster.second.get_as(&path, &cluster.operator.token).await;
        assert_eq!(response.status, 200, "{}", response.text);
        if response.body["status"] != "pending" {
            return response.body;
        }
        assert!(began.elapsed() < within, "still pending: {}", response.text);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

// covers: R22
#[tokio::test]
async fn profile_validation_has_the_outcome_of_its_canary_turn() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::with_secrets_folder(&folder).await;
    let tenant = cluster.create_test_tenant("acme").await;
    let refused =
        json!({ "status": "failed", "failureKind": "provider-auth-failed", "message": "refused (401)" });
    for (command_outcome, status, kind) in [
        (json!({ "status": "completed" }), "ok", Value::Null),
        (refused, "failed", json!("provider-auth-failed")),
    ] {
        let (validation, claim) = start_validation(&cluster, &tenant).await;
        let ended = cluster.first.finish(&claim, &text(&validation, "commandId"), command_outcome).await;
        assert_eq!(ended.status, 200, "{}", ended.text);
        let outcome = wait_for_outcome(&cluster, &tenant.id, &validation, Duration::from_secs(10)).await;
        assert_eq!((&outcome["status"], &outcome["failureKind"]), (&json!(status), &kind), "{outcome}");
        assert_eq!(get_profile(&cluster, &tenant.id, "codex").await.body["lastValidation"], outcome);
        let run = cluster.get_run(&claim.run).await;
        assert!(run["terminalStatus"].is_string(), "the run of the validation did not end: {run}");
    }
    let listed = cluster.first.get_as("/api/v1/sessions", &cluster.operator.token).await;
    assert_eq!(listed.body["sessions"], json!([]), "a canary session is listed");
}

#[tokio::test]
async fn same_idempotency_key_validates_a_profile_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::with_secrets_folder(&folder).await;
    let tenant = cluster.create_tenant("acme").await;
    cluster
        .first
        .put_credential(&tenant, "codex", &cluster.operator.token, json!({ "credential": SECRET }))
        .await;
    let url = cluster.first.url(&format!("/api/v1/provider-profiles/codex/validate?tenantId={tenant}"));
    let mut ids = Vec::new();
    for _ in 0..2 {
        let request = cluster.first.client.post(&url).bearer_auth(&cluster.operator.token);
        let response =
            crate::support::read_response(request.header("idempotency-key", "k").send().await.expect("sent"))
                .await;
        assert_eq!(response.status, 202, "{}", response.text);
        ids.push(text(&response.body, "validationId"));
    }
    assert_eq!(ids[0], ids[1]);
}

// covers: R22
#[tokio::test]
async fn profile_validation_without_a_runner_times_out_on_any_replica() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = TestDb::new().await;
    let setup = with_secrets_folder(Setup::new(&db), &folder).with("secrets.validate_within", "2s");
    let cluster = Cluster::with_setup(setup, db).await;
    let tenant = cluster.create_tenant("acme").await;
    cluster
        .first
        .put_credential(&tenant, "codex", &cluster.operator.token, json!({ "credential": SECRET }))
        .await;
    let validation = cluster.first.validate_profile(&tenant, "codex", &cluster.operator.token).await.body;
    let Cluster { first, second, operator, db } = cluster;
    assert!(first.server.shutdown().await);
    let mut sql = db.sql().await;
    let began = Stopwatch::start();
    // No request is needed: a reconciler settles the validation.
    while sql.number("SELECT count(*) FROM profile_validations WHERE status = 'pending'").await > 0 {
        assert!(began.elapsed() < Duration::from_secs(8), "the validation does not time out");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let id = text(&validation, "validationId");
    let path = format!("/api/v1/provider-profiles/codex/validations/{id}?tenantId={tenant}");
    let outcome = second.get_as(&path, &operator.token).await.body;
    assert_eq!(
        (&outcome["status"], &outcome["failureKind"]),
        (&json!("failed"), &json!("infra-failed")),
        "{outcome}"
    );
    assert!(text(&outcome, "message").contains("no runner"), "{outcome}");
    let path = format!("/api/v1/runs/{}", text(&validation, "runId"));
    let run = second.get_as(&path, &operator.token).await.body;
    assert_eq!(run["failureKind"], "infra-failed", "{run}");
}

#[tokio::test]
async fn missing_secrets_folder_is_reported_and_a_readable_one_fails_start() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let refused = cluster
        .first
        .put_credential(&tenant, "codex", &cluster.operator.token, json!({ "credential": "x" }))
        .await;
    refused.assert_failure(409, "secret-unavailable");
    assert_eq!(list_profiles(&cluster, &tenant, &cluster.operator.token).await.len(), 7);
    let folder = tempfile::tempdir().expect("a folder");
    let readable = folder.path().join("secrets");
    fs::create_dir(&readable).expect("a folder");
    fs::set_permissions(&readable, fs::Permissions::from_mode(0o755)).expect("set permissions");
    let failed = with_secrets_folder(Setup::new(&cluster.db), &folder)
        .try_start()
        .await
        .expect_err("a folder that others can read");
    assert!(format!("{failed:?}").contains("InsecurePermissions"), "{failed:?}");
}
