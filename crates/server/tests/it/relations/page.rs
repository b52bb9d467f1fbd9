//! The page on which people agree, on two replicas and in a real browser.

use guildhall_testkit::{NodeProcess, NodeScript};
use reqwest::Method;
use serde_json::{Value, json};

use super::{Consents, SCOPES, id_of};
use crate::support::browser::origin_of;
use crate::support::cluster::PASSWORD;
use crate::support::manifests::{hash_of, manifest, manifest_with};
use crate::support::oidc::csrf_of;
use crate::support::page::PageReader;
use crate::support::{TestResponse, TestServer};

const MISSING: &str = "agt_01920000000070008000000000000000";

impl Consents {
    fn path(&self) -> String {
        format!("/consent/{}", self.agent)
    }

    async fn ada(&self) -> PageReader {
        PageReader::signed_in(self.first(), "ada").await
    }
}

async fn submit(reader: &mut PageReader, server: &TestServer, path: &str, form: String) -> TestResponse {
    let origin = origin_of(server);
    reader.browser.submit_form(&reader.client, &server.url(path), Some(&origin), form).await
}

/// Returns the form of a page that was read, with these scopes ticked.
fn grant_form(page: &TestResponse, scopes: &[&str]) -> String {
    let field = |name: &str| {
        let start = format!("name=\"{name}\" value=\"");
        let value = page.text.split(&*start).nth(1).and_then(|rest| rest.split('"').next());
        value.unwrap_or_else(|| panic!("no {name}: {}", page.text)).to_owned()
    };
    let ticked: String =
        scopes.iter().map(|scope| format!("&scope.{}=on", scope.replace(':', "%3A"))).collect();
    format!("csrf={}&version={}&hash={}&action=grant{ticked}", csrf_of(page), field("version"), field("hash"))
}

/// Returns the names of the boxes in their order, with `*` behind those that are ticked.
fn boxes(page: &TestResponse) -> Vec<String> {
    let boxes = page.text.split("name=\"scope.").skip(1);
    let name = |rest: &str| {
        let (name, rest) = rest.split_once('"').expect("a name");
        format!("{name}{}", if rest.starts_with(" checked") { "*" } else { "" })
    };
    boxes.map(name).collect()
}

// covers: M12, M25
#[tokio::test]
async fn page_grants_what_was_ticked_and_takes_it_back() {
    let consents = Consents::new().await;
    let mut ada = consents.ada().await;
    let page = ada.browser.get(consents.second(), &consents.path()).await;
    assert_eq!(page.status, 200, "{}", page.text);
    // What can hurt most comes first, and nothing is ticked.
    assert_eq!(boxes(&page), ["location:read", "filesystem:read", "notification:send"]);
    for shown in [
        "<bdi>helper</bdi>",
        &hash_of(&manifest()),
        "<dd>1</dd>",
        "High risk: you are asked every time",
        "<bdi>Read local files</bdi>",
        "<code>read_file</code> <bdi>Read a file</bdi>",
        "<button class=\"allow\" name=\"action\" value=\"grant\">Grant what is ticked</button>",
        "You have granted nothing to this agent.",
    ] {
        assert!(page.text.contains(shown), "{shown} is not in {}", page.text);
    }
    assert!(!page.text.contains("value=\"revoke\"") && !page.text.contains("<script"), "{}", page.text);
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(policy.ends_with("='; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"), "{policy}");
    assert_eq!(page.header("x-frame-options"), "DENY");

    let form = grant_form(&page, &["filesystem:read"]);
    let done = submit(&mut ada, consents.first(), &consents.path(), form).await;
    assert_eq!(
        (done.status.as_u16(), done.header("location")),
        (303, &*format!("{}?lang=en", consents.path()))
    );
    let granted = ada.browser.get(consents.second(), &consents.path()).await;
    assert_eq!(boxes(&granted), ["location:read", "filesystem:read*", "notification:send"]);
    let form = grant_form(&granted, &["location:read"]);
    assert_eq!(submit(&mut ada, consents.first(), &consents.path(), form).await.status, 303);
    let changed = ada.browser.get(consents.second(), &consents.path()).await;
    assert_eq!(boxes(&changed), ["location:read*", "filesystem:read", "notification:send"]);
    let revoke = format!("csrf={}&action=revoke", csrf_of(&changed));
    for _ in 0..2 {
        let done = submit(&mut ada, consents.first(), &consents.path(), revoke.clone()).await;
        assert_eq!(done.status, 303, "{}", done.text);
    }
    let listed = consents.second().get_as("/h2a/relations?ended=true", &consents.ada.token).await.body;
    assert_eq!(json!([listed["relations"][0]["status"], listed["relations"][1]]), json!(["ended", null]));
}

