//! The page on which people answer questions of agents, on two replicas and in a real browser.

use guildhall_testkit::{NodeProcess, NodeScript};
use serde_json::{Value, json};

use crate::support::browser::origin_of;
use crate::support::cluster::PASSWORD;
use crate::support::oidc::OidcFixture;
use crate::support::page::{PageReader, answer_form, buttons};
use crate::support::question_fixture::QuestionFixture;
use crate::support::runs::command_question;

const PAGE_HEADERS: [&str; 6] = [
    "content-type",
    "x-frame-options",
    "cache-control",
    "referrer-policy",
    "x-content-type-options",
    "access-control-allow-origin",
];

impl QuestionFixture {
    /// Asks any question. Returns its id.
    async fn ask_question(&self, request: &str, question: Value) -> String {
        self.cluster.first.ask(&self.claim, &self.command, request, question).await
    }
}

#[tokio::test]
async fn sign_in_form_returns_to_exactly_its_question() {
    let fixture = QuestionFixture::new().await;
    let (first, second) = (&fixture.cluster.first, &fixture.cluster.second);
    let approval = fixture.create_question("a", "touch secret").await;
    let mut ada = PageReader::anonymous();
    let form = ada.read(first, &approval).await;
    assert_eq!((form.status.as_u16(), form.text.contains("secret")), (200, false), "{}", form.text);
    assert_eq!(
        PAGE_HEADERS.map(|name| form.header(name)),
        ["text/html; charset=utf-8", "DENY", "no-store", "same-origin", "nosniff", ""]
    );
    let policy = form.header("content-security-policy");
    let (start, rest) = policy.split_once("'sha256-").expect("a style");
    assert_eq!(start, "default-src 'none'; style-src ");
    assert!(rest.ends_with("='; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"), "{policy}");
    assert!(!form.text.contains("oidc"), "there is no identity provider");
    let missing = ada.read(first, "apr_01920000000070008000000000000000").await;
    let missing = missing.text.replace("apr_01920000000070008000000000000000", &approval);
    assert_eq!(missing, form.text, "the form tells whether a question exists");

    let path = format!("/approve/{approval}/sign-in");
    assert!(form.text.contains(&format!("action=\"{path}\"")), "{}", form.text);
    let origin = origin_of(second);
    let wrong = "name=ada&password=wrong+password".to_owned();
    let refused = ada.browser.submit_form(&ada.client, &second.url(&path), Some(&origin), wrong).await;
    assert_eq!((refused.status.as_u16(), refused.text.contains("role=\"alert\"")), (401, true));
    assert!(ada.browser.cookies.is_empty() && !refused.text.contains("wrong password"));
    let right = format!("name=ada&password={}", PASSWORD.replace(' ', "+"));
    let done = ada.browser.submit_form(&ada.client, &second.url(&path), Some(&origin), right).await;
    assert_eq!((done.status.as_u16(), done.header("location")), (303, &*format!("/approve/{approval}")));
    let page = ada.read(first, &approval).await;
    assert_eq!((buttons(&page), page.text.contains("touch secret")), (2, true), "{}", page.text);
    let login = "SELECT body FROM journal_entries WHERE kind = 'login.created' ORDER BY seq DESC LIMIT 1";
    let login = fixture.cluster.db.sql().await.texts(login).await;
    let login: Value = serde_json::from_str(&login[0]).expect("JSON");
    assert_eq!(
        json!([login["actor"], login["detail"]]),
        json!([fixture.ada.principal, { "method": "password", "kind": "browser" }])
    );
}

#[tokio::test]
async fn oidc_sign_in_returns_to_the_question() {
    let fixture = OidcFixture::with_faulty_provider().await;
    let (_, invitation) = fixture.cluster.create_invitation(&fixture.tenant, "operator").await;
    let page = "/approve/apr_01920000000070008000000000000000";
    let mut reader = PageReader::anonymous();
    let form = reader.browser.get(&fixture.cluster.second, page).await;
    let link = format!("href=\"/api/v1/auth/oidc/start?returnTo={page}\"");
    assert!(form.text.contains(&link), "{}", form.text);
    let query = format!("returnTo={page}&invitation={invitation}");
    let done = fixture.sign_in(&mut reader.browser, &query, "").await;
    assert_eq!(done.header("location"), fixture.cluster.first.url(page));
    assert_eq!(reader.browser.get(&fixture.cluster.first, page).await.status, 404, "signed in");
}

