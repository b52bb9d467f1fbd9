//! Rate limits: what is counted, per whom, and the response headers. Windows are a day long, so that none ends in a
//! test.

use std::time::Duration;

use futures::future::join_all;
use guildhall_testkit::{PrivateEngines, TestDb};
use reqwest::Method;
use secrecy::SecretString;
use serde_json::json;

use crate::support::browser::origin_of;
use crate::support::cluster::{Cluster, PASSWORD};
use crate::support::page::PageReader;
use crate::support::routes::QUESTION_PAGE;
use crate::support::{Setup, TestResponse, TestServer, read_response};

const DAY: u64 = 24 * 60 * 60;

async fn start_cluster(limits: &[(&'static str, &str)]) -> Cluster {
    let db = TestDb::new().await;
    let setup = limits.iter().fold(Setup::new(&db), |setup, (tier, rate)| setup.with(tier, rate));
    Cluster::with_setup(setup, db).await
}

/// Returns the rate limit headers (limit, remaining, reset) of a response. A missing header is an empty string.
fn rate_headers(response: &TestResponse) -> [&str; 3] {
    ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"].map(|name| response.header(name))
}

fn seconds(text: &str) -> u64 {
    text.parse().expect("whole seconds")
}

// covers: C4, C7c
// exercises: rate_limit
#[tokio::test]
async fn request_over_the_rate_limit_is_rejected_with_retry_headers() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let cluster = Cluster::with_setup(Setup::new(&db).with("limits.mutation", "3/24h"), db).await;
    for server in [&cluster.first, &cluster.second] {
        let features = &server.get("/capabilities").await.body["features"];
        assert!(features.as_array().expect("a list").contains(&json!("rate_limit")), "{features}");
    }
    for (number, left) in [(1, "2"), (2, "1"), (3, "0")] {
        let server = if number == 2 { &cluster.second } else { &cluster.first };
        let body = json!({ "slug": format!("t-{number}"), "name": "T" });
        let created = server.post_as("/api/v1/tenants", &cluster.operator.token, body).await;
        let [limit, remaining, reset] = rate_headers(&created);
        assert_eq!((created.status.as_u16(), limit, remaining), (201, "3", left));
        assert!((1..=DAY).contains(&seconds(reset)), "{reset}");
        assert_eq!(created.header("retry-after"), "");
    }
    for server in [&cluster.first, &cluster.second] {
        let body = json!({ "slug": "one-too-many", "name": "T" });
        let refused = server.post_as("/api/v1/tenants", &cluster.operator.token, body).await;
        refused.assert_failure(429, "rate-limited");
        let [limit, remaining, reset] = rate_headers(&refused);
        assert_eq!((limit, remaining, reset), ("3", "0", refused.header("retry-after")));
        let wait_ms = refused.body["retryAfterMs"].as_u64().expect("a time");
        assert_eq!(wait_ms.div_ceil(1000), seconds(reset));
        assert_eq!(refused.body, {
            let message =
                "too many requests of the tier mutation: 3/86400s are allowed; wait for the next window";
            json!({
                "type": "urn:guildhall:error:rate-limited", "status": 429, "failureKind": "rate-limited",
                "title": "Rate limit exceeded", "retry": "later",
                "detail": message, "message": message, "retryAfterMs": wait_ms, "traceId": refused.body["traceId"],
            })
        });
    }
    assert_eq!(sql.number("SELECT count(*) FROM tenants").await, 3, "the refused request had an effect");
    let whoami = cluster.first.get_as("/api/v1/whoami", &cluster.operator.token).await;
    assert_eq!(
        (whoami.status.as_u16(), rate_headers(&whoami)),
        (200, ["", "", ""]),
        "the read tier has no limit"
    );
}

/// Two replicas take permits in blocks of twelve under concurrent load: exactly the limit is accepted.
#[tokio::test]
async fn concurrent_requests_on_two_replicas_get_exactly_the_limit() {
    let cluster = start_cluster(&[("limits.read", "200/24h")]).await;
    let mut accepted = 0;
    for round in 0..40 {
        let requests = (0..16).map(|number| {
            // The load is distributed unevenly.
            let server = if (number + round) % 3 == 0 { &cluster.first } else { &cluster.second };
            server.get_as("/api/v1/whoami", &cluster.operator.token)
        });
        for response in join_all(requests).await {
            match response.status.as_u16() {
                200 => accepted += 1,
                _ => response.assert_failure(429, "rate-limited"),
            }
        }
        assert!(accepted <= 200, "{accepted} requests were accepted");
    }
    assert_eq!(accepted, 200);
}

#[tokio::test]
async fn tokens_of_one_principal_share_a_rate_limit() {
    let cluster = start_cluster(&[("limits.read", "4/24h")]).await;
    let second = cluster.second.sign_in("operator").await;
    let other = cluster.create_user("other").await;
    for (server, access) in [
        (&cluster.first, &cluster.operator.token),
        (&cluster.second, &second.token),
        (&cluster.first, &second.token),
        (&cluster.second, &cluster.operator.token),
    ] {
        assert_eq!(server.get_as("/api/v1/whoami", access).await.status, 200);
    }
    for access in [&cluster.operator.token, &second.token] {
        cluster.first.get_as("/api/v1/whoami", access).await.assert_failure(429, "rate-limited");
    }
    assert_eq!(cluster.first.get_as("/api/v1/whoami", &other.token).await.status, 200);
}

/// The attack: guess passwords of many names, so that no name is locked, with another forwarded address each time.
#[tokio::test]
async fn sign_in_limit_counts_the_peer_address_and_ignores_headers() {
    let cluster = start_cluster(&[("limits.sign_in", "4/24h")]).await;
    let forwarded =
        [("x-forwarded-for", "203.0.113.1"), ("forwarded", "for=203.0.113.2"), ("x-real-ip", "203.0.113.3")];
    for (number, (name, value)) in forwarded.into_iter().enumerate() {
        let server = if number % 2 == 0 { &cluster.first } else { &cluster.second };
        let guess = json!({ "name": format!("victim-{number}"), "password": "guess" });
        let request = server.client.post(server.url("/api/v1/auth/login")).header(name, value).json(&guess);
        read_response(request.send().await.expect("a response")).await.assert_failure(401, "sign-in-failed");
    }
    for server in [&cluster.first, &cluster.second] {
        server.try_sign_in("operator", PASSWORD).await.assert_failure(429, "rate-limited");
        let refresh = json!({ "refreshToken": cluster.operator.refresh_token });
        server.post("/api/v1/auth/refresh", refresh).await.assert_failure(429, "rate-limited");
    }
    let other_address = reqwest::Client::builder()
        .local_address(Some([127, 0, 0, 2].into()))
        .no_proxy()
        .build()
        .expect("a client");
    let body = json!({ "name": "operator", "password": PASSWORD });
    let request = other_address.post(cluster.first.url("/api/v1/auth/login")).json(&body);
    let response = read_response(request.send().await.expect("a response")).await;
    assert_eq!((response.status.as_u16(), response.header("x-ratelimit-remaining")), (200, "3"));
    let whoami = cluster.first.get_as("/api/v1/whoami", &cluster.operator.token).await;
    assert_eq!(whoami.status, 200, "signed-in users are not affected");
}

#[tokio::test]
async fn request_after_retry_after_is_accepted() {
    let cluster = start_cluster(&[("limits.read", "2/2s")]).await;
    for _ in 0..2 {
        let mut refused = None;
        for _ in 0..10 {
            let response = cluster.first.get_as("/api/v1/whoami", &cluster.operator.token).await;
            if response.status == 429 {
                refused = Some(response);
                break;
            }
        }
        let refused = refused.expect("ten requests take less than two windows");
        let wait_ms = refused.body["retryAfterMs"].as_u64().expect("a time");
        assert!((1..=2_100).contains(&wait_ms), "{wait_ms}");
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        for server in [&cluster.first, &cluster.second] {
            let response = server.get_as("/api/v1/whoami", &cluster.operator.token).await;
            assert_eq!(response.status, 200, "{}", response.text);
        }
    }
}

#[tokio::test]
async fn stream_counts_as_one_read_and_its_events_do_not_count() {
    let cluster = start_cluster(&[("limits.read", "2/24h")]).await;
    let tenant = cluster.create_tenant("acme").await;
    let path = format!("/api/v1/tenants/{tenant}/audit/stream");
    let mut stream = cluster.first.open_stream(&path, &cluster.operator.token, None).await;
    assert_eq!(stream.next().await.expect("an event").data["action"], "tenant.created");
    let whoami = cluster.second.get_as("/api/v1/whoami", &cluster.operator.token).await;
    assert_eq!((whoami.status.as_u16(), whoami.header("x-ratelimit-remaining")), (200, "0"));
    cluster.first.get_as(&path, &cluster.operator.token).await.assert_failure(429, "rate-limited");
    // Longer than the interval in which the server checks the caller of an open stream.
    tokio::time::sleep(Duration::from_millis(900)).await;
    cluster.create_key(&tenant, "viewer").await;
    assert_eq!(stream.next().await.expect("an open stream").data["action"], "key.created");
}

#[tokio::test]
async fn public_routes_and_preflights_are_not_rate_limited() {
    let origin = "https://console.example.org";
    let cluster = start_cluster(&[
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
            let response = cluster.first.get(path).await;
            assert_eq!((response.status.as_u16(), rate_headers(&response)), (200, ["", "", ""]), "{path}");
        }
        let preflight = cluster.first.client.request(Method::OPTIONS, cluster.first.url("/api/v1/tenants"));
        let response =
            read_response(preflight.header("origin", origin).send().await.expect("a response")).await;
        assert_eq!((response.status.as_u16(), rate_headers(&response)), (204, ["", "", ""]));
    }
    let page_request = cluster.first.client.get(cluster.first.url("/api/v1/whoami")).header("origin", origin);
    let response =
        read_response(page_request.bearer_auth(&cluster.operator.token).send().await.expect("a response"))
            .await;
    assert_eq!((response.status.as_u16(), response.header("x-ratelimit-remaining")), (200, "0"));
    assert!(
        response.header("access-control-expose-headers").contains("x-ratelimit-remaining"),
        "web pages cannot read the header"
    );
}

#[tokio::test]
async fn request_with_an_invalid_token_uses_no_permit() {
    let cluster = start_cluster(&[("limits.read", "1/24h")]).await;
    let (head, _) = cluster.operator.token.rsplit_once('.').expect("a JWT");
    for _ in 0..3 {
        let refused = cluster.first.get_as("/api/v1/whoami", &format!("{head}.forged")).await;
        refused.assert_failure(401, "unauthenticated");
        assert_eq!(rate_headers(&refused), ["", "", ""]);
    }
    assert_eq!(cluster.first.get_as("/api/v1/whoami", &cluster.operator.token).await.status, 200);
}

/// The route needs no token; the requests of callers with one are counted all the same.
#[tokio::test]
async fn request_for_capabilities_is_counted_with_a_valid_token_only() {
    let cluster = start_cluster(&[("limits.read", "1/24h")]).await;
    for bearer in ["invalid", &cluster.operator.token] {
        assert_eq!(cluster.first.get_as("/capabilities", bearer).await.status, 200);
    }
    let refused = cluster.second.get_as("/capabilities", &cluster.operator.token).await;
    refused.assert_failure(429, "rate-limited");
    assert_eq!(cluster.second.get("/capabilities").await.status, 200);
}

#[tokio::test]
async fn request_is_refused_when_its_rate_cannot_be_counted() {
    let db = TestDb::new().await;
    let setup =
        Setup::new(&db).with("limits.sign_in", "1000/24h").with("postgres.statement_timeout", "300ms");
    let server = setup.start().await;
    let mut lock = db.sql().await;
    lock.execute("BEGIN; LOCK TABLE rate_windows IN ACCESS EXCLUSIVE MODE").await;
    server.try_sign_in("nobody", PASSWORD).await.assert_failure(503, "infra-failed");
    lock.execute("COMMIT").await;
    server.try_sign_in("nobody", PASSWORD).await.assert_failure(401, "sign-in-failed");
}

#[tokio::test]
async fn rate_limited_requests_fail_while_postgres_is_down() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    let setup = Setup::with_private_engines(&db, &engines.urls());
    let setup = setup.with("limits.sign_in", "1000/24h").with("limits.read", "1000/24h");
    let server = setup.start().await;
    create_operator(&server).await;
    let operator = server.sign_in("operator").await;
    engines.postgres.kill();
    server.try_sign_in("operator", PASSWORD).await.assert_failure(503, "infra-failed");
    server.get_as("/api/v1/whoami", &operator.token).await.assert_failure(503, "infra-failed");
    engines.postgres.restart().expect("a running PostgreSQL");
    server.wait_until("/health", Duration::from_secs(10), |response| response.status == 200).await;
    assert_eq!(server.get_as("/api/v1/whoami", &operator.token).await.status, 200);
}