#[tokio::test]
async fn page_is_in_both_languages() {
    let consents = Consents::new().await;
    let mut ada = consents.ada().await;
    let headers = [("accept-language", "zh-CN,zh")];
    let chinese = ada.browser.send(consents.first(), Method::GET, &consents.path(), &headers, None).await;
    for shown in ["<html lang=\"zh-CN\">", "读取本地文件", "高风险：每次都会询问您", "授予勾选的权限"]
    {
        assert!(chinese.text.contains(shown), "{shown} is not in {}", chinese.text);
    }
    let path = format!("{}?lang=en", consents.path());
    let english = ada.browser.send(consents.first(), Method::GET, &path, &headers, None).await;
    assert!(english.text.contains("<html lang=\"en\">") && english.text.contains("Read local files"));
    let form = grant_form(&chinese, &[]);
    let done = submit(&mut ada, consents.first(), &format!("{}?lang=zh-CN", consents.path()), form).await;
    assert_eq!(done.header("location"), format!("{}?lang=zh-CN", consents.path()));
}

#[tokio::test]
async fn page_shows_what_changed_and_asks_for_a_new_consent() {
    let consents = Consents::new().await;
    consents.grant(&SCOPES).await;
    let changed = manifest_with(|value| {
        value["tools"][0]["input_schema"]["required"] = json!(["path", "mode"]);
        value["tools"][0]["description_fallback"] = json!("Read <b>any</b> file");
    });
    let mut ada = consents.ada().await;
    let before = ada.browser.get(consents.first(), &consents.path()).await;
    consents.declare(&changed).await;
    let page = ada.browser.get(consents.second(), &consents.path()).await;
    assert_eq!(boxes(&page), ["location:read*", "filesystem:read", "notification:send*"], "{}", page.text);
    for shown in [
        "<h2>What has changed</h2>",
        "The field &quot;mode&quot; is now required.",
        "Read &lt;b&gt;any&lt;/b&gt; file",
        "What changed does not work until you agree again.",
        "Agree again to what is ticked",
    ] {
        assert!(page.text.contains(shown), "{shown} is not in {}", page.text);
    }
    // Somebody who read the page before the change agrees to nothing.
    let late = submit(&mut ada, consents.first(), &consents.path(), grant_form(&before, &SCOPES)).await;
    assert_eq!(late.status, 409, "{}", late.text);
    assert!(
        late.text.contains("The agent was changed while you read.") && late.text.contains("What has changed")
    );
    let form = grant_form(&page, &["filesystem:read"]);
    assert_eq!(submit(&mut ada, consents.second(), &consents.path(), form).await.status, 303);
    let listed = consents.second().get_as("/h2a/relations", &consents.ada.token).await.body;
    let relation = &listed["relations"][0];
    assert_eq!(
        json!([relation["manifest_hash"], relation["granted_scopes"], relation["tools_requiring_reauth"]]),
        json!([hash_of(&changed), ["filesystem:read"], []])
    );
}