fn hostile_question() -> Value {
    let diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-old <b>\n+new & 'better'\n same\u{200b}";
    json!({
        "action": {
            "kind": "command", "tool": "<script>alert(1)</script>",
            "arguments": { "command": format!("echo '{}'; rm -rf ~ # \u{202e}end", "x".repeat(4096)) },
            "workingDir": "/work\"onload=\"", "environment": "local", "lifts": ["sandbox of codex", "network"],
            "changes": [{ "path": "a</pre><h1>", "text": diff }, { "path": "new", "text": "- a list\n+ of things" }],
        },
        "options": [
            { "id": "yes & \n", "label": "Deny</button>", "effect": "allow", "changesMode": true },
            { "id": "no", "label": "", "effect": "deny", "changesMode": false },
        ],
        "reason": "</blockquote>it is safe\u{2066}", "answerSchema": null,
    })
}

#[tokio::test]
async fn page_shows_the_whole_question_escaped() {
    let fixture = QuestionFixture::new().await;
    let approval = fixture.ask_question("a", hostile_question()).await;
    let mut ada = PageReader::signed_in(&fixture.cluster.first, "ada").await;
    let page = ada.read(&fixture.cluster.second, &approval).await;
    let digest = fixture.get(&approval).await["shownDigest"].as_str().expect("a digest").to_owned();
    for shown in [
        "<code>&lt;script&gt;alert(1)&lt;/script&gt;</code>",
        &format!("{}&#39;; rm -rf ~ # \\u{{202e}}end\n</span></pre>", "x".repeat(4096)),
        "<code>/work&quot;onload=&quot;</code>",
        "<code>sandbox of codex</code>",
        "<code>network</code>",
        "<code>a&lt;/pre&gt;&lt;h1&gt;</code>",
        "<del class=\"line\">-old &lt;b&gt;\n</del>",
        "<ins class=\"line\">+new &amp; &#39;better&#39;\n</ins>",
        "<span class=\"line\"> same\\u{200b}\n</span>",
        "<span class=\"line\">- a list\n</span><span class=\"line\">+ of things\n</span>",
        "<h2>The agent says</h2>",
        "<blockquote>&lt;/blockquote&gt;it is safe\\u{2066}</blockquote>",
        "<bdi>Deny&lt;/button&gt;</bdi>. It also changes the mode of the agent&#39;s session.",
        "name=\"option\" value=\"yes+%26+%0A\"",
        "<button class=\"allow\">Allow</button>",
        "<button class=\"deny\">Deny</button>",
        &fixture.claim.run,
        "<bdi>operator</bdi>",
        "<dd>It is denied.</dd>",
        &format!("name=\"digest\" value=\"{digest}\""),
        "<html lang=\"en\">",
    ] {
        assert!(page.text.contains(shown), "{shown} is not in {}", page.text);
    }
    for hidden in ["<script", "\u{202e}", "\u{200b}", "\u{2066}", "onload=\"", "http://", "https://", "src="]
    {
        assert!(!page.text.contains(hidden), "{hidden:?} is in {}", page.text);
    }
    assert_eq!(page.text.matches("value=\"session\"").count(), 1, "only the denial can be remembered");
    let chinese = ada.read_with(&fixture.cluster.first, &approval, &[("accept-language", "zh-CN,zh")]).await;
    for shown in ["<html lang=\"zh-CN\">", ">允许</button>", ">拒绝</button>", "智能体的说明", "将被拒绝。"]
    {
        assert!(chinese.text.contains(shown), "{shown} is not in {}", chinese.text);
    }
    let pressed = ada.press(&fixture.cluster.first, &approval, &page, "yes+%26+%0A").await;
    assert_eq!(pressed.status, 303, "{}", pressed.text);
    assert_eq!(fixture.take(&approval).await, json!(["delivering", "yes & \n"]));
}

