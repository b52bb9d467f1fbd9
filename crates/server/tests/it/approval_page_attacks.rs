//! Attacks on the page on which people answer questions of agents.

use reqwest::Method;
use serde_json::json;

use crate::support::browser::{Browser, origin_of};
use crate::support::cluster::PASSWORD;
use crate::support::page::{PageReader, answer_form, buttons};
use crate::support::question_fixture::QuestionFixture;

const MISSING: &str = "apr_01920000000070008000000000000000";

/// The attack is an open redirect: a link to the sign-in that ends on a foreign page.
#[tokio::test]
async fn sign_in_form_leads_to_no_other_page() {
    let fixture = QuestionFixture::new().await;
    let server = &fixture.cluster.second;
    let (origin, mut reader) = (origin_of(server), PageReader::anonymous());
    let form = format!("name=ada&password={}&next=https://evil.example", PASSWORD.replace(' ', "+"));
    for target in [
        "https:%2F%2Fevil.example",
        "%2F%2Fevil.example",
        "%5C%5Cevil.example",
        "apr_0192000000007000800000000000000g",
        "apr_01920000000070008000000000000000%2F..%2F..%2F%2Fevil.example",
        "apr_01920000000070008000000000000000%0D%0Alocation:%20x",
        "APR_01920000000070008000000000000000",
        "run_01920000000070008000000000000000",
    ] {
        let url = server.url(&format!("/approve/{target}/sign-in"));
        let refused = reader.browser.submit_form(&reader.client, &url, Some(&origin), form.clone()).await;
        let found = (refused.status.as_u16(), refused.header("location"), refused.text.contains("evil"));
        assert_eq!(found, (404, "", false), "{target}: {}", refused.text);
        let shown = reader.browser.get(server, &format!("/approve/{target}")).await;
        assert_eq!((shown.status.as_u16(), shown.text.contains("<form")), (404, false), "{target}");
    }
    assert!(reader.browser.cookies.is_empty(), "a refused form signed in");
    let url = server.url(&format!("/approve/{MISSING}/sign-in?next=//evil.example&returnTo=//evil.example"));
    let done = reader.browser.submit_form(&reader.client, &url, Some(&origin), form).await;
    assert_eq!((done.status.as_u16(), done.header("location")), (303, &*format!("/approve/{MISSING}")));
}

/// The attack: a page of another site signs the victim in with the attacker's account.
#[tokio::test]
async fn sign_in_form_of_another_site_is_refused() {
    let fixture = QuestionFixture::new().await;
    let (server, mut reader) = (&fixture.cluster.first, PageReader::anonymous());
    let url = server.url(&format!("/approve/{MISSING}/sign-in"));
    let form = format!("name=ada&password={}", PASSWORD.replace(' ', "+"));
    for origin in
        [None, Some("null"), Some("https://evil.example"), Some(&*origin_of(&fixture.cluster.second))]
    {
        let refused = reader.browser.submit_form(&reader.client, &url, origin, form.clone()).await;
        assert_eq!(refused.status, 403, "{origin:?}: {}", refused.text);
    }
    assert!(reader.browser.cookies.is_empty());
}

#[tokio::test]
async fn answer_without_a_session_is_not_taken() {
    let fixture = QuestionFixture::new().await;
    let server = &fixture.cluster.first;
    let approval = fixture.create_question("a", "touch a").await;
    let page = PageReader::signed_in(server, "ada").await.read(server, &approval).await;
    let form = answer_form(&page, "yes");
    let mut stranger = PageReader::anonymous();
    for session in [None, Some("ghb_forged")] {
        stranger.browser = Browser::default();
        stranger
            .browser
            .cookies
            .extend(session.map(|session| ("__Host-guildhall".to_owned(), session.to_owned())));
        let answered = stranger.submit(server, &approval, form.clone()).await;
        assert_eq!((answered.status.as_u16(), buttons(&answered)), (200, 0), "{}", answered.text);
        assert!(answered.text.contains("type=\"password\""), "a sign-in form: {}", answered.text);
    }
    // A token of the API is no session.
    let url = server.url(&format!("/approve/{approval}"));
    let bearer = format!("Bearer {}", fixture.ada.token);
    let (origin, mut api) = (origin_of(server), PageReader::anonymous());
    let headers = [("origin", origin.as_str()), ("authorization", bearer.as_str())];
    let answered = api.browser.submit_form_with(&api.client, &url, &headers, form).await;
    assert!(answered.text.contains("type=\"password\""), "{}", answered.text);
    assert_eq!(fixture.status(&approval).await, "pending");
}

