//! Questions of agents: asked by runners, answered by people, delivered at most once.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::question_fixture::QuestionFixture;
use crate::support::runs::{TestTenant, command_question, run_request, text};

const TIMEOUT: Duration = Duration::from_secs(120);

impl QuestionFixture {
    /// Asks for a command with a secret in it.
    async fn ask_with_secret(&self, request: &str) -> String {
        self.create_question(request, "touch a; curl -H 'Authorization: Bearer hunter2hunter2'").await
    }

    async fn decide(&self, approval: &str, option: &str) {
        let voted = self.cluster.second.vote(approval, &self.cluster.operator.token, option).await;
        assert_eq!(voted.status, 200, "{}", voted.text);
    }

    async fn finish(&self) {
        let end = json!({ "status": "completed" });
        assert_eq!(self.cluster.first.finish(&self.claim, &self.command, end).await.status, 200);
    }

    /// Returns the events of approvals, without their times.
    async fn events(&self) -> Vec<Value> {
        let events = self.cluster.list_events(&self.claim.run).await;
        let of_approvals = events.into_iter().filter(|event| text(event, "type").starts_with("approval"));
        of_approvals.map(|event| json!([event["type"], event["payload"]["status"]])).collect()
    }
}

#[tokio::test]
async fn question_is_shown_whole_and_its_answer_delivered_once() {
    let fixture = QuestionFixture::new().await;
    let (cluster, operator) = (&fixture.cluster, &fixture.cluster.operator);
    let approval = fixture.ask_with_secret("0").await;
    assert_eq!(fixture.ask_with_secret("0").await, approval, "the runner repeats its request");
    assert_eq!(fixture.take(&approval).await, json!(["pending", null]));
    let list = cluster.second.get_as("/api/v1/approvals?tenantId=acme", &operator.token).await.body;
    assert_eq!(list["approvals"], json!([fixture.get(&approval).await]));
    let shown = fixture.get(&approval).await;
    let command = "touch a; curl -H 'Authorization: Bearer hunter2hunter2'";
    assert_eq!(shown["question"], command_question(command));

    fixture.decide(&approval, "yes").await;
    assert_eq!(fixture.take(&approval).await, json!(["delivering", "yes"]));
    // The response may be lost: the same process asks again, and another process gets nothing.
    assert_eq!(fixture.take(&approval).await, json!(["delivering", "yes"]));
    cluster.second.take_answer(&fixture.claim, &approval, "q").await.assert_failure(404, "not-found");
    for _ in 0..2 {
        let confirmed = cluster.second.confirm_answer(&fixture.claim, &approval).await;
        assert_eq!(confirmed.body["status"], "delivered", "{}", confirmed.text);
    }
    assert_eq!(fixture.take(&approval).await, json!(["delivered", null]));
    fixture.finish().await;
    let ended = fixture.get(&approval).await;
    let outcome = ["status", "optionId", "effect", "decidedBy", "endReason"].map(|name| ended[name].clone());
    assert_eq!(json!(outcome), json!(["settled", "yes", "allow", [operator.principal], null]));
    let expected = [
        json!(["approval_requested", null]),
        json!(["approval_status", "decided"]),
        json!(["approval_status", "delivering"]),
        json!(["approval_status", "delivered"]),
        json!(["approval_status", "settled"]),
    ];
    assert_eq!(fixture.events().await, expected);
    let list = cluster.second.get_as("/api/v1/approvals?tenantId=acme", &operator.token).await.body;
    assert_eq!(list["approvals"], json!([]), "only pending ones are listed");
}

#[tokio::test]
async fn secret_in_a_question_is_encrypted_and_not_in_events() {
    let fixture = QuestionFixture::new().await;
    let approval = fixture.ask_with_secret("0").await;
    fixture.decide(&approval, "no").await;
    let mut sql = fixture.cluster.db.sql().await;
    let in_clear = "SELECT count(*) FROM approvals WHERE position('hunter2'::bytea IN sealed_question) > 0";
    let in_journal = "SELECT count(*) FROM journal_entries WHERE body LIKE '%hunter2%'";
    assert_eq!((sql.number(in_clear).await, sql.number(in_journal).await), (0, 0));
}

#[tokio::test]
async fn question_names_its_tool_call_in_the_event() {
    let fixture = QuestionFixture::new().await;
    let credential = format!("ghp_{}", "a1B2".repeat(9));
    let long = "c".repeat(257);
    for (request, call, status, recorded) in [
        ("1", json!("call-1"), 200, json!("call-1")),
        ("2", Value::Null, 200, Value::Null),
        ("3", json!(credential), 200, json!("[redacted:provider-key]")),
        ("4", json!(""), 400, Value::Null),
        ("5", json!(long), 400, Value::Null),
    ] {
        let body = json!({
            "commandId": fixture.command, "process": "p", "request": request, "callId": call,
            "question": command_question(&format!("ls {request}")),
        });
        let asked = fixture.cluster.first.try_ask(&fixture.claim, body).await;
        assert_eq!(asked.status, status, "{}", asked.text);
        let events = fixture.cluster.list_events(&fixture.claim.run).await;
        let last = events.iter().rfind(|event| event["type"] == "approval_requested").expect("an event");
        if status == 200 {
            assert_eq!(last["payload"]["callId"], recorded, "{last}");
        }
    }
}

