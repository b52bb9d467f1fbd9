use std::time::Duration;

use guildhall_store::Store;
use guildhall_testkit::TestDb;
use secrecy::ExposeSecret;
use serde_json::json;

use crate::support::cluster::Cluster;
use crate::support::{Setup, TestResponse};

#[tokio::test]
async fn liveness_shows_version_and_commit() {
    let db = TestDb::new().await;
    let response = Setup::new(&db).start().await.get("/health/live").await;
    assert_eq!(response.status, 200);
    let build = json!({ "version": "0.1.0", "commit": guildhall_server::COMMIT });
    assert_eq!(response.body, json!({ "status": "live", "serviceId": "guildhall", "build": build }));
}

fn is_ready(response: &TestResponse) -> bool {
    response.body["status"] == "ready" && response.body["housekeeping"][0]["lastSuccessAt"].is_string()
}

// covers: R13
#[tokio::test]
async fn readiness_reports_engines_migrations_secrets_and_build() {
    let db = TestDb::new().await;
    let (one, other) = Setup::new(&db).start_two().await;
    for replica in [&one, &other] {
        let (response, _) = replica.wait_until("/health/readiness", Duration::from_secs(5), is_ready).await;
        let mut body = response.body;
        assert_eq!(body["replica"], replica.server.replica().to_string());
        assert_eq!(body["build"]["commit"], guildhall_server::COMMIT);
        for timestamp in [
            "/startedAt",
            "/postgres/observedAt",
            "/nats/observedAt",
            "/housekeeping/0/lastRunAt",
            "/housekeeping/0/lastSuccessAt",
            "/housekeeping/0/nextRunAt",
        ] {
            let value = body.pointer_mut(timestamp).expect(timestamp);
            assert!(value.as_str().is_some_and(|text| text.ends_with('Z')), "{timestamp} is {value}");
            *value = json!("[time]");
        }
        let names: Vec<_> = body["housekeeping"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|task| task["name"].clone())
            .collect();
        assert!(names.contains(&json!("signing-keys")), "{names:?}");
        body["housekeeping"].as_array_mut().expect("a list").truncate(1);
        body["replica"] = json!("[replica]");
        body["build"] = json!("[build]");
        assert_eq!(
            body,
            json!({
                "status": "ready", "reasons": [], "serviceId": "guildhall", "build": "[build]", "replica": "[replica]",
                "startedAt": "[time]",
                "postgres": { "reachable": true, "observedAt": "[time]" },
                "migrations": { "ready": true, "known": Store::known_migration() },
                "nats": { "reachable": true, "observedAt": "[time]" },
                "secrets": [
                    { "name": "postgres.url", "set": true, "value": "[redacted]" },
                    { "name": "postgres.owner_url", "set": false, "value": "[redacted]" },
                    { "name": "nats.url", "set": true, "value": "[redacted]" },
                { "name": "identity.key_encryption_key", "set": true, "value": "[redacted]" },
                    { "name": "oidc.client_secret", "set": false, "value": "[redacted]" },
                    { "name": "attachments.secret_access_key", "set": false, "value": "[redacted]" },
                ],
                "housekeeping": [{
                    "name": "replicas", "everyMs": 15000, "lastRunAt": "[time]", "lastSuccessAt": "[time]",
                    "nextRunAt": "[time]", "lastError": null, "late": false,
                }],
            })
        );
    }
}

#[tokio::test]
async fn health_lists_all_replicas_on_each_replica() {
    let db = TestDb::new().await;
    let (one, other) = Setup::new(&db).start_two().await;
    let mut expected = [one.server.replica().to_string(), other.server.replica().to_string()];
    expected.sort();
    for replica in [&one, &other] {
        let both = |ids: &serde_json::Value| ids.as_array().is_some_and(|list| list.len() == 2);
        let (response, _) =
            replica.wait_until("/health", Duration::from_secs(5), |a| both(&a.body["replicas"])).await;
        let ids: Vec<_> =
            response.body["replicas"].as_array().expect("a list").iter().map(|r| r["id"].clone()).collect();
        assert_eq!(ids, expected);
        assert_eq!(response.body["replica"], replica.server.replica().to_string());
    }
}

#[tokio::test]
async fn public_endpoints_do_not_show_the_database_password() {
    let db = TestDb::new().await;
    let server = Setup::new(&db).start().await;
    let url = db.url();
    let password = url.expose_secret().split([':', '@']).nth(2).expect("a password");
    for path in ["/health", "/health/live", "/health/readiness", "/metrics", "/openapi.json", "/nowhere"] {
        let response = server.get(path).await;
        assert!(!response.text.contains(password), "{path} shows a password");
    }
}

// covers: R13
#[tokio::test]
async fn readiness_reports_the_secrets_of_shared_profiles_without_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::with_secrets_folder(&folder).await;
    let tenant = cluster.create_tenant("acme").await;
    let secret = |name: &str, set: bool| json!({ "name": name, "set": set, "value": "[redacted]" });
    let of_providers = |response: &TestResponse| {
        let secrets = response.body["secrets"].as_array().expect("secrets").iter();
        let is_provider = |name: &str| name.starts_with("guildhall-provider-");
        let found = secrets.filter(|secret| secret["name"].as_str().is_some_and(is_provider)).cloned();
        found.collect::<Vec<_>>()
    };
    let built_in = ["codex", "deepseek", "dsflash-go", "minimax-m3"];
    let unset = built_in.map(|slug| secret(&format!("guildhall-provider-{slug}"), false));
    assert_eq!(of_providers(&cluster.first.get("/health/readiness").await), unset);

    for (slug, scope) in [("codex", "shared"), ("house", "shared"), ("their-own", "tenant")] {
        let path = format!("/api/v1/provider-profiles/{slug}/credential?tenantId={tenant}&scope={scope}");
        let body = Some(json!({ "credential": "sk-canary-0123456789", "template": "codex" }));
        let stored =
            cluster.first.request_as(reqwest::Method::PUT, &path, &cluster.operator.token, body).await;
        assert_eq!(stored.status, 200, "{}", stored.text);
    }
    let expected = [
        secret("guildhall-provider-codex", true),
        secret("guildhall-provider-deepseek", false),
        secret("guildhall-provider-dsflash-go", false),
        secret("guildhall-provider-house", true),
        secret("guildhall-provider-minimax-m3", false),
    ];
    for server in [&cluster.first, &cluster.second] {
        let within = Duration::from_secs(15);
        let (shown, _) =
            server.wait_until("/health/readiness", within, |shown| of_providers(shown) == expected).await;
        assert!(!shown.text.contains("canary"), "{}", shown.text);
    }
}
