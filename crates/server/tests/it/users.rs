//! Users: incident response by operators, and what users do with their own account.

use std::time::Duration;

use guildhall_testkit::{SqlConnection, Stopwatch};
use reqwest::Method;
use serde_json::{Value, json};

use crate::streams::StreamFixture;
use crate::support::browser::Browser;
use crate::support::cluster::{Cluster, PASSWORD, SignedInUser, wait_for_lock};
use crate::support::events::EventStream;
use crate::support::runs::text;
use crate::support::{TestResponse, TestServer};

const NEW_PASSWORD: &str = "another horse battery";

/// Sends a request of the operator about a user.
async fn send(
    cluster: &Cluster,
    method: Method,
    user: &str,
    part: &str,
    body: Option<Value>,
) -> TestResponse {
    let path = format!("/api/v1/users/{user}{part}");
    cluster.first.request_as(method, &path, &cluster.operator.token, body).await
}

async fn change(cluster: &Cluster, user: &str, action: &str) -> TestResponse {
    send(cluster, Method::POST, user, &format!("/{action}"), None).await
}

async fn get(cluster: &Cluster, user: &str) -> Value {
    let response = send(cluster, Method::GET, user, "", None).await;
    assert_eq!(response.status, 200, "{}", response.text);
    response.body
}

async fn list(cluster: &Cluster, query: &str) -> TestResponse {
    cluster.second.get_as(&format!("/api/v1/users?{query}"), &cluster.operator.token).await
}

fn names(page: &TestResponse) -> Vec<String> {
    page.body["users"].as_array().expect("users").iter().map(|user| text(user, "name")).collect()
}

async fn change_own_password(server: &TestServer, token: &str, current: &str) -> TestResponse {
    let body = json!({ "currentPassword": current, "newPassword": NEW_PASSWORD });
    server.request_as(Method::PUT, "/api/v1/auth/password", token, Some(body)).await
}

async fn make_operator(sql: &mut SqlConnection, name: &str) {
    sql.execute(format!("UPDATE principals SET is_operator = true WHERE name = '{name}'")).await;
}

/// Returns actor, object and detail of the installation's audit entries of an action.
async fn audited(cluster: &Cluster, action: &str) -> Vec<Value> {
    let log = cluster.second.get_as("/api/v1/audit?limit=500", &cluster.operator.token).await;
    let entries = log.body["entries"].as_array().expect("entries").clone();
    entries.into_iter().filter(|entry| entry["action"] == action).map(|entry| entry["body"].clone()).collect()
}

/// Asserts that both replicas refuse the tokens of a user.
async fn assert_signed_out(cluster: &Cluster, user: &SignedInUser) {
    for server in [&cluster.first, &cluster.second] {
        server.get_as("/api/v1/whoami", &user.token).await.assert_failure(401, "unauthenticated");
        let body = json!({ "refreshToken": user.refresh_token });
        server.post("/api/v1/auth/refresh", body).await.assert_failure(401, "unauthenticated");
    }
}

/// Reads streams to their end. Asserts that each was closed within a second because its caller lost access.
async fn assert_closed(streams: &mut [EventStream]) {
    let began = Stopwatch::start();
    for stream in streams {
        let mut last = None;
        while let Some(event) = stream.next().await {
            last = Some(event);
        }
        let last = last.expect("a closing event");
        assert_eq!((last.kind.as_str(), &last.data["failureKind"]), ("closed", &json!("unauthenticated")));
    }
    assert!(began.elapsed() < Duration::from_secs(1), "a stream stayed open for {:?}", began.elapsed());
}

/// A user with a token login, a browser session, and a stream of each replica.
struct ActiveUser {
    user: SignedInUser,
    browser: Browser,
    streams: Vec<EventStream>,
}

impl ActiveUser {
    async fn new(cluster: &Cluster) -> Self {
        let fixture = StreamFixture::new(cluster, "acme").await;
        let user = cluster.create_user("ada").await;
        cluster.set_role(&fixture.tenant.id, &user, "viewer").await;
        let (browser, _) = Browser::sign_in(&cluster.first, "ada").await;
        let mut streams = Vec::new();
        for server in [&cluster.first, &cluster.second] {
            let mut stream = server.open_stream(&fixture.path, &user.token, None).await;
            stream.next_events(1).await;
            streams.push(stream);
        }
        Self { user, browser, streams }
    }