/// The attack is CSRF: a page of another site makes the browser of an approver send the form.
#[tokio::test]
async fn answer_needs_own_origin_and_csrf_token_of_the_session() {
    let fixture = QuestionFixture::new().await;
    let (first, second) = (&fixture.cluster.first, &fixture.cluster.second);
    let approval = fixture.create_question("a", "touch a").await;
    let mut ada = PageReader::signed_in(first, "ada").await;
    let other = PageReader::signed_in(first, "ada").await.read(first, &approval).await;
    let page = ada.read(first, &approval).await;
    let (right, of_other) = (answer_form(&page, "yes"), answer_form(&other, "yes"));
    assert_ne!(right, of_other);
    let (own, elsewhere) = (origin_of(first), origin_of(second));
    let url = first.url(&format!("/approve/{approval}"));
    let without_token = right.split_once('&').expect("fields").1.to_owned();
    for (origin, form) in [
        (None, right.clone()),
        (Some("null"), right.clone()),
        (Some("https://evil.example"), right.clone()),
        (Some(elsewhere.as_str()), right.clone()),
        (Some(own.as_str()), without_token.clone()),
        (Some(own.as_str()), format!("csrf=&{without_token}")),
        (Some(own.as_str()), format!("csrf=guessed&{right}")),
        (Some(own.as_str()), of_other),
    ] {
        let refused = ada.browser.submit_form(&ada.client, &url, origin, form.clone()).await;
        assert_eq!(refused.status, 403, "{origin:?} {form}: {}", refused.text);
    }
    let token = right.split_once('&').expect("fields").0.trim_start_matches("csrf=").to_owned();
    let headers = [("origin", own.as_str()), ("x-guildhall-csrf", token.as_str())];
    let in_header = ada.browser.submit_form_with(&ada.client, &url, &headers, without_token).await;
    assert_eq!(in_header.status, 403, "the token belongs into the form");
    assert_eq!(fixture.status(&approval).await, "pending");
    let refusals = "SELECT count(*) FROM journal_entries WHERE kind = 'request.csrf_refused'";
    assert!(fixture.cluster.db.sql().await.number(refusals).await > 0);
    assert_eq!(ada.submit(first, &approval, right).await.status, 303);
}

/// The attack: a link in a message, or a program that loads previews of links.
#[tokio::test]
async fn reading_the_page_decides_nothing() {
    let fixture = QuestionFixture::new().await;
    let server = &fixture.cluster.second;
    let approval = fixture.create_question("a", "touch a").await;
    let before = fixture.get(&approval).await;
    let mut ada = PageReader::signed_in(server, "ada").await;
    let form = answer_form(&ada.read(server, &approval).await, "yes");
    let path = format!("/approve/{approval}?{form}");
    assert_eq!(buttons(&ada.browser.get(server, &path).await), 2);
    assert_eq!(ada.browser.send(server, Method::HEAD, &path, &[], None).await.status, 200);
    let origin = origin_of(server);
    for method in [Method::PUT, Method::PATCH, Method::DELETE] {
        let refused = ada.browser.send(server, method, &path, &[("origin", &origin)], None).await;
        assert_eq!(refused.status, 405, "{}", refused.text);
    }
    let empty = ada.browser.submit_form(&ada.client, &server.url(&path), Some(&origin), String::new()).await;
    assert_eq!(empty.status, 403, "the query is no form: {}", empty.text);
    assert_eq!(fixture.get(&approval).await, before);
}

#[tokio::test]
async fn answer_to_another_text_is_not_taken() {
    let fixture = QuestionFixture::new().await;
    let (first, second) = (&fixture.cluster.first, &fixture.cluster.second);
    let (harmless, harmful) =
        (fixture.create_question("a", "ls").await, fixture.create_question("b", "rm -rf ~").await);
    let mut ada = PageReader::signed_in(first, "ada").await;
    let page = ada.read(first, &harmless).await;
    let refused = ada.press(second, &harmful, &page, "yes").await;
    assert_eq!((refused.status.as_u16(), buttons(&refused)), (409, 2), "{}", refused.text);
    assert!(refused.text.contains("it was for another text") && refused.text.contains("rm -rf ~"));
    let unknown = answer_form(&page, "yes").replace("option=yes", "option=always");
    assert_eq!(ada.submit(second, &harmless, unknown).await.status, 400);
    for approval in [&harmless, &harmful] {
        assert_eq!(fixture.status(approval).await, "pending");
    }
}