#[tokio::test]
async fn answer_on_the_page_reaches_the_agent_and_is_shown() {
    let fixture = QuestionFixture::new().await;
    let (first, second) = (&fixture.cluster.first, &fixture.cluster.second);
    let approval = fixture.create_question("a", "touch a").await;
    let mut ada = PageReader::signed_in(first, "ada").await;
    let page = ada.read(first, &approval).await;
    let done = ada.press(second, &approval, &page, "yes").await;
    assert_eq!((done.status.as_u16(), done.header("location")), (303, &*format!("/approve/{approval}")));
    assert_eq!(done.header("cache-control"), "no-store");
    let outcome = ada.read(first, &approval).await;
    assert_eq!((outcome.status.as_u16(), buttons(&outcome)), (200, 0), "{}", outcome.text);
    assert!(outcome.text.contains("<strong>Allowed</strong>"), "{}", outcome.text);
    assert!(outcome.text.contains("decided by <bdi>ada</bdi> (you)"), "{}", outcome.text);
    assert!(!outcome.text.contains("Without an answer"), "{}", outcome.text);
    assert_eq!(fixture.take(&approval).await, json!(["delivering", "yes"]));
    assert_eq!(fixture.cluster.first.confirm_answer(&fixture.claim, &approval).await.status, 200);
    let mut ben = PageReader::signed_in(second, "ben").await;
    let seen = ben.read(second, &approval).await;
    let by = format!("decided by <bdi>ada</bdi> <code>{}</code>", fixture.ada.principal);
    assert!(seen.text.contains(&by) && seen.text.contains("The agent has the answer."), "{}", seen.text);
}

#[tokio::test]
async fn later_answer_is_told_who_was_first_and_a_repeated_form_is_not() {
    let fixture = QuestionFixture::new().await;
    let (first, second) = (&fixture.cluster.first, &fixture.cluster.second);
    let approval = fixture.create_question("a", "touch a").await;
    let (mut ada, mut ben) =
        (PageReader::signed_in(first, "ada").await, PageReader::signed_in(first, "ben").await);
    let mut twin = PageReader { browser: ada.browser.clone(), ..PageReader::anonymous() };
    let (page, bens) = (ada.read(first, &approval).await, ben.read(second, &approval).await);
    let (one, other) =
        tokio::join!(ada.press(first, &approval, &page, "yes"), twin.press(second, &approval, &page, "yes"));
    assert_eq!([one.status.as_u16(), other.status.as_u16()], [303, 303], "{} {}", one.text, other.text);
    let late = ben.press(second, &approval, &bens, "no").await;
    assert_eq!((late.status.as_u16(), buttons(&late)), (409, 0), "{}", late.text);
    let by = format!("decided by <bdi>ada</bdi> <code>{}</code>", fixture.ada.principal);
    assert!(late.text.contains("Your answer came too late") && late.text.contains(&by), "{}", late.text);
    let changed = ada.press(second, &approval, &page, "no").await;
    assert_eq!(changed.status, 409, "a decision does not change: {}", changed.text);
    let decided = "SELECT count(*) FROM journal_entries WHERE kind = 'approval.decided'";
    assert_eq!(fixture.cluster.db.sql().await.number(decided).await, 1);
    assert_eq!(fixture.take(&approval).await, json!(["delivering", "yes"]));
}

#[tokio::test]
async fn consensus_on_the_page_counts_each_person_once() {
    let fixture = QuestionFixture::new().await;
    let (first, second) = (&fixture.cluster.first, &fixture.cluster.second);
    fixture.set_policy(json!({ "mode": "consensus", "quorum": 2 })).await;
    let approval = fixture.create_question("a", "touch a").await;
    let (mut ada, mut ben) =
        (PageReader::signed_in(first, "ada").await, PageReader::signed_in(first, "ben").await);
    let page = ada.read(first, &approval).await;
    assert!(page.text.contains("Answers so far: 0. Equal answers that decide: 2."), "{}", page.text);
    assert!(!page.text.contains("name=\"remember\""), "the answer of one person is not remembered");
    let remembered = format!("{}&remember=session", answer_form(&page, "yes"));
    assert_eq!(ada.submit(second, &approval, remembered).await.status, 400);
    assert_eq!(ada.press(second, &approval, &page, "yes").await.status, 303);
    assert_eq!(ada.press(first, &approval, &page, "yes").await.status, 303, "a repeated form");
    let waiting = ada.read(first, &approval).await;
    assert_eq!(buttons(&waiting), 0, "{}", waiting.text);
    for shown in ["Answers so far: 1. Equal", "You have answered.", "<bdi>Allow once</bdi>"] {
        assert!(waiting.text.contains(shown), "{shown} is not in {}", waiting.text);
    }
    assert_eq!(fixture.take(&approval).await, json!(["pending", null]));
    assert_eq!(ben.answer(second, &approval, "yes").await, 303);
    assert_eq!(fixture.take(&approval).await, json!(["delivering", "yes"]));
}

