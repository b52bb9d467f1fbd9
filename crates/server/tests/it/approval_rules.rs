//! Answers that are remembered for the same action, within their scope.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::TestResponse;
use crate::support::cluster::SignedInUser;
use crate::support::question_fixture::QuestionFixture;
use crate::support::runs::{command_question, text};

impl QuestionFixture {
    /// Asks, and returns the status of the question and who decided.
    async fn ask_again(&self, request: &str, command: &str) -> (String, Value) {
        let found = self.get(&self.create_question(request, command).await).await;
        (text(&found, "status"), found["decidedBy"].clone())
    }

    async fn remember(&self, approval: &str, option: &str, scope: &str) -> TestResponse {
        let shown = self.get(approval).await["shownDigest"].clone();
        let body = json!({ "optionId": option, "shownDigest": shown, "remember": scope });
        self.cluster
            .second
            .post_as(&format!("/api/v1/approvals/{approval}/votes"), &self.ada.token, body)
            .await
    }

    async fn rules(&self) -> Vec<Value> {
        let path = "/api/v1/approval-rules?tenantId=acme";
        let list = self.cluster.first.get_as(path, &self.cluster.operator.token).await;
        assert_eq!(list.status, 200, "{}", list.text);
        list.body["rules"].as_array().expect("rules").clone()
    }

    async fn revoke(&self, rule: &str, caller: &SignedInUser) -> TestResponse {
        let path = format!("/api/v1/approval-rules/{rule}");
        self.cluster.second.request_as(Method::DELETE, &path, &caller.token, None).await
    }

    /// Starts a turn in another run of the same kind.
    async fn start_other_run(&mut self) {
        (self.claim, self.command) = self.cluster.start_command(&self.tenant).await;
    }
}

fn pending() -> (String, Value) {
    ("pending".to_owned(), json!([]))
}

#[tokio::test]
async fn remembered_answer_holds_for_the_exact_action_in_its_scope() {
    let mut fixture = QuestionFixture::new().await;
    let first = fixture.create_question("0", "touch a").await;
    let remembered = fixture.remember(&first, "yes", "session").await;
    assert_eq!(remembered.status, 200, "{}", remembered.text);
    let [rule] = &fixture.rules().await[..] else { panic!("one rule") };
    let id = text(rule, "ruleId");
    let shown =
        ["approvalId", "scope", "effect", "authorId", "used", "revoked"].map(|name| rule[name].clone());
    assert_eq!(json!(shown), json!([first, "session", "allow", fixture.ada.principal, 0, false]));
    let by_rule = ("decided".to_owned(), json!([id]));
    assert_eq!(fixture.ask_again("1", "touch a").await, by_rule);
    assert_eq!(fixture.ask_again("2", "touch a").await, by_rule, "any number of times");
    assert_eq!(fixture.ask_again("3", "touch a ").await, pending(), "another action");
    assert_eq!(fixture.rules().await[0]["used"], 2);
    fixture.start_other_run().await;
    assert_eq!(fixture.ask_again("0", "touch a").await, pending(), "another session");
}

#[tokio::test]
async fn rule_of_an_agent_in_a_project_holds_in_other_sessions() {
    let mut fixture = QuestionFixture::new().await;
    let first = fixture.create_question("0", "touch a").await;
    assert_eq!(fixture.remember(&first, "no", "agent-and-project").await.status, 200);
    fixture.start_other_run().await;
    let found = fixture.get(&fixture.create_question("0", "touch a").await).await;
    assert_eq!(json!([found["status"], found["effect"]]), json!(["decided", "deny"]));
}

#[tokio::test]
async fn revoked_rule_answers_nothing_and_its_answer_is_not_delivered() {
    let fixture = QuestionFixture::new().await;
    let first = fixture.create_question("0", "touch a").await;
    assert_eq!(fixture.remember(&first, "yes", "run").await.status, 200);
    let rule = text(&fixture.rules().await[0], "ruleId");
    let undelivered = fixture.create_question("1", "touch a").await;
    let developer = fixture.cluster.create_user("dev").await;
    fixture.cluster.set_role(&fixture.tenant.id, &developer, "developer").await;
    fixture.revoke(&rule, &developer).await.assert_failure(403, "forbidden");
    for _ in 0..2 {
        let revoked = fixture.revoke(&rule, &fixture.cluster.operator).await;
        assert_eq!(
            (revoked.status.as_u16(), &revoked.body["revoked"]),
            (200, &json!(true)),
            "{}",
            revoked.text
        );
    }
    assert_eq!(fixture.rules().await, [] as [Value; 0]);
    let taken = fixture.cluster.first.take_answer(&fixture.claim, &undelivered, "p").await;
    assert_eq!(taken.body["status"], "void", "{}", taken.text);
    assert_eq!(fixture.ask_again("2", "touch a").await, pending());
}

