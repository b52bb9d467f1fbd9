//! Questions that are answered with values: checked, encrypted, delivered once, and readable for nobody but the agent.

use std::time::Duration;

use guildhall_testkit::TestDb;
use serde_json::{Value, json};

use crate::support::cluster::SignedInUser;
use crate::support::page::PageReader;
use crate::support::question_fixture::QuestionFixture;
use crate::support::runs::{command_question, text};
use crate::support::webhook_receiver::WebhookReceiver;
use crate::support::{Setup, TestResponse};

/// A value that must be nowhere but in the agent's process.
const SECRET: &str = "hunter2-hunter2";

/// A question of an agent that asks for values.
fn form_question(message: &str) -> Value {
    let schema = json!({
        "type": "object", "required": ["colour"],
        "properties": {
            "colour": { "type": "string", "title": "Colour", "enum": ["red", "blue"] },
            "count": { "type": "integer", "minimum": 1, "maximum": 9 },
            "gift": { "type": "boolean", "title": "As a gift" },
            "parts": { "type": "array", "title": "Parts", "items": { "type": "string", "enum": ["a", "b"] } },
            "token": { "type": "string", "title": "Token", "writeOnly": true },
        },
    });
    json!({
        "action": {
            "kind": "elicitation_form", "tool": "shop",
            "arguments": { "message": message, "requestedSchema": schema }, "workingDir": null, "environment": null,
            "lifts": [], "changes": [],
        },
        "options": [
            { "id": "accept", "label": "Send", "effect": "answer", "changesMode": false },
            { "id": "decline", "label": "Decline", "effect": "deny", "changesMode": false },
        ],
        "reason": message, "answerSchema": schema,
    })
}

impl QuestionFixture {
    async fn ask_form(&self, request: &str, message: &str) -> String {
        self.cluster.first.ask(&self.claim, &self.command, request, form_question(message)).await
    }

    async fn answer_with(
        &self,
        approval: &str,
        user: &SignedInUser,
        option: &str,
        content: Option<Value>,
    ) -> TestResponse {
        let mut body = json!({ "optionId": option, "shownDigest": self.get(approval).await["shownDigest"] });
        if let Some(content) = content {
            body["content"] = content;
        }
        let path = format!("/api/v1/approvals/{approval}/votes");
        self.cluster.second.post_as(&path, &user.token, body).await
    }

    /// Takes the answer. Returns status, option and values.
    async fn take_values(&self, approval: &str) -> Value {
        let taken = self.take_response(approval).await;
        json!([taken["status"], taken["optionId"], taken["content"]])
    }

    /// Returns how many approvals and votes have encrypted values.
    async fn stored_contents(&self) -> (i64, i64) {
        let mut sql = self.cluster.db.sql().await;
        (
            sql.number("SELECT count(*) FROM approvals WHERE sealed_content IS NOT NULL").await,
            sql.number("SELECT count(*) FROM approval_votes WHERE sealed_content IS NOT NULL").await,
        )
    }
}

#[tokio::test]
async fn values_are_delivered_to_the_process_that_asked_and_then_erased() {
    let fixture = QuestionFixture::new().await;
    let operator = &fixture.cluster.operator;
    let asked = fixture.ask_form("0", "Order?").await;
    let values = json!({ "colour": "red", "count": 3, "token": SECRET });
    let voted = fixture.answer_with(&asked, operator, "accept", Some(values.clone())).await;
    assert_eq!(
        json!([voted.status.as_u16(), voted.body["effect"]]),
        json!([200, "answer"]),
        "{}",
        voted.text
    );
    assert_eq!(fixture.stored_contents().await, (1, 0));
    for _ in 0..2 {
        assert_eq!(fixture.take_values(&asked).await, json!(["delivering", "accept", values]));
    }
    let other = fixture.cluster.first.take_answer(&fixture.claim, &asked, "q").await;
    other.assert_failure(404, "not-found");
    let confirmed = fixture.cluster.first.confirm_answer(&fixture.claim, &asked).await;
    assert_eq!(json!([confirmed.body["status"], confirmed.body["content"]]), json!(["delivered", null]));
    assert_eq!(
        (fixture.stored_contents().await, fixture.take_values(&asked).await),
        ((0, 0), json!(["delivered", null, null]))
    );
    let read = fixture.get(&asked).await;
    assert!(!read.to_string().contains(SECRET) && read["content"].is_null(), "{read}");
}