    /// Asserts that tokens, browser session and streams have ended on both replicas.
    async fn assert_ended(&mut self, cluster: &Cluster) {
        assert_closed(&mut self.streams).await;
        assert_signed_out(cluster, &self.user).await;
        for server in [&cluster.first, &cluster.second] {
            self.browser.get(server, "/api/v1/whoami").await.assert_failure(401, "unauthenticated");
        }
    }
}

#[tokio::test]
async fn disabled_user_loses_logins_and_streams_on_both_replicas_within_1s() {
    let cluster = Cluster::new().await;
    let mut ada = ActiveUser::new(&cluster).await;
    let id = ada.user.principal.clone();
    let disabled = change(&cluster, &id, "disable").await;
    assert_eq!(disabled.status, 200, "{}", disabled.text);
    ada.assert_ended(&cluster).await;
    let expected = json!({
        "principal": id, "name": "ada", "operator": false, "hasPassword": true,
        "createdAt": disabled.body["createdAt"], "disabledAt": disabled.body["disabledAt"], "lockedUntil": null,
    });
    assert!(disabled.body["disabledAt"].is_string(), "{}", disabled.text);
    assert_eq!(disabled.body, expected);
    assert_eq!(change(&cluster, &id, "disable").await.body, expected, "disabling again changes nothing");
    for server in [&cluster.first, &cluster.second] {
        server.try_sign_in("ada", PASSWORD).await.assert_failure(401, "sign-in-failed");
    }

    let enabled = change(&cluster, &id, "enable").await;
    assert_eq!(enabled.body["disabledAt"], Value::Null, "{}", enabled.text);
    assert_eq!(change(&cluster, &id, "enable").await.body, enabled.body);
    assert_signed_out(&cluster, &ada.user).await;
    cluster.second.sign_in("ada").await;
    let operator = cluster.operator.principal.as_str();
    let detail = json!({ "name": "ada", "endedLogins": 2 });
    assert_eq!(
        audited(&cluster, "user.disabled").await,
        [json!({ "actor": operator, "address": "127.0.0.1", "object": id, "detail": detail })]
    );
    assert_eq!(
        audited(&cluster, "user.enabled").await,
        [json!({ "actor": operator, "address": "127.0.0.1", "object": id, "detail": { "name": "ada" } })]
    );
}

#[tokio::test]
async fn refresh_token_of_a_disabled_user_is_refused() {
    let cluster = Cluster::new().await;
    let ada = cluster.create_user("ada").await;
    let sql = "UPDATE principals SET disabled_at = now() WHERE name = 'ada'";
    cluster.db.sql().await.execute(sql).await;
    let body = json!({ "refreshToken": ada.refresh_token });
    cluster.second.post("/api/v1/auth/refresh", body).await.assert_failure(401, "unauthenticated");
}

/// The sign-in waits at its login, after the password was checked.
#[tokio::test]
async fn user_disabled_during_the_sign_in_gets_no_login() {
    let cluster = Cluster::new().await;
    cluster.create_user("ada").await;
    let (mut lock, mut watch) = (cluster.db.sql().await, cluster.db.sql().await);
    let logins = "SELECT count(*) FROM logins";
    let before = watch.number(logins).await;
    lock.execute("BEGIN; SELECT FROM principals WHERE name = 'ada' FOR UPDATE").await;
    let disable = async {
        wait_for_lock(&mut watch).await;
        lock.execute("UPDATE principals SET disabled_at = now() WHERE name = 'ada'; COMMIT").await;
    };
    let (response, ()) = tokio::join!(cluster.second.try_sign_in("ada", PASSWORD), disable);
    response.assert_failure(401, "sign-in-failed");
    assert_eq!(watch.number(logins).await, before);
}

/// A key belongs to its tenant, whoever created it.
#[tokio::test]
async fn service_key_works_after_its_creator_is_disabled() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let ada = cluster.create_user("ada").await;
    cluster.set_role(&tenant, &ada, "owner").await;
    let body = json!({ "name": "ci", "role": "viewer" });
    let key = cluster.first.post_as(&format!("/api/v1/tenants/{tenant}/keys"), &ada.token, body).await;
    change(&cluster, &ada.principal, "disable").await;
    let whoami = cluster.second.get_as("/api/v1/whoami", &text(&key.body, "secret")).await;
    assert_eq!(whoami.status, 200, "{}", whoami.text);
}