#[tokio::test]
async fn only_the_creator_and_deciders_can_answer() {
    let fixture = QuestionFixture::new().await;
    let (cluster, tenant) = (&fixture.cluster, &fixture.tenant.id);
    let approval = fixture.ask_with_secret("0").await;
    let (viewer, developer) = (cluster.create_user("vic").await, cluster.create_user("dev").await);
    cluster.set_role(tenant, &viewer, "viewer").await;
    cluster.set_role(tenant, &developer, "developer").await;
    for user in [&viewer, &developer] {
        cluster.second.vote(&approval, &user.token, "yes").await.assert_failure(403, "forbidden");
    }
    let (_, key) = cluster.create_key(tenant, "developer").await;
    cluster.second.vote(&approval, &key, "yes").await.assert_failure(403, "forbidden");
    cluster.second.vote(&approval, &fixture.claim.token, "yes").await.assert_failure(401, "unauthenticated");
    let subject = cluster.mint_subject_token(tenant, &key, "user-1").await;
    let subject = text(&subject.body, "accessToken");
    cluster.second.vote(&approval, &subject, "yes").await.assert_failure(404, "not-found");
    assert_eq!(fixture.status(&approval).await, "pending");

    // A developer answers the questions of their own runs.
    let body = run_request(tenant);
    let run = text(&cluster.first.post_as("/api/v1/runs", &developer.token, body).await.body, "runId");
    let command = cluster.send_turn(&run, "go").await;
    let enrolment = cluster.create_enrolment(tenant).await.1;
    let owned = TestTenant { id: tenant.clone(), enrolment };
    let claim = cluster.first.claim(&owned, &run).await;
    assert_eq!(cluster.first.ack(&claim, &command).await.status, 200);
    let own = cluster.first.ask(&claim, &command, "0", command_question("ls")).await;
    let voted = cluster.second.vote(&own, &developer.token, "yes").await;
    assert_eq!(voted.body["decidedBy"], json!([developer.principal]), "{}", voted.text);
}

#[tokio::test]
async fn answer_needs_the_digest_of_the_question_and_one_of_its_options() {
    let fixture = QuestionFixture::new().await;
    let (cluster, token) = (&fixture.cluster, &fixture.cluster.operator.token);
    let (approval, other) = (fixture.ask_with_secret("0").await, fixture.ask_with_secret("1").await);
    cluster.first.vote(&approval, token, "acceptForSession").await.assert_failure(400, "schema-invalid");
    let digest = "0".repeat(64);
    let body = json!({ "optionId": "yes", "shownDigest": digest });
    let path = format!("/api/v1/approvals/{approval}/votes");
    cluster.first.post_as(&path, token, body).await.assert_failure(409, "conflict");
    fixture.decide(&other, "yes").await;
    assert_eq!(fixture.status(&approval).await, "pending", "two questions do not mix");
    let changed = json!({
        "commandId": fixture.command, "process": "p", "request": "0", "question": command_question("rm a"),
    });
    let path = format!("/api/v1/runs/{}/approvals", fixture.claim.run);
    let response = cluster.first.post_as(&path, &fixture.claim.token, changed).await;
    response.assert_failure(409, "conflict");
}

#[tokio::test]
async fn end_of_the_turn_ends_its_questions() {
    let fixture = QuestionFixture::new().await;
    let [pending, decided, taken] = [
        fixture.ask_with_secret("0").await,
        fixture.ask_with_secret("1").await,
        fixture.ask_with_secret("2").await,
    ];
    fixture.decide(&decided, "yes").await;
    fixture.decide(&taken, "yes").await;
    fixture.take(&taken).await;
    fixture.finish().await;
    for (approval, status, reason) in [
        (&pending, "withdrawn", json!("turn-ended")),
        (&decided, "void", json!("turn-ended")),
        (&taken, "uncertain", Value::Null),
    ] {
        let view = fixture.get(approval).await;
        assert_eq!(json!([view["status"], view["endReason"]]), json!([status, reason]));
    }
    let late = fixture.cluster.first.vote(&pending, &fixture.cluster.operator.token, "yes").await;
    late.assert_failure(409, "conflict");
}

#[tokio::test]
async fn cancelled_turn_withdraws_its_questions_at_once() {
    let fixture = QuestionFixture::new().await;
    let (waiting, taken) = (fixture.ask_with_secret("0").await, fixture.ask_with_secret("1").await);
    fixture.decide(&taken, "yes").await;
    fixture.take(&taken).await;
    let path = format!("/api/v1/commands/{}/cancel", fixture.command);
    let cancelled = fixture.cluster.second.post_as(&path, &fixture.cluster.operator.token, json!({})).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text);
    assert_eq!(fixture.get(&waiting).await["endReason"], "cancelled");
    // The process is still there, and its runner confirms that it got the answer.
    let confirmed = fixture.cluster.first.confirm_answer(&fixture.claim, &taken).await;
    assert_eq!(confirmed.body["status"], "delivered", "{}", confirmed.text);
}

