//! Attacks on a sign-in through an identity provider: each is refused, changes nothing, and stands in the audit log.

use serde_json::json;

use crate::support::browser::{Browser, SESSION};
use crate::support::oidc::Parties;

/// The attack: somebody signs in as themselves, and makes another browser complete it (or the other way round).
#[tokio::test]
async fn an_answer_fits_the_browser_that_began_and_no_other() {
    let mut parties = Parties::real().await;
    let (_, invitation) = parties.world.invitation(&parties.tenant, "viewer").await;
    let (mut mallory, mut stranger, mut victim) =
        (Browser::default(), Browser::default(), Browser::default());
    let asked = parties.begin(&mut mallory, &format!("invitation={invitation}")).await;
    let stolen = parties.at_provider(&mut mallory, asked, "mallory").await;
    let own = parties.begin(&mut victim, "").await;
    let before = parties.facts().await;

    parties.come_back(&mut stranger, &stolen).await.assert_failure(403, "sign-in-refused");
    parties.come_back(&mut victim, &stolen).await.assert_failure(403, "sign-in-refused");
    assert_eq!(parties.facts().await, before, "something was done all the same");
    assert!(!victim.cookies.contains_key(SESSION), "the victim is signed in as somebody else");
    assert_eq!(
        parties.reasons().await,
        [
            "the answer came without the cookie of the browser that began the sign-in",
            "the answer is of a sign-in that another browser began (state)",
        ]
    );
    assert_eq!(parties.come_back(&mut mallory, &stolen).await.status, 303, "it was good where it began");
    let callback = parties.at_provider(&mut victim, own, "victim").await;
    let refused = parties.come_back(&mut victim, &callback).await;
    assert_eq!(
        refused.body["message"],
        "you have no account here: ask an owner or operator of a tenant for an invitation"
    );
}

#[tokio::test]
async fn an_answer_is_good_once_and_only_for_ten_minutes() {
    let mut parties = Parties::real().await;
    let (_, invitation) = parties.world.invitation(&parties.tenant, "viewer").await;
    let mut browser = Browser::default();
    let asked = parties.begin(&mut browser, &format!("invitation={invitation}")).await;
    let callback = parties.at_provider(&mut browser, asked, "ada").await;
    let mut copy = browser.clone();
    assert_eq!(parties.come_back(&mut browser, &callback).await.status, 303);
    let before = parties.facts().await;
    parties.come_back(&mut copy, &callback).await.assert_failure(403, "sign-in-refused");

    let asked = parties.begin(&mut browser, "").await;
    let callback = parties.at_provider(&mut browser, asked, "ada").await;
    parties.sql.execute("UPDATE oidc_flows SET expires_at = now()").await;
    parties.come_back(&mut browser, &callback).await.assert_failure(403, "sign-in-refused");
    assert_eq!(parties.facts().await, before, "something was done all the same");
    assert_eq!(parties.reasons().await, ["the sign-in has expired, or was completed before"; 2]);
}

#[tokio::test]
async fn two_answers_of_one_sign_in_at_once_sign_in_once() {
    let mut parties = Parties::lying().await;
    let (_, invitation) = parties.world.invitation(&parties.tenant, "viewer").await;
    let mut browser = Browser::default();
    let asked = parties.begin(&mut browser, &format!("invitation={invitation}")).await;
    let callback = parties.at_provider(&mut browser, asked, "").await;
    let (mut one, mut other) = (browser.clone(), browser);
    let (first, second) =
        tokio::join!(parties.come_back(&mut one, &callback), parties.come_back(&mut other, &callback));
    let mut statuses = [first.status.as_u16(), second.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 403]);
    assert_eq!(parties.sql.number("SELECT count(*) FROM logins WHERE kind = 'browser'").await, 1);
}

/// The provider is controlled by the attacker, or somebody stands between it and the server.
#[tokio::test]
async fn what_does_not_check_signs_nobody_in() {
    let mut parties = Parties::lying().await;
    let (_, invitation) = parties.world.invitation(&parties.tenant, "viewer").await;
    let before = parties.facts().await;
    let lies = [
        (
            json!({ "claims": { "nonce": "of another sign-in" } }),
            "the ID token is of another sign-in (nonce)",
        ),
        (json!({ "claims": { "nonce": null } }), "the ID token is of another sign-in (nonce)"),
        (json!({ "key": "other" }), "the ID token's signature is wrong"),
        (
            json!({ "claims": { "iss": "https://evil.example" } }),
            "the ID token was issued by another provider",
        ),
        (json!({ "claims": { "aud": "another" } }), "the ID token is for another client"),
        (json!({ "claims": { "exp": 1 } }), "the ID token has expired"),
        (json!({ "answer": { "iss": "https://evil.example" } }), "the answer names another issuer"),
        (json!({ "answer": { "code": "stolen elsewhere" } }), "the provider did not take the code"),
        (
            json!({ "answer": { "code": null, "error": "access_denied" } }),
            "the provider refused: access_denied",
        ),
    ];
    for (fault, _) in &lies {
        parties.fault(fault).await;
        let mut browser = Browser::default();
        let refused = parties.sign_in(&mut browser, &format!("invitation={invitation}"), "").await;
        refused.assert_failure(403, "sign-in-refused");
        assert!(!browser.cookies.contains_key(SESSION), "{fault}");
    }
    assert_eq!(parties.facts().await, before, "something was done all the same");
    assert_eq!(parties.reasons().await, lies.each_ref().map(|(_, reason)| (*reason).to_owned()));
    parties.fault(&json!({})).await;
    let mut browser = Browser::default();
    let done = parties.sign_in(&mut browser, &format!("invitation={invitation}"), "").await;
    assert_eq!(done.status, 303, "the invitation was used up: {}", done.text);
}

