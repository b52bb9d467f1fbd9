//! Attacks on a sign-in through an identity provider. Each is refused without effect and recorded in the audit log.

use serde_json::json;

use crate::support::browser::{Browser, SESSION_COOKIE};
use crate::support::oidc::OidcFixture;

/// The attack is login CSRF: the callback of one user is opened in the browser of another.
#[tokio::test]
async fn callback_is_refused_in_another_browser() {
    let mut fixture = OidcFixture::with_real_provider().await;
    let (_, invitation) = fixture.cluster.create_invitation(&fixture.tenant, "viewer").await;
    let (mut mallory, mut stranger, mut victim) =
        (Browser::default(), Browser::default(), Browser::default());
    let provider_url = fixture.start_sign_in(&mut mallory, &format!("invitation={invitation}")).await;
    let stolen = fixture.authenticate(&mut mallory, provider_url, "mallory").await;
    let victim_url = fixture.start_sign_in(&mut victim, "").await;
    let before = fixture.account_counts().await;

    fixture.follow_callback(&mut stranger, &stolen).await.assert_failure(403, "sign-in-refused");
    fixture.follow_callback(&mut victim, &stolen).await.assert_failure(403, "sign-in-refused");
    assert_eq!(fixture.account_counts().await, before, "a refused sign-in changed the database");
    assert!(!victim.cookies.contains_key(SESSION_COOKIE), "the victim is signed in as another user");
    assert_eq!(
        fixture.refusal_reasons().await,
        [
            "the callback has no cookie of the browser that started the sign-in",
            "the callback belongs to a sign-in that another browser began (state)",
        ]
    );
    assert_eq!(
        fixture.follow_callback(&mut mallory, &stolen).await.status,
        303,
        "the callback is valid in its own browser"
    );
    let callback = fixture.authenticate(&mut victim, victim_url, "victim").await;
    let refused = fixture.follow_callback(&mut victim, &callback).await;
    assert_eq!(
        refused.body["message"],
        "you have no account here: ask an owner or operator of a tenant for an invitation"
    );
}

#[tokio::test]
async fn callback_is_valid_once_and_expires() {
    let mut fixture = OidcFixture::with_real_provider().await;
    let (_, invitation) = fixture.cluster.create_invitation(&fixture.tenant, "viewer").await;
    let mut browser = Browser::default();
    let provider_url = fixture.start_sign_in(&mut browser, &format!("invitation={invitation}")).await;
    let callback = fixture.authenticate(&mut browser, provider_url, "ada").await;
    let mut copy = browser.clone();
    assert_eq!(fixture.follow_callback(&mut browser, &callback).await.status, 303);
    let before = fixture.account_counts().await;
    fixture.follow_callback(&mut copy, &callback).await.assert_failure(403, "sign-in-refused");

    let provider_url = fixture.start_sign_in(&mut browser, "").await;
    let callback = fixture.authenticate(&mut browser, provider_url, "ada").await;
    fixture.sql.execute("UPDATE oidc_flows SET expires_at = now()").await;
    fixture.follow_callback(&mut browser, &callback).await.assert_failure(403, "sign-in-refused");
    assert_eq!(fixture.account_counts().await, before, "a refused sign-in changed the database");
    assert_eq!(fixture.refusal_reasons().await, ["the sign-in has expired, or was completed before"; 2]);
}

#[tokio::test]
async fn concurrent_callbacks_of_one_sign_in_create_one_login() {
    let mut fixture = OidcFixture::with_faulty_provider().await;
    let (_, invitation) = fixture.cluster.create_invitation(&fixture.tenant, "viewer").await;
    let mut browser = Browser::default();
    let provider_url = fixture.start_sign_in(&mut browser, &format!("invitation={invitation}")).await;
    let callback = fixture.authenticate(&mut browser, provider_url, "").await;
    let (mut one, mut other) = (browser.clone(), browser);
    let (first, second) = tokio::join!(
        fixture.follow_callback(&mut one, &callback),
        fixture.follow_callback(&mut other, &callback)
    );
    let mut statuses = [first.status.as_u16(), second.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 403]);
    assert_eq!(fixture.sql.number("SELECT count(*) FROM logins WHERE kind = 'browser'").await, 1);
}