#[tokio::test]
async fn question_of_another_tenant_looks_like_a_missing_one() {
    let fixture = QuestionFixture::new().await;
    let (first, second) = (&fixture.cluster.first, &fixture.cluster.second);
    let approval = fixture.create_question("a", "touch secret").await;
    let ours = fixture.cluster.create_tenant("ours").await;
    let mallory = fixture.cluster.create_user("mallory").await;
    fixture.cluster.set_role(&ours, &mallory, "owner").await;
    let form = answer_form(&PageReader::signed_in(first, "ada").await.read(first, &approval).await, "yes");
    let (mut mallory, csrf) = (PageReader::anonymous(), Browser::sign_in(first, "mallory").await);
    mallory.browser = csrf.0;
    let form = format!("csrf={}&{}", csrf.1, form.split_once('&').expect("fields").1);
    let mut seen = Vec::new();
    for id in [approval.as_str(), MISSING] {
        let read = mallory.read(second, id).await;
        let answered = mallory.submit(second, id, form.clone()).await;
        for response in [&read, &answered] {
            assert_eq!((response.status.as_u16(), response.text.contains("secret")), (404, false));
        }
        seen.push([read.text.replace(id, "ID"), answered.text.replace(id, "ID")]);
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(fixture.status(&approval).await, "pending");
}

#[tokio::test]
async fn member_who_may_not_answer_sees_no_buttons_and_is_refused() {
    let fixture = QuestionFixture::new().await;
    let (first, second) = (&fixture.cluster.first, &fixture.cluster.second);
    let approval = fixture.create_question("a", "touch a").await;
    let (mut ada, mut ben) =
        (PageReader::signed_in(first, "ada").await, PageReader::signed_in(first, "ben").await);
    let (adas, bens) = (ada.read(first, &approval).await, ben.read(first, &approval).await);
    assert_eq!((buttons(&adas), buttons(&bens)), (2, 2));
    fixture.cluster.set_role(&fixture.tenant.id, &fixture.ada, "developer").await;
    fixture.cluster.set_role(&fixture.tenant.id, &fixture.ben, "viewer").await;
    for (person, old) in [(&mut ada, &adas), (&mut ben, &bens)] {
        let page = person.read(second, &approval).await;
        assert_eq!((page.status.as_u16(), buttons(&page)), (200, 0), "{}", page.text);
        assert!(page.text.contains("You cannot answer: only who created the run"), "{}", page.text);
        let refused = person.press(second, &approval, old, "yes").await;
        assert_eq!((refused.status.as_u16(), buttons(&refused)), (403, 0), "{}", refused.text);
    }
    assert_eq!(fixture.status(&approval).await, "pending");
}

#[tokio::test]
async fn local_only_question_is_not_answered_through_a_proxy() {
    let fixture = QuestionFixture::new().await;
    let (first, second) = (&fixture.cluster.first, &fixture.cluster.second);
    fixture.set_policy(json!({ "mode": "local-only" })).await;
    let approval = fixture.create_question("a", "touch a").await;
    let mut ada = PageReader::signed_in(first, "ada").await;
    let page = ada.read(first, &approval).await;
    assert_eq!(buttons(&page), 2, "from the same machine");
    let proxied = ada.read_with(second, &approval, &[("x-forwarded-for", "127.0.0.1")]).await;
    assert_eq!(buttons(&proxied), 0);
    assert!(proxied.text.contains("from the server&#39;s own machine"), "{}", proxied.text);
    let (url, origin) = (second.url(&format!("/approve/{approval}")), origin_of(second));
    let headers = [("origin", origin.as_str()), ("via", "1.1 proxy")];
    let form = answer_form(&page, "yes");
    let refused = ada.browser.submit_form_with(&ada.client, &url, &headers, form).await;
    assert_eq!((refused.status.as_u16(), buttons(&refused)), (403, 0), "{}", refused.text);
    assert_eq!(fixture.status(&approval).await, "pending");
    assert_eq!(ada.press(second, &approval, &page, "yes").await.status, 303);
}
