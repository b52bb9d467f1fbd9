//! Sign-in, token refresh and sign-out, on two replicas.

use guildhall_testkit::TestDb;
use reqwest::Method;
use serde_json::json;

use crate::support::cluster::{Cluster, PASSWORD, signed_in_user};

/// PostgreSQL accepts no NUL in a text.
#[tokio::test]
async fn name_with_a_nul_is_an_unknown_name() {
    let cluster = Cluster::new().await;
    let unknown = cluster.first.try_sign_in("nobody", PASSWORD).await;
    unknown.assert_failure(401, "sign-in-failed");
    for path in ["/api/v1/auth/login", "/api/v1/auth/browser-session"] {
        let body = json!({ "name": "operator\u{0}", "password": PASSWORD });
        let response = cluster.second.post(path, body).await;
        response.assert_failure(401, "sign-in-failed");
        assert_eq!(response.body["message"], unknown.body["message"]);
    }
}

#[tokio::test]
async fn token_of_one_replica_is_valid_on_the_other() {
    let cluster = Cluster::new().await;
    let whoami = cluster.second.get_as("/api/v1/whoami", &cluster.operator.token).await;
    assert_eq!(
        whoami.body,
        json!({ "principal": cluster.operator.principal, "kind": "user", "operator": true, "tenants": [] })
    );
    let keys = cluster.second.get("/.well-known/jwks.json").await;
    assert_eq!(keys.body, cluster.first.get("/.well-known/jwks.json").await.body);
    assert_eq!(keys.body["keys"][0]["crv"], "Ed25519");
    assert!(keys.body["keys"][0].get("d").is_none(), "the private key is published");
}

