//! Secrets go in everywhere; none may come out anywhere.

use std::time::Duration;

use guildhall_testkit::{TestDb, nats_url, subject_prefix};
use reqwest::{Client, Method};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use url::Url;

use crate::support::channels::{Channels, collector, tap_nats};
use crate::support::guildhall;
use crate::support::installation::Installation;
use crate::support::user::{User, stderr, stdout};

/// Stands in the trace id of requests: a value that every channel of a request may show.
const TRACE: &str = "c0ffee00c0ffee00c0ffee00c0ffee00";

/// Headers that a secret is put into.
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

/// What a server says of itself.
const PAGES: [&str; 7] = [
    "health",
    "health/live",
    "health/readiness",
    "metrics",
    "capabilities",
    ".well-known/jwks.json",
    "openapi.json",
];

/// What nobody may find again, each with a name of its own.
pub(crate) struct Canaries(pub(crate) Vec<(&'static str, String)>);

impl Canaries {
    /// Invents a secret: of letters alone, so that no encoding hides it.
    pub(crate) fn invent(&mut self, name: &'static str) -> String {
        let random = subject_prefix();
        let letters: String = random
            .chars()
            .map(|c| if c.is_ascii_digit() { (c as u8 - b'0' + b'g') as char } else { c })
            .collect();
        self.keep(name, format!("Canary{letters}"))
    }

    pub(crate) fn keep(&mut self, name: &'static str, value: String) -> String {
        self.0.push((name, value.clone()));
        value
    }

    pub(crate) fn leaks(&self, channels: &Channels) -> Vec<(&'static str, &'static str)> {
        let places = self.0.iter().map(|(name, value)| (*name, channels.holding(value)));
        places.flat_map(|(name, places)| places.into_iter().map(move |place| (name, place))).collect()
    }
}

/// Sends a request and keeps all of its answer, unless the answer is where a secret is handed out.
async fn send(channels: &mut Channels, request: reqwest::RequestBuilder, hands_out: bool) -> Value {
    let request = request.header("traceparent", format!("00-{TRACE}-00f067aa0ba902b7-01"));
    let answer = request.timeout(Duration::from_secs(20)).send().await.expect("an answer");
    channels.add("answers", format!("{} {:?}", answer.status(), answer.headers()));
    let body = answer.text().await.expect("a body");
    if !hands_out {
        channels.add("answers", &body);
    }
    serde_json::from_str(&body).unwrap_or(Value::Null)
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}")).to_owned()
}

/// Signs in, wrongly too, and does what people do. Every secret that is handed out is a canary from then on.
async fn people(canaries: &mut Canaries, channels: &mut Channels, url: &str, password: &str) {
    let http = client();
    let post = |path: &str, body: Value| http.post(format!("{url}{path}")).json(&body);
    let login = post("/api/v1/auth/login", json!({ "name": "admin", "password": password }));
    let tokens = send(channels, login, true).await;
    let access = canaries.keep("access token", text(&tokens, "accessToken"));
    canaries.keep("signature of an access token", access.rsplit('.').next().expect("a JWT").to_owned());
    let refresh = canaries.keep("refresh token", text(&tokens, "refreshToken"));
    let renewed =
        send(channels, post("/api/v1/auth/refresh", json!({ "refreshToken": refresh })), true).await;
    canaries.keep("next refresh token", text(&renewed, "refreshToken"));
    canaries.keep("next access token", text(&renewed, "accessToken"));

    let wrong = canaries.invent("wrong password");
    send(channels, post("/api/v1/auth/login", json!({ "name": "admin", "password": wrong })), false).await;
    let misplaced = canaries.invent("password typed as a name");
    send(channels, post("/api/v1/auth/login", json!({ "name": misplaced, "password": "x" })), false).await;
    let made_up = canaries.invent("refresh token that is none");
    send(channels, post("/api/v1/auth/refresh", json!({ "refreshToken": made_up })), false).await;
    let user = canaries.invent("password of a new user");
    let name = format!("ada{}", url.rsplit(':').next().expect("a port"));
    let request = post("/api/v1/users", json!({ "name": name, "password": user })).bearer_auth(&access);
    send(channels, request, false).await;

    let slug = format!("acme{}", url.rsplit(':').next().expect("a port"));
    let made = post("/api/v1/tenants", json!({ "slug": slug, "name": "Acme" })).bearer_auth(&access);
    let tenant = text(&send(channels, made, false).await, "id");
    let key = post(&format!("/api/v1/tenants/{tenant}/keys"), json!({ "name": "ci", "role": "developer" }));
    let key = send(channels, key.bearer_auth(&access), true).await;
    let secret = canaries.keep("service key", text(&key, "secret"));
    canaries.keep("secret part of a service key", secret.splitn(3, '_').nth(2).expect("parts").to_owned());
    profiles(canaries, channels, url, &tenant, &access).await;
    let query = canaries.invent("query of a page");
    for pair in [format!("{query}=1"), format!("limit={query}")] {
        let page = http.get(format!("{url}/api/v1/tenants/{tenant}/audit?{pair}"));
        send(channels, page.bearer_auth(&access), false).await;
    }
    for path in ["whoami".to_owned(), format!("tenants/{tenant}/audit"), format!("tenants/{tenant}/keys")] {
        send(channels, http.get(format!("{url}/api/v1/{path}")).bearer_auth(&secret), false).await;
    }
}

/// Gives a provider profile its credential, rightly and wrongly, looks at it everywhere, tries it, and takes it away.
async fn profiles(canaries: &mut Canaries, channels: &mut Channels, url: &str, tenant: &str, access: &str) {
    let http = client();
    let ask = |method: Method, path: &str| {
        let at = format!("{url}/api/v1/provider-profiles{path}?tenantId={tenant}");
        http.request(method, at).bearer_auth(access)
    };
    let put = |body: Value| ask(Method::PUT, "/codex/credential").json(&body);
    let credential = canaries.invent("credential of a provider");
    let kept = send(channels, put(json!({ "credential": credential, "model": "m" })), false).await;
    assert_eq!(kept["configured"], true, "{kept}");
    let other = canaries.invent("credential that is refused");
    for body in [
        json!({ "credential": format!("{other} {other}") }),
        json!({ "credential": { "value": other } }),
        json!({ "credential": "x", "baseUrl": format!("https://me:{other}@example.org/v1") }),
        json!({ "credential": "x", "baseUrl": format!("https://example.org/v1?key={other}") }),
        json!({ "credential": "x", "baseUrl": format!("https://10.0.0.1/{other}") }),
        json!({ "credential": "x", "model": format!("password={other}") }),
        json!({ "credential": "x", "wireApi": other }),
        json!({ "credential": "x", other.as_str(): "command" }),
    ] {
        let refused = send(channels, put(body), false).await;
        assert!(refused["failureKind"].is_string(), "{refused}");
    }
    send(channels, ask(Method::POST, "/codex/validate"), false).await;
    for path in ["", "/codex"] {
        send(channels, ask(Method::GET, path), false).await;
    }
    send(channels, ask(Method::DELETE, "/codex"), false).await;
}

/// Sends what is broken, with a secret in every place that a request has.
async fn attacks(canaries: &mut Canaries, channels: &mut Channels, url: &str) {
    let http = client();
    for name in HEADERS {
        let value = canaries.invent("header");
        let value = match name {
            "authorization" => format!("Bearer {value}"),
            // A refused host or origin is evidence and is written down; what stands before its `@` is not.
            "host" => format!("me:{value}@evil.example"),
            "origin" => format!("https://me:{value}@evil.example"),
            _ => value,
        };
        let request = http.post(format!("{url}/api/v1/auth/login")).header(name, value).body("{}");
        send(channels, request, false).await;
    }
    let (path, query, user) =
        (canaries.invent("path"), canaries.invent("query"), canaries.invent("id in a path"));
    let verb = canaries.invent("method");
    let invented = Method::from_bytes(verb.as_bytes()).expect("letters");
    for method in [Method::GET, Method::POST, Method::DELETE, invented] {
        send(channels, http.request(method.clone(), format!("{url}/{path}")), false).await;
        send(
            channels,
            http.request(method.clone(), format!("{url}/api/v1/whoami?token={query}&{query}=1")),
            false,
        )
        .await;
        send(channels, http.request(method, format!("{url}/api/v1/tenants/{user}/keys/{user}")), false).await;
    }
    let body = canaries.invent("body");
    let bodies = [
        format!("{{\"name\":\"{body}"),
        format!("{{\"{body}\":1,\"name\":\"x\",\"password\":\"y\"}}"),
        format!("{{\"name\":{{\"x\":\"{body}\"}},\"password\":[\"{body}\"]}}"),
        body.clone(),
    ];
    for broken in bodies {
        let request =
            http.post(format!("{url}/api/v1/auth/login")).header("content-type", "application/json");
        send(channels, request.body(broken), false).await;
    }
    for path in PAGES {
        send(channels, http.get(format!("{url}/{path}")), false).await;
    }
}

/// Does everything that the command can do, in both of its forms.
fn commands(canaries: &mut Canaries, channels: &mut Channels, installation: &Installation, password: &str) {
    let url = &installation.replicas[0].1;
    for json in [false, true] {
        let user = User::new();
        let mut run = |args: &[&str], input: &str, hands_out: bool| {
            let args: Vec<&str> = args.iter().copied().chain(json.then_some("--json")).collect();
            let output = user.run_with(&args, input);
            channels.add("command", stderr(&output));
            if !hands_out {
                channels.add("command", stdout(&output));
            }
            stdout(&output)
        };
        run(&["login", "--url", url, "--name", "admin", "--password-stdin"], password, false);
        let wrong = canaries.invent("wrong password at the command");
        run(&["login", "--url", url, "--name", "admin", "--password-stdin"], &wrong, false);
        let slug = if json { "one" } else { "two" };
        run(&["tenants", "create", slug], "", false);
        let made = run(&["keys", "create", "ci", "--role", "viewer", "--tenant", slug], "", true);
        let secret =
            made.split(|c: char| c.is_whitespace() || c == '"').find(|word| word.starts_with("ghk_"));
        canaries.keep("service key at the command", secret.expect("it is shown this once").to_owned());
        let new = canaries.invent("password of a new user at the command");
        run(&["users", "create", slug, "--password-stdin"], &new, false);
        for args in [
            ["whoami"].as_slice(),
            &["context", "ls"],
            &["tenants", "ls"],
            &["keys", "ls", "--tenant", slug],
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
        let output =
            server.envs(installation.environment.iter().map(|(name, value)| (*name, value))).output();
        let output = output.expect("ran");
        channels.add("command", [stdout(&output), stderr(&output)].concat());
    }
}

pub(crate) async fn tables(channels: &mut Channels, db: &TestDb) {
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
    let _already_there = rustls::crypto::aws_lc_rs::default_provider().install_default();
    Client::builder().no_proxy().build().expect("a client")
}

fn password_of(url: &SecretString) -> String {
    Url::parse(url.expose_secret()).expect("an address").password().expect("a password").to_owned()
}

// covers: R14
#[tokio::test(flavor = "multi_thread")]
async fn no_secret_that_goes_in_comes_out_anywhere() {
    let db = TestDb::new().await;
    let (mut canaries, mut channels) = (Canaries(Vec::new()), Channels::default());
    canaries.keep("password of PostgreSQL", password_of(&db.url()));
    canaries.keep("password of NATS", password_of(&nats_url()));
    let kek = canaries.keep(
        "key-encryption key",
        [subject_prefix(), subject_prefix()].map(|it| it[1..].to_owned()).concat(),
    );
    let messages = tap_nats(&nats_url());
    let (endpoint, spans) = collector();
    let installation = Installation::start(&db, &kek, endpoint);
    let password = canaries.invent("password");
    let mut init = guildhall();
    init.args(["init", "--password-stdin"])
        .envs(installation.environment.iter().map(|(name, value)| (*name, value)));
    let init = User::feed(init, &password);
    assert!(init.status.success(), "{}", stderr(&init));
    channels.add("command", [stdout(&init), stderr(&init)].concat());

    let urls: Vec<String> = installation.replicas.iter().map(|(_, url)| url.clone()).collect();
    for url in &urls {
        people(&mut canaries, &mut channels, url, &password).await;
        attacks(&mut canaries, &mut channels, url).await;
    }
    tokio::task::block_in_place(|| commands(&mut canaries, &mut channels, &installation, &password));
    tables(&mut channels, &db).await;
    let prefix = installation.environment[2].1.clone();
    installation.end(&mut channels);
    channels.add("messages", messages.bytes());
    channels.add("spans", spans.bytes());

    // What may be seen is seen on every channel: none of them was deaf.
    let shown = [
        ("answers", TRACE),
        ("audit", "key.created"),
        ("command", "signed in to "),
        ("logs", TRACE),
        ("messages", &prefix),
        ("spans", "/api/v1/whoami"),
        ("tables", "Acme"),
    ];
    for (channel, text) in shown {
        assert!(channels.holding(text).contains(&channel), "nothing was heard on {channel}");
    }
    assert_eq!(canaries.leaks(&channels), []);
}

#[test]
fn a_leak_on_any_channel_would_be_found_in_any_of_its_forms() {
    let mut canaries = Canaries(Vec::new());
    let secret = canaries.invent("password");
    for channel in ["logs", "tables", "answers", "messages", "spans", "command", "audit"] {
        for leaked in [format!("before {secret} after"), format!("\\\\x{}", hex::encode(&secret))] {
            let mut channels = Channels::default();
            channels.add(channel, "something else");
            assert_eq!(canaries.leaks(&channels), []);
            channels.add(channel, leaked);
            assert_eq!(canaries.leaks(&channels), [("password", channel)]);
        }
    }
}
