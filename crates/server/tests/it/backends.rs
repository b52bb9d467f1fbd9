//! Backends: the built-in profiles and the stored ones, with what each can do.

use std::fs;

use guildhall_testkit::TestDb;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::Setup;
use crate::support::cluster::Cluster;
use crate::support::profiles::with_secrets_folder;
use crate::support::runs::text;

async fn list_backends(cluster: &Cluster, query: &str, bearer: &str) -> Vec<Value> {
    let response = cluster.second.get_as(&format!("/api/v1/backends{query}"), bearer).await;
    assert_eq!(response.status, 200, "{}", response.text);
    response.body["backends"].as_array().expect("backends").clone()
}

/// Returns the profile, the kind of its backend, and whether it is configured and available.
fn summaries(backends: &[Value]) -> Vec<(String, String, bool, bool)> {
    let summary = |backend: &Value| {
        let (configured, unavailable) = (&backend["configured"], &backend["unavailable"]);
        (text(backend, "profile"), text(backend, "backendKind"), *configured == true, unavailable.is_null())
    };
    backends.iter().map(summary).collect()
}

fn row(profile: &str, kind: &str, configured: bool, available: bool) -> (String, String, bool, bool) {
    (profile.to_owned(), kind.to_owned(), configured, available)
}

const CODEX: &str = "codex-app-server-stdio";
const ACP: &str = "acp-stdio";

// covers: R23
#[tokio::test]
async fn backends_are_the_built_in_and_the_stored_profiles_of_the_tenant() {
    let (folder, db) = (tempfile::tempdir().expect("a folder"), TestDb::new().await);
    let setup =
        with_secrets_folder(Setup::new(&db), &folder).with("runs.profiles", "demo,codex,house,qwen,my-model");
    let cluster = Cluster::with_setup(setup, db).await;
    let (acme, _other) = (cluster.create_tenant("acme").await, cluster.create_tenant("other").await);
    let operator = &cluster.operator.token;
    for (slug, scope) in
        [("house", "shared"), ("qwen", "shared"), ("broken", "shared"), ("my-model", "tenant")]
    {
        let path = format!("/api/v1/provider-profiles/{slug}/credential?tenantId={acme}&scope={scope}");
        let body = Some(json!({ "credential": "sk-canary-0123456789", "template": "codex" }));
        let stored = cluster.first.request_as(Method::PUT, &path, operator, body).await;
        assert_eq!(stored.status, 200, "{}", stored.text);
    }
    // Only the operator can set a command, in the folder.
    let shared = folder.path().join("secrets/providers/shared");
    let acp = "backend = \"acp\"\ncommand = [\"qwen\", \"--acp\"]\n";
    fs::write(shared.join("qwen/profile.toml"), acp).expect("written");
    fs::write(shared.join("broken/profile.toml"), "backend = 1").expect("written");

    let shared_rows = [
        row("broken", CODEX, false, false),
        row("claude", ACP, false, false),
        row("codex", CODEX, false, true),
        row("deepseek", ACP, false, false),
        row("demo", "script", true, true),
        row("dsflash-go", CODEX, false, false),
        row("gemini", ACP, false, false),
        row("house", CODEX, true, true),
        row("minimax-m3", ACP, false, false),
        row("qwen", ACP, true, true),
    ];
    let backends = list_backends(&cluster, "", operator).await;
    assert_eq!(summaries(&backends), shared_rows);
    assert_eq!(summaries(&list_backends(&cluster, "?tenantId=other", operator).await), shared_rows);
    assert_eq!(
        backends[7],
        json!({
            "profile": "house", "backendKind": CODEX, "protocol": "codex-app-server",
            "transport": "stdio", "commandTypes": ["turn", "steer", "interrupt"],
            "requiredSecretKeys": ["auth.json", "config.toml"], "configured": true, "unavailable": null,
        })
    );
    assert_eq!(backends[9]["commandTypes"], json!(["turn", "interrupt"]), "ACP cannot steer a turn");

    let mut own_rows = shared_rows.to_vec();
    own_rows.insert(9, row("my-model", CODEX, true, true));
    assert_eq!(summaries(&list_backends(&cluster, "?tenantId=acme", operator).await), own_rows);
    let (_, key) = cluster.create_key(&acme, "viewer").await;
    assert_eq!(summaries(&list_backends(&cluster, "", &key).await), own_rows, "a key belongs to its tenant");
    cluster.first.get_as("/api/v1/backends?tenantId=other", &key).await.assert_failure(404, "not-found");
}