#[tokio::test]
async fn concurrent_creation_of_the_first_user_creates_one_user() {
    let db = TestDb::new().await;
    let (one, other) = crate::support::Setup::new(&db).start_two().await;
    let password = secrecy::SecretString::from(PASSWORD);
    // The table lock holds both requests at writing the password, until both have arrived there.
    let (mut lock, mut watch) = (db.sql().await, db.sql().await);
    lock.execute("BEGIN; LOCK TABLE passwords IN EXCLUSIVE MODE").await;
    let release_lock = async {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(120);
        while watch.number(waiting).await < 2 {
            assert!(std::time::Instant::now() < deadline, "the two requests do not wait for the lock");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        lock.execute("COMMIT").await;
    };
    let (first, second, ()) = tokio::join!(
        one.server.create_first_user("ada", &password),
        other.server.create_first_user("grace", &password),
        release_lock
    );
    let created = [first.expect("a result"), second.expect("a result")];
    assert_eq!(created.iter().filter(|created| **created).count(), 1, "{created:?}");
}

#[tokio::test]
async fn wrong_password_and_unknown_name_get_the_same_response() {
    let cluster = Cluster::new().await;
    let mut bodies = Vec::new();
    for (name, password) in [("operator", "wrong password!"), ("nobody", PASSWORD)] {
        let response = cluster.first.try_sign_in(name, password).await;
        response.assert_failure(401, "sign-in-failed");
        let mut body = response.body;
        body["traceId"] = json!("");
        bodies.push(body);
    }
    assert_eq!(bodies[0], bodies[1]);
}

#[tokio::test]
async fn five_failed_sign_ins_lock_the_name_on_every_replica() {
    let cluster = Cluster::new().await;
    for attempt in 0..5 {
        let server = if attempt % 2 == 0 { &cluster.first } else { &cluster.second };
        server.try_sign_in("operator", "wrong password!").await.assert_failure(401, "sign-in-failed");
    }
    for server in [&cluster.first, &cluster.second] {
        let locked = server.try_sign_in("operator", PASSWORD).await;
        locked.assert_failure(429, "sign-in-locked");
        assert_eq!(locked.header("retry-after"), "1");
    }
}

#[tokio::test]
async fn concurrent_guesses_do_not_exceed_the_sign_in_limit() {
    let cluster = Cluster::new().await;
    let guesses = (0..24).map(|number| {
        let server = if number % 2 == 0 { &cluster.first } else { &cluster.second };
        server.try_sign_in("operator", "wrong password!")
    });
    let responses = futures::future::join_all(guesses).await;
    let checked =
        responses.iter().filter(|response| response.body["failureKind"] == "sign-in-failed").count();
    assert_eq!(checked, 5, "the number of checked passwords");
}

#[tokio::test]
async fn successful_sign_in_resets_the_failure_counter() {
    let cluster = Cluster::new().await;
    for _ in 0..3 {
        cluster.first.try_sign_in("operator", "wrong password!").await.assert_failure(401, "sign-in-failed");
        cluster.second.sign_in("operator").await;
    }
    // Four concurrent checks stay below the limit of five and must not lock each other out.
    let concurrent = (0..4).map(|number| {
        let server = if number % 2 == 0 { &cluster.first } else { &cluster.second };
        server.try_sign_in("operator", PASSWORD)
    });
    for response in futures::future::join_all(concurrent).await {
        assert_eq!(response.status, 200, "{}", response.text);
    }
    cluster.first.try_sign_in("operator", "wrong password!").await.assert_failure(401, "sign-in-failed");
    cluster.second.sign_in("operator").await;
}

#[tokio::test]
async fn password_checks_hold_no_database_connection() {
    let db = TestDb::new().await;
    let mut watch = db.sql().await;
    let cluster = Cluster::with_setup(crate::support::Setup::new(&db), db).await;
    let names: Vec<String> = (0..8).map(|number| format!("nobody-{number}")).collect();
    let guesses = names.iter().map(|name| cluster.first.try_sign_in(name, PASSWORD));
    let sampling = async {
        let idle_in_transaction = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'";
        let mut samples = Vec::new();
        // Eight checks take longer than these samples on any machine. A connection between two statements is in few
        // samples; a connection that waits for a check is in most.
        for _ in 0..21 {
            samples.push(watch.number(idle_in_transaction).await);
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        samples.sort_unstable();
        samples
    };
    let (responses, samples) = tokio::join!(futures::future::join_all(guesses), sampling);
    assert!(responses.iter().all(|response| response.status == 401), "{responses:?}");
    assert!(samples[10] < 3, "connections were idle in a transaction: {samples:?}");
}

#[tokio::test]
async fn refresh_token_is_exchanged_on_the_other_replica() {
    let cluster = Cluster::new().await;
    let refreshed = cluster
        .second
        .post("/api/v1/auth/refresh", json!({ "refreshToken": cluster.operator.refresh_token }))
        .await;
    assert_eq!(refreshed.status, 200, "{}", refreshed.text);
    let next = signed_in_user(&refreshed.body);
    assert_ne!(next.refresh_token, cluster.operator.refresh_token);
    assert_eq!(cluster.first.get_as("/api/v1/whoami", &next.token).await.status, 200);
}

#[tokio::test]
async fn reused_refresh_token_revokes_the_whole_login() {
    let cluster = Cluster::new().await;
    let mut latest = cluster.operator.clone();
    for _ in 0..2 {
        let response =
            cluster.first.post("/api/v1/auth/refresh", json!({ "refreshToken": latest.refresh_token })).await;
        latest = signed_in_user(&response.body);
    }
    let thief = cluster
        .second
        .post("/api/v1/auth/refresh", json!({ "refreshToken": cluster.operator.refresh_token }))
        .await;
    thief.assert_failure(401, "unauthenticated");
    let owner =
        cluster.first.post("/api/v1/auth/refresh", json!({ "refreshToken": latest.refresh_token })).await;
    owner.assert_failure(401, "unauthenticated");
    cluster.first.get_as("/api/v1/whoami", &latest.token).await.assert_failure(401, "unauthenticated");
}

#[tokio::test]
async fn sign_out_revokes_the_access_token_on_the_other_replica() {
    let cluster = Cluster::new().await;
    let sign_out =
        cluster.first.request_as(Method::POST, "/api/v1/auth/logout", &cluster.operator.token, None).await;
    assert_eq!(sign_out.status, 200);
    cluster
        .second
        .get_as("/api/v1/whoami", &cluster.operator.token)
        .await
        .assert_failure(401, "unauthenticated");
    let refresh = cluster
        .second
        .post("/api/v1/auth/refresh", json!({ "refreshToken": cluster.operator.refresh_token }))
        .await;
    refresh.assert_failure(401, "unauthenticated");
}

#[tokio::test]
async fn token_in_a_url_is_refused_and_audited_without_the_token() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let cluster = Cluster::with_setup(crate::support::Setup::new(&db), db).await;
    let access = &cluster.operator.token;
    let mut refusals = 0;
    for name in ["access_token", "token", "Authorization", "acces%73_token"] {
        let path = format!("/api/v1/whoami?{name}={access}");
        let refused = cluster.first.get_as(&path, access).await;
        refused.assert_failure(400, "schema-invalid");
        assert!(!refused.text.contains(access), "the response repeats the token");
        refusals += 1;
    }
    for path in ["/health/live", "/capabilities", "/nowhere", "/openapi.json"] {
        let refused = cluster.second.get(&format!("{path}?q={}", cluster.operator.refresh_token)).await;
        refused.assert_failure(400, "schema-invalid");
        refusals += 1;
    }
    let entries = sql
        .texts("SELECT kind || ' ' || body FROM journal_entries WHERE kind = 'request.token_in_address'")
        .await;
    assert_eq!(entries.len(), refusals, "{entries:#?}");
    let secrets = [access, &cluster.operator.refresh_token];
    assert!(entries.iter().all(|entry| secrets.iter().all(|secret| !entry.contains(*secret))));
}

#[tokio::test]
async fn tampered_or_foreign_token_is_unauthenticated() {
    let (cluster, other_installation) = (Cluster::new().await, Cluster::new().await);
    let access = &cluster.operator.token;
    let (head, signature) = access.rsplit_once('.').expect("a JWT");
    let forged = format!("{head}.{}", signature.chars().rev().collect::<String>());
    for token in
        [forged.as_str(), &other_installation.operator.token, "garbage", "", &cluster.operator.refresh_token]
    {
        cluster.first.get_as("/api/v1/whoami", token).await.assert_failure(401, "unauthenticated");
    }
}

#[tokio::test]
async fn database_stores_no_password_token_or_private_key() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let cluster = Cluster::with_setup(crate::support::Setup::new(&db), db).await;
    let tenant = cluster.create_tenant("acme").await;
    let (_, secret) = cluster.create_key(&tenant, "developer").await;
    let (_, enrolment) = cluster.create_enrolment(&tenant).await;
    let (run, _) = cluster.mint_run_token(&enrolment).await;
    let subject = cluster.mint_subject_token(&tenant, &secret, "user-1").await.body["accessToken"].clone();
    let tables = sql
        .texts("SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'")
        .await;
    assert!(tables.len() > 10, "{tables:?}");
    for table in tables {
        let rows = sql.texts(format!("SELECT t::text FROM {table} t")).await.join("\n");
        for (kind, value) in [
            ("password", PASSWORD),
            ("refresh token", &cluster.operator.refresh_token),
            ("key", &secret),
            ("enrolment token", &enrolment),
            ("run token", &run),
            ("subject token", subject.as_str().expect("a token")),
            ("access token", &cluster.operator.token),
        ] {
            assert!(!rows.contains(value), "table {table} contains a {kind}");
        }
        // The prefix of an Ed25519 private key in PKCS#8, in the hex format of PostgreSQL.
        assert!(!rows.contains("302e020100300506032b6570"), "table {table} contains a private key");
    }
}