/// The attacker controls the provider or the connection to it.
#[tokio::test]
async fn invalid_id_token_or_callback_is_refused_with_its_reason() {
    let mut fixture = OidcFixture::with_faulty_provider().await;
    let (_, invitation) = fixture.cluster.create_invitation(&fixture.tenant, "viewer").await;
    let before = fixture.account_counts().await;
    let faults = [
        (
            json!({ "claims": { "nonce": "of another sign-in" } }),
            "the ID token belongs to another sign-in (nonce)",
        ),
        (json!({ "claims": { "nonce": null } }), "the ID token belongs to another sign-in (nonce)"),
        (json!({ "key": "other" }), "the ID token's signature is wrong"),
        (
            json!({ "claims": { "iss": "https://evil.example" } }),
            "the ID token was issued by another provider",
        ),
        (json!({ "claims": { "aud": "another" } }), "the ID token is for another client"),
        (json!({ "claims": { "exp": 1 } }), "the ID token has expired"),
        (json!({ "answer": { "iss": "https://evil.example" } }), "the callback names another issuer"),
        (json!({ "answer": { "code": "stolen elsewhere" } }), "the provider did not accept the code"),
        (
            json!({ "answer": { "code": null, "error": "access_denied" } }),
            "the provider refused: access_denied",
        ),
    ];
    for (fault, _) in &faults {
        fixture.inject_fault(fault).await;
        let mut browser = Browser::default();
        let refused = fixture.sign_in(&mut browser, &format!("invitation={invitation}"), "").await;
        refused.assert_failure(403, "sign-in-refused");
        assert!(!browser.cookies.contains_key(SESSION_COOKIE), "{fault}");
    }
    assert_eq!(fixture.account_counts().await, before, "a refused sign-in changed the database");
    assert_eq!(fixture.refusal_reasons().await, faults.each_ref().map(|(_, reason)| (*reason).to_owned()));
    fixture.inject_fault(&json!({})).await;
    let mut browser = Browser::default();
    let done = fixture.sign_in(&mut browser, &format!("invitation={invitation}"), "").await;
    assert_eq!(done.status, 303, "a refused sign-in used up the invitation: {}", done.text);
}

#[tokio::test]
async fn discovery_document_of_another_issuer_is_rejected() {
    let fixture = OidcFixture::with_faulty_provider().await;
    fixture.inject_fault(&json!({ "issuer": "https://accounts.example.org" })).await;
    fixture.cluster.first.get("/api/v1/auth/oidc/start").await.assert_failure(503, "infra-failed");
}

/// The attack: an account at the provider with the name and email address of an existing local account.
#[tokio::test]
async fn matching_name_and_email_do_not_link_to_an_existing_account() {
    let mut fixture = OidcFixture::with_faulty_provider().await;
    let ada = fixture.cluster.create_user("ada").await;
    fixture.cluster.set_role(&fixture.tenant, &ada, "owner").await;
    // An invitation for the same email address must not be used without its secret.
    fixture.cluster.create_invitation(&fixture.tenant, "owner").await;
    let claims = json!({
        "sub": "7", "name": "ada", "preferred_username": "ada", "email": "somebody@example.org", "email_verified": true,
    });
    fixture.inject_fault(&json!({ "claims": claims })).await;
    let before = fixture.account_counts().await;
    let mut browser = Browser::default();
    fixture.sign_in(&mut browser, "", "").await.assert_failure(403, "sign-in-refused");
    assert_eq!(fixture.account_counts().await, before);
    let reason = fixture.refusal_reasons().await.remove(0);
    assert!(reason.starts_with("no account is linked to subject 7 of http://localhost:"), "{reason}");

    let (_, invitation) = fixture.cluster.create_invitation(&fixture.tenant, "viewer").await;
    let done = fixture.sign_in(&mut browser, &format!("invitation={invitation}"), "").await;
    assert_eq!(done.status, 303, "{}", done.text);
    let whoami = browser.get(&fixture.cluster.first, "/api/v1/whoami").await.body;
    assert_ne!(whoami["principal"], ada.principal.as_str());
    assert_eq!(whoami["tenants"][0]["role"], "viewer");
}

#[tokio::test]
async fn used_invitation_and_disabled_account_are_refused() {
    let mut fixture = OidcFixture::with_faulty_provider().await;
    let (_, invitation) = fixture.cluster.create_invitation(&fixture.tenant, "viewer").await;
    let query = format!("invitation={invitation}");
    assert_eq!(fixture.sign_in(&mut Browser::default(), &query, "").await.status, 303);
    let before = fixture.account_counts().await;
    fixture.inject_fault(&json!({ "claims": { "sub": "somebody else" } })).await;
    fixture.sign_in(&mut Browser::default(), &query, "").await.assert_failure(403, "sign-in-refused");
    fixture.inject_fault(&json!({})).await;
    fixture
        .sql
        .execute(
            "UPDATE principals SET disabled_at = now() WHERE id IN (SELECT principal FROM login_methods)",
        )
        .await;
    fixture.sign_in(&mut Browser::default(), "", "").await.assert_failure(403, "sign-in-refused");
    assert_eq!(fixture.account_counts().await, before);
    assert_eq!(
        fixture.refusal_reasons().await,
        ["the invitation is invalid or has expired", "the account is disabled"]
    );
}

#[tokio::test]
async fn database_stores_no_secret_of_a_pending_sign_in() {
    let mut fixture = OidcFixture::with_faulty_provider().await;
    let (_, invitation) = fixture.cluster.create_invitation(&fixture.tenant, "viewer").await;
    let mut browser = Browser::default();
    let provider_url = fixture.start_sign_in(&mut browser, &format!("invitation={invitation}")).await;
    let rows = fixture.sql.texts("SELECT t::text FROM oidc_flows t").await.join("\n");
    let secrets = provider_url.query_pairs().filter(|(name, _)| ["state", "nonce"].contains(&name.as_ref()));
    let secrets = secrets.map(|(_, value)| value.into_owned());
    let cookie = browser.cookies["__Host-guildhall-signin"].clone();
    for secret in secrets.chain([cookie[37..].to_owned(), invitation[37..].to_owned()]) {
        assert!(!rows.contains(&secret), "{rows}");
    }
}
