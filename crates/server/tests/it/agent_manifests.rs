//! Manifests of agents: their versions, who changes them, and what everybody reads.

use guildhall_domain::agents::manifest::document::ManifestDocument;
use guildhall_domain::identity::{LogContent, LogEntry, LoggedManifest};
use guildhall_identity::transparency::entry_leaf;
use reqwest::Method;
use serde_json::{Value, json};

use crate::aids::{create as create_aid, issuer};
use crate::support::cluster::Cluster;
use crate::support::runs::{agent_request, text};
use crate::support::{TestResponse, TestServer, read_response};

fn manifest() -> Value {
    json!({
        "schema_version": "1.0",
        "agent_version": "1.0.0",
        "tools": [{
            "name": "read_file",
            "description_i18n_key": "agent.read_file",
            "description_fallback": "Read a file",
            "input_schema": {
                "type": "object",
                "properties": { "path": { "type": "string" } },
                "required": ["path"],
                "additionalProperties": false
            },
            "permission_scope": "filesystem:read"
        }],
        "permission_scopes": [{
            "id": "filesystem:read",
            "label_i18n_key": "scope.label",
            "description_i18n_key": "scope.description",
            "sensitivity": "medium"
        }],
        "capability_flags": {
            "supports_streaming": true,
            "supports_artifacts": true,
            "supports_voice": false,
            "supports_group_chat": false
        }
    })
}

fn manifest_with(edit: impl FnOnce(&mut Value)) -> Value {
    let mut manifest = manifest();
    edit(&mut manifest);
    manifest
}

fn hash(manifest: &Value) -> String {
    ManifestDocument::parse(&manifest.to_string()).expect("a manifest").hash().to_string()
}

async fn patch(server: &TestServer, agent: &str, token: &str, body: Value) -> TestResponse {
    send(server, Method::PATCH, &format!("/agents/{agent}"), token, body.to_string()).await
}

async fn send(server: &TestServer, method: Method, path: &str, token: &str, body: String) -> TestResponse {
    let request = server.client.request(method, server.url(path)).bearer_auth(token);
    let request = request.header("content-type", "application/json").body(body);
    read_response(request.send().await.expect("a response")).await
}

/// Creates an agent with a manifest, at the route of the specification.
async fn create_agent(cluster: &Cluster, tenant: &str, slug: &str) -> String {
    let mut body = agent_request(tenant, slug);
    body["capability_manifest"] = manifest();
    body["instructions"] = json!("The secret of the house is Hunter2Canary.");
    let created = cluster.first.post_as("/agents", &cluster.operator.token, body).await;
    assert_eq!(created.status, 201, "{}", created.text);
    text(&created.body, "id")
}

/// Returns version and hash as everybody who may see the agent reads them.
async fn current(cluster: &Cluster, agent: &str) -> (Value, Value) {
    let path = format!("/api/v1/agents/{agent}");
    let mut body = cluster.second.get_as(&path, &cluster.operator.token).await.body;
    (body["capabilityManifestVersion"].take(), body["capabilityManifestHash"].take())
}

