//! Attacks on the sign-in routes: floods, guesses over every route, and names that exist or not.

use std::time::{Duration, Instant};

use futures::future::join;
use guildhall_testkit::{Stopwatch, TestDb};
use serde_json::{Value, json};

use crate::support::cluster::{Cluster, PASSWORD};
use crate::support::flood::{ATTACKER, Flood};
use crate::support::oidc::OidcFixture;
use crate::support::routes::{QUESTION_PAGE, QUESTION_SIGN_IN};
use crate::support::{Setup, TestResponse, TestServer, read_response};

/// The time within which others must be signed in during an attack.
const OTHERS_WITHIN: Duration = Duration::from_secs(2);

/// Attempts of the flood in CI, at 1,000 per second.
const FLOOD_ATTEMPTS: u32 = 6_000;

fn wrong_password(number: u32) -> (&'static str, String, String) {
    let path = ["/api/v1/auth/browser-session", "/api/v1/auth/login"][usize::from(number.is_multiple_of(2))];
    ("POST", path.to_owned(), json!({ "name": format!("guess-{number}"), "password": "x" }).to_string())
}

/// Signs in one after the other while an attack goes on. Returns the slowest time.
async fn slowest_sign_in(server: &TestServer, names: &[String]) -> Duration {
    let mut slowest = Duration::ZERO;
    for name in names {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let began = Stopwatch::start();
        let response = server.try_sign_in(name, PASSWORD).await;
        assert_eq!(response.status, 200, "{name}: {}", response.text);
        slowest = slowest.max(began.elapsed());
    }
    slowest
}

/// The attack: 24 connections of one address send 1,000 wrong passwords a second for ever new names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flood_of_sign_ins_from_one_address_does_not_delay_others() {
    let db = TestDb::new().await;
    let cluster = Cluster::with_setup(Setup::with_default_limits(&db), db).await;
    let names: Vec<String> = (0..12).map(|number| format!("user-{number}")).collect();
    for name in &names {
        let body = json!({ "name": name, "password": PASSWORD });
        let created = cluster.first.post_as("/api/v1/users", &cluster.operator.token, body).await;
        assert_eq!(created.status, 201, "{}", created.text);
    }
    let target = cluster.first.address;
    let flood = Flood { target, connections: 24, per_second: 1_000, requests: FLOOD_ATTEMPTS };
    let (attack, slowest) = join(flood.send(wrong_password), slowest_sign_in(&cluster.first, &names)).await;
    println!(
        "{:.0} attempts a second ({:?}); the slowest sign-in of another address took {slowest:?}",
        attack.per_second(),
        attack.statuses
    );
    assert!(slowest < OTHERS_WITHIN, "{slowest:?}");
    assert!(attack.count(429) > FLOOD_ATTEMPTS / 2, "{attack:?}");
    assert_eq!(attack.count(200), 0);
}

/// The attack: 10,400 sign-ins through the provider are started and never completed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flood_of_oidc_starts_from_one_address_does_not_deny_others() {
    let mut fixture = OidcFixture::with_default_limits().await;
    for server in [&fixture.cluster.first, &fixture.cluster.second] {
        let flood = Flood { target: server.address, connections: 4, per_second: 100_000, requests: 5_200 };
        let start = |_| ("GET", "/api/v1/auth/oidc/start".to_owned(), String::new());
        let attack = flood.send(start).await;
        assert_eq!(attack.total(), 5_200);
        println!("{:.0} starts a second ({:?})", attack.per_second(), attack.statuses);
    }
    let stored = fixture.sql.number("SELECT count(*) FROM oidc_flows").await;
    assert!(stored <= 100 + 8, "one address holds {stored} open sign-ins");
    for server in [&fixture.cluster.first, &fixture.cluster.second] {
        let response = fixture.client.get(server.url("/api/v1/auth/oidc/start")).send().await;
        assert_eq!(response.expect("a response").status(), 303, "another address cannot start a sign-in");
    }
}

