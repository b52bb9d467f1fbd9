//! Rates: what is counted, for whom, and what the answers say. Windows are a day long, so that none ends within a test.

use std::time::Duration;

use futures::future::join_all;
use guildhall_testkit::{PrivateEngines, TestDb};
use reqwest::Method;
use secrecy::SecretString;
use serde_json::json;

use crate::support::people::{PASSWORD, World};
use crate::support::{Answer, Setup, TestServer, read};

const DAY: u64 = 24 * 60 * 60;

async fn world(limits: &[(&'static str, &str)]) -> World {
    let db = TestDb::new().await;
    let setup = limits.iter().fold(Setup::on(&db), |setup, (tier, rate)| setup.with(tier, rate));
    World::on(setup, db).await
}

/// Returns limit, remaining and reset of an answer; empty where it says nothing.
fn standing(answer: &Answer) -> [&str; 3] {
    ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"].map(|name| answer.header(name))
}

fn seconds(text: &str) -> u64 {
    text.parse().expect("whole seconds")
}

// covers: C4, C7c
#[tokio::test]
async fn over_the_rate_a_request_is_refused_with_all_that_a_client_needs_and_nothing_is_done() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let world = World::on(Setup::on(&db).with("limits.mutation", "3/24h"), db).await;
    for server in [&world.one, &world.other] {
        let features = &server.get("/capabilities").await.body["features"];
        assert!(features.as_array().expect("a list").contains(&json!("rate_limit")), "{features}");
    }
    for (number, left) in [(1, "2"), (2, "1"), (3, "0")] {
        let server = if number == 2 { &world.other } else { &world.one };
        let body = json!({ "slug": format!("t-{number}"), "name": "T" });
        let made = server.post_as("/api/v1/tenants", &world.operator.access, body).await;
        let [limit, remaining, reset] = standing(&made);
        assert_eq!((made.status.as_u16(), limit, remaining), (201, "3", left));
        assert!((1..=DAY).contains(&seconds(reset)), "{reset}");
        assert_eq!(made.header("retry-after"), "");
    }
    for server in [&world.one, &world.other] {
        let body = json!({ "slug": "one-too-many", "name": "T" });
        let refused = server.post_as("/api/v1/tenants", &world.operator.access, body).await;
        refused.assert_failure(429, "rate-limited");
        let [limit, remaining, reset] = standing(&refused);
        assert_eq!((limit, remaining, reset), ("3", "0", refused.header("retry-after")));
        let wait_ms = refused.body["retryAfterMs"].as_u64().expect("a time");
        assert_eq!(wait_ms.div_ceil(1000), seconds(reset));
        assert_eq!(refused.body, {
            let words =
                "too many requests of the tier mutation: 3/86400s are allowed; wait for the next window";
            json!({
                "type": "urn:guildhall:error:rate-limited", "status": 429, "failureKind": "rate-limited",
                "title": "More requests than this caller may send in this time", "retry": "later",
                "detail": words, "message": words, "retryAfterMs": wait_ms, "traceId": refused.body["traceId"],
            })
        });
    }
    assert_eq!(sql.number("SELECT count(*) FROM tenants").await, 3, "it was done all the same");
    let look = world.one.get_as("/api/v1/whoami", &world.operator.access).await;
    assert_eq!(
        (look.status.as_u16(), standing(&look)),
        (200, ["", "", ""]),
        "reads are another tier, without a rate"
    );
}

/// Two replicas, many callers at once, blocks of twelve: exactly the limit gets through.
#[tokio::test]
async fn racing_replicas_let_exactly_the_limit_through() {
    let world = world(&[("limits.read", "200/24h")]).await;
    let mut through = 0;
    for round in 0..40 {
        let asking = (0..16).map(|number| {
            // Now and then one replica gets more of the load.
            let server = if (number + round) % 3 == 0 { &world.one } else { &world.other };
            server.get_as("/api/v1/whoami", &world.operator.access)
        });
        for answer in join_all(asking).await {
            match answer.status.as_u16() {
                200 => through += 1,
                _ => answer.assert_failure(429, "rate-limited"),
            }
        }
        assert!(through <= 200, "{through} got through");
    }
    assert_eq!(through, 200);
}

#[tokio::test]
async fn all_tokens_of_one_principal_share_and_others_are_not_touched() {
    let world = world(&[("limits.read", "4/24h")]).await;
    let second = world.other.sign_in("operator").await;
    let other = world.user("other").await;
    for (server, access) in [
        (&world.one, &world.operator.access),
        (&world.other, &second.access),
        (&world.one, &second.access),
        (&world.other, &world.operator.access),
    ] {
        assert_eq!(server.get_as("/api/v1/whoami", access).await.status, 200);
    }
    for access in [&world.operator.access, &second.access] {
        world.one.get_as("/api/v1/whoami", access).await.assert_failure(429, "rate-limited");
    }
    assert_eq!(world.one.get_as("/api/v1/whoami", &other.access).await.status, 200);
}

/// The attack: guess at many names, so that no name is locked, and claim another address each time.
#[tokio::test]
async fn signing_in_is_counted_by_the_address_of_the_connection_whatever_headers_say() {
    let world = world(&[("limits.sign_in", "4/24h")]).await;
    let forwarded =
        [("x-forwarded-for", "203.0.113.1"), ("forwarded", "for=203.0.113.2"), ("x-real-ip", "203.0.113.3")];
    for (number, (name, value)) in forwarded.into_iter().enumerate() {
        let server = if number % 2 == 0 { &world.one } else { &world.other };
        let guess = json!({ "name": format!("victim-{number}"), "password": "guess" });
        let request = server.client.post(server.url("/api/v1/auth/login")).header(name, value).json(&guess);
        read(request.send().await.expect("an answer")).await.assert_failure(401, "sign-in-failed");
    }
    for server in [&world.one, &world.other] {
        server.try_sign_in("operator", PASSWORD).await.assert_failure(429, "rate-limited");
        let refresh = json!({ "refreshToken": world.operator.refresh });
        server.post("/api/v1/auth/refresh", refresh).await.assert_failure(429, "rate-limited");
    }
    let elsewhere = reqwest::Client::builder()
        .local_address(Some([127, 0, 0, 2].into()))
        .no_proxy()
        .build()
        .expect("a client");
    let body = json!({ "name": "operator", "password": PASSWORD });
    let request = elsewhere.post(world.one.url("/api/v1/auth/login")).json(&body);
    let answer = read(request.send().await.expect("an answer")).await;
    assert_eq!((answer.status.as_u16(), answer.header("x-ratelimit-remaining")), (200, "3"));
    let whoami = world.one.get_as("/api/v1/whoami", &world.operator.access).await;
    assert_eq!(whoami.status, 200, "who is signed in is not touched");
}

#[tokio::test]
async fn whoever_waits_as_long_as_told_gets_through() {
    let world = world(&[("limits.read", "2/2s")]).await;
    for _ in 0..2 {
        let mut refused = None;
        for _ in 0..10 {
            let answer = world.one.get_as("/api/v1/whoami", &world.operator.access).await;
            if answer.status == 429 {
                refused = Some(answer);
                break;
            }
        }
        let refused = refused.expect("ten requests take less than two windows");
        let wait_ms = refused.body["retryAfterMs"].as_u64().expect("a time");
        assert!((1..=2_100).contains(&wait_ms), "{wait_ms}");
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        for server in [&world.one, &world.other] {
            let answer = server.get_as("/api/v1/whoami", &world.operator.access).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
        }
    }
}

#[tokio::test]
async fn opening_a_stream_is_one_read_and_what_comes_over_it_is_none() {
    let world = world(&[("limits.read", "2/24h")]).await;
    let tenant = world.tenant("acme").await;
    let path = format!("/api/v1/tenants/{tenant}/audit/stream");
    let mut stream = world.one.events(&path, &world.operator.access, None).await;
    assert_eq!(stream.next().await.expect("an event").data["action"], "tenant.created");
    let look = world.other.get_as("/api/v1/whoami", &world.operator.access).await;
    assert_eq!((look.status.as_u16(), look.header("x-ratelimit-remaining")), (200, "0"));
    world.one.get_as(&path, &world.operator.access).await.assert_failure(429, "rate-limited");
    // Longer than the server waits before it looks at the caller of an open stream again.
    tokio::time::sleep(Duration::from_millis(900)).await;
    world.key(&tenant, "viewer").await;
    assert_eq!(stream.next().await.expect("still open").data["action"], "key.created");
}

#[tokio::test]
async fn probes_preflights_and_what_anyone_may_read_are_not_counted() {
    let origin = "https://console.example.org";
    let world = world(&[
        ("limits.read", "1/24h"),
        ("limits.mutation", "1/24h"),
        ("limits.sign_in", "1/24h"),
        ("access.allow_origins", origin),
    ])
    .await;
    for _ in 0..3 {
        for path in
            ["/health", "/health/live", "/health/readiness", "/capabilities", "/.well-known/jwks.json"]
        {
            let answer = world.one.get(path).await;
            assert_eq!((answer.status.as_u16(), standing(&answer)), (200, ["", "", ""]), "{path}");
        }
        let preflight = world.one.client.request(Method::OPTIONS, world.one.url("/api/v1/tenants"));
        let answer = read(preflight.header("origin", origin).send().await.expect("an answer")).await;
        assert_eq!((answer.status.as_u16(), standing(&answer)), (204, ["", "", ""]));
    }
    let from_a_page = world.one.client.get(world.one.url("/api/v1/whoami")).header("origin", origin);
    let answer = read(from_a_page.bearer_auth(&world.operator.access).send().await.expect("an answer")).await;
    assert_eq!((answer.status.as_u16(), answer.header("x-ratelimit-remaining")), (200, "0"));
    assert!(
        answer.header("access-control-expose-headers").contains("x-ratelimit-remaining"),
        "a page cannot see it"
    );
}

#[tokio::test]
async fn a_request_without_a_valid_token_takes_no_permit_of_anybody() {
    let world = world(&[("limits.read", "1/24h")]).await;
    let (head, _) = world.operator.access.rsplit_once('.').expect("a JWT");
    for _ in 0..3 {
        let refused = world.one.get_as("/api/v1/whoami", &format!("{head}.forged")).await;
        refused.assert_failure(401, "unauthenticated");
        assert_eq!(standing(&refused), ["", "", ""]);
    }
    assert_eq!(world.one.get_as("/api/v1/whoami", &world.operator.access).await.status, 200);
}

#[tokio::test]
async fn what_cannot_be_counted_is_refused() {
    let db = TestDb::new().await;
    let setup = Setup::on(&db).with("limits.sign_in", "1000/24h").with("postgres.statement_timeout", "300ms");
    let server = setup.start().await;
    let mut lock = db.sql().await;
    lock.execute("BEGIN; LOCK TABLE rate_windows IN ACCESS EXCLUSIVE MODE").await;
    server.try_sign_in("nobody", PASSWORD).await.assert_failure(503, "infra-failed");
    lock.execute("COMMIT").await;
    server.try_sign_in("nobody", PASSWORD).await.assert_failure(401, "sign-in-failed");
}

#[tokio::test]
async fn without_postgres_everything_that_is_counted_is_refused_until_it_is_back() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.addresses()).await;
    let setup = Setup::on_private(&db, &engines.addresses());
    let setup = setup.with("limits.sign_in", "1000/24h").with("limits.read", "1000/24h");
    let server = setup.start().await;
    operator(&server).await;
    let person = server.sign_in("operator").await;
    engines.postgres.kill();
    server.try_sign_in("operator", PASSWORD).await.assert_failure(503, "infra-failed");
    server.get_as("/api/v1/whoami", &person.access).await.assert_failure(503, "infra-failed");
    engines.postgres.up().expect("recovered");
    server.until("/health", Duration::from_secs(10), |answer| answer.status == 200).await;
    assert_eq!(server.get_as("/api/v1/whoami", &person.access).await.status, 200);
}

