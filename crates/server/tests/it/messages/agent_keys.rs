//! The keys of agents that the server answers for: files of all replicas, and no row of the database.

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_domain::ids::AgentId;
use guildhall_identity::agent_key_seal::AgentKeySealer;
use guildhall_identity::pki::EcKey;
use guildhall_identity::seal::Kek;
use guildhall_testkit::{Stopwatch, TestDb};
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::agents::{AGENT, AgentFixture, ask_sealed, open_answer};
use crate::support::agent_threads::TestTurn;
use crate::support::gateway::Gateway;
use crate::support::{KEK, Setup, TestServer};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Returns all rows of all tables. Bytes are hexadecimal digits.
async fn dump(db: &TestDb) -> String {
    let mut sql = db.sql().await;
    let tables = sql.texts("SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()").await;
    let mut rows = Vec::new();
    for table in tables {
        rows.extend(sql.texts(format!("SELECT row(stored.*)::text FROM {table} AS stored")).await);
    }
    rows.join("\n").to_lowercase()
}

fn key_file(fixture: &AgentFixture) -> PathBuf {
    fixture.gateway._folder.path().join("secrets/agent-keys").join(format!("{}.key", fixture.agent))
}

/// Opens the key in a file, as somebody with the key-encryption key could.
fn open_key(fixture: &AgentFixture, sealed: &str) -> EcKey {
    let kek = Kek::from_hex(&SecretString::from(KEK)).expect("a key");
    let agent: AgentId = fixture.agent.parse().expect("an id");
    AgentKeySealer::new(&kek).open(agent.as_uuid(), &hex::decode(sealed).expect("digits")).expect("opened")
}

/// Starts a third replica.
async fn start_replica(fixture: &AgentFixture) -> TestServer {
    let (db, gateway): (&TestDb, &Gateway) = (&fixture.gateway.cluster.db, &fixture.gateway);
    let secrets = gateway._folder.path().join("secrets").display().to_string();
    let setup = Setup::new(db).with("aun.issuer", "guild.example").with("secrets.folder", secrets);
    setup.start().await
}

async fn wait_for(mut condition: impl AsyncFnMut() -> bool, what: &str) {
    let limit = Stopwatch::start();
    while !condition().await {
        assert!(limit.elapsed() < TIMEOUT, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn dump_of_the_database_and_audit_log_have_no_key_of_an_agent() {
    let fixture = AgentFixture::open(json!({})).await;
    let cluster = &fixture.gateway.cluster;
    let sealed = std::fs::read_to_string(key_file(&fixture)).expect("a file");
    let key = open_key(&fixture, &sealed);
    let pkcs8 = key.pkcs8().expose_secret();
    // The private number in PKCS#8.
    let number = &pkcs8[36..68];
    let dump = dump(&cluster.db).await;
    assert!(dump.contains(AGENT) && dump.contains("agent.inbox-created"), "the dump has the rows");
    for secret in [hex::encode(number), STANDARD.encode(number), STANDARD.encode(pkcs8), sealed.clone()] {
        assert!(!dump.contains(&secret.to_lowercase()), "the dump has the key");
    }
    for path in ["/api/v1/audit", &format!("/api/v1/tenants/{}/audit", fixture.tenant.id)] {
        let log = cluster.second.get_as(path, &cluster.operator.token).await;
        assert_eq!(log.status, 200, "{path}: {}", log.text);
        assert!(log.text.contains(AGENT) && !log.text.contains(&sealed), "{path}");
    }
}

#[tokio::test]
async fn second_replica_answers_with_the_key_of_the_file() {
    let fixture = AgentFixture::open(json!({})).await;
    let alice = fixture.member("alice").await;
    let AgentFixture { gateway: Gateway { cluster, _folder }, tenant, .. } = fixture;
    // The one that has created the key.
    cluster.first.server.shutdown().await;
    let mut socket = alice.connected(cluster.second.address).await;
    ask_sealed(&alice, &mut socket, "hello, sealed").await;
    let turn = TestTurn::claim(&cluster.second, &tenant).await;
    turn.say(&cluster.second, "m1", "sealed too").await;
    turn.complete(&cluster.second).await;
    assert_eq!(open_answer(&alice, &mut socket).await["text"], "sealed too");
}

#[tokio::test]
async fn key_of_an_earlier_version_moves_from_the_database_to_a_file() {
    let fixture = AgentFixture::open(json!({})).await;
    let file = key_file(&fixture);
    let sealed = std::fs::read_to_string(&file).expect("a file");
    std::fs::remove_file(&file).expect("removed");
    let mut sql = fixture.gateway.cluster.db.sql().await;
    sql.execute(format!("UPDATE agent_inboxes SET sealed_key = '\\x{sealed}'")).await;
    let _upgraded = start_replica(&fixture).await;
    let in_rows = "SELECT count(*) FROM agent_inboxes WHERE sealed_key <> ''";
    wait_for(async || sql.number(in_rows).await == 0, "the key is still in the database").await;
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), sealed);
}

#[tokio::test]
async fn missing_key_is_reported_and_its_message_waits_for_it() {
    let fixture = AgentFixture::open(json!({})).await;
    let cluster = &fixture.gateway.cluster;
    let alice = fixture.member("alice").await;
    let file = key_file(&fixture);
    let sealed = std::fs::read_to_string(&file).expect("a file");
    std::fs::remove_file(&file).expect("removed");
    let replica = start_replica(&fixture).await;
    let error = |body: &Value| {
        let tasks = body["housekeeping"].as_array().cloned().unwrap_or_default();
        let task = tasks.into_iter().find(|task| task["name"] == "agent-keys");
        task.and_then(|task| task["lastError"].as_str().map(str::to_owned))
    };
    let (health, _) =
        replica.wait_until("/health/readiness", TIMEOUT, |health| error(&health.body).is_some()).await;
    let expected =
        "keys of agents that this replica cannot use: 1; share secrets.folder, or restore it from its backup";
    assert_eq!(error(&health.body).as_deref(), Some(expected));

    let mut socket = alice.connected(cluster.first.address).await;
    ask_sealed(&alice, &mut socket, "hello, sealed").await;
    super::send(&mut socket, AGENT, "in clear").await;
    std::fs::write(&file, sealed).expect("written");
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("private");
    let turn = TestTurn::claim(&cluster.second, &fixture.tenant).await;
    assert!(turn.grant.to_string().contains("hello, sealed"), "{}", turn.grant);
}

#[tokio::test]
async fn key_file_is_removed_with_the_aid_which_answers_no_more() {
    let fixture = AgentFixture::open(json!({})).await;
    let cluster = &fixture.gateway.cluster;
    let mut socket = fixture.member("alice").await.connected(cluster.second.address).await;
    let (path, body) =
        (format!("/api/v1/aids/{AGENT}/revoke"), json!({ "reason": "cessation_of_operation" }));
    let revoked = cluster.first.request_as(Method::POST, &path, &cluster.operator.token, Some(body)).await;
    assert_eq!(revoked.status, 200, "{}", revoked.text);
    assert!(!key_file(&fixture).exists());
    super::send(&mut socket, AGENT, "are you there?").await;

    // As if the server had died before it removed the file.
    std::fs::write(key_file(&fixture), "00").expect("written");
    let _replica = start_replica(&fixture).await;
    wait_for(async || !key_file(&fixture).exists(), "the key is still there").await;
    let runs = cluster.first.get_as("/api/v1/runs?tenantId=acme", &cluster.operator.token).await.body;
    assert_eq!(runs["runs"], json!([]));
}