#[tokio::test]
async fn ended_rate_windows_are_deleted() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let old = "INSERT INTO rate_windows SELECT 3, 'prn_' || number, now() - interval '3 hours', now() - interval '1 hour', 1, 1
        FROM generate_series(1, 6000) AS number";
    sql.execute(old).await;
    let setup =
        Setup::new(&db).with("limits.sign_in", "5/24h").with("housekeeping.rate_windows_every", "200ms");
    let server = setup.with("limits.account", "").start().await;
    create_operator(&server).await;
    server.sign_in("operator").await;
    let deadline = std::time::Instant::now() + Duration::from_secs(120);
    loop {
        let keys = sql.texts("SELECT key FROM rate_windows").await;
        if keys == ["127.0.0.1"] {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "{} windows are left", keys.len());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn invalid_rate_is_a_configuration_error_with_its_key() {
    for (rate, valid) in [("30/60s", true), ("", true), ("30", false), ("0/60s", false), ("30/1ms", false)] {
        let flags = vec![("limits.mutation", rate.to_owned())];
        let sources = guildhall_server::config::Sources { flags, ..Default::default() };
        match guildhall_server::Config::load(&sources) {
            Ok(config) => {
                let parsed = config.limits.mutation.map(|rate| rate.to_string()).unwrap_or_default();
                assert!(valid && parsed == rate, "{rate:?} was parsed as {parsed:?}");
            }
            Err(error) => {
                let message = format!("{error:?}");
                assert!(!valid && message.contains("limits.mutation"), "{message}");
                assert!(message.contains("`30/60s`"), "{message}");
            }
        }
    }
}

async fn create_operator(server: &TestServer) {
    let created = server.server.create_first_user("operator", &SecretString::from(PASSWORD)).await;
    assert!(created.expect("created"), "the database is not empty");
}

#[tokio::test]
async fn page_of_a_question_counts_for_the_principal_of_its_session() {
    let cluster = start_cluster(&[("limits.read", "2/24h"), ("limits.mutation", "1/24h")]).await;
    let mut reader = PageReader::signed_in(&cluster.first, "operator").await;
    for (server, status) in [(&cluster.first, 404), (&cluster.second, 404), (&cluster.first, 429)] {
        let page = reader.browser.get(server, QUESTION_PAGE).await;
        let found = (page.status.as_u16(), page.header("content-type"), page.header("x-ratelimit-limit"));
        assert_eq!(found, (status, "text/html; charset=utf-8", "2"), "{}", page.text);
        assert_eq!(page.header("retry-after").is_empty(), status == 404, "{}", page.text);
    }
    let (url, origin) = (cluster.second.url(QUESTION_PAGE), origin_of(&cluster.second));
    for status in [403, 429] {
        let form = "csrf=guessed".to_owned();
        let refused = reader.browser.submit_form(&reader.client, &url, Some(&origin), form).await;
        assert_eq!(refused.status, status, "{}", refused.text);
    }
}