#[tokio::test]
async fn remembered_answer_of_the_page_answers_the_same_action() {
    let fixture = QuestionFixture::new().await;
    let first = &fixture.cluster.first;
    let approval = fixture.create_question("a", "touch a").await;
    let mut ada = PageReader::signed_in(first, "ada").await;
    let page = ada.read(first, &approval).await;
    assert_eq!(page.text.matches("type=\"checkbox\" name=\"remember\" value=\"session\"").count(), 2);
    let form = format!("{}&remember=session", answer_form(&page, "yes"));
    assert_eq!(ada.submit(first, &approval, form).await.status, 303);
    let again = fixture.create_question("b", "touch a").await;
    let outcome = ada.read(&fixture.cluster.second, &again).await;
    assert!(outcome.text.contains("decided by a remembered answer <code>apl_"), "{}", outcome.text);
}

#[tokio::test]
async fn ended_question_is_shown_with_its_end_and_without_buttons() {
    let fixture = QuestionFixture::new().await;
    let (first, second) = (&fixture.cluster.first, &fixture.cluster.second);
    let mut ada = PageReader::signed_in(first, "ada").await;
    let expired = fixture.create_question("a", "touch a").await;
    let page = ada.read(first, &expired).await;
    fixture.expire(&expired, |found| found["status"] == "expired").await;
    let shown = ada.read(second, &expired).await;
    assert_eq!(buttons(&shown), 0);
    assert!(shown.text.contains("<strong>Denied</strong>"), "{}", shown.text);
    assert!(shown.text.contains("nobody answered in time"), "{}", shown.text);
    assert_eq!(ada.press(second, &expired, &page, "yes").await.status, 409);
    let withdrawn = fixture.create_question("b", "touch b").await;
    let cancel = format!("/api/v1/commands/{}/cancel", fixture.command);
    let cancelled = first.post_as(&cancel, &fixture.cluster.operator.token, json!({})).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text);
    let shown = ada.read(second, &withdrawn).await;
    assert_eq!(buttons(&shown), 0);
    assert!(shown.text.contains("The question was withdrawn: the turn was cancelled."), "{}", shown.text);
}

/// A real browser in the size of a phone. `GUILDHALL_SCREENSHOTS` names a folder for pictures of the pages.
#[tokio::test]
async fn person_with_a_phone_signs_in_and_allows_a_question() {
    let fixture = QuestionFixture::new().await;
    let mut question =
        command_question(&format!("/bin/sh -lc 'rm -rf build && echo {}'", "0123456789".repeat(30)));
    let diff = "--- a/Makefile\n+++ b/Makefile\n@@ -1,2 +1,2 @@\n all:\n-\tcc main.c\n+\tcc -O2 main.c -o a-long-name-of-a-program-that-does-not-fit";
    question["action"]["changes"] = json!([{ "path": "Makefile", "text": diff }]);
    let approval = fixture.ask_question("a", question).await;
    let (url, profile) =
        (fixture.cluster.first.url(&format!("/approve/{approval}")), tempfile::tempdir().expect("a folder"));
    let input = json!({
        "url": url, "name": "ada", "password": PASSWORD, "button": "Allow", "profile": profile.path(),
        "language": "en-GB", "screenshots": std::env::var_os("GUILDHALL_SCREENSHOTS").map(std::path::PathBuf::from),
    });
    let seen = tokio::task::spawn_blocking(move || NodeProcess::run(NodeScript::Phone, &input))
        .await
        .expect("a finished script");
    assert_eq!(json!([seen["address"], seen["finalAddress"], seen["complaints"]]), json!([url, url, []]));
    let (before, after) = (seen["before"].as_str().expect("text"), seen["after"].as_str().expect("text"));
    for shown in ["rm -rf build", "-\tcc main.c", "+\tcc -O2 main.c", "The agent waits for an answer."] {
        assert!(before.contains(shown), "{shown} is not in {before}");
    }
    assert!(after.contains("Allowed") && after.contains("ada (you)"), "{after}");
    for layout in seen["layouts"].as_array().expect("layouts") {
        assert!(layout["lowest"].as_f64().expect("a height") >= 44.0, "{layout}");
        assert_eq!(
            json!([layout["overflow"], layout["lang"], layout["styled"], layout["headings"][0]]),
            json!([0, "en", true, "H1"])
        );
    }
    assert_eq!(fixture.take(&approval).await, json!(["delivering", "yes"]), "the agent gets the answer");
}