// covers: M2, M13
#[tokio::test]
async fn each_other_manifest_is_a_kept_version_with_its_verdicts() {
    let cluster = Cluster::new().await;
    cluster.create_tenant("acme").await;
    let (agent, token) = (create_agent(&cluster, "acme", "helper").await, &cluster.operator.token);
    assert_eq!(current(&cluster, &agent).await, (json!(1), json!(hash(&manifest()))));
    // The same manifest, written in another way.
    let same =
        format!("{{\"capabilityManifest\":\n{:#}}}", manifest()).replace("\"1.0.0\"", "\"1.0\\u002e0\"");
    let path = format!("/api/v1/agents/{agent}");
    let unchanged = send(&cluster.second, Method::PATCH, &path, token, same).await;
    assert_eq!(unchanged.body["capabilityManifestVersion"], 1, "{}", unchanged.text);

    let voice = manifest_with(|value| value["capability_flags"]["supports_voice"] = json!(true));
    let breaking = manifest_with(|value| {
        value["tools"][0]["input_schema"]["properties"]["mode"] = json!({ "type": "string" });
        value["tools"][0]["input_schema"]["required"] = json!(["path", "mode"]);
    });
    for (version, manifest) in [(2, &voice), (3, &breaking), (4, &voice)] {
        let changed = patch(&cluster.second, &agent, token, json!({ "capability_manifest": manifest })).await;
        assert_eq!(changed.body["capabilityManifestVersion"], version, "{}", changed.text);
        assert_eq!(current(&cluster, &agent).await, (json!(version), json!(hash(manifest))));
        assert_eq!(changed.body["revision"], 1, "runs are not created with it");
    }
    let listed = cluster.second.get_as(&format!("{path}/manifests"), token).await.body;
    let mut versions = listed["versions"].as_array().expect("versions").clone();
    for version in &mut versions {
        assert!(version["createdAt"].take().is_string());
    }
    let row = |version: i64, manifest: &Value, contract: Value, consent: Value| {
        json!({ "version": version, "hash": hash(manifest), "contract": contract, "consent": consent,
            "logId": null, "createdAt": null })
    };
    let expected = [
        row(4, &voice, json!("compatible"), json!("notify")),
        row(3, &breaking, json!("breaking"), json!("re-consent")),
        row(2, &voice, json!("compatible"), json!("notify")),
        row(1, &manifest(), Value::Null, Value::Null),
    ];
    assert_eq!(versions[1..], expected[1..], "{listed}");
    assert_eq!(versions[0]["hash"], expected[0]["hash"]);
    let refused = cluster.first.get_as(&format!("{path}/manifests?before=0"), token).await;
    let expected = (400, &json!("before: must be at least 1"));
    assert_eq!((refused.status.as_u16(), &refused.body["message"]), expected);
    let page = cluster.first.get_as(&format!("{path}/manifests?before=3&limit=1"), token).await.body;
    assert_eq!(page["versions"].as_array().map(Vec::len), Some(1));
    assert_eq!(page["versions"][0]["version"], 2);
    let third = cluster.first.get_as(&format!("{path}/manifests/3"), token).await.body;
    assert_eq!((&third["capabilityManifest"], &third["hash"]), (&breaking, &json!(hash(&breaking))));
    for missing in ["0", "5", "x"] {
        let path = format!("{path}/manifests/{missing}");
        cluster.first.get_as(&path, token).await.assert_failure(404, "not-found");
    }
}

// covers: M2
#[tokio::test]
async fn concurrent_manifests_on_two_replicas_skip_no_version() {
    let cluster = Cluster::new().await;
    cluster.create_tenant("acme").await;
    let (agent, token) = (create_agent(&cluster, "acme", "helper").await, &cluster.operator.token);
    let declare = async |server: &TestServer, number: i32, read: Option<i64>| {
        let manifest = manifest_with(|value| value["agent_version"] = json!(format!("2.0.{number}")));
        let mut body = json!({ "capabilityManifest": manifest });
        if let Some(read) = read {
            body["capabilityManifestVersion"] = json!(read);
        }
        patch(server, &agent, token, body).await
    };
    for round in 0..5 {
        let (one, two) = tokio::join!(
            declare(&cluster.first, 2 * round, None),
            declare(&cluster.second, 2 * round + 1, None)
        );
        assert_eq!((one.status.as_u16(), two.status.as_u16()), (200, 200), "{} {}", one.text, two.text);
    }
    let path = format!("/api/v1/agents/{agent}/manifests");
    let listed = cluster.first.get_as(&path, token).await.body;
    let numbers: Vec<_> =
        listed["versions"].as_array().expect("versions").iter().map(|row| &row["version"]).collect();
    assert_eq!(numbers, (1..=11).rev().collect::<Vec<i64>>());
    let (one, two) =
        tokio::join!(declare(&cluster.first, 20, Some(11)), declare(&cluster.second, 21, Some(11)));
    let mut statuses = [one.status.as_u16(), two.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409], "{} {}", one.text, two.text);
    assert_eq!(current(&cluster, &agent).await.0, 12);
}