/// The attack: use the sign-in routes that the limit forgot.
#[tokio::test]
async fn every_sign_in_route_counts_for_the_limit_of_an_address() {
    let routes: [(&str, &str, Option<Value>); 10] = [
        ("POST", "/api/v1/auth/login", Some(json!({ "name": "a", "password": "x" }))),
        ("POST", "/api/v1/auth/browser-session", Some(json!({ "name": "b", "password": "x" }))),
        ("POST", "/api/v1/auth/refresh", Some(json!({ "refreshToken": "x" }))),
        ("POST", "/api/v1/auth/handoff", Some(json!({ "code": "ghh_x", "verifier": "y" }))),
        ("GET", "/api/v1/auth/oidc/start", None),
        ("GET", "/api/v1/auth/oidc/callback", None),
        ("GET", "/sign-in/confirm", None),
        ("GET", QUESTION_PAGE, None),
        ("POST", QUESTION_PAGE, None),
        ("GET", QUESTION_SIGN_IN, None),
    ];
    let db = TestDb::new().await;
    let setup = Setup::new(&db).with("limits.sign_in", format!("{}/24h", routes.len() + 1));
    // The operator's own sign-in is the first.
    let cluster = Cluster::with_setup(setup, db).await;
    let send = async |server: &TestServer, method: &str, path: &str, body: &Option<Value>| {
        let mut request = server.client.request(method.parse().expect("a method"), server.url(path));
        if let Some(body) = body {
            request = request.json(body);
        }
        read_response(request.send().await.expect("a response")).await
    };
    for (number, (method, path, body)) in routes.iter().enumerate() {
        let server = if number.is_multiple_of(2) { &cluster.first } else { &cluster.second };
        let response = send(server, method, path, body).await;
        assert_ne!(response.status, 429, "{path}: {}", response.text);
        let left = (routes.len() - number - 1).to_string();
        assert_eq!(response.header("x-ratelimit-remaining"), left, "{path} does not count");
    }
    for (method, path, body) in &routes {
        for server in [&cluster.first, &cluster.second] {
            let refused = send(server, method, path, body).await;
            if path.starts_with("/approve/") {
                let found = (refused.status.as_u16(), refused.header("content-type"));
                assert_eq!(found, (429, "text/html; charset=utf-8"), "{path}: {}", refused.text);
                continue;
            }
            refused.assert_failure(429, "rate-limited");
        }
    }
}

/// The attack: find out which user names exist by the responses to wrong passwords.
#[tokio::test]
async fn unknown_name_is_locked_like_an_existing_one() {
    let cluster = Cluster::new().await;
    cluster.create_user("ada").await;
    let attempt = async |name: &str, number: usize| {
        let server = if number.is_multiple_of(2) { &cluster.first } else { &cluster.second };
        public_response(server.try_sign_in(name, "wrong password!").await)
    };
    let mut responses = Vec::new();
    for name in ["ada", "nobody", "nobody\u{0}"] {
        let mut of_name = Vec::new();
        for number in 0..7 {
            of_name.push(attempt(name, number).await);
        }
        responses.push(of_name);
    }
    let kinds: Vec<&Value> = responses[0].iter().map(|(_, body)| &body["failureKind"]).collect();
    assert_eq!(kinds[4..], ["sign-in-failed", "sign-in-locked", "sign-in-locked"]);
    assert_eq!(responses[0], responses[1]);
    assert_eq!(responses[0], responses[2]);
}

/// Returns the status and body of a response without its trace id and times.
fn public_response(response: TestResponse) -> (u16, Value) {
    let mut body = response.body;
    body["traceId"] = json!("");
    for field in ["message", "detail"] {
        let text = body[field].as_str().expect(field);
        body[field] = json!(text.split(" after ").next());
    }
    (response.status.as_u16(), body)
}