#[tokio::test]
async fn a_provider_that_speaks_for_another_is_not_asked() {
    let parties = Parties::lying().await;
    parties.fault(&json!({ "issuer": "https://accounts.example.org" })).await;
    parties.world.one.get("/api/v1/auth/oidc/start").await.assert_failure(503, "infra-failed");
}

/// The attack: an account at the provider with the name and the address of somebody who has an account here.
#[tokio::test]
async fn the_name_and_the_address_of_another_open_nothing_of_theirs() {
    let mut parties = Parties::lying().await;
    let ada = parties.world.user("ada").await;
    parties.world.member(&parties.tenant, &ada, "owner").await;
    // It is for the same address, and stays another's.
    parties.world.invitation(&parties.tenant, "owner").await;
    let claims = json!({
        "sub": "7", "name": "ada", "preferred_username": "ada", "email": "somebody@example.org", "email_verified": true,
    });
    parties.fault(&json!({ "claims": claims })).await;
    let before = parties.facts().await;
    let mut browser = Browser::default();
    parties.sign_in(&mut browser, "", "").await.assert_failure(403, "sign-in-refused");
    assert_eq!(parties.facts().await, before);
    let reason = parties.reasons().await.remove(0);
    assert!(reason.starts_with("nobody here is subject 7 of http://localhost:"), "{reason}");

    let (_, invitation) = parties.world.invitation(&parties.tenant, "viewer").await;
    let done = parties.sign_in(&mut browser, &format!("invitation={invitation}"), "").await;
    assert_eq!(done.status, 303, "{}", done.text);
    let who = browser.get(&parties.world.one, "/api/v1/whoami").await.body;
    assert_ne!(who["principal"], ada.principal.as_str());
    assert_eq!(who["tenants"][0]["role"], "viewer");
}

#[tokio::test]
async fn an_invitation_that_was_used_lets_no_second_subject_in_and_a_disabled_account_stays_out() {
    let mut parties = Parties::lying().await;
    let (_, invitation) = parties.world.invitation(&parties.tenant, "viewer").await;
    let query = format!("invitation={invitation}");
    assert_eq!(parties.sign_in(&mut Browser::default(), &query, "").await.status, 303);
    let before = parties.facts().await;
    parties.fault(&json!({ "claims": { "sub": "somebody else" } })).await;
    parties.sign_in(&mut Browser::default(), &query, "").await.assert_failure(403, "sign-in-refused");
    parties.fault(&json!({})).await;
    parties
        .sql
        .execute(
            "UPDATE principals SET disabled_at = now() WHERE id IN (SELECT principal FROM login_methods)",
        )
        .await;
    parties.sign_in(&mut Browser::default(), "", "").await.assert_failure(403, "sign-in-refused");
    assert_eq!(parties.facts().await, before);
    assert_eq!(
        parties.reasons().await,
        ["the invitation is not valid, or no longer", "the account is disabled"]
    );
}

#[tokio::test]
async fn the_database_holds_nothing_that_completes_a_sign_in() {
    let mut parties = Parties::lying().await;
    let (_, invitation) = parties.world.invitation(&parties.tenant, "viewer").await;
    let mut browser = Browser::default();
    let asked = parties.begin(&mut browser, &format!("invitation={invitation}")).await;
    let rows = parties.sql.texts("SELECT t::text FROM oidc_flows t").await.join("\n");
    let secrets = asked.query_pairs().filter(|(name, _)| ["state", "nonce"].contains(&name.as_ref()));
    let secrets = secrets.map(|(_, value)| value.into_owned());
    let cookie = browser.cookies["__Host-guildhall-signin"].clone();
    for secret in secrets.chain([cookie[37..].to_owned(), invitation[37..].to_owned()]) {
        assert!(!rows.contains(&secret), "{rows}");
    }
}
