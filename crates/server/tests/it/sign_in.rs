//! Signing in, staying signed in, signing out; on two replicas.

use guildhall_testkit::TestDb;
use reqwest::Method;
use serde_json::json;

use crate::support::people::{PASSWORD, World, person};

#[tokio::test]
async fn a_token_of_one_replica_is_good_on_the_other() {
    let world = World::new().await;
    let who = world.other.get_as("/api/v1/whoami", &world.operator.access).await;
    assert_eq!(
        who.body,
        json!({ "principal": world.operator.principal, "kind": "user", "operator": true, "tenants": [] })
    );
    let keys = world.other.get("/.well-known/jwks.json").await;
    assert_eq!(keys.body, world.one.get("/.well-known/jwks.json").await.body);
    assert_eq!(keys.body["keys"][0]["crv"], "Ed25519");
    assert!(keys.body["keys"][0].get("d").is_none(), "the private half is published");
}

#[tokio::test]
async fn two_who_make_the_first_user_at_once_make_one() {
    let db = TestDb::new().await;
    let (one, other) = crate::support::Setup::on(&db).start_two().await;
    let password = secrecy::SecretString::from(PASSWORD);
    // Nobody gets past writing a password until both are on their way.
    let (mut gate, mut watch) = (db.sql().await, db.sql().await);
    gate.execute("BEGIN; LOCK TABLE passwords IN EXCLUSIVE MODE").await;
    let open_the_gate = async {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(6);
        while watch.number(waiting).await < 2 {
            assert!(std::time::Instant::now() < deadline, "they do not meet");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        gate.execute("COMMIT").await;
    };
    let (first, second, ()) = tokio::join!(
        one.server.create_first_user("ada", &password),
        other.server.create_first_user("grace", &password),
        open_the_gate
    );
    let made = [first.expect("answered"), second.expect("answered")];
    assert_eq!(made.iter().filter(|made| **made).count(), 1, "{made:?}");
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_name_get_the_same_answer() {
    let world = World::new().await;
    let mut bodies = Vec::new();
    for (name, password) in [("operator", "wrong password!"), ("nobody", PASSWORD)] {
        let answer = world.one.try_sign_in(name, password).await;
        answer.assert_failure(401, "sign-in-failed");
        let mut body = answer.body;
        body["traceId"] = json!("");
        bodies.push(body);
    }
    assert_eq!(bodies[0], bodies[1]);
}

#[tokio::test]
async fn five_failures_lock_the_name_on_every_replica_for_the_right_password_too() {
    let world = World::new().await;
    for attempt in 0..5 {
        let server = if attempt % 2 == 0 { &world.one } else { &world.other };
        server.try_sign_in("operator", "wrong password!").await.assert_failure(401, "sign-in-failed");
    }
    for server in [&world.one, &world.other] {
        let locked = server.try_sign_in("operator", PASSWORD).await;
        locked.assert_failure(429, "sign-in-locked");
        assert_eq!(locked.header("retry-after"), "1");
    }
}

#[tokio::test]
async fn racing_guesses_do_not_slip_past_the_lock() {
    let world = World::new().await;
    let guesses = (0..24).map(|number| {
        let server = if number % 2 == 0 { &world.one } else { &world.other };
        server.try_sign_in("operator", "wrong password!")
    });
    let answers = futures::future::join_all(guesses).await;
    let checked = answers.iter().filter(|answer| answer.body["failureKind"] == "sign-in-failed").count();
    assert_eq!(checked, 5, "each of these was a guess at the password");
}

#[tokio::test]
async fn a_right_password_takes_back_what_was_counted_while_it_was_checked() {
    let world = World::new().await;
    for _ in 0..3 {
        world.one.try_sign_in("operator", "wrong password!").await.assert_failure(401, "sign-in-failed");
        world.other.sign_in("operator").await;
    }
    // Four at once leave room for none of them to lock the others out.
    let together = (0..4).map(|number| {
        let server = if number % 2 == 0 { &world.one } else { &world.other };
        server.try_sign_in("operator", PASSWORD)
    });
    for answer in futures::future::join_all(together).await {
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
    world.one.try_sign_in("operator", "wrong password!").await.assert_failure(401, "sign-in-failed");
    world.other.sign_in("operator").await;
}

#[tokio::test]
async fn no_connection_waits_while_passwords_are_checked() {
    let db = TestDb::new().await;
    let mut watch = db.sql().await;
    let world = World::on(crate::support::Setup::on(&db), db).await;
    let guesses =
        (0..8).map(|number| world.one.try_sign_in("nobody", if number == 0 { "x" } else { PASSWORD }));
    let checking = async {
        let held = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'";
        let mut looks = Vec::new();
        // Eight checks take longer than these looks on any machine. A connection between two statements is seen now and
        // then; one that waits for a check is seen most of the time.
        for _ in 0..21 {
            looks.push(watch.number(held).await);
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        looks.sort_unstable();
        looks
    };
    let (answers, looks) = tokio::join!(futures::future::join_all(guesses), checking);
    assert!(answers.iter().all(|answer| answer.status == 401), "{answers:?}");
    assert!(looks[10] < 3, "connections were held: {looks:?}");
}

#[tokio::test]
async fn a_refresh_token_is_exchanged_on_any_replica_and_only_the_newest_stays_good() {
    let world = World::new().await;
    let refreshed =
        world.other.post("/api/v1/auth/refresh", json!({ "refreshToken": world.operator.refresh })).await;
    assert_eq!(refreshed.status, 200, "{}", refreshed.text);
    let next = person(&refreshed.body);
    assert_ne!(next.refresh, world.operator.refresh);
    assert_eq!(world.one.get_as("/api/v1/whoami", &next.access).await.status, 200);
}

#[tokio::test]
async fn a_stolen_refresh_token_that_is_used_again_ends_the_whole_login() {
    let world = World::new().await;
    let mut latest = world.operator.clone();
    for _ in 0..2 {
        let answer = world.one.post("/api/v1/auth/refresh", json!({ "refreshToken": latest.refresh })).await;
        latest = person(&answer.body);
    }
    let thief =
        world.other.post("/api/v1/auth/refresh", json!({ "refreshToken": world.operator.refresh })).await;
    thief.assert_failure(401, "unauthenticated");
    let owner = world.one.post("/api/v1/auth/refresh", json!({ "refreshToken": latest.refresh })).await;
    owner.assert_failure(401, "unauthenticated");
    world.one.get_as("/api/v1/whoami", &latest.access).await.assert_failure(401, "unauthenticated");
}

#[tokio::test]
async fn signing_out_ends_the_access_token_on_the_other_replica_at_once() {
    let world = World::new().await;
    let out = world.one.ask(Method::POST, "/api/v1/auth/logout", &world.operator.access, None).await;
    assert_eq!(out.status, 204);
    world.other.get_as("/api/v1/whoami", &world.operator.access).await.assert_failure(401, "unauthenticated");
    let refresh =
        world.other.post("/api/v1/auth/refresh", json!({ "refreshToken": world.operator.refresh })).await;
    refresh.assert_failure(401, "unauthenticated");
}

#[tokio::test]
async fn a_token_in_an_address_is_refused_on_every_route_and_written_down_without_it() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let world = World::on(crate::support::Setup::on(&db), db).await;
    let access = &world.operator.access;
    let mut refusals = 0;
    for name in ["access_token", "token", "Authorization", "acces%73_token"] {
        let path = format!("/api/v1/whoami?{name}={access}");
        let refused = world.one.get_as(&path, access).await;
        refused.assert_failure(400, "schema-invalid");
        assert!(!refused.text.contains(access), "the answer repeats the token");
        refusals += 1;
    }
    for path in ["/health/live", "/capabilities", "/nowhere", "/openapi.json"] {
        let refused = world.other.get(&format!("{path}?q={}", world.operator.refresh)).await;
        refused.assert_failure(400, "schema-invalid");
        refusals += 1;
    }
    let entries = sql
        .texts("SELECT kind || ' ' || body FROM journal_entries WHERE kind = 'request.token_in_address'")
        .await;
    assert_eq!(entries.len(), refusals, "{entries:#?}");
    let secrets = [access, &world.operator.refresh];
    assert!(entries.iter().all(|entry| secrets.iter().all(|secret| !entry.contains(*secret))));
}

#[tokio::test]
async fn a_tampered_or_foreign_token_is_nobodys() {
    let (world, elsewhere) = (World::new().await, World::new().await);
    let access = &world.operator.access;
    let (head, signature) = access.rsplit_once('.').expect("a JWT");
    let forged = format!("{head}.{}", signature.chars().rev().collect::<String>());
    for token in [forged.as_str(), &elsewhere.operator.access, "garbage", "", &world.operator.refresh] {
        world.one.get_as("/api/v1/whoami", token).await.assert_failure(401, "unauthenticated");
    }
}

#[tokio::test]
async fn the_database_holds_no_password_no_token_and_no_private_key() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let world = World::on(crate::support::Setup::on(&db), db).await;
    let tenant = world.tenant("acme").await;
    let (_, secret) = world.key(&tenant, "developer").await;
    let (_, enrolment) = world.enrolment(&tenant).await;
    let (run, _) = world.run_token(&enrolment).await;
    let subject = world.subject_token(&tenant, &secret, "user-1").await.body["accessToken"].clone();
    let tables = sql
        .texts("SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'")
        .await;
    assert!(tables.len() > 10, "{tables:?}");
    for table in tables {
        let rows = sql.texts(format!("SELECT t::text FROM {table} t")).await.join("\n");
        for (what, value) in [
            ("password", PASSWORD),
            ("refresh token", &world.operator.refresh),
            ("key", &secret),
            ("enrolment token", &enrolment),
            ("run token", &run),
            ("subject's token", subject.as_str().expect("a token")),
            ("access token", &world.operator.access),
        ] {
            assert!(!rows.contains(value), "table {table} holds a {what}");
        }
        // The first bytes of every Ed25519 key in PKCS#8, as PostgreSQL writes bytes.
        assert!(!rows.contains("302e020100300506032b6570"), "table {table} holds a private key");
    }
}