/// The attack: measure the time of refusals. One attempt of each kind follows the other, so that both see the same
/// load.
#[tokio::test]
async fn refusal_of_an_unknown_name_takes_as_long_as_of_an_existing_one() {
    let cluster = Cluster::new().await;
    let (mut existing, mut unknown) = (Vec::new(), Vec::new());
    for user in 0..4 {
        let name = format!("user-{user}");
        cluster.create_user(&name).await;
        for _ in 0..4 {
            for (name, times) in [(&name, &mut existing), (&format!("nobody-{user}"), &mut unknown)] {
                let began = Instant::now();
                let refused = cluster.first.try_sign_in(name, "wrong password!").await;
                times.push(began.elapsed());
                refused.assert_failure(401, "sign-in-failed");
            }
        }
    }
    existing.sort_unstable();
    unknown.sort_unstable();
    let (existing, unknown) = (existing[8], unknown[8]);
    println!("median of an existing name {existing:?}, of an unknown name {unknown:?}");
    assert!(existing.abs_diff(unknown) < existing.max(unknown) / 2, "{existing:?} and {unknown:?}");
}

/// The attack: guess the password of one account from many addresses.
#[tokio::test]
async fn attempts_on_one_account_are_limited_over_all_addresses() {
    let db = TestDb::new().await;
    let setup = Setup::new(&db).with("limits.account", "3/24h").with("http.trusted_proxies", "127.0.0.1/32");
    let cluster = Cluster::with_setup(setup, db).await;
    let attempt = async |number: usize, name: &str| {
        let (server, path) = if number.is_multiple_of(2) {
            (&cluster.first, "/api/v1/auth/login")
        } else {
            (&cluster.second, "/api/v1/auth/browser-session")
        };
        let request =
            server.client.post(server.url(path)).header("x-forwarded-for", format!("192.0.2.{number}"));
        let body = json!({ "name": name, "password": "wrong password!" });
        read_response(request.json(&body).send().await.expect("a response")).await
    };
    for name in ["ada", "grace"] {
        for number in 0..3 {
            attempt(number, name).await.assert_failure(401, "sign-in-failed");
        }
        for number in 3..6 {
            attempt(number, name).await.assert_failure(429, "rate-limited");
        }
    }
}

/// The attack: a client sends a forwarding header of its own to get another address for each attempt.
#[tokio::test]
async fn forwarded_address_counts_only_from_a_trusted_proxy() {
    let db = TestDb::new().await;
    let setup = Setup::new(&db)
        .with("limits.sign_in", "2/24h")
        .with("http.trusted_proxies", "127.0.0.2/32, 10.0.0.0/8");
    let (first, second) = setup.start_two().await;
    let proxy = reqwest::Client::builder().local_address(Some(ATTACKER.into())).no_proxy().build();
    let proxy = proxy.expect("a client");
    let attempt = async |client: &reqwest::Client, server: &TestServer, forwarded: &str| {
        let body = json!({ "name": format!("name of {forwarded}"), "password": "x" });
        let request = client.post(server.url("/api/v1/auth/login")).header("x-forwarded-for", forwarded);
        read_response(request.json(&body).send().await.expect("a response")).await.status.as_u16()
    };
    for (number, server) in [&first, &second, &first, &second].into_iter().enumerate() {
        let expected = if number < 2 { 401 } else { 429 };
        // Of a client behind the proxy, only the last address is added by the proxy.
        let forged = format!("203.0.113.{number}, 198.51.100.7, 10.1.2.3");
        assert_eq!(attempt(&proxy, server, &forged).await, expected, "a client behind the proxy");
        let forged = format!("203.0.113.{number}");
        assert_eq!(attempt(&first.client, server, &forged).await, expected, "a client without the proxy");
    }
    assert_eq!(attempt(&proxy, &first, "198.51.100.8").await, 401, "another client behind the proxy");
}

#[test]
fn sign_in_limits_are_on_by_default() {
    let config = guildhall_server::Config::load(&guildhall_server::config::Sources::default());
    let limits = config.expect("the defaults are valid").limits;
    let text = |rate: Option<guildhall_domain::ops::rate::Rate>| rate.map(|rate| rate.to_string());
    assert_eq!(
        (text(limits.sign_in).as_deref(), text(limits.account).as_deref()),
        (Some("300/60s"), Some("30/60s"))
    );
}
