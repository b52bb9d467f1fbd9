//! Members of a tenant: who may become one, and by whom.

use reqwest::Method;
use serde_json::json;

use crate::support::TestResponse;
use crate::support::cluster::{Cluster, wait_for_lock};
use crate::support::runs::text;

async fn set_member(cluster: &Cluster, tenant: &str, by: &str, principal: &str, role: &str) -> TestResponse {
    let path = format!("/api/v1/tenants/{tenant}/members/{principal}");
    cluster.second.request_as(Method::PUT, &path, by, Some(json!({ "role": role }))).await
}

fn uuid(principal: &str) -> &str {
    principal.trim_start_matches("prn_")
}

/// Subjects, service keys and enrolments have principals too.
#[tokio::test]
async fn only_users_become_members() {
    let cluster = Cluster::new().await;
    let (tenant, other) = (cluster.create_tenant("acme").await, cluster.create_tenant("globex").await);
    let (_, key) = cluster.create_key(&other, "developer").await;
    let service = text(&cluster.first.get_as("/api/v1/whoami", &key).await.body, "principal");
    let subject = text(&cluster.mint_subject_token(&other, &key, "user-1").await.body, "principal");
    let missing = "prn_01920000000070008000000000000000";
    for principal in [&service, &subject, missing] {
        let refused = set_member(&cluster, &tenant, &cluster.operator.token, principal, "viewer").await;
        refused.assert_failure(404, "not-found");
    }
    let mut sql = cluster.db.sql().await;
    let foreign = "SELECT count(*) FROM memberships JOIN principals ON principals.id = principal
        WHERE principals.kind <> 'person' AND NOT EXISTS (
            SELECT FROM service_keys WHERE service_keys.principal = principals.id
                AND service_keys.tenant = memberships.tenant)";
    assert_eq!(sql.number(foreign).await, 0);
    let changed = set_member(&cluster, &other, &cluster.operator.token, &service, "viewer").await;
    assert_eq!(changed.status, 200, "a key has a role in its own tenant: {}", changed.text);
}

/// The attack: a member who is about to lose the role uses it in a request that waits meanwhile.
async fn request_of_demoted_member(cluster: &Cluster, tenant: &str, method: Method) -> TestResponse {
    let (mallory, friend) = (cluster.create_user("mallory").await, cluster.create_user("friend").await);
    cluster.set_role(tenant, &mallory, "operator").await;
    if method == Method::DELETE {
        cluster.set_role(tenant, &friend, "developer").await;
    }
    let (mut lock, mut watch) = (cluster.db.sql().await, cluster.db.sql().await);
    lock.execute("BEGIN; LOCK TABLE memberships IN ROW EXCLUSIVE MODE").await;
    lock.execute("SELECT FROM memberships FOR UPDATE").await;
    let path = format!("/api/v1/tenants/{tenant}/members/{}", friend.principal);
    let body = (method == Method::PUT).then(|| json!({ "role": "operator" }));
    let demote = async {
        wait_for_lock(&mut watch).await;
        let principal = uuid(&mallory.principal);
        lock.execute(format!("UPDATE memberships SET role = 'viewer' WHERE principal = '{principal}'")).await;
        lock.execute("COMMIT").await;
    };
    let (response, ()) = tokio::join!(cluster.second.request_as(method, &path, &mallory.token, body), demote);
    response
}

#[tokio::test]
async fn member_demoted_during_the_request_cannot_grant_a_role() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    request_of_demoted_member(&cluster, &tenant, Method::PUT).await.assert_failure(403, "forbidden");
}

#[tokio::test]
async fn member_demoted_during_the_request_cannot_remove_a_member() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    request_of_demoted_member(&cluster, &tenant, Method::DELETE).await.assert_failure(403, "forbidden");
}

#[tokio::test]
async fn member_is_added_by_the_name_to_sign_in_with() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let (ada, grace) = (cluster.create_user("ada").await, cluster.create_user("grace").await);
    cluster.set_role(&tenant, &grace, "operator").await;
    let add = async |by: &str, name: &str, role: &str| {
        let path = format!("/api/v1/tenants/{tenant}/members");
        cluster.second.post_as(&path, by, json!({ "name": name, "role": role })).await
    };
    add(&grace.token, "ada", "owner").await.assert_failure(403, "forbidden");
    for _ in 0..2 {
        let added = add(&grace.token, "ada", "developer").await;
        let expected = json!({ "principal": ada.principal, "name": "ada", "role": "developer" });
        assert_eq!((added.status.as_u16(), added.body), (200, expected), "{}", added.text);
    }
    let other_role = add(&grace.token, "ada", "viewer").await;
    other_role.assert_failure(409, "conflict");
    add(&grace.token, "nobody", "viewer").await.assert_failure(404, "not-found");
    let whoami = cluster.first.get_as("/api/v1/whoami", &ada.token).await;
    assert_eq!(whoami.body["tenants"][0]["role"], "developer", "{}", whoami.text);
    // A member without the permission does not learn which names exist.
    for name in ["grace", "nobody"] {
        add(&ada.token, name, "viewer").await.assert_failure(403, "forbidden");
    }
    let log = cluster.first.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &cluster.operator.token).await;
    let set: Vec<_> = log.body["entries"].as_array().expect("entries").iter().map(|it| &it["body"]).collect();
    let detail = json!({ "from": null, "to": "developer" });
    let expected = json!({
        "actor": grace.principal, "address": "127.0.0.1", "object": ada.principal, "detail": detail,
    });
    assert_eq!(set.iter().filter(|body| ***body == expected).count(), 1, "{}", log.text);
}

#[tokio::test]
async fn disabled_user_cannot_be_added() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let ada = cluster.create_user("ada").await;
    let disable = format!("/api/v1/users/{}/disable", ada.principal);
    let disabled = cluster.first.post_as(&disable, &cluster.operator.token, json!({})).await;
    assert_eq!(disabled.status, 200, "{}", disabled.text);
    set_member(&cluster, &tenant, &cluster.operator.token, &ada.principal, "viewer")
        .await
        .assert_failure(404, "not-found");
    let path = format!("/api/v1/tenants/{tenant}/members");
    let body = json!({ "name": "ada", "role": "viewer" });
    cluster.first.post_as(&path, &cluster.operator.token, body).await.assert_failure(404, "not-found");
}