#[tokio::test]
async fn unanswered_question_is_denied_when_it_expires() {
    let fixture = QuestionFixture::new().await;
    let approval = fixture.ask_with_secret("0").await;
    let mut sql = fixture.cluster.db.sql().await;
    sql.execute("UPDATE approvals SET expires_at = now() - interval '1 second'").await;
    let late = fixture.cluster.second.vote(&approval, &fixture.cluster.operator.token, "yes").await;
    late.assert_failure(409, "conflict");
    let path = format!("/api/v1/runs/{}/approvals/{approval}/take", fixture.claim.run);
    let body = json!({ "process": "p", "wait": 20_000 });
    let taken = fixture.cluster.first.post_as(&path, &fixture.claim.token, body);
    let taken = tokio::time::timeout(TIMEOUT, taken).await.expect("an answer");
    assert_eq!(json!([taken.body["status"], taken.body["optionId"]]), json!(["delivering", "no"]));
    assert_eq!(fixture.get(&approval).await["decidedBy"], json!(["expiry"]));
}

#[tokio::test]
async fn waiting_runner_gets_the_answer_of_another_replica() {
    let fixture = QuestionFixture::new().await;
    let approval = fixture.ask_with_secret("0").await;
    let path = format!("/api/v1/runs/{}/approvals/{approval}/take", fixture.claim.run);
    let body = json!({ "process": "p", "wait": 20_000 });
    let take = fixture.cluster.first.post_as(&path, &fixture.claim.token, body);
    let (taken, ()) = tokio::join!(take, fixture.decide(&approval, "yes"));
    assert_eq!(json!([taken.body["status"], taken.body["optionId"]]), json!(["delivering", "yes"]));
}

#[tokio::test]
async fn allowance_of_a_removed_approver_is_not_delivered() {
    let fixture = QuestionFixture::new().await;
    let (cluster, tenant) = (&fixture.cluster, &fixture.tenant.id);
    let approver = &fixture.ada;
    let (allowed, denied) = (fixture.ask_with_secret("0").await, fixture.ask_with_secret("1").await);
    for (approval, option) in [(&allowed, "yes"), (&denied, "no")] {
        assert_eq!(cluster.first.vote(approval, &approver.token, option).await.status, 200);
    }
    let member = format!("/api/v1/tenants/{tenant}/members/{}", approver.principal);
    let removed = cluster.first.request_as(Method::DELETE, &member, &cluster.operator.token, None).await;
    assert_eq!(removed.status, 200, "{}", removed.text);
    assert_eq!(fixture.take(&allowed).await, json!(["void", null]));
    assert_eq!(fixture.get(&allowed).await["endReason"], "approver-revoked");
    assert_eq!(fixture.take(&denied).await, json!(["delivering", "no"]), "a denial always may");
}

/// A turn ends before its answer is delivered. The agent asks again in the next turn.
#[tokio::test]
async fn undelivered_allowance_answers_the_same_action_once() {
    let mut fixture = QuestionFixture::new().await;
    let lost = fixture.ask_with_secret("0").await;
    fixture.decide(&lost, "yes").await;
    fixture.finish().await;
    assert_eq!(fixture.status(&lost).await, "void");
    fixture.command = fixture.cluster.send_turn(&fixture.claim.run, "go on").await;
    assert_eq!(fixture.cluster.first.ack(&fixture.claim, &fixture.command).await.status, 200);
    let ask = async |request: &str, change: fn(&mut Value)| {
        let mut question = fixture.get(&lost).await["question"].clone();
        change(&mut question);
        fixture.cluster.first.ask(&fixture.claim, &fixture.command, request, question).await
    };
    let elsewhere = ask("1", |question| question["action"]["workingDir"] = json!("/")).await;
    assert_eq!(fixture.status(&elsewhere).await, "pending", "another directory is another action");
    let reworded = ask("2", |question| question["reason"] = json!("in other words")).await;
    assert_eq!(fixture.take(&reworded).await, json!(["delivering", "yes"]));
    assert_eq!(fixture.get(&reworded).await["decidedBy"], json!([lost]));
    assert_eq!(fixture.status(&lost).await, "reused");
    let again = ask("3", |_| {}).await;
    assert_eq!(fixture.status(&again).await, "pending", "an answer is used once");
}

#[tokio::test]
async fn denied_action_is_denied_again_in_the_same_turn_only() {
    let mut fixture = QuestionFixture::new().await;
    let first = fixture.ask_with_secret("0").await;
    fixture.decide(&first, "no").await;
    fixture.take(&first).await;
    for request in ["1", "2", "3"] {
        let repeated = fixture.ask_with_secret(request).await;
        assert_eq!(fixture.take(&repeated).await, json!(["delivering", "no"]));
    }
    fixture.finish().await;
    fixture.command = fixture.cluster.send_turn(&fixture.claim.run, "go on").await;
    assert_eq!(fixture.cluster.first.ack(&fixture.claim, &fixture.command).await.status, 200);
    let next_turn = fixture.ask_with_secret("4").await;
    assert_eq!(fixture.status(&next_turn).await, "pending");
}