#[tokio::test]
async fn content_is_refused_where_it_does_not_belong_or_does_not_fit() {
    let fixture = QuestionFixture::new().await;
    let operator = &fixture.cluster.operator;
    let asked = fixture.ask_form("0", "Order?").await;
    for (option, content, message) in [
        ("accept", None, "content: this option needs the values of the form"),
        ("decline", Some(json!({ "colour": "red" })), "content: this option takes no values"),
        ("decline", Some(json!({})), "content: this option takes no values"),
        ("accept", Some(json!({})), "content.colour: a value is required"),
        ("accept", Some(json!({ "colour": "green" })), "content.colour: the value is not one of the choices"),
        (
            "accept",
            Some(json!({ "colour": "red", "count": 10 })),
            "content.count: the value must be at most 9",
        ),
        (
            "accept",
            Some(json!({ "colour": "red", "admin": true })),
            "content.admin: the form has no such field",
        ),
        (
            "accept",
            Some(json!({ "colour": "red", "parts": ["a", "c"] })),
            "content.parts: the value is not one of the choices",
        ),
    ] {
        let refused = fixture.answer_with(&asked, operator, option, content.clone()).await;
        refused.assert_failure(400, "schema-invalid");
        assert_eq!(refused.body["detail"], message, "{option} {content:?}");
    }
    for content in [json!("red"), json!(["red"]), json!(5)] {
        let refused = fixture.answer_with(&asked, operator, "accept", Some(content)).await;
        refused.assert_failure(400, "schema-invalid");
    }
    let large = json!({ "colour": "red", "token": format!("{SECRET}{}", "x".repeat(64 * 1024)) });
    let refused = fixture.answer_with(&asked, operator, "accept", Some(large)).await;
    refused.assert_failure(400, "schema-invalid");
    assert!(!refused.text.contains(SECRET), "{}", refused.text);
    // A plain permission takes no values either.
    let command = fixture.create_question("1", "touch a").await;
    let refused = fixture.answer_with(&command, operator, "yes", Some(json!({ "colour": "red" }))).await;
    refused.assert_failure(400, "schema-invalid");
    assert_eq!(
        (fixture.status(&asked).await, fixture.status(&command).await),
        ("pending".into(), "pending".into())
    );
    assert_eq!(fixture.stored_contents().await, (0, 0));
    let remembered = json!({
        "optionId": "accept", "shownDigest": fixture.get(&asked).await["shownDigest"], "remember": "session",
        "content": { "colour": "red" },
    });
    let path = format!("/api/v1/approvals/{asked}/votes");
    let remembered = fixture.cluster.second.post_as(&path, &operator.token, remembered).await;
    remembered.assert_failure(400, "schema-invalid");
}

/// A runner cannot ask for values with a form that the server does not understand.
#[tokio::test]
async fn unsupported_form_is_not_asked() {
    let fixture = QuestionFixture::new().await;
    let ask = async |change: fn(&mut Value)| {
        let mut question = form_question("Order?");
        change(&mut question);
        let body =
            json!({ "commandId": fixture.command, "process": "p", "request": "0", "question": question });
        let path = format!("/api/v1/runs/{}/approvals", fixture.claim.run);
        fixture.cluster.first.post_as(&path, &fixture.claim.token, body).await
    };
    let changes: [fn(&mut Value); 5] = [
        |question| question["answerSchema"]["properties"]["colour"] = json!({ "type": "object" }),
        |question| question["answerSchema"]["properties"]["colour"]["pattern"] = json!("^r"),
        |question| question["answerSchema"]["anyOf"] = json!([]),
        |question| question["answerSchema"] = Value::Null,
        |question| question["options"][0]["effect"] = json!("allow"),
    ];
    for change in changes {
        ask(change).await.assert_failure(400, "schema-invalid");
    }
    let link = json!({ "host": "example.org", "url": "javascript:alert(1)" });
    let mut question = command_question("x");
    question["action"]["kind"] = json!("elicitation_url");
    question["action"]["arguments"] = link;
    let body = json!({ "commandId": fixture.command, "process": "p", "request": "1", "question": question });
    let path = format!("/api/v1/runs/{}/approvals", fixture.claim.run);
    fixture
        .cluster
        .first
        .post_as(&path, &fixture.claim.token, body)
        .await
        .assert_failure(400, "schema-invalid");
}

