//! Sign-in through a real identity provider, started on one replica and completed on the other.

use guildhall_testkit::{NodeProcess, NodeScript, TestDb};
use serde_json::{Value, json};

use crate::support::browser::{Browser, SESSION_COOKIE};
use crate::support::oidc::{OidcFixture, location};
use crate::support::{Setup, TestServer};

async fn whoami(browser: &mut Browser, server: &TestServer) -> Value {
    browser.get(server, "/api/v1/whoami").await.body
}

#[tokio::test]
async fn invited_user_gets_one_account_over_several_sign_ins() {
    let mut fixture = OidcFixture::with_real_provider().await;
    let (_, invitation) = fixture.cluster.create_invitation(&fixture.tenant, "developer").await;
    let mut browser = Browser::default();
    let query = format!("returnTo=/docs/%3Fa=b&invitation={invitation}");
    let done = fixture.sign_in(&mut browser, &query, "ada").await;
    assert_eq!(done.status, 303, "{}", done.text);
    assert_eq!(
        done.header("location"),
        fixture.cluster.first.url("/docs/?a=b"),
        "the redirect goes to the public URL"
    );
    assert_eq!(
        browser.cookies.keys().filter(|name| name.starts_with("__Host-")).collect::<Vec<_>>(),
        [SESSION_COOKIE]
    );
    let first = whoami(&mut browser, &fixture.cluster.first).await;
    assert_eq!((&first["operator"], &first["tenants"][0]["role"]), (&json!(false), &json!("developer")));

    let mut another = Browser::default();
    let again = fixture.sign_in(&mut another, "", "ada").await;
    assert_eq!(again.header("location"), fixture.cluster.first.url("/"));
    assert_eq!(whoami(&mut another, &fixture.cluster.first).await, first);
    assert_ne!(another.cookies[SESSION_COOKIE], browser.cookies[SESSION_COOKIE]);
    let names = fixture.sql.texts("SELECT name FROM principals WHERE name LIKE 'Name of%'").await;
    assert_eq!(names, ["Name of ada"]);
    let login = "SELECT body FROM journal_entries WHERE kind = 'login.created' ORDER BY seq DESC LIMIT 1";
    let login: Value = serde_json::from_str(&fixture.sql.texts(login).await[0]).expect("JSON");
    assert_eq!(login["detail"], json!({ "method": "oidc", "kind": "browser" }));
    assert_eq!(
        fixture.sql.number("SELECT count(*) FROM oidc_flows").await,
        0,
        "a completed sign-in was not deleted"
    );
}

#[tokio::test]
async fn real_browser_signs_in_and_gets_one_session_cookie() {
    let fixture = OidcFixture::with_real_provider().await;
    let (_, invitation) = fixture.cluster.create_invitation(&fixture.tenant, "viewer").await;
    let page = fixture.cluster.first.url("/api/v1/whoami");
    let query = format!("returnTo=/api/v1/whoami&invitation={invitation}");
    let profile = tempfile::tempdir().expect("a folder");
    let input = json!({
        "url": fixture.cluster.first.url(&format!("/api/v1/auth/oidc/start?{query}")),
        "login": "ada", "until": page, "profile": profile.path(),
    });
    let page_shown = tokio::task::spawn_blocking(move || NodeProcess::run(NodeScript::Browser, &input))
        .await
        .expect("a finished script");
    assert_eq!(page_shown["url"], page);
    let whoami: Value = serde_json::from_str(page_shown["text"].as_str().expect("a page")).expect("JSON");
    assert_eq!((&whoami["kind"], &whoami["tenants"][0]["role"]), (&json!("user"), &json!("viewer")));
    let cookies = page_shown["cookies"].as_array().expect("cookies").iter();
    let cookies: Vec<_> =
        cookies.filter(|cookie| cookie["name"].as_str().expect("a name").starts_with("__Host-")).collect();
    assert_eq!(cookies.len(), 1, "{cookies:?}");
    let cookie = cookies[0];
    assert_eq!(
        [&cookie["name"], &cookie["path"], &cookie["secure"], &cookie["httpOnly"], &cookie["sameSite"]],
        [&json!(SESSION_COOKIE), &json!("/"), &json!(true), &json!(true), &json!("Lax")],
        "Chromium accepts a Secure cookie over http from loopback"
    );
    assert_eq!(page_shown["readable"], "", "a script can read a cookie");
}

