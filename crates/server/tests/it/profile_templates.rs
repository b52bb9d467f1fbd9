//! Templates: the operator decides which agent and which provider a profile has.

use std::fs;

use guildhall_testkit::TestDb;
use serde_json::{Value, json};

use crate::support::Setup;
use crate::support::cluster::Cluster;
use crate::support::profiles::with_secrets_folder;

const SECRET: &str = "sk-canary-0123456789";

#[tokio::test]
async fn template_gives_a_profile_its_agent_and_its_provider() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::with_secrets_folder(&folder).await;
    let tenant = cluster.create_tenant("acme").await;
    let put = async |slug: &str, more: Value| {
        let mut body = json!({ "credential": SECRET });
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let stored = cluster.first.put_credential(&tenant, slug, &cluster.operator.token, body).await;
        let path = format!("/api/v1/provider-profiles/{slug}?tenantId={tenant}");
        let read = cluster.second.get_as(&path, &cluster.operator.token).await.body;
        let fields = |body: &Value| ["backend", "agent", "baseUrl", "model"].map(|name| body[name].clone());
        if stored.status == 200 {
            assert_eq!(fields(&stored.body), fields(&read), "both replicas");
        }
        let message = stored.body["message"].as_str().unwrap_or_default().to_owned();
        (stored.status.as_u16(), fields(&stored.body), message)
    };
    let own = "https://models.example.org/v1";
    for (slug, more, expected) in [
        ("codex", json!({}), json!(["codex", "codex", "https://api.openai.com/v1", null])),
        ("deepseek", json!({}), json!(["acp", "qwen", "https://api.deepseek.com/v1", "deepseek-chat"])),
        (
            "claude",
            json!({ "model": "m" }),
            json!(["acp", "claude-agent-acp", "https://api.anthropic.com/v1", "m"]),
        ),
        (
            "gemini",
            json!({}),
            json!(["acp", "gemini", "https://generativelanguage.googleapis.com/v1beta", null]),
        ),
        ("qwen", json!({ "baseUrl": own }), json!(["acp", "qwen", own, "qwen3-coder-plus"])),
        ("qwen", json!({ "model": "m-2" }), json!(["acp", "qwen", own, "m-2"])),
        ("house", json!({ "template": "codex", "baseUrl": own }), json!(["codex", "codex", own, null])),
        (
            "house",
            json!({ "template": "qwen" }),
            json!(["acp", "qwen", "https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen3-coder-plus",]),
        ),
    ] {
        let (status, fields, message) = put(slug, more.clone()).await;
        assert_eq!((status, json!(fields)), (200, expected), "{slug} {more}: {message}");
    }
    let (status, _, message) = put("house-2", json!({ "baseUrl": own })).await;
    assert_eq!(
        (status, message.as_str()),
        (
            400,
            "template: the profile has no template of its own name; choose one of claude, codex, deepseek, \
             gemini, minimax-m3, qwen"
        )
    );
}

#[tokio::test]
async fn templates_of_the_operator_replace_the_built_in_ones() {
    let (folder, db) = (tempfile::tempdir().expect("a folder"), TestDb::new().await);
    let template =
        "backend = \"acp\"\ncommand = [\"/opt/agent\"]\nbase_url = \"https://models.example.org/v1\"\n";
    fs::write(folder.path().join("house.toml"), template).expect("written");
    let setup =
        with_secrets_folder(Setup::new(&db), &folder).with("profiles.templates", folder.path().display());
    let cluster = Cluster::with_setup(setup, db).await;
    let (tenant, operator) = (cluster.create_tenant("acme").await, &cluster.operator.token);
    let house =
        cluster.first.put_credential(&tenant, "house", operator, json!({ "credential": SECRET })).await;
    assert_eq!(
        (&house.body["agent"], &house.body["backend"]),
        (&json!("agent"), &json!("acp")),
        "{}",
        house.text
    );
    let body = json!({ "credential": SECRET, "template": "qwen" });
    cluster.first.put_credential(&tenant, "mine", operator, body).await.assert_failure(400, "schema-invalid");
}
