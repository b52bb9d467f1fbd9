//! Hosts of an issuer, each with a few public routes, and the discovery of its gateway.

use guildhall_server::{StartError, create_issuer};
use guildhall_testkit::TestDb;
use reqwest::header::{HOST, ORIGIN};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Setup, TestResponse, TestServer, read_response};

const DISCOVERY: &str = "/.well-known/aun-gateway";

async fn issuer(change: impl Fn(Setup) -> Setup) -> (TestServer, TempDir, TestDb) {
    let (db, folder) = (TestDb::new().await, tempfile::tempdir().expect("a folder"));
    let secrets = folder.path().join("secrets").display().to_string();
    let setup = Setup::new(&db).with("aun.issuer", "guild.example").with("secrets.folder", secrets);
    let setup = change(setup);
    assert!(create_issuer(&setup.config()).expect("created"));
    (setup.start().await, folder, db)
}

async fn get_from(server: &TestServer, host: &str, path: &str) -> TestResponse {
    let request = server.client.get(server.url(path)).header(HOST, host);
    read_response(request.send().await.expect("a response")).await
}

fn gateway(url: &str) -> Value {
    json!({ "gateways": [{ "url": url, "priority": 1 }] })
}

// covers: A27
#[tokio::test]
async fn hosts_of_the_issuer_serve_only_their_public_routes() {
    let (server, _folder, _db) = issuer(|setup| setup).await;
    let served = [
        ("alice.guild.example", DISCOVERY),
        ("gateway.guild.example:7443", DISCOVERY),
        ("GUILD.example", DISCOVERY),
        ("gateway.guild.example", "/pki/chain"),
        ("alice.guild.example", "/health"),
        ("alice.guild.example", "/health/live"),
        ("pki.guild.example", "/pki/chain"),
        ("pki.guild.example", "/root.crt"),
        ("pki.guild.example", "/trust-root.json"),
        ("ct.guild.example", "/sth"),
        ("ct.guild.example", "/entries?start=0&limit=1"),
    ];
    for (host, path) in served {
        assert_eq!(get_from(&server, host, path).await.status, 200, "{host}{path}");
    }
    let missing = [
        ("alice.guild.example", "/capabilities"),
        ("alice.guild.example", "/api/v1/whoami"),
        ("alice.guild.example", "/metrics"),
        ("alice.guild.example", "/openapi.json"),
        ("alice.guild.example", "/docs/"),
        ("alice.guild.example", "/agent.md"),
        ("alice.guild.example", "/sign-in/confirm"),
        ("guild.example", "/root.crt"),
        ("gateway.guild.example", "/nowhere"),
        ("pki.guild.example", DISCOVERY),
        ("pki.guild.example", "/health"),
        ("ct.guild.example", "/pki/chain"),
        ("ct.guild.example", "/nowhere"),
    ];
    for (host, path) in missing {
        let refused = get_from(&server, host, path).await;
        assert_eq!(
            (refused.status.as_u16(), refused.body["failureKind"].as_str()),
            (404, Some("not-found")),
            "{host}{path}"
        );
    }
    for host in ["a.b.guild.example", "guild.example.evil.example", "evil.example", "xguild.example"] {
        get_from(&server, host, DISCOVERY).await.assert_failure(403, "host-refused");
    }
}

#[tokio::test]
async fn pages_of_an_issuer_host_are_no_origin_of_the_server() {
    let (server, _folder, _db) = issuer(|setup| setup).await;
    let from = async |host: &str, origin: String| {
        let request = server.client.get(server.url(DISCOVERY)).header(HOST, host).header(ORIGIN, origin);
        read_response(request.send().await.expect("a response")).await
    };
    for scheme in ["http", "https"] {
        let host = "alice.guild.example";
        from(host, format!("{scheme}://{host}")).await.assert_failure(403, "origin-refused");
    }
    let own = server.address.to_string();
    assert_eq!(from(&own, format!("http://{own}")).await.status, 200);
}

#[tokio::test]
async fn server_that_is_not_an_issuer_has_no_issuer_hosts() {
    let db = TestDb::new().await;
    let server = Setup::new(&db).start().await;
    get_from(&server, "alice.guild.example", DISCOVERY).await.assert_failure(403, "host-refused");
    server.get(DISCOVERY).await.assert_failure(404, "not-found");
}

#[tokio::test]
async fn discovery_names_the_socket_as_clients_reach_it() {
    let (server, _folder, _db) = issuer(|setup| setup).await;
    let plain = format!("ws://{}/aun", server.address);
    assert_eq!(server.get(DISCOVERY).await.body, gateway(&plain));

    let public = |setup: Setup| setup.with("http.public_url", "https://guildhall.example.org:8443");
    let (server, _folder, _db) = issuer(public).await;
    assert_eq!(server.get(DISCOVERY).await.body, gateway("wss://guildhall.example.org:8443/aun"));

    let configured = |setup: Setup| public(setup).with("aun.gateway_url", "wss://sockets.example.org/aun");
    let (server, _folder, _db) = issuer(configured).await;
    assert_eq!(server.get(DISCOVERY).await.body, gateway("wss://sockets.example.org/aun"));

    let db = TestDb::new().await;
    let invalid = Setup::new(&db).with("aun.gateway_url", "ws://sockets.example.org/aun");
    assert!(matches!(invalid.try_start().await.err(), Some(StartError::GatewayUrl(_))));
}
