//! Invitations, and how they are misused; on two replicas.

use guildhall_testkit::{Sql, TestDb};
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::people::{Person, World};
use crate::support::{Answer, Setup, TestServer};

async fn world() -> (World, Sql, String) {
    let db = TestDb::new().await;
    let sql = db.sql().await;
    let world = World::on(Setup::on(&db), db).await;
    let tenant = world.tenant("acme").await;
    (world, sql, tenant)
}

async fn accept(server: &TestServer, person: &Person, secret: &str) -> Answer {
    server.post_as("/api/v1/invitations/accept", &person.access, json!({ "secret": secret })).await
}

async fn role_of(world: &World, person: &Person) -> Value {
    let who = world.one.get_as("/api/v1/whoami", &person.access).await;
    who.body["tenants"].as_array().expect("tenants").first().map_or(Value::Null, |it| it["role"].clone())
}

async fn actions(world: &World, tenant: &str) -> Vec<Value> {
    let log = world.one.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &world.operator.access).await;
    log.body["entries"].as_array().expect("entries").iter().map(|entry| entry["action"].clone()).collect()
}

#[tokio::test]
async fn an_invitation_made_on_one_replica_is_accepted_once_on_the_other() {
    let (world, mut sql, tenant) = world().await;
    let (ada, mallory) = (world.user("ada").await, world.user("mallory").await);
    let (id, secret) = world.invitation(&tenant, "developer").await;
    let joined = accept(&world.other, &ada, &secret).await;
    assert_eq!(
        (joined.status.as_u16(), joined.body),
        (200, json!({ "tenant": tenant, "role": "developer" }))
    );
    assert_eq!(role_of(&world, &ada).await, "developer");

    accept(&world.one, &mallory, &secret).await.assert_failure(404, "not-found");
    assert_eq!(role_of(&world, &mallory).await, Value::Null, "it was used twice");
    assert_eq!(
        actions(&world, &tenant).await,
        ["tenant.created", "invitation.created", "invitation.accepted"]
    );
    assert_eq!(sql.number("SELECT count(*) FROM journal_entries WHERE kind = 'invitation.refused'").await, 1);

    let path = format!("/api/v1/tenants/{tenant}/invitations");
    let listed = world.other.get_as(&path, &world.operator.access).await;
    let listed = &listed.body["invitations"][0];
    assert_eq!((&listed["id"], &listed["acceptedBy"]), (&json!(id), &json!(ada.principal)));
    assert!(!listed.to_string().contains(&secret[40..]), "the list shows the secret");
    let rows = sql.texts("SELECT t::text FROM invitations t").await.join("\n");
    assert!(!rows.contains(&secret[40..]), "the database holds the secret");
}

#[tokio::test]
async fn two_who_accept_at_once_do_not_both_get_in() {
    let (world, _, tenant) = world().await;
    let (ada, grace) = (world.user("ada").await, world.user("grace").await);
    let (_, secret) = world.invitation(&tenant, "viewer").await;
    let (one, other) = tokio::join!(accept(&world.one, &ada, &secret), accept(&world.other, &grace, &secret));
    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 404]);
}

#[tokio::test]
async fn one_that_was_taken_back_expired_or_made_up_lets_nobody_in_and_the_words_are_the_same() {
    let (world, mut sql, tenant) = world().await;
    let mallory = world.user("mallory").await;
    let (revoked, of_revoked) = world.invitation(&tenant, "viewer").await;
    let path = format!("/api/v1/tenants/{tenant}/invitations/{revoked}");
    for _ in 0..2 {
        let answer = world.other.ask(Method::DELETE, &path, &world.operator.access, None).await;
        assert_eq!(answer.status, 204, "{}", answer.text);
    }
    let (expired, of_expired) = world.invitation(&tenant, "viewer").await;
    let uuid = expired.trim_start_matches("inv_");
    sql.execute(format!("UPDATE invitations SET expires_at = now() WHERE id = '{uuid}'")).await;
    let (_, other) = world.invitation(&tenant, "viewer").await;
    let forged = format!("{}{}", &other[..37], &of_revoked[37..]);
    let key = world.key(&tenant, "viewer").await.1;
    for secret in [&of_revoked, &of_expired, &forged, &key, "nonsense"] {
        let refused = accept(&world.one, &mallory, secret).await;
        refused.assert_failure(404, "not-found");
        assert_eq!(refused.body["message"], "this invitation is not valid, or no longer: ask for a new one");
    }
    assert_eq!(role_of(&world, &mallory).await, Value::Null);
}

#[tokio::test]
async fn an_invitation_gives_no_more_than_its_maker_may_give_then_and_now() {
    let (world, _, tenant) = world().await;
    let (grace, ada) = (world.user("grace").await, world.user("ada").await);
    world.member(&tenant, &grace, "operator").await;
    let path = format!("/api/v1/tenants/{tenant}/invitations");
    let above = world.one.post_as(&path, &grace.access, json!({ "role": "owner" })).await;
    above.assert_failure(403, "forbidden");
    let made = world.one.post_as(&path, &grace.access, json!({ "role": "developer" })).await;
    let secret = made.body["secret"].as_str().expect("a secret").to_owned();
    world.member(&tenant, &grace, "viewer").await;
    for (method, body) in [(Method::GET, None), (Method::POST, Some(json!({ "role": "viewer" })))] {
        world.other.ask(method, &path, &grace.access, body).await.assert_failure(403, "forbidden");
    }
    accept(&world.one, &ada, &secret).await.assert_failure(404, "not-found");
    assert_eq!(role_of(&world, &ada).await, Value::Null, "a demoted member still lets others in");
}

#[tokio::test]
async fn a_member_is_never_lowered_by_an_invitation_and_a_key_joins_nothing() {
    let (world, _, tenant) = world().await;
    let (_, secret) = world.invitation(&tenant, "viewer").await;
    accept(&world.one, &world.operator, &secret).await.assert_failure(409, "conflict");
    assert_eq!(role_of(&world, &world.operator).await, "owner");
    let (_, key) = world.key(&tenant, "viewer").await;
    let (_, higher) = world.invitation(&tenant, "operator").await;
    let body = json!({ "secret": higher });
    world.one.post_as("/api/v1/invitations/accept", &key, body).await.assert_failure(404, "not-found");
    let ada = world.user("ada").await;
    assert_eq!(accept(&world.one, &ada, &secret).await.status, 200, "a refusal used it up");
}