#[tokio::test]
async fn other_values_are_refused_and_equal_values_count_together() {
    let fixture = QuestionFixture::new().await;
    let operator = &fixture.cluster.operator;
    fixture.set_policy(json!({ "mode": "consensus", "quorum": 2 })).await;
    let asked = fixture.ask_form("0", "Order?").await;
    let (red, blue) =
        (json!({ "colour": "red", "token": SECRET }), json!({ "token": SECRET, "colour": "blue" }));
    let vote = async |user: &SignedInUser, content: &Value| {
        let voted = fixture.answer_with(&asked, user, "accept", Some(content.clone())).await;
        (voted.status.as_u16(), voted.body["status"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(vote(&fixture.ada, &red).await, (200, "pending".to_owned()));
    assert_eq!(vote(&fixture.ada, &blue).await.0, 409, "an answer cannot be changed");
    assert_eq!(vote(&fixture.ada, &red).await, (200, "pending".to_owned()), "repeating it changes nothing");
    assert_eq!(vote(&fixture.ben, &blue).await, (200, "pending".to_owned()), "other values");
    assert_eq!(fixture.stored_contents().await, (0, 2));
    assert_eq!(
        vote(operator, &json!({ "token": SECRET, "colour": "red" })).await,
        (200, "decided".to_owned())
    );
    assert_eq!(fixture.stored_contents().await, (1, 0), "the values of the others are erased");
    let decided = fixture.get(&asked).await;
    assert_eq!(decided["decidedBy"], json!([fixture.ada.principal, operator.principal]));
    assert_eq!(fixture.take_values(&asked).await, json!(["delivering", "accept", red]));
}

#[tokio::test]
async fn members_of_other_tenants_neither_read_nor_answer() {
    let fixture = QuestionFixture::new().await;
    let asked = fixture.ask_form("0", "Order?").await;
    let eve = fixture.cluster.create_user("eve").await;
    let other = fixture.cluster.create_test_tenant("other").await;
    fixture.cluster.set_role(&other.id, &eve, "owner").await;
    let digest = fixture.get(&asked).await["shownDigest"].clone();
    let body = json!({ "optionId": "accept", "shownDigest": digest, "content": { "colour": "red" } });
    let path = format!("/api/v1/approvals/{asked}");
    let cluster = &fixture.cluster;
    cluster.second.post_as(&format!("{path}/votes"), &eve.token, body).await.assert_failure(404, "not-found");
    cluster.second.get_as(&path, &eve.token).await.assert_failure(404, "not-found");
    let answered =
        fixture.answer_with(&asked, &cluster.operator, "accept", Some(json!({ "colour": "red" }))).await;
    assert_eq!(answered.status, 200, "{}", answered.text);
    // Another run, with its own token, cannot take the values.
    let (claim, _) = cluster.start_command(&other).await;
    let stolen = format!("/api/v1/runs/{}/approvals/{asked}/take", claim.run);
    let taken = cluster.first.post_as(&stolen, &claim.token, json!({ "process": "p" })).await;
    taken.assert_failure(404, "not-found");
}

#[tokio::test]
async fn values_are_not_in_the_journal_the_audit_log_webhooks_or_tables() {
    let db = TestDb::new().await;
    let setup = Setup::new(&db).with("egress.allow", "127.0.0.0/8");
    let fixture = QuestionFixture::with_setup(setup, db).await;
    let cluster = &fixture.cluster;
    let receiver = WebhookReceiver::start([]).await;
    cluster.create_webhook(&fixture.tenant.id, &receiver.url()).await;
    let asked = fixture.ask_form("0", "Order?").await;
    let values = json!({ "colour": "red", "token": SECRET });
    assert_eq!(fixture.answer_with(&asked, &cluster.operator, "accept", Some(values)).await.status, 200);
    let bodies = receiver.wait_for(2).await;
    assert!(!format!("{bodies:?}").contains(SECRET));
    fixture.take_values(&asked).await;
    let mut sql = cluster.db.sql().await;
    let journal = format!("SELECT count(*) FROM journal_entries WHERE body LIKE '%{SECRET}%'");
    assert_eq!(sql.number(journal).await, 0);
    let outbox = format!("SELECT count(*) FROM outbox WHERE outbox::text LIKE '%{SECRET}%'");
    assert_eq!(sql.number(outbox).await, 0);
    for table in ["approvals", "approval_votes"] {
        let clear = format!(
            "SELECT count(*) FROM {table} AS row WHERE row::text LIKE '%{SECRET}%' \
             OR position('{SECRET}'::bytea IN coalesce(row.sealed_content, ''::bytea)) > 0"
        );
        assert_eq!(sql.number(clear).await, 0, "{table}");
    }
    let metrics = cluster.first.get("/metrics").await;
    assert!(!metrics.text.contains(SECRET));
}

/// The turn of the question ends before its answer. The next turn asks the same, and gets the values once.
#[tokio::test]
async fn values_for_a_parked_question_answer_it_once_when_it_is_asked_again() {
    let mut fixture = QuestionFixture::new().await;
    let parked = fixture.ask_form("0", "Order?").await;
    fixture.park(&parked).await;
    let values = json!({ "colour": "blue", "parts": ["b"], "token": SECRET });
    let answered =
        fixture.answer_with(&parked, &fixture.cluster.operator, "accept", Some(values.clone())).await;
    assert_eq!(
        json!([answered.status.as_u16(), answered.body["status"]]),
        json!([200, "void"]),
        "{}",
        answered.text
    );
    assert_eq!(fixture.stored_contents().await, (1, 0));
    fixture.continue_turn().await;
    let other = fixture.ask_form("1", "Order something else?").await;
    assert_eq!(fixture.status(&other).await, "pending", "another question");
    let again = fixture.ask_form("2", "Order?").await;
    assert_eq!(fixture.take_values(&again).await, json!(["delivering", "accept", values]));
    assert_eq!(fixture.status(&parked).await, "reused");
    assert_eq!(fixture.stored_contents().await, (1, 0), "they have moved");
    let third = fixture.ask_form("3", "Order?").await;
    assert_eq!(fixture.status(&third).await, "pending", "the values are used once");
    fixture.cluster.first.confirm_answer(&fixture.claim, &again).await;
    assert_eq!(fixture.stored_contents().await, (0, 0));
}

#[tokio::test]
async fn values_that_nobody_can_use_any_more_are_erased() {
    let fixture = QuestionFixture::new().await;
    let operator = &fixture.cluster.operator;
    let values = || Some(json!({ "colour": "red", "token": SECRET }));
    let (undelivered, taken) = (fixture.ask_form("0", "One?").await, fixture.ask_form("1", "Two?").await);
    for asked in [&undelivered, &taken] {
        assert_eq!(fixture.answer_with(asked, operator, "accept", values()).await.status, 200);
    }
    fixture.take_values(&taken).await;
    let end = json!({ "status": "completed" });
    assert_eq!(fixture.cluster.first.finish(&fixture.claim, &fixture.command, end).await.status, 200);
    assert_eq!(fixture.status(&taken).await, "uncertain");
    assert_eq!(fixture.stored_contents().await, (1, 0), "only the undelivered ones are kept");
    let mut sql = fixture.cluster.db.sql().await;
    sql.execute("UPDATE approvals SET content_ends_at = now() - interval '1 second'").await;
    let poll = async {
        while fixture.stored_contents().await != (0, 0) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), poll).await.expect("erased");
    assert_eq!(text(&fixture.get(&undelivered).await, "status"), "void");
}

#[tokio::test]
async fn page_has_a_labelled_form_and_checks_its_values() {
    let fixture = QuestionFixture::new().await;
    let (first, second) = (&fixture.cluster.first, &fixture.cluster.second);
    let asked = fixture.ask_form("0", "Order?").await;
    let mut ada = PageReader::signed_in(first, "ada").await;
    let page = ada.read(first, &asked).await;
    for part in [
        "<label for=\"field-0\"><bdi>Colour</bdi> (required)</label>\n<select id=\"field-0\" name=\"field-0\" required>",
        "<option value=\"1\">blue</option>",
        "type=\"number\" id=\"field-1\" name=\"field-1\" step=\"1\" min=\"1\" max=\"9\">",
        "<input type=\"checkbox\" name=\"field-2\" value=\"true\"><span><bdi>As a gift</bdi></span>",
        "<legend><bdi>Parts</bdi></legend>",
        "<input autocomplete=\"off\" type=\"password\" id=\"field-4\" name=\"field-4\">",
        "<button class=\"answer\">",
    ] {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
    let form = crate::support::page::answer_form(&page, "accept");
    let wrong = format!("{form}&values=1&field-0=1&field-1=12&field-4={SECRET}");
    let refused = ada.submit(second, &asked, wrong).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    for part in ["count: the value must be at most 9.", "<option value=\"1\" selected>blue", "value=\"12\""] {
        assert!(refused.text.contains(part), "{part}: {}", refused.text);
    }
    assert!(!refused.text.contains(SECRET), "a secret is not shown again");
    let chinese = ada.read_with(second, &asked, &[("accept-language", "zh-CN")]).await;
    assert!(chinese.text.contains("（必填）") && chinese.text.contains("作此回答"), "{}", chinese.text);
    let without = ada.submit(second, &asked, form.clone()).await;
    assert_eq!(without.status, 400, "the option needs values");
    let forged = format!("{form}&values=1&field-0=1").replace("csrf=", "csrf=x");
    assert_eq!(ada.submit(second, &asked, forged).await.status, 403);
    assert_eq!(fixture.status(&asked).await, "pending");
    let right = format!("{form}&values=1&field-0=1&field-1=&field-2=true&field-3-1=true&field-4={SECRET}");
    assert_eq!(ada.submit(second, &asked, right).await.status, 303);
    let values = json!({ "colour": "blue", "gift": true, "parts": ["b"], "token": SECRET });
    assert_eq!(fixture.take_values(&asked).await, json!(["delivering", "accept", values]));
    let after = ada.read(first, &asked).await;
    assert!(!after.text.contains(SECRET) && after.text.contains("Answered"), "{}", after.text);
}