// covers: M1
#[tokio::test]
async fn only_a_person_of_the_tenant_with_the_right_changes_an_agent() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let other = cluster.create_tenant("other").await;
    let agent = create_agent(&cluster, "acme", "helper").await;
    let (_, key) = cluster.create_key(&tenant, "operator").await;
    let (_, enrolment) = cluster.create_enrolment(&tenant).await;
    let (run, _) = cluster.mint_run_token(&enrolment).await;
    let subject = text(&cluster.mint_subject_token(&tenant, &key, "user-1").await.body, "accessToken");
    let (developer, mallory) = (cluster.create_user("dev").await, cluster.create_user("mallory").await);
    cluster.set_role(&tenant, &developer, "developer").await;
    cluster.set_role(&other, &mallory, "owner").await;
    let stolen = manifest_with(|value| value["agent_version"] = json!("6.6.6"));
    let attacks = [
        (&key, 403, "forbidden"),
        (&developer.token, 403, "forbidden"),
        (&mallory.token, 404, "not-found"),
        (&subject, 404, "not-found"),
        (&run, 401, "unauthenticated"),
        (&enrolment, 401, "unauthenticated"),
    ];
    for (token, status, kind) in attacks {
        for path in [format!("/agents/{agent}"), format!("/api/v1/agents/{agent}")] {
            for body in [json!({ "capability_manifest": stolen }), json!({ "published": true })] {
                let refused = send(&cluster.second, Method::PATCH, &path, token, body.to_string()).await;
                refused.assert_failure(status, kind);
            }
        }
    }
    let refused = patch(&cluster.first, &agent, &key, json!({ "name": "Renamed" })).await;
    refused.assert_failure(403, "forbidden");
    let mut body = agent_request("acme", "of-key");
    assert_eq!(cluster.second.post_as("/api/v1/agents", &key, body.clone()).await.status, 201);
    body["slug"] = json!("of-key-too");
    body["capabilityManifest"] = manifest();
    cluster.second.post_as("/agents", &key, body).await.assert_failure(403, "forbidden");
    assert_eq!(current(&cluster, &agent).await, (json!(1), json!(hash(&manifest()))));
    cluster.first.get(&format!("/agents/{agent}")).await.assert_failure(404, "not-found");

    let person = cluster.create_user("person").await;
    cluster.set_role(&tenant, &person, "operator").await;
    let changed =
        patch(&cluster.second, &agent, &person.token, json!({ "capability_manifest": stolen })).await;
    assert_eq!(changed.body["capabilityManifestVersion"], 2, "{}", changed.text);
}

// covers: M11
#[tokio::test]
async fn published_agent_is_public_and_every_published_version_is_logged_once() {
    let (cluster, _folder) = issuer().await;
    create_aid(&cluster, "alice").await;
    cluster.create_tenant("acme").await;
    let (agent, token) = (create_agent(&cluster, "acme", "helper").await, &cluster.operator.token);
    let public = format!("/agents/{agent}");
    let log_size = async || cluster.second.get("/ct/sth").await.body["tree_size"].as_u64();
    for server in [&cluster.first, &cluster.second] {
        for path in [&public, &format!("{public}/versions/1")] {
            server.get(path).await.assert_failure(404, "not-found");
            server.get_as(path, token).await.assert_failure(404, "not-found");
        }
    }
    assert_eq!(log_size().await, Some(1), "only the certificate");
    let draft = manifest_with(|value| value["agent_version"] = json!("1.1.0"));
    patch(&cluster.first, &agent, token, json!({ "capability_manifest": draft })).await;
    let published = patch(&cluster.first, &agent, token, json!({ "published": true })).await;
    assert_eq!(published.body["published"], true, "{}", published.text);
    let expected = json!({
        "id": agent, "name": "helper", "capability_manifest": draft, "capability_manifest_version": 2,
        "capability_manifest_hash": hash(&draft), "log_id": 1,
    });
    assert_eq!(cluster.second.get(&public).await.body, expected, "and nothing else");
    assert_eq!(cluster.second.get(&format!("{public}/versions/2")).await.body, expected);
    // The first version was replaced before the agent was published.
    cluster.second.get(&format!("{public}/versions/1")).await.assert_failure(404, "not-found");

    let third = manifest_with(|value| value["agent_version"] = json!("1.2.0"));
    patch(&cluster.second, &agent, token, json!({ "capability_manifest": third })).await;
    assert_eq!(cluster.first.get(&public).await.body["capability_manifest_hash"], hash(&third));
    assert_eq!(cluster.first.get(&format!("{public}/versions/2")).await.body, expected);
    check_entry(&cluster, &agent, 1, 2, &draft).await;
    check_entry(&cluster, &agent, 2, 3, &third).await;

    patch(&cluster.first, &agent, token, json!({ "published": false })).await;
    for path in [&public, &format!("{public}/versions/2"), &format!("{public}/versions/3")] {
        cluster.second.get(path).await.assert_failure(404, "not-found");
    }
    let hidden = manifest_with(|value| value["agent_version"] = json!("1.3.0"));
    patch(&cluster.first, &agent, token, json!({ "capability_manifest": hidden })).await;
    patch(&cluster.first, &agent, token, json!({ "capability_manifest": third })).await;
    assert_eq!(log_size().await, Some(3), "what is not published is not logged");
    for _ in 0..2 {
        patch(&cluster.second, &agent, token, json!({ "published": true })).await;
        assert_eq!(log_size().await, Some(4));
    }
    let again = cluster.first.get(&public).await.body;
    assert_eq!((&again["capability_manifest_version"], &again["log_id"]), (&json!(5), &json!(3)));
    cluster.first.get(&format!("{public}/versions/4")).await.assert_failure(404, "not-found");
    assert_eq!(cluster.first.get("/ct/entries/0").await.body["entry_type"], "certificate");
}

