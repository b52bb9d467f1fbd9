//! Signing in through a real identity provider; begun on one replica, completed on the other.

use guildhall_testkit::{Node, Script, TestDb};
use serde_json::{Value, json};

use crate::support::browser::{Browser, SESSION};
use crate::support::oidc::{Parties, location};
use crate::support::{Setup, TestServer};

async fn who(browser: &mut Browser, server: &TestServer) -> Value {
    browser.get(server, "/api/v1/whoami").await.body
}

#[tokio::test]
async fn who_was_invited_gets_an_account_at_the_first_sign_in_and_the_same_at_the_next() {
    let mut parties = Parties::real().await;
    let (_, invitation) = parties.world.invitation(&parties.tenant, "developer").await;
    let mut browser = Browser::default();
    let query = format!("returnTo=/docs/%3Fa=b&invitation={invitation}");
    let done = parties.sign_in(&mut browser, &query, "ada").await;
    assert_eq!(done.status, 303, "{}", done.text);
    assert_eq!(done.header("location"), parties.world.one.url("/docs/?a=b"), "to the public address");
    assert_eq!(
        browser.cookies.keys().filter(|name| name.starts_with("__Host-")).collect::<Vec<_>>(),
        [SESSION]
    );
    let first = who(&mut browser, &parties.world.one).await;
    assert_eq!((&first["operator"], &first["tenants"][0]["role"]), (&json!(false), &json!("developer")));

    let mut another = Browser::default();
    let again = parties.sign_in(&mut another, "", "ada").await;
    assert_eq!(again.header("location"), parties.world.one.url("/"));
    assert_eq!(who(&mut another, &parties.world.one).await, first);
    assert_ne!(another.cookies[SESSION], browser.cookies[SESSION]);
    let names = parties.sql.texts("SELECT name FROM principals WHERE name LIKE 'Name of%'").await;
    assert_eq!(names, ["Name of ada"]);
    let login = "SELECT body FROM journal_entries WHERE kind = 'login.created' ORDER BY seq DESC LIMIT 1";
    let login: Value = serde_json::from_str(&parties.sql.texts(login).await[0]).expect("JSON");
    assert_eq!(login["detail"], json!({ "method": "oidc", "kind": "browser" }));
    assert_eq!(parties.sql.number("SELECT count(*) FROM oidc_flows").await, 0, "a sign-in is left over");
}

#[tokio::test]
async fn a_person_signs_in_with_a_real_browser_and_sees_who_they_are() {
    let parties = Parties::real().await;
    let (_, invitation) = parties.world.invitation(&parties.tenant, "viewer").await;
    let page = parties.world.one.url("/api/v1/whoami");
    let query = format!("returnTo=/api/v1/whoami&invitation={invitation}");
    let profile = tempfile::tempdir().expect("a folder");
    let told = json!({
        "url": parties.world.one.url(&format!("/api/v1/auth/oidc/start?{query}")),
        "login": "ada", "until": page, "profile": profile.path(),
    });
    let shown = tokio::task::spawn_blocking(move || Node::run(Script::Browser, &told)).await.expect("ran");
    assert_eq!(shown["url"], page);
    let who: Value = serde_json::from_str(shown["text"].as_str().expect("a page")).expect("JSON");
    assert_eq!((&who["kind"], &who["tenants"][0]["role"]), (&json!("user"), &json!("viewer")));
    let ours = shown["cookies"].as_array().expect("cookies").iter();
    let ours: Vec<_> =
        ours.filter(|cookie| cookie["name"].as_str().expect("a name").starts_with("__Host-")).collect();
    assert_eq!(ours.len(), 1, "{ours:?}");
    let cookie = ours[0];
    assert_eq!(
        [&cookie["name"], &cookie["path"], &cookie["secure"], &cookie["httpOnly"], &cookie["sameSite"]],
        [&json!(SESSION), &json!("/"), &json!(true), &json!(true), &json!("Lax")],
        "Chromium takes a Secure cookie of a plain address on this machine"
    );
    assert_eq!(shown["readable"], "", "a script can read a cookie");
}

#[tokio::test]
async fn a_server_without_a_provider_says_so() {
    let db = TestDb::new().await;
    let server = Setup::on(&db).start().await;
    for path in ["/api/v1/auth/oidc/start", "/api/v1/auth/oidc/callback?state=a&code=b"] {
        server.get(path).await.assert_failure(404, "not-found");
    }
    let body = json!({ "code": "a", "verifier": "b" });
    server.post("/api/v1/auth/handoff", body).await.assert_failure(404, "not-found");
}

#[tokio::test]
async fn a_provider_that_is_away_or_not_to_be_called_is_said_and_signs_nobody_in() {
    let db = TestDb::new().await;
    let setup = Setup::on(&db).with("oidc.client_id", "guildhall");
    let nobody = "http://127.0.0.1:9";
    let server = setup.clone().with("oidc.issuer", nobody).with("egress.allow", "127.0.0.0/8").start().await;
    server.get("/api/v1/auth/oidc/start").await.assert_failure(503, "infra-failed");
    // Without its range, this machine is not called at all.
    let provider = Node::start(Script::Twin, &json!({}));
    let issuer = provider.said["issuer"].as_str().expect("an issuer");
    let server = setup.with("oidc.issuer", issuer).start().await;
    server.get("/api/v1/auth/oidc/start").await.assert_failure(503, "infra-failed");
}

#[tokio::test]
async fn a_setting_that_cannot_be_used_ends_the_start_and_is_named() {
    let db = TestDb::new().await;
    for (settings, named) in [
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
        let setup = settings.into_iter().fold(Setup::on(&db), |setup, (key, value)| setup.with(key, value));
        let error = setup.try_start().await.expect_err(named);
        assert!(error.to_string().contains(named), "{error}");
    }
}

/// The attack: a link to the server's own sign-in that ends on a page of somebody else.
#[tokio::test]
async fn a_sign_in_ends_on_this_server_whatever_a_link_says() {
    let mut parties = Parties::lying().await;
    for elsewhere in [
        "https://evil.example",
        "//evil.example",
        "/%5Cevil.example",
        "%5C%5Cevil.example",
        "/%09/evil.example",
        "evil",
    ] {
        let path = format!("/api/v1/auth/oidc/start?returnTo={elsewhere}");
        parties.world.one.get(&path).await.assert_failure(400, "schema-invalid");
    }
    assert_eq!(parties.sql.number("SELECT count(*) FROM oidc_flows").await, 0);
    let mut browser = Browser::default();
    let asked = parties.begin(&mut browser, "returnTo=/.//evil.example").await;
    let redirect = asked.query_pairs().find(|(name, _)| name == "redirect_uri").expect("one").1.into_owned();
    assert_eq!(redirect, parties.world.one.url("/api/v1/auth/oidc/callback"));
    let (_, invitation) = parties.world.invitation(&parties.tenant, "viewer").await;
    let done = parties
        .sign_in(&mut browser, &format!("returnTo=/.//evil.example&invitation={invitation}"), "")
        .await;
    assert_eq!(
        location(&done).origin(),
        parties.world.one.url("/").parse::<reqwest::Url>().expect("one").origin()
    );
}