#[tokio::test]
async fn oidc_routes_are_not_found_without_a_provider() {
    let db = TestDb::new().await;
    let server = Setup::new(&db).start().await;
    for path in ["/api/v1/auth/oidc/start", "/api/v1/auth/oidc/callback?state=a&code=b"] {
        server.get(path).await.assert_failure(404, "not-found");
    }
    let body = json!({ "code": "a", "verifier": "b" });
    server.post("/api/v1/auth/handoff", body).await.assert_failure(404, "not-found");
}

#[tokio::test]
async fn unreachable_or_blocked_provider_is_reported_as_infra_failed() {
    let db = TestDb::new().await;
    let setup = Setup::new(&db).with("oidc.client_id", "guildhall");
    let unreachable = "http://127.0.0.1:9";
    let server =
        setup.clone().with("oidc.issuer", unreachable).with("egress.allow", "127.0.0.0/8").start().await;
    server.get("/api/v1/auth/oidc/start").await.assert_failure(503, "infra-failed");
    // Loopback is blocked unless egress.allow contains it.
    let provider = NodeProcess::start(NodeScript::FaultyProvider, &json!({}));
    let issuer = provider.output["issuer"].as_str().expect("an issuer");
    let server = setup.with("oidc.issuer", issuer).start().await;
    server.get("/api/v1/auth/oidc/start").await.assert_failure(503, "infra-failed");
}

#[tokio::test]
async fn invalid_sign_in_setting_fails_start_with_its_key() {
    let db = TestDb::new().await;
    for (settings, key) in [
        (vec![("oidc.issuer", "http://accounts.example.org")], "oidc.issuer"),
        (vec![("oidc.issuer", "https://accounts.example.org")], "oidc.client_id"),
        (vec![("http.public_url", "http://guildhall.example.org")], "http.public_url"),
        (
            vec![("http.listen", "0.0.0.0:0"), ("oidc.issuer", "https://a.example"), ("oidc.client_id", "a")],
            "http.public_url",
        ),
        (
            vec![
                ("oidc.issuer", "https://a.example"),
                ("oidc.client_id", "a"),
                ("egress.allow", "everything"),
            ],
            "egress.allow",
        ),
    ] {
        let setup =
            settings.into_iter().fold(Setup::new(&db), |setup, (name, value)| setup.with(name, value));
        let error = setup.try_start().await.expect_err(key);
        assert!(error.to_string().contains(key), "{error}");
    }
}

/// The attack is an open redirect: a link to the sign-in that ends on a foreign page.
#[tokio::test]
async fn sign_in_redirects_to_this_server_only() {
    let mut fixture = OidcFixture::with_faulty_provider().await;
    for elsewhere in [
        "https://evil.example",
        "//evil.example",
        "/%5Cevil.example",
        "%5C%5Cevil.example",
        "/%09/evil.example",
        "evil",
    ] {
        let path = format!("/api/v1/auth/oidc/start?returnTo={elsewhere}");
        fixture.cluster.first.get(&path).await.assert_failure(400, "schema-invalid");
    }
    assert_eq!(fixture.sql.number("SELECT count(*) FROM oidc_flows").await, 0);
    let mut browser = Browser::default();
    let provider_url = fixture.start_sign_in(&mut browser, "returnTo=/.//evil.example").await;
    let redirect = provider_url.query_pairs().find(|(name, _)| name == "redirect_uri");
    let redirect = redirect.expect("a redirect URI").1.into_owned();
    assert_eq!(redirect, fixture.cluster.first.url("/api/v1/auth/oidc/callback"));
    let (_, invitation) = fixture.cluster.create_invitation(&fixture.tenant, "viewer").await;
    let done = fixture
        .sign_in(&mut browser, &format!("returnTo=/.//evil.example&invitation={invitation}"), "")
        .await;
    assert_eq!(
        location(&done).origin(),
        fixture.cluster.first.url("/").parse::<reqwest::Url>().expect("a URL").origin()
    );
}