/// Checks that an entry of the log is that of a version, and that its leaf contains nothing else.
async fn check_entry(cluster: &Cluster, agent: &str, index: u64, version: i64, manifest: &Value) {
    let entry = cluster.second.get(&format!("/ct/entries/{index}")).await.body;
    let logged_at = entry["timestamp"].as_i64().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    let content = LoggedManifest {
        agent: agent.parse().expect("an id"),
        version,
        hash: hash(manifest).parse().expect("a hash"),
    };
    let logged_at = logged_at.expect("a time");
    let leaf = entry_leaf(&LogEntry { index, logged_at, content: LogContent::Manifest(content) });
    let expected = json!({
        "log_id": index, "timestamp": entry["timestamp"], "entry_type": "agent_manifest", "issuer": "guild.example",
        "agent_id": agent, "manifest_version": version, "manifest_hash": hash(manifest), "leaf_hash": leaf.to_string(),
    });
    assert_eq!(entry, expected);
    let size = cluster.first.get("/ct/sth").await.body["tree_size"].clone();
    let proof = cluster.first.get(&format!("/ct/proof/{size}/{index}")).await.body;
    assert_eq!(proof["leaf_hash"], leaf.to_string(), "{proof}");
}

#[tokio::test]
async fn agent_without_a_manifest_is_not_published() {
    let cluster = Cluster::new().await;
    cluster.create_tenant("acme").await;
    let (agent, token) = (cluster.create_agent("acme", "helper").await, &cluster.operator.token);
    patch(&cluster.first, &agent, token, json!({ "published": true })).await.assert_failure(409, "conflict");
    let both =
        json!({ "published": true, "capability_manifest": manifest(), "capability_manifest_version": 0 });
    assert_eq!(patch(&cluster.first, &agent, token, both).await.status, 200);
    assert_eq!(cluster.second.get(&format!("/agents/{agent}")).await.body["capability_manifest"], manifest());
}

type Edit = fn(&mut Value);

/// A change that makes the manifest invalid, the place and the rule.
const INVALID_MANIFESTS: [(Edit, &str, &str); 15] = [
    (|value| value["schema_version"] = json!("2.0"), "/schema_version", "schema-version"),
    (|value| value["agent_version"] = json!("1"), "/agent_version", "agent-version"),
    (|value| value["tools"] = json!({}), "/tools", "type"),
    (|value| value["permission_scopes"] = Value::Null, "/permission_scopes", "type"),
    (
        |value| value["capability_flags"]["supports_voice"] = json!(1),
        "/capability_flags/supports_voice",
        "type",
    ),
    (|value| value["tools"][0]["name"] = json!("Read"), "/tools/0/name", "tool-name"),
    (
        |value| value["tools"] = json!([value["tools"][0].clone(), value["tools"][0].clone()]),
        "/tools/1/name",
        "duplicate-tool",
    ),
    (
        |value| value["tools"][0]["input_schema"]["properties"]["path"]["type"] = json!("text"),
        "/tools/0/input_schema/properties/path/type",
        "input-schema",
    ),
    (
        |value| value["tools"][0]["input_schema"]["$ref"] = json!("https://example.org/schema"),
        "/tools/0/input_schema/$ref",
        "schema-reference",
    ),
    (|value| value["tools"][0]["permission_scope"] = json!("no"), "/tools/0/permission_scope", "tool-scope"),
    (
        |value| value["tools"][0]["description_i18n_key"] = json!("some words"),
        "/tools/0/description_i18n_key",
        "i18n-key",
    ),
    (|value| value["permission_scopes"][0]["id"] = json!("own"), "/permission_scopes/0", "fallback"),
    (
        |value| value["permission_scopes"][0]["sensitivity"] = json!("some"),
        "/permission_scopes/0/sensitivity",
        "sensitivity",
    ),
    (
        |value| value["permission_scopes"][0]["id"] = json!("hashee:x"),
        "/permission_scopes/0/id",
        "reserved-scope",
    ),
    (
        |value| value["permission_scopes"][0]["id"] = json!("system:x"),
        "/permission_scopes/0/id",
        "reserved-scope",
    ),
];