#[tokio::test]
async fn rule_ends_with_the_right_of_its_author_and_with_its_policy() {
    let fixture = QuestionFixture::new().await;
    let (first, second) =
        (fixture.create_question("0", "touch a").await, fixture.create_question("1", "touch b").await);
    for approval in [&first, &second] {
        assert_eq!(fixture.remember(approval, "yes", "session").await.status, 200);
    }
    fixture.cluster.set_role(&fixture.tenant.id, &fixture.ada, "viewer").await;
    assert_eq!(fixture.ask_again("2", "touch a").await, pending(), "the author may not answer");
    fixture.cluster.set_role(&fixture.tenant.id, &fixture.ada, "operator").await;
    assert_eq!(fixture.ask_again("3", "touch b").await.0, "decided");
    let path = format!("/api/v1/tenants/{}/approval-policy", fixture.tenant.id);
    let policy = Some(json!({ "mode": "consensus", "quorum": 2 }));
    let set = fixture.cluster.first.request_as(Method::PUT, &path, &fixture.cluster.operator.token, policy);
    assert_eq!(set.await.status, 200);
    let under_quorum = fixture.create_question("4", "touch b").await;
    assert_eq!(fixture.get(&under_quorum).await["status"], "pending", "another policy");
    let refused = fixture.remember(&under_quorum, "yes", "session").await;
    refused.assert_failure(400, "schema-invalid");
    assert_eq!(fixture.get(&under_quorum).await["status"], "pending");
}

#[tokio::test]
async fn answer_that_leaves_a_choice_is_not_remembered() {
    let fixture = QuestionFixture::new().await;
    let mut question = command_question("touch a");
    let options = question["options"].as_array_mut().expect("options");
    options.push(json!({ "id": "all", "label": "All", "effect": "allow", "changesMode": false }));
    let two = fixture.cluster.first.ask(&fixture.claim, &fixture.command, "0", question).await;
    fixture.remember(&two, "yes", "session").await.assert_failure(400, "schema-invalid");
    let mut unknown = command_question("touch a");
    unknown["action"]["arguments"] = Value::Null;
    let unknown = fixture.cluster.first.ask(&fixture.claim, &fixture.command, "1", unknown).await;
    fixture.remember(&unknown, "yes", "session").await.assert_failure(400, "schema-invalid");
    assert_eq!(fixture.rules().await, [] as [Value; 0]);
}

/// A leaked key is revoked: what it has remembered and what it has answered allow nothing any more.
#[tokio::test]
async fn rules_and_answers_of_a_revoked_key_allow_nothing() {
    let fixture = QuestionFixture::new().await;
    let tenant = &fixture.tenant.id;
    let (id, key) = fixture.cluster.create_key(tenant, "operator").await;
    let first = fixture.create_question("0", "touch a").await;
    let shown = fixture.get(&first).await["shownDigest"].clone();
    let body = json!({ "optionId": "yes", "shownDigest": shown, "remember": "session" });
    let path = format!("/api/v1/approvals/{first}/votes");
    assert_eq!(fixture.cluster.second.post_as(&path, &key, body).await.status, 200);
    assert_eq!(fixture.ask_again("1", "touch a").await.0, "decided");
    let undelivered = fixture.create_question("2", "touch b").await;
    assert_eq!(fixture.cluster.second.vote(&undelivered, &key, "yes").await.status, 200);
    let revoke = format!("/api/v1/tenants/{tenant}/keys/{id}");
    let token = &fixture.cluster.operator.token;
    let revoked = fixture.cluster.first.request_as(Method::DELETE, &revoke, token, None).await;
    assert_eq!(revoked.status, 200, "{}", revoked.text);
    assert_eq!(fixture.ask_again("3", "touch a").await.0, "pending");
    assert_eq!(fixture.take(&undelivered).await[0], "void");
}

#[tokio::test]
async fn many_rules_of_other_policies_do_not_hide_a_valid_one() {
    let fixture = QuestionFixture::new().await;
    let first = fixture.create_question("0", "touch a").await;
    assert_eq!(fixture.remember(&first, "yes", "session").await.status, 200);
    let older = "INSERT INTO approval_rules (id, tenant, approval, action_digest, scope, run, session, agent, project, \
                 effect, policy_version, author, expires_at) \
                 SELECT ('00000000-0000-7000-8000-' || lpad(number::text, 12, '0'))::uuid, tenant, approval, \
                 action_digest, scope, run, session, agent, project, effect, policy_version + 1, author, expires_at \
                 FROM approval_rules, generate_series(1, 60) AS number";
    fixture.cluster.db.sql().await.execute(older).await;
    assert_eq!(fixture.ask_again("1", "touch a").await.0, "decided");
}
