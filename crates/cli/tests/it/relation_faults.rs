//! A breaking change of an agent with many users, while a server is killed with SIGKILL half-way: each user has exactly one
//! notice, whoever is connected to one of the two replicas is told once, and other requests stay fast. CI runs a few thousand
//! users; `cargo xtask long relations` a hundred thousand.

mod followers;
mod load;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use guildhall_testkit::{Rounds, SqlConnection};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use followers::Follower;
use load::{percentile, run_clients};

/// Requests of all clients that are measured before the change.
const REQUESTS: usize = 1_000;

/// From this size on, p99 is compared. A shorter run measures mostly the start of the killed server, beside the other tests.
const COMPARED_SIZE: u32 = 100_000;

/// A p99 up to this is accepted without a comparison: 20 ms is a slice or two of a scheduler with more work than processors, here a
/// debug build, its clients, PostgreSQL, and the start of the killed server.
const FLOOR: Duration = Duration::from_millis(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_user_has_one_notice_when_a_server_is_killed_half_way() {
    let rounds = Rounds::from_env(2_000);
    let users = i64::from(rounds.size());
    let cluster = Cluster::start(&[]).await;
    let fixture = Fixture::new(&cluster, users).await;
    let followers = Follower::connect_all(&cluster, &fixture.access, &fixture.agent).await;
    let all = users + i64::try_from(followers.len()).expect("few");
    let routes = fixture.routes().await;
    let calm = run_clients(&cluster, &fixture.access, &routes, REQUESTS, &AtomicBool::new(false)).await;
    let mut sql = cluster.db.sql().await;

    let started = Instant::now();
    fixture.change(true).await;
    let is_done = AtomicBool::new(false);
    let measuring = run_clients(&cluster, &fixture.access, &routes, usize::MAX, &is_done);
    let telling = async {
        let killed_at = kill_half_way(&cluster, users).await;
        is_done.store(true, Ordering::SeqCst);
        killed_at
    };
    let (killed_at, busy) = tokio::join!(telling, measuring);
    let took = started.elapsed();

    assert!(killed_at.is_some(), "the server was not killed half-way: {took:?}");
    let each = "SELECT count(*) FROM (SELECT principal FROM relation_notices GROUP BY principal HAVING count(*) = 1) AS one";
    assert_eq!(sql.number(each).await, all, "seed {}", rounds.seed());
    assert_eq!(notices(&mut sql).await, all);
    let told = followers.len();
    for follower in followers {
        follower.assert_asked_once().await;
    }
    let requests = busy.len();
    let (calm, busy) = (percentile(&calm, 99), percentile(&busy, 99));
    let limit = FLOOR.max(2 * calm);
    let text = format!(
        "{all} active relations with one agent, a breaking change, and one of two replicas killed after {} notices: \
         every user has exactly one notice, {:.1} s after the change, and each of {told} who follow their relations on both replicas \
         was asked exactly once. p99 of {requests} requests of four clients to four other routes: {} ms before, {} ms meanwhile.\n",
        killed_at.unwrap_or_default(),
        took.as_secs_f64(),
        calm.as_millis(),
        busy.as_millis()
    );
    assert!(rounds.size() < COMPARED_SIZE || busy <= limit, "{text}");
    rounds.report(&text);
}

/// Kills and restarts a replica when half of the users are told, and waits until all are. Returns how many were told before the kill.
async fn kill_half_way(cluster: &Cluster, users: i64) -> Option<i64> {
    let mut sql = cluster.db.sql().await;
    let limit = Instant::now() + Duration::from_secs(1800);
    let mut killed_at = None;
    loop {
        let told = notices(&mut sql).await;
        if killed_at.is_none() && told >= users / 2 {
            cluster.kill_replica(1);
            cluster.wait_until_refused(1).await;
            cluster.restart_replica(1).await;
            killed_at = Some(told);
        }
        let open = sql.number("SELECT count(*) FROM relation_checks WHERE ended_at IS NULL").await;
        if open == 0 {
            return killed_at;
        }
        assert!(Instant::now() < limit, "{told} of {users} users are told");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn notices(sql: &mut SqlConnection) -> i64 {
    sql.number("SELECT count(*) FROM relation_notices").await
}

/// Two replicas with an agent and its users.
struct Fixture<'a> {
    cluster: &'a Cluster,
    access: String,
    agent: String,
    tenant: String,
}

impl<'a> Fixture<'a> {
    async fn new(cluster: &'a Cluster, users: i64) -> Self {
        let access = cluster.create_operator().await;
        let (tenant, _) = cluster.create_tenant(&access, "acme").await;
        let body = json!({
            "tenantId": "acme", "slug": "helper", "name": "Helper", "projectId": "acme/web", "providerId": "local",
            "backendProfile": "demo", "workspaceRef": { "kind": "empty" }, "capability_manifest": manifest(false),
        });
        let created = cluster.create(0, "/agents", &access, "agent", &body).await.expect("created");
        let agent = created["id"].as_str().expect("an id").to_owned();
        let fixture = Self { cluster, access, agent, tenant };
        fixture.publish().await;
        let grant = json!({ "agent_id": fixture.agent, "granted_scopes": ["filesystem:read"] });
        cluster.create(0, "/h2a/relations", &fixture.access, "grant", &grant).await.expect("granted");
        fixture.insert_users(users - 1).await;
        fixture
    }

    async fn patch(&self, body: &Value) {
        let request =
            self.cluster.request(0, Method::PATCH, &format!("/agents/{}", self.agent), &self.access);
        let response = request.json(body).send().await.expect("a response");
        assert_eq!(response.status(), 200);
    }

    async fn publish(&self) {
        self.patch(&json!({ "published": true })).await;
    }

    async fn change(&self, is_breaking: bool) {
        self.patch(&json!({ "capability_manifest": manifest(is_breaking) })).await;
    }

    /// Copies the relation of the operator. Half of the copies are compared before those of other users, and half after them.
    async fn insert_users(&self, users: i64) {
        let mut sql = self.cluster.db.sql().await;
        sql.execute(format!(
            "INSERT INTO principals (id, kind, name) \
             SELECT (CASE WHEN number * 2 > {users} THEN 'ffffffff' ELSE '00000000' END || '-0000-7000-8000-' \
             || lpad(to_hex(number), 12, '0'))::uuid, 'person', 'user ' || number \
             FROM generate_series(1, {users}) AS number"
        ))
        .await;
        sql.execute(
            "INSERT INTO relations (id, agent, principal, granted_scopes, manifest_version, manifest_hash, revision) \
             SELECT person.id, agent, person.id, granted_scopes, manifest_version, manifest_hash, 0 \
             FROM relations, principals AS person WHERE person.name LIKE 'user %'",
        )
        .await;
        sql.execute("ANALYZE relations, principals").await;
    }

    /// Returns requests that have nothing to do with the change: pages of three tables, and a write with an audit entry.
    async fn routes(&self) -> Vec<(Method, String, Option<Value>)> {
        let body = json!({
            "tenantId": "acme", "slug": "other", "name": "Other", "projectId": "acme/web", "providerId": "local",
            "backendProfile": "demo", "workspaceRef": { "kind": "empty" },
        });
        let other = self.cluster.create(0, "/agents", &self.access, "other", &body).await.expect("created");
        let other = other["id"].as_str().expect("an id");
        vec![
            (Method::GET, format!("/api/v1/agents?tenantId={}", self.tenant), None),
            (Method::GET, "/api/v1/relations".to_owned(), None),
            (Method::GET, format!("/api/v1/tenants/{}/audit?limit=20", self.tenant), None),
            (Method::PATCH, format!("/api/v1/agents/{other}"), Some(json!({ "name": "Renamed" }))),
        ]
    }
}

/// Returns a manifest, or one that breaks it.
fn manifest(is_breaking: bool) -> Value {
    let required = if is_breaking { json!(["path", "mode"]) } else { json!(["path"]) };
    json!({
        "schema_version": "1.0",
        "agent_version": "1.0.0",
        "tools": [{
            "name": "read_file", "description_i18n_key": "agent.read_file", "permission_scope": "filesystem:read",
            "input_schema": {
                "type": "object", "properties": { "path": { "type": "string" }, "mode": { "type": "string" } },
                "required": required
            }
        }],
        "permission_scopes": [{
            "id": "filesystem:read", "label_i18n_key": "scope.label", "description_i18n_key": "scope.description",
            "sensitivity": "medium"
        }],
        "capability_flags": {
            "supports_streaming": true, "supports_artifacts": true, "supports_voice": false, "supports_group_chat": false
        }
    })
}
