//! Puts canary secrets into every input of the system and asserts that no output contains one.

use std::time::Duration;

use guildhall_testkit::{TestDb, nats_url, subject_prefix};
use reqwest::{Client, Method};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use url::Url;

use crate::support::channels::{CapturedOutput, capture_nats, start_trace_collector};
use crate::support::guildhall;
use crate::support::logged_replicas::LoggedReplicas;
use crate::support::user::{CliUser, stderr, stdout};

/// Trace id of the requests: a value that may appear on every channel.
const TRACE: &str = "c0ffee00c0ffee00c0ffee00c0ffee00";

/// Request headers that get a secret.
const HEADERS: [&str; 11] = [
    "authorization",
    "cookie",
    "x-api-key",
    "user-agent",
    "origin",
    "host",
    "referer",
    "tracestate",
    "baggage",
    "last-event-id",
    "content-type",
];

/// Public endpoints.
const PUBLIC_ENDPOINTS: [&str; 7] = [
    "health",
    "health/live",
    "health/readiness",
    "metrics",
    "capabilities",
    ".well-known/jwks.json",
    "openapi.json",
];

/// Named secrets that must not appear in any output.
pub(crate) struct Canaries(pub(crate) Vec<(&'static str, String)>);

impl Canaries {
    /// Generates a secret of letters only, so that no encoding changes it.
    pub(crate) fn generate(&mut self, name: &'static str) -> String {
        let random = subject_prefix();
        let letters: String = random
            .chars()
            .map(|c| if c.is_ascii_digit() { (c as u8 - b'0' + b'g') as char } else { c })
            .collect();
        self.add(name, format!("Canary{letters}"))
    }

    pub(crate) fn add(&mut self, name: &'static str, value: String) -> String {
        self.0.push((name, value.clone()));
        value
    }

    pub(crate) fn leaks(&self, channels: &CapturedOutput) -> Vec<(&'static str, &'static str)> {
        let by_name = self.0.iter().map(|(name, value)| (*name, channels.channels_containing(value)));
        by_name.flat_map(|(name, found)| found.into_iter().map(move |channel| (name, channel))).collect()
    }
}

/// Sends a request and captures the response; not its body if the body legitimately returns a secret.
async fn send(
    channels: &mut CapturedOutput,
    request: reqwest::RequestBuilder,
    returns_secret: bool,
) -> Value {
    let request = request.header("traceparent", format!("00-{TRACE}-00f067aa0ba902b7-01"));
    let response = request.timeout(Duration::from_secs(120)).send().await.expect("a response");
    channels.add("responses", format!("{} {:?}", response.status(), response.headers()));
    let body = response.text().await.expect("a body");
    if !returns_secret {
        channels.add("responses", &body);
    }
    serde_json::from_str(&body).unwrap_or(Value::Null)
}

fn string_field(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}")).to_owned()
}

/// Signs in, with wrong credentials too, and uses the API. Every secret that the API returns becomes a canary.
async fn exercise_api(canaries: &mut Canaries, channels: &mut CapturedOutput, url: &str, password: &str) {
    let http = client();
    let post = |path: &str, body: Value| http.post(format!("{url}{path}")).json(&body);
    let login = post("/api/v1/auth/login", json!({ "name": "admin", "password": password }));
    let tokens = send(channels, login, true).await;
    let access = canaries.add("access token", string_field(&tokens, "accessToken"));
    canaries.add("signature of an access token", access.rsplit('.').next().expect("a JWT").to_owned());
    let refresh = canaries.add("refresh token", string_field(&tokens, "refreshToken"));
    let renewed =
        send(channels, post("/api/v1/auth/refresh", json!({ "refreshToken": refresh })), true).await;
    canaries.add("next refresh token", string_field(&renewed, "refreshToken"));
    canaries.add("next access token", string_field(&renewed, "accessToken"));

    let wrong_password = canaries.generate("wrong password");
    send(channels, post("/api/v1/auth/login", json!({ "name": "admin", "password": wrong_password })), false)
        .await;
    let name_canary = canaries.generate("password typed as a name");
    send(channels, post("/api/v1/auth/login", json!({ "name": name_canary, "password": "x" })), false).await;
    let invalid = canaries.generate("invalid refresh token");
    send(channels, post("/api/v1/auth/refresh", json!({ "refreshToken": invalid })), false).await;
    let user = canaries.generate("password of a new user");
    let name = format!("ada{}", url.rsplit(':').next().expect("a port"));
    let request = post("/api/v1/users", json!({ "name": name, "password": user })).bearer_auth(&access);
    send(channels, request, false).await;

    let slug = format!("acme{}", url.rsplit(':').next().expect("a port"));
    let created = post("/api/v1/tenants", json!({ "slug": slug, "name": "Acme" })).bearer_auth(&access);
    let tenant = string_field(&send(channels, created, false).await, "id");
    let key = post(&format!("/api/v1/tenants/{tenant}/keys"), json!({ "name": "ci", "role": "developer" }));
    let key = send(channels, key.bearer_auth(&access), true).await;
    let secret = canaries.add("service key", string_field(&key, "secret"));
    canaries.add("secret part of a service key", secret.splitn(3, '_').nth(2).expect("parts").to_owned());
    exercise_profiles(canaries, channels, url, &tenant, &access).await;
    exercise_webhooks(canaries, channels, url, &tenant, &access).await;
    let query = canaries.generate("query of a page");
    for pair in [format!("{query}=1"), format!("limit={query}")] {
        let page = http.get(format!("{url}/api/v1/tenants/{tenant}/audit?{pair}"));
        send(channels, page.bearer_auth(&access), false).await;
    }
    for path in ["whoami".to_owned(), format!("tenants/{tenant}/audit"), format!("tenants/{tenant}/keys")] {
        send(channels, http.get(format!("{url}/api/v1/{path}")).bearer_auth(&secret), false).await;
    }
}

/// Sets valid and invalid profile credentials, reads and validates the profile, and deletes it.
async fn exercise_profiles(
    canaries: &mut Canaries,
    channels: &mut CapturedOutput,
    url: &str,
    tenant: &str,
    access: &str,
) {
    let http = client();
    let request = |method: Method, path: &str| {
        let url_with_tenant = format!("{url}/api/v1/provider-profiles{path}?tenantId={tenant}");
        http.request(method, url_with_tenant).bearer_auth(access)
    };
    let put = |body: Value| request(Method::PUT, "/codex/credential").json(&body);
    let credential = canaries.generate("credential of a provider");
    let stored = send(channels, put(json!({ "credential": credential, "model": "m" })), false).await;
    assert_eq!(stored["configured"], true, "{stored}");
    let rejected = canaries.generate("rejected credential");
    for body in [
        json!({ "credential": format!("{rejected} {rejected}") }),
        json!({ "credential": { "value": rejected } }),
        json!({ "credential": "x", "baseUrl": format!("https://me:{rejected}@example.org/v1") }),
        json!({ "credential": "x", "baseUrl": format!("https://example.org/v1?key={rejected}") }),
        json!({ "credential": "x", "baseUrl": format!("https://10.0.0.1/{rejected}") }),
        json!({ "credential": "x", "model": format!("password={rejected}") }),
        json!({ "credential": "x", "wireApi": rejected }),
        json!({ "credential": "x", rejected.as_str(): "command" }),
    ] {
        let response = send(channels, put(body), false).await;
        assert!(response["failureKind"].is_string(), "{response}");
    }
    send(channels, request(Method::POST, "/codex/validate"), false).await;
    for path in ["", "/codex"] {
        send(channels, request(Method::GET, path), false).await;
    }
    send(channels, request(Method::DELETE, "/codex"), false).await;
}

/// Creates webhooks with valid and invalid URLs, rotates the secret, and waits until a signed request was attempted.
async fn exercise_webhooks(
    canaries: &mut Canaries,
    channels: &mut CapturedOutput,
    url: &str,
    tenant: &str,
    access: &str,
) {
    let http = client();
    let path = format!("{url}/api/v1/tenants/{tenant}/webhooks");
    let request =
        |method: Method, rest: &str| http.request(method, format!("{path}{rest}")).bearer_auth(access);
    let create = |url: &str| {
        let body = json!({ "url": url, "events": ["approval.requested"] });
        request(Method::POST, "").json(&body)
    };
    let created = send(channels, create("https://hooks.example.invalid/"), true).await;
    let id = string_field(&created, "id");
    let mut add_secret = |name, part, view: &Value| {
        let secret = canaries.add(name, string_field(view, "secret"));
        canaries.add(part, secret.trim_start_matches("whsec_").to_owned());
    };
    add_secret("signing secret", "bytes of a signing secret", &created);
    let rotated = send(channels, request(Method::POST, &format!("/{id}/rotate")), true).await;
    add_secret("rotated signing secret", "bytes of a rotated signing secret", &rotated);
    let rejected = canaries.generate("rejected URL of a webhook");
    for url in [
        format!("https://me:{rejected}@example.org/"),
        format!("http://example.org/{rejected}"),
        format!("https://10.0.0.1/{rejected}"),
        rejected,
    ] {
        let response = send(channels, create(&url), false).await;
        assert!(response["failureKind"].is_string(), "{response}");
    }
    send(channels, request(Method::POST, &format!("/{id}/test")), false).await;
    let deadline = std::time::Instant::now() + Duration::from_secs(120);
    loop {
        let list = send(channels, request(Method::GET, ""), false).await;
        if list["webhooks"][0]["lastFailure"].is_object() {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "no attempt was made: {list}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Sends malformed requests with a secret in every part.
async fn send_malformed_requests(canaries: &mut Canaries, channels: &mut CapturedOutput, url: &str) {
    let http = client();
    for name in HEADERS {
        let value = canaries.generate("header");
        let value = match name {
            "authorization" => format!("Bearer {value}"),
            // A rejected host or origin is logged as evidence, but without the part before its `@`.
            "host" => format!("me:{value}@evil.example"),
            "origin" => format!("https://me:{value}@evil.example"),
            _ => value,
        };
        let request = http.post(format!("{url}/api/v1/auth/login")).header(name, value).body("{}");
        send(channels, request, false).await;
    }
    let (path, query, user) =
        (canaries.generate("path"), canaries.generate("query"), canaries.generate("id in a path"));
    let method_canary = canaries.generate("method");
    let canary_method = Method::from_bytes(method_canary.as_bytes()).expect("letters");
    for method in [Method::GET, Method::POST, Method::DELETE, canary_method] {
        send(channels, http.request(method.clone(), format!("{url}/{path}")), false).await;
        send(
            channels,
            http.request(method.clone(), format!("{url}/api/v1/whoami?token={query}&{query}=1")),
            false,
        )
        .await;
        send(channels, http.request(method, format!("{url}/api/v1/tenants/{user}/keys/{user}")), false).await;
    }
    let body = canaries.generate("body");
    let bodies = [
        format!("{{\"name\":\"{body}"),
        format!("{{\"{body}\":1,\"name\":\"x\",\"password\":\"y\"}}"),
        format!("{{\"name\":{{\"x\":\"{body}\"}},\"password\":[\"{body}\"]}}"),
        body.clone(),
    ];
    for malformed in bodies {
        let request =
            http.post(format!("{url}/api/v1/auth/login")).header("content-type", "application/json");
        send(channels, request.body(malformed), false).await;
    }
    for path in PUBLIC_ENDPOINTS {
        send(channels, http.get(format!("{url}/{path}")), false).await;
    }
}

/// Runs the CLI commands, with text and with JSON output.
fn run_cli_commands(
    canaries: &mut Canaries,
    channels: &mut CapturedOutput,
    replicas: &LoggedReplicas,
    password: &str,
) {
    let url = &replicas.processes[0].1;
    for json in [false, true] {
        let user = CliUser::new();
        let mut run = |args: &[&str], input: &str, returns_secret: bool| {
            let args: Vec<&str> = args.iter().copied().chain(json.then_some("--json")).collect();
            let output = user.run_with_stdin(&args, input);
            channels.add("command", stderr(&output));
            if !returns_secret {
                channels.add("command", stdout(&output));
            }
            stdout(&output)
        };
        run(&["login", "--url", url, "--name", "admin", "--password-stdin"], password, false);
        let wrong_password = canaries.generate("wrong password at the command");
        run(&["login", "--url", url, "--name", "admin", "--password-stdin"], &wrong_password, false);
        let slug = if json { "one" } else { "two" };
        run(&["tenants", "create", slug], "", false);
        let created = run(&["keys", "create", "ci", "--role", "viewer", "--tenant", slug], "", true);
        let secret =
            created.split(|c: char| c.is_whitespace() || c == '"').find(|word| word.starts_with("ghk_"));
        canaries.add("service key at the command", secret.expect("the key is shown once").to_owned());
        let url = "https://hooks.example.invalid/";
        let added = run(&["webhooks", "add", url, "--tenant", slug], "", true);
        let secret =
            added.split(|c: char| c.is_whitespace() || c == '"').find(|word| word.starts_with("whsec_"));
        canaries.add("signing secret at the command", secret.expect("the secret is shown once").to_owned());
        let new = canaries.generate("password of a new user at the command");
        run(&["users", "create", slug, "--password-stdin"], &new, false);
        for args in [
            ["whoami"].as_slice(),
            &["context", "ls"],
            &["tenants", "ls"],
            &["keys", "ls", "--tenant", slug],
            &["webhooks", "ls", "--tenant", slug],
            &["members", "ls", "--tenant", slug],
            &["audit", "tail", "--tenant", slug],
            &["audit", "export", "--tenant", slug],
            &["doctor"],
            &["logout"],
            &["whoami"],
        ] {
            run(args, "", false);
        }
        let mut server = guildhall();
        server.args(["doctor", "--config", "/dev/null"]).args(json.then_some("--json"));
        let output = server.envs(replicas.environment.iter().map(|(name, value)| (*name, value))).output();
        let output = output.expect("the command runs");
        channels.add("command", [stdout(&output), stderr(&output)].concat());
    }
}

pub(crate) async fn capture_tables(channels: &mut CapturedOutput, db: &TestDb) {
    let mut sql = db.sql().await;
    let names = sql
        .texts("SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'")
        .await;
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        channels.add("tables", sql.texts(format!("SELECT t::text FROM {name} t")).await.join("\n"));
    }
    channels.add("audit", sql.texts("SELECT kind || body FROM journal_entries").await.join("\n"));
}

fn client() -> Client {
    let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
    Client::builder().no_proxy().build().expect("a client")
}

fn url_password(url: &SecretString) -> String {
    Url::parse(url.expose_secret()).expect("a valid URL").password().expect("a password").to_owned()
}

// covers: R14
#[tokio::test(flavor = "multi_thread")]
async fn no_input_secret_appears_in_any_output() {
    let db = TestDb::new().await;
    let (mut canaries, mut channels) = (Canaries(Vec::new()), CapturedOutput::default());
    canaries.add("password of PostgreSQL", url_password(&db.url()));
    canaries.add("password of NATS", url_password(&nats_url()));
    let kek = canaries.add(
        "key-encryption key",
        [subject_prefix(), subject_prefix()].map(|it| it[1..].to_owned()).concat(),
    );
    let nats_messages = capture_nats(&nats_url());
    let (endpoint, spans) = start_trace_collector();
    let replicas = LoggedReplicas::start(&db, &kek, endpoint);
    let password = canaries.generate("password");
    let mut init = guildhall();
    init.args(["init", "--password-stdin"])
        .envs(replicas.environment.iter().map(|(name, value)| (*name, value)));
    let init = CliUser::run_with_input(init, &password);
    assert!(init.status.success(), "{}", stderr(&init));
    channels.add("command", [stdout(&init), stderr(&init)].concat());

    let urls: Vec<String> = replicas.processes.iter().map(|(_, url)| url.clone()).collect();
    for url in &urls {
        exercise_api(&mut canaries, &mut channels, url, &password).await;
        send_malformed_requests(&mut canaries, &mut channels, url).await;
    }
    tokio::task::block_in_place(|| run_cli_commands(&mut canaries, &mut channels, &replicas, &password));
    capture_tables(&mut channels, &db).await;
    let prefix = replicas.environment[2].1.clone();
    replicas.stop(&mut channels);
    channels.add("messages", nats_messages.bytes());
    channels.add("spans", spans.bytes());

    // Public values appear on every channel, so each channel was really captured.
    let expected = [
        ("responses", TRACE),
        ("audit", "key.created"),
        ("command", "signed in to "),
        ("logs", TRACE),
        ("messages", &prefix),
        ("spans", "/api/v1/whoami"),
        ("tables", "Acme"),
    ];
    for (channel, text) in expected {
        assert!(channels.channels_containing(text).contains(&channel), "nothing was captured on {channel}");
    }
    assert_eq!(canaries.leaks(&channels), []);
}

#[test]
fn leak_check_finds_plain_and_hex_secrets_on_every_channel() {
    let mut canaries = Canaries(Vec::new());
    let secret = canaries.generate("password");
    for channel in ["logs", "tables", "responses", "messages", "spans", "command", "audit"] {
        for leaked in [format!("before {secret} after"), format!("\\\\x{}", hex::encode(&secret))] {
            let mut channels = CapturedOutput::default();
            channels.add(channel, "something else");
            assert_eq!(canaries.leaks(&channels), []);
            channels.add(channel, leaked);
            assert_eq!(canaries.leaks(&channels), [("password", channel)]);
        }
    }
}
