//! Invitations and attempts to misuse them, on two replicas.

use guildhall_testkit::{SqlConnection, TestDb};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::{Cluster, SignedInUser};
use crate::support::{Setup, TestResponse, TestServer};

async fn start_cluster() -> (Cluster, SqlConnection, String) {
    let db = TestDb::new().await;
    let sql = db.sql().await;
    let cluster = Cluster::with_setup(Setup::new(&db), db).await;
    let tenant = cluster.create_tenant("acme").await;
    (cluster, sql, tenant)
}

async fn accept(server: &TestServer, user: &SignedInUser, secret: &str) -> TestResponse {
    server.post_as("/api/v1/invitations/accept", &user.token, json!({ "secret": secret })).await
}

async fn role_of(cluster: &Cluster, user: &SignedInUser) -> Value {
    let whoami = cluster.first.get_as("/api/v1/whoami", &user.token).await;
    let tenants = whoami.body["tenants"].as_array().expect("tenants");
    tenants.first().map_or(Value::Null, |tenant| tenant["role"].clone())
}

async fn audited_actions(cluster: &Cluster, tenant: &str) -> Vec<Value> {
    let log = cluster.first.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &cluster.operator.token).await;
    log.body["entries"].as_array().expect("entries").iter().map(|entry| entry["action"].clone()).collect()
}

#[tokio::test]
async fn invitation_is_accepted_once_on_the_other_replica() {
    let (cluster, mut sql, tenant) = start_cluster().await;
    let (ada, mallory) = (cluster.create_user("ada").await, cluster.create_user("mallory").await);
    let (id, secret) = cluster.create_invitation(&tenant, "developer").await;
    let joined = accept(&cluster.second, &ada, &secret).await;
    assert_eq!(
        (joined.status.as_u16(), joined.body),
        (200, json!({ "tenant": tenant, "role": "developer" }))
    );
    assert_eq!(role_of(&cluster, &ada).await, "developer");

    accept(&cluster.first, &mallory, &secret).await.assert_failure(404, "not-found");
    assert_eq!(role_of(&cluster, &mallory).await, Value::Null, "the invitation was used twice");
    assert_eq!(
        audited_actions(&cluster, &tenant).await,
        ["tenant.created", "invitation.created", "invitation.accepted"]
    );
    assert_eq!(sql.number("SELECT count(*) FROM journal_entries WHERE kind = 'invitation.refused'").await, 1);

    let path = format!("/api/v1/tenants/{tenant}/invitations");
    let listed = cluster.second.get_as(&path, &cluster.operator.token).await;
    let listed = &listed.body["invitations"][0];
    assert_eq!((&listed["id"], &listed["acceptedBy"]), (&json!(id), &json!(ada.principal)));
    assert!(!listed.to_string().contains(&secret[40..]), "the list contains the secret");
    let rows = sql.texts("SELECT t::text FROM invitations t").await.join("\n");
    assert!(!rows.contains(&secret[40..]), "the database contains the secret");
}

#[tokio::test]
async fn concurrent_acceptance_admits_one_user() {
    let (cluster, _, tenant) = start_cluster().await;
    let (ada, grace) = (cluster.create_user("ada").await, cluster.create_user("grace").await);
    let (_, secret) = cluster.create_invitation(&tenant, "viewer").await;
    let (one, other) =
        tokio::join!(accept(&cluster.first, &ada, &secret), accept(&cluster.second, &grace, &secret));
    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 404]);
}

#[tokio::test]
async fn revoked_expired_and_forged_invitations_get_the_same_error() {
    let (cluster, mut sql, tenant) = start_cluster().await;
    let mallory = cluster.create_user("mallory").await;
    let (revoked, revoked_secret) = cluster.create_invitation(&tenant, "viewer").await;
    let path = format!("/api/v1/tenants/{tenant}/invitations/{revoked}");
    for _ in 0..2 {
        let response = cluster.second.request_as(Method::DELETE, &path, &cluster.operator.token, None).await;
        assert_eq!(response.status, 200, "{}", response.text);
    }
    let (expired, expired_secret) = cluster.create_invitation(&tenant, "viewer").await;
    let uuid = expired.trim_start_matches("inv_");
    sql.execute(format!("UPDATE invitations SET expires_at = now() WHERE id = '{uuid}'")).await;
    let (_, other_secret) = cluster.create_invitation(&tenant, "viewer").await;
    let forged = format!("{}{}", &other_secret[..37], &revoked_secret[37..]);
    let key = cluster.create_key(&tenant, "viewer").await.1;
    for secret in [&revoked_secret, &expired_secret, &forged, &key, "nonsense"] {
        let refused = accept(&cluster.first, &mallory, secret).await;
        refused.assert_failure(404, "not-found");
        assert_eq!(refused.body["message"], "invalid or expired invitation: ask for a new one");
    }
    assert_eq!(role_of(&cluster, &mallory).await, Value::Null);
}

#[tokio::test]
async fn invitation_is_limited_by_the_current_role_of_its_creator() {
    let (cluster, _, tenant) = start_cluster().await;
    let (grace, ada) = (cluster.create_user("grace").await, cluster.create_user("ada").await);
    cluster.set_role(&tenant, &grace, "operator").await;
    let path = format!("/api/v1/tenants/{tenant}/invitations");
    let above = cluster.first.post_as(&path, &grace.token, json!({ "role": "owner" })).await;
    above.assert_failure(403, "forbidden");
    let created = cluster.first.post_as(&path, &grace.token, json!({ "role": "developer" })).await;
    let secret = created.body["secret"].as_str().expect("a secret").to_owned();
    cluster.set_role(&tenant, &grace, "viewer").await;
    for (method, body) in [(Method::GET, None), (Method::POST, Some(json!({ "role": "viewer" })))] {
        cluster.second.request_as(method, &path, &grace.token, body).await.assert_failure(403, "forbidden");
    }
    accept(&cluster.first, &ada, &secret).await.assert_failure(404, "not-found");
    assert_eq!(role_of(&cluster, &ada).await, Value::Null, "an invitation of a demoted member was accepted");
}

#[tokio::test]
async fn invitation_never_lowers_a_role_and_keys_cannot_accept() {
    let (cluster, _, tenant) = start_cluster().await;
    let (_, secret) = cluster.create_invitation(&tenant, "viewer").await;
    accept(&cluster.first, &cluster.operator, &secret).await.assert_failure(409, "conflict");
    assert_eq!(role_of(&cluster, &cluster.operator).await, "owner");
    let (_, key) = cluster.create_key(&tenant, "viewer").await;
    let (_, higher) = cluster.create_invitation(&tenant, "operator").await;
    let body = json!({ "secret": higher });
    cluster.first.post_as("/api/v1/invitations/accept", &key, body).await.assert_failure(404, "not-found");
    let ada = cluster.create_user("ada").await;
    assert_eq!(
        accept(&cluster.first, &ada, &secret).await.status,
        200,
        "a refused attempt used up the invitation"
    );
}