#[tokio::test]
async fn windows_that_have_ended_are_swept() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let old = "INSERT INTO rate_windows SELECT 3, 'prn_' || number, now() - interval '3 hours', now() - interval '1 hour', 1, 1
        FROM generate_series(1, 6000) AS number";
    sql.execute(old).await;
    let setup =
        Setup::on(&db).with("limits.sign_in", "5/24h").with("housekeeping.rate_windows_every", "200ms");
    let server = setup.start().await;
    operator(&server).await;
    server.sign_in("operator").await;
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    loop {
        let left = sql.texts("SELECT key FROM rate_windows").await;
        if left == ["127.0.0.1"] {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{} are left", left.len());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn a_rate_that_cannot_be_read_stops_the_start_and_names_its_key() {
    for (rate, fine) in [("30/60s", true), ("", true), ("30", false), ("0/60s", false), ("30/1ms", false)] {
        let flags = vec![("limits.mutation", rate.to_owned())];
        let sources = guildhall_server::config::Sources { flags, ..Default::default() };
        match guildhall_server::Config::load(&sources) {
            Ok(config) => {
                let read = config.limits.mutation.map(|rate| rate.to_string()).unwrap_or_default();
                assert!(fine && read == rate, "{rate:?} was read as {read:?}");
            }
            Err(error) => {
                let words = format!("{error:?}");
                assert!(!fine && words.contains("limits.mutation") && words.contains("`30/60s`"), "{words}");
            }
        }
    }
}

async fn operator(server: &TestServer) {
    let made = server.server.create_first_user("operator", &SecretString::from(PASSWORD)).await;
    assert!(made.expect("made"), "the database is new");
}