/// An author controls how many changes come first: they hide no other tool, and the page says how many it leaves out.
#[tokio::test]
async fn many_changes_of_one_tool_hide_no_change_of_another() {
    let consents = Consents::new().await;
    consents.grant(&SCOPES).await;
    let fields: Vec<String> = (0..40).map(|number| format!("field{number}")).collect();
    let changed = manifest_with(|value| {
        value["tools"][2]["input_schema"]["required"] = json!(fields);
        value["tools"][1]["permission_scope"] = json!("filesystem:read");
    });
    consents.declare(&changed).await;
    let mut ada = consents.ada().await;
    let page = ada.browser.get(consents.first(), &consents.path()).await;
    for shown in [
        "<h3>Tool <code>locate</code></h3>",
        "is now required.",
        " more changes</li>",
        "<h3>Tool <code>notify</code></h3>",
        "moved from the permission &quot;notification:send&quot; to &quot;filesystem:read&quot;.",
    ] {
        assert!(page.text.contains(shown), "{shown} is not in {}", page.text);
    }
    let chinese = ada.browser.get(consents.second(), &format!("{}?lang=zh-CN", consents.path())).await;
    for shown in ["<h3>工具 <code>notify</code></h3>", " 项变更</li>"] {
        assert!(chinese.text.contains(shown), "{shown} is not in {}", chinese.text);
    }
}

/// The attack is CSRF: a page of another site makes the browser of a user send the form.
#[tokio::test]
async fn decision_needs_own_origin_and_csrf_token_of_the_session() {
    let consents = Consents::new().await;
    let (mut ada, mut twin) = (consents.ada().await, consents.ada().await);
    let (server, path) = (consents.first(), consents.path());
    let (page, of_other) = (ada.browser.get(server, &path).await, twin.browser.get(server, &path).await);
    let form = grant_form(&page, &SCOPES);
    let without_token = form.split_once('&').expect("fields").1.to_owned();
    let own = origin_of(server);
    for (origin, form) in [
        (None, form.clone()),
        (Some("https://evil.example"), form.clone()),
        (Some("null"), form.clone()),
        (Some(own.as_str()), without_token.clone()),
        (Some(own.as_str()), format!("csrf=guessed&{without_token}")),
        (Some(own.as_str()), grant_form(&of_other, &SCOPES)),
    ] {
        let url = server.url(&path);
        let refused = ada.browser.submit_form(&ada.client, &url, origin, form.clone()).await;
        assert_eq!(refused.status, 403, "{origin:?} {form}: {}", refused.text);
    }
    // A link decides nothing.
    let link = format!("{path}?{form}");
    assert_eq!(ada.browser.get(server, &link).await.status, 200);
    let listed = server.get_as("/h2a/relations?ended=true", &consents.ada.token).await.body;
    assert_eq!(listed["relations"], json!([]));
    assert_eq!(submit(&mut ada, server, &path, form).await.status, 303);
}

#[tokio::test]
async fn page_of_a_hidden_agent_looks_like_that_of_a_missing_one() {
    let consents = Consents::new().await;
    consents.gateway.cluster.change_agent(&consents.agent, json!({ "published": false })).await;
    let mut anonymous = PageReader::anonymous();
    let mut ada = consents.ada().await;
    for reader in [&mut anonymous, &mut ada] {
        let hidden = reader.browser.get(consents.second(), &consents.path()).await;
        let missing = reader.browser.get(consents.second(), &format!("/consent/{MISSING}")).await;
        assert_eq!(hidden.status, missing.status);
        assert_eq!(hidden.text.replace(&consents.agent, "ID"), missing.text.replace(MISSING, "ID"));
    }
    let mut operator = PageReader::signed_in(consents.first(), "operator").await;
    let shown = operator.browser.get(consents.second(), &consents.path()).await;
    assert_eq!(boxes(&shown).len(), 3, "a member of the tenant: {}", shown.text);
}