#[tokio::test]
async fn last_operator_cannot_be_disabled() {
    let cluster = Cluster::new().await;
    let operator = cluster.operator.principal.clone();
    change(&cluster, &operator, "disable").await.assert_failure(409, "conflict");
    let ada = cluster.create_user("ada").await;
    make_operator(&mut cluster.db.sql().await, "ada").await;
    let disabled = change(&cluster, &operator, "disable").await;
    assert_eq!(disabled.status, 200, "another operator is left: {}", disabled.text);
    let path = format!("/api/v1/users/{}/disable", ada.principal);
    let last = cluster.second.request_as(Method::POST, &path, &ada.token, None).await;
    last.assert_failure(409, "conflict");
}

/// The attack: an operator who is being disabled disables the others in the same moment.
#[tokio::test]
async fn operators_who_disable_each_other_leave_one() {
    let cluster = Cluster::new().await;
    let others = [cluster.create_user("ada").await, cluster.create_user("grace").await];
    let mut sql = cluster.db.sql().await;
    for name in ["ada", "grace"] {
        make_operator(&mut sql, name).await;
    }
    let operators = [&cluster.operator, &others[0], &others[1]];
    let requests = operators.iter().flat_map(|by| operators.iter().map(move |user| (*by, *user)));
    let requests = requests.filter(|(by, user)| by.principal != user.principal).map(|(by, user)| {
        let path = format!("/api/v1/users/{}/disable", user.principal);
        let server = if by.principal < user.principal { &cluster.first } else { &cluster.second };
        async move { server.request_as(Method::POST, &path, &by.token, None).await.status.as_u16() }
    });
    let statuses = futures::future::join_all(requests).await;
    assert!(statuses.iter().all(|status| [200, 401, 409].contains(status)), "{statuses:?}");
    let enabled = "SELECT count(*) FROM principals WHERE is_operator AND disabled_at IS NULL";
    assert_eq!(sql.number(enabled).await, 1);
}

/// The attack: the request of an operator waits while the operator is disabled.
#[tokio::test]
async fn operator_disabled_during_the_request_changes_nothing() {
    let cluster = Cluster::new().await;
    let (mallory, ada) = (cluster.create_user("mallory").await, cluster.create_user("ada").await);
    let (mut lock, mut watch) = (cluster.db.sql().await, cluster.db.sql().await);
    make_operator(&mut watch, "mallory").await;
    lock.execute("BEGIN; SELECT pg_advisory_xact_lock(hashtext('guildhall.first_operator'))").await;
    let disable_mallory = async {
        wait_for_lock(&mut watch).await;
        lock.execute("UPDATE principals SET disabled_at = now() WHERE name = 'mallory'; COMMIT").await;
    };
    let path = format!("/api/v1/users/{}/password", ada.principal);
    let body = Some(json!({ "password": NEW_PASSWORD }));
    let reset = cluster.second.request_as(Method::PUT, &path, &mallory.token, body);
    let (response, ()) = tokio::join!(reset, disable_mallory);
    response.assert_failure(401, "unauthenticated");
    assert_eq!(cluster.first.get_as("/api/v1/whoami", &ada.token).await.status, 200);
    cluster.first.sign_in("ada").await;
}

#[tokio::test]
async fn unlocked_user_signs_in_at_once() {
    let cluster = Cluster::new().await;
    let ada = cluster.create_user("ada").await;
    for _ in 0..5 {
        cluster.first.try_sign_in("ada", "wrong password!").await.assert_failure(401, "sign-in-failed");
    }
    cluster.second.try_sign_in("ada", PASSWORD).await.assert_failure(429, "sign-in-locked");
    assert!(get(&cluster, &ada.principal).await["lockedUntil"].is_string());
    for _ in 0..2 {
        let unlocked = change(&cluster, &ada.principal, "unlock").await;
        assert_eq!((unlocked.status.as_u16(), &unlocked.body["lockedUntil"]), (200, &Value::Null));
    }
    cluster.second.sign_in("ada").await;
    let detail = json!({ "name": "ada", "failures": 5 });
    let expected = json!({ "actor": cluster.operator.principal, "address": "127.0.0.1", "object": ada.principal, "detail": detail });
    assert_eq!(audited(&cluster, "user.unlocked").await, [expected]);
}