// covers: M3, M4, M5, M6, M7, M8, M10
#[tokio::test]
async fn invalid_manifest_is_refused_with_a_pointer_to_each_place() {
    let cluster = Cluster::new().await;
    cluster.create_tenant("acme").await;
    let (agent, token) = (create_agent(&cluster, "acme", "helper").await, &cluster.operator.token);
    for (edit, pointer, rule) in INVALID_MANIFESTS {
        let refused =
            patch(&cluster.first, &agent, token, json!({ "capability_manifest": manifest_with(edit) })).await;
        refused.assert_failure(400, "schema-invalid");
        let errors = refused.body["errors"].as_array().expect("errors");
        let found = errors.iter().any(|error| error["pointer"] == pointer && error["rule"] == rule);
        assert!(found, "{pointer} {rule}: {}", refused.text);
        assert!(errors.iter().all(|error| !text(error, "message").is_empty()), "{}", refused.text);
    }
    // Programs differ in how they read this: each would hash another manifest.
    let twice = format!("{{\"capability_manifest\":{}}}", manifest()).replacen(
        "\"agent_version\"",
        "\"agent_version\":\"0.0.1\",\"agent_version\"",
        1,
    );
    let refused = send(&cluster.first, Method::PATCH, &format!("/agents/{agent}"), token, twice).await;
    refused.assert_failure(400, "schema-invalid");
    assert_eq!(refused.body["errors"][0]["rule"], "json", "{}", refused.text);
    let mut body = agent_request("acme", "other");
    body["capability_manifest"] = json!({});
    cluster.second.post_as("/agents", token, body).await.assert_failure(400, "schema-invalid");
    assert_eq!(current(&cluster, &agent).await, (json!(1), json!(hash(&manifest()))));
}

/// Returns a manifest of about this many bytes.
fn manifest_of(bytes: usize) -> Value {
    manifest_with(|value| {
        let own = bytes - manifest().to_string().len();
        value["x-own"] = json!("x".repeat(own));
    })
}

// covers: M9
#[tokio::test]
async fn manifest_above_128_kib_is_refused_and_one_of_64_kib_is_reported() {
    let cluster = Cluster::new().await;
    cluster.create_tenant("acme").await;
    let (agent, token) = (create_agent(&cluster, "acme", "helper").await, &cluster.operator.token);
    let reported = async || {
        let metrics = cluster.first.get("/metrics").await.text;
        let line = metrics.lines().find_map(|line| line.strip_prefix("guildhall_large_manifests_total "));
        line.map_or(0, |count| count.parse::<u64>().expect("a number"))
    };
    let large =
        patch(&cluster.first, &agent, token, json!({ "capability_manifest": manifest_of(129 * 1024) })).await;
    large.assert_failure(413, "payload-too-large");
    assert_eq!((&large.body["errors"][0]["rule"], reported().await), (&json!("size"), 0));
    for (kib, expected) in [(60, 0), (66, 1), (127, 2)] {
        let accepted = json!({ "capability_manifest": manifest_of(kib * 1024) });
        let accepted = patch(&cluster.first, &agent, token, accepted).await;
        assert_eq!((accepted.status.as_u16(), reported().await), (200, expected), "{}", accepted.text);
    }
}