/// Whoever has granted something can take it back, also when the author has withdrawn the agent.
#[tokio::test]
async fn page_of_a_withdrawn_agent_takes_everything_back_and_nothing_else() {
    let consents = Consents::new().await;
    for (language, texts) in [
        (
            "en",
            [
                "This agent is not published any more.",
                "Read your location",
                "You have taken everything back.",
            ],
        ),
        ("zh-CN", ["该智能体已不再公开。", "读取位置", "您已撤回全部权限。"]),
    ] {
        let relation = id_of(&consents.grant(&["location:read"]).await);
        let (mut ada, path) = (consents.ada().await, format!("{}?lang={language}", consents.path()));
        let before = ada.browser.get(consents.first(), &path).await;
        consents.gateway.cluster.change_agent(&consents.agent, json!({ "published": false })).await;
        consents.declare(&manifest_with(|value| value["tools"][0]["timeout_ms"] = json!(1234))).await;

        let page = ada.browser.get(consents.second(), &path).await;
        assert_eq!(page.status, 200, "{}", page.text);
        let lang = format!("<html lang=\"{language}\">");
        let hash = hash_of(&manifest());
        for shown in [&*lang, texts[0], texts[1], "<bdi>helper</bdi>", "<code>location:read</code>", &hash] {
            assert!(page.text.contains(shown), "{shown} is not in {}", page.text);
        }
        assert!(page.text.contains("value=\"revoke\"") && !page.text.contains("value=\"grant\""));
        assert_eq!(boxes(&page), Vec::<String>::new());
        // A form from before is refused, with the same page.
        let late = submit(&mut ada, consents.first(), &path, grant_form(&before, &SCOPES)).await;
        assert_eq!(late.status, 409, "{}", late.text);
        assert!(late.text.contains("role=\"alert\"") && late.text.contains(texts[0]), "{}", late.text);

        let revoke = format!("csrf={}&action=revoke", csrf_of(&page));
        let done = submit(&mut ada, consents.second(), &path, revoke).await;
        assert_eq!(done.status, 200, "{}", done.text);
        assert!(done.text.contains(texts[2]) && !done.text.contains("<form"), "{}", done.text);
        assert_eq!(consents.read(&relation).await["status"], "ended");
        assert_eq!(ada.browser.get(consents.first(), &path).await.status, 404);

        consents.declare(&manifest()).await;
        consents.gateway.cluster.change_agent(&consents.agent, json!({ "published": true })).await;
    }
}

/// Texts of an agent that wants to be more than text.
fn hostile() -> Value {
    manifest_with(|value| {
        value["tools"][0]["description_fallback"] =
            json!("</bdi></ul><script>document.title = 'stolen'</script>");
        value["permission_scopes"].as_array_mut().expect("scopes").push(json!({
            "id": "shell:run", "label_i18n_key": "l", "description_i18n_key": "d", "sensitivity": "high",
            "label_fallback": "\" checked onclick=\"alert(1)", "description_fallback": "<img src=x onerror=alert(1)>"
        }));
    })
}

/// A real browser in the size of a phone. `GUILDHALL_SCREENSHOTS` names a folder for pictures of the pages.
#[tokio::test]
async fn person_with_a_phone_signs_in_and_grants_one_scope() {
    let consents = Consents::new().await;
    consents.declare(&hostile()).await;
    let (url, profile) = (consents.first().url(&consents.path()), tempfile::tempdir().expect("a folder"));
    let input = json!({
        "url": url, "name": "ada", "password": PASSWORD, "button": "Grant what is ticked", "profile": profile.path(),
        "language": "en-GB", "screenshots": std::env::var_os("GUILDHALL_SCREENSHOTS").map(std::path::PathBuf::from),
        "shown": "input[name=hash]", "done": "button.deny", "fields": { "Read local files": true },
    });
    let seen = tokio::task::spawn_blocking(move || NodeProcess::run(NodeScript::Phone, &input))
        .await
        .expect("a finished script");
    assert_eq!(
        json!([seen["address"], seen["finalAddress"], seen["complaints"]]),
        json!([url, format!("{url}?lang=en"), []])
    );
    let framed = seen["framed"].as_str().expect("an address");
    assert!(framed.starts_with("chrome-error:"), "another site can frame the page: {framed}");
    let before = seen["before"].as_str().expect("text");
    for shown in ["<script>document.title", "\" checked onclick=", "<img src=x onerror"] {
        assert!(before.contains(shown), "{shown} is not text in {before}");
    }
    for layout in seen["layouts"].as_array().expect("layouts") {
        assert!(layout["lowest"].as_f64().expect("a height") >= 44.0, "{layout}");
        assert_eq!(json!([layout["overflow"], layout["lang"], layout["styled"]]), json!([0, "en", true]));
    }
    let listed = consents.second().get_as("/h2a/relations", &consents.ada.token).await.body;
    let relation = &listed["relations"][0];
    assert_eq!(relation["granted_scopes"], json!(["filesystem:read"]), "{}", id_of(relation));
}