#[tokio::test]
async fn reset_password_ends_logins_and_streams_and_replaces_the_password() {
    let cluster = Cluster::new().await;
    let mut ada = ActiveUser::new(&cluster).await;
    let id = ada.user.principal.clone();
    let body = Some(json!({ "password": NEW_PASSWORD }));
    let reset = send(&cluster, Method::PUT, &id, "/password", body).await;
    assert_eq!((reset.status.as_u16(), text(&reset.body, "principal")), (200, id.clone()), "{}", reset.text);
    ada.assert_ended(&cluster).await;
    cluster.second.try_sign_in("ada", PASSWORD).await.assert_failure(401, "sign-in-failed");
    assert_eq!(cluster.second.try_sign_in("ada", NEW_PASSWORD).await.status, 200);
    let detail = json!({ "name": "ada", "endedLogins": 2 });
    let expected = json!({ "actor": cluster.operator.principal, "address": "127.0.0.1", "object": id, "detail": detail });
    assert_eq!(audited(&cluster, "user.password_reset").await, [expected]);
}

#[tokio::test]
async fn operator_cannot_reset_the_own_password_or_set_an_invalid_one() {
    let cluster = Cluster::new().await;
    let ada = cluster.create_user("ada").await;
    let reset = async |user: &str, password: &str| {
        send(&cluster, Method::PUT, user, "/password", Some(json!({ "password": password }))).await
    };
    reset(&cluster.operator.principal, NEW_PASSWORD).await.assert_failure(403, "forbidden");
    for invalid in ["too short", &"x".repeat(257)] {
        reset(&ada.principal, invalid).await.assert_failure(400, "schema-invalid");
    }
    assert_eq!(cluster.second.get_as("/api/v1/whoami", &ada.token).await.status, 200);
    let sql = "DELETE FROM passwords WHERE name = 'ada'";
    cluster.db.sql().await.execute(sql).await;
    reset(&ada.principal, NEW_PASSWORD).await.assert_failure(409, "conflict");
}

#[tokio::test]
async fn ended_logins_are_refused_on_both_replicas_and_the_user_signs_in_again() {
    let cluster = Cluster::new().await;
    let mut ada = ActiveUser::new(&cluster).await;
    let id = ada.user.principal.clone();
    let ended = send(&cluster, Method::DELETE, &id, "/logins", None).await;
    assert_eq!((ended.status.as_u16(), ended.body), (200, json!({ "endedLogins": 2 })));
    ada.assert_ended(&cluster).await;
    cluster.second.sign_in("ada").await;
    let detail = json!({ "name": "ada", "endedLogins": 2 });
    let expected = json!({ "actor": cluster.operator.principal, "address": "127.0.0.1", "object": id, "detail": detail });
    assert_eq!(audited(&cluster, "user.logins_ended").await, [expected]);
}

#[tokio::test]
async fn own_password_change_needs_the_current_one_and_ends_other_logins() {
    let cluster = Cluster::new().await;
    let (ada, other) = (cluster.create_user("ada").await, cluster.first.sign_in("ada").await);
    let wrong = change_own_password(&cluster.first, &ada.token, "wrong password!").await;
    wrong.assert_failure(401, "sign-in-failed");
    assert_eq!(wrong.body["message"], "the current password is wrong");
    assert_eq!(cluster.first.get_as("/api/v1/whoami", &other.token).await.status, 200);

    let changed = change_own_password(&cluster.first, &ada.token, PASSWORD).await;
    assert_eq!(
        (changed.status.as_u16(), changed.body),
        (200, json!({ "endedLogins": 1 })),
        "{}",
        changed.text
    );
    assert_signed_out(&cluster, &other).await;
    assert_eq!(cluster.second.get_as("/api/v1/whoami", &ada.token).await.status, 200);
    cluster.second.try_sign_in("ada", PASSWORD).await.assert_failure(401, "sign-in-failed");
    assert_eq!(cluster.second.try_sign_in("ada", NEW_PASSWORD).await.status, 200);
    let detail = json!({ "endedLogins": 1 });
    let expected =
        json!({ "actor": ada.principal, "address": "127.0.0.1", "object": ada.principal, "detail": detail });
    assert_eq!(audited(&cluster, "user.password_changed").await, [expected]);
}

/// The attack: a stolen token is used to guess the password.
#[tokio::test]
async fn guesses_of_the_current_password_count_towards_the_lockout() {
    let cluster = Cluster::new().await;
    let ada = cluster.create_user("ada").await;
    for _ in 0..5 {
        change_own_password(&cluster.first, &ada.token, "wrong password!")
            .await
            .assert_failure(401, "sign-in-failed");
    }
    change_own_password(&cluster.second, &ada.token, PASSWORD).await.assert_failure(429, "sign-in-locked");
}

#[tokio::test]
async fn caller_without_a_password_has_none_to_change() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let (_, key) = cluster.create_key(&tenant, "operator").await;
    change_own_password(&cluster.first, &key, PASSWORD).await.assert_failure(409, "conflict");
    let end = cluster.first.request_as(Method::DELETE, "/api/v1/auth/logins", &key, None).await;
    end.assert_failure(404, "not-found");
}

#[tokio::test]
async fn user_ends_all_own_logins() {
    let cluster = Cluster::new().await;
    let (ada, other) = (cluster.create_user("ada").await, cluster.first.sign_in("ada").await);
    let ended = cluster.first.request_as(Method::DELETE, "/api/v1/auth/logins", &ada.token, None).await;
    assert_eq!((ended.status.as_u16(), ended.body), (200, json!({ "endedLogins": 2 })), "{}", ended.text);
    for login in [&ada, &other] {
        assert_signed_out(&cluster, login).await;
    }
    assert_eq!(cluster.second.get_as("/api/v1/whoami", &cluster.operator.token).await.status, 200);
}

#[tokio::test]
async fn users_are_listed_in_pages_and_found_by_name() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    cluster.create_key(&tenant, "viewer").await;
    for name in ["ada", "Adam", "a%", "grace"] {
        cluster.create_user(name).await;
    }
    let all = ["grace", "a%", "Adam", "ada", "operator"];
    assert_eq!(names(&list(&cluster, "").await), all, "keys are not users");
    let mut cursor = String::new();
    let mut paged = Vec::new();
    for _ in 0..3 {
        let page = list(&cluster, &format!("limit=2{cursor}")).await;
        paged.extend(names(&page));
        cursor = page.body["nextCursor"].as_str().map(|next| format!("&cursor={next}")).unwrap_or_default();
    }
    assert_eq!((paged, cursor.as_str()), (all.map(str::to_owned).to_vec(), ""));
    assert_eq!(names(&list(&cluster, "namePrefix=AD").await), ["Adam", "ada"]);
    assert_eq!(names(&list(&cluster, "namePrefix=a%25").await), ["a%"], "% is not a pattern");
    assert_eq!(names(&list(&cluster, "name=ada").await), ["ada"]);
    assert_eq!(names(&list(&cluster, "name=ad").await), Vec::<String>::new());
    let long = "x".repeat(101);
    for query in [
        "limit=0",
        "limit=101",
        "cursor=nonsense",
        "name=",
        "name=a&namePrefix=a",
        "name=%00",
        "unknown=1",
        &format!("namePrefix={long}"),
    ] {
        list(&cluster, query).await.assert_failure(400, "schema-invalid");
    }
}

#[tokio::test]
async fn users_routes_find_only_people_and_only_for_operators() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let (_, key) = cluster.create_key(&tenant, "operator").await;
    let service = text(&cluster.first.get_as("/api/v1/whoami", &key).await.body, "principal");
    let ada = cluster.create_user("ada").await;
    let body = || Some(json!({ "password": NEW_PASSWORD }));
    for (method, part) in [
        (Method::GET, ""),
        (Method::POST, "/disable"),
        (Method::POST, "/enable"),
        (Method::POST, "/unlock"),
        (Method::PUT, "/password"),
        (Method::DELETE, "/logins"),
    ] {
        let body = body().filter(|_| method == Method::PUT);
        send(&cluster, method.clone(), &service, part, body.clone()).await.assert_failure(404, "not-found");
        let path = format!("/api/v1/users/{}{part}", cluster.operator.principal);
        for bearer in [&ada.token, &key] {
            let refused = cluster.second.request_as(method.clone(), &path, bearer, body.clone()).await;
            refused.assert_failure(404, "not-found");
        }
    }
    cluster.second.get_as("/api/v1/users", &ada.token).await.assert_failure(404, "not-found");
    assert_eq!(cluster.second.get_as("/api/v1/whoami", &key).await.status, 200);
}
