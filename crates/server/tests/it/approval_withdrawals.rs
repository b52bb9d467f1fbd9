//! Questions that a person withdraws without an answer, on two replicas.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::TestResponse;
use crate::support::question_fixture::QuestionFixture;
use crate::support::runs::text;

const TIMEOUT: Duration = Duration::from_secs(120);

impl QuestionFixture {
    /// Withdraws a question on the replica that did not ask it.
    async fn withdraw(&self, approval: &str, bearer: &str) -> TestResponse {
        let path = format!("/api/v1/approvals/{approval}/withdraw");
        self.cluster.second.request_as(Method::POST, &path, bearer, None).await
    }

    /// Waits on the first replica for the answer to a question, as its runner does.
    async fn wait_for_answer(&self, approval: &str) -> Value {
        let path = format!("/api/v1/runs/{}/approvals/{approval}/take", self.claim.run);
        let body = json!({ "process": "p", "wait": 25000 });
        let taking = async {
            loop {
                let taken = self.cluster.first.post_as(&path, &self.claim.token, body.clone()).await.body;
                if taken["status"] != "pending" {
                    return json!([taken["status"], taken["optionId"], taken["parked"]]);
                }
            }
        };
        tokio::time::timeout(TIMEOUT, taking).await.expect("an end")
    }

    async fn audited_withdrawals(&self) -> Vec<Value> {
        let path = format!("/api/v1/tenants/{}/audit?limit=500", self.tenant.id);
        let log = self.cluster.first.get_as(&path, &self.cluster.operator.token).await.body;
        let entries = log["entries"].as_array().expect("entries").iter();
        let entries = entries.filter(|entry| entry["action"] == "approval.withdrawn");
        entries.map(|entry| json!([entry["body"]["actor"], entry["body"]["object"]])).collect()
    }

    /// Returns the status and the end of a question.
    async fn end(&self, approval: &str) -> Value {
        let found = self.get(approval).await;
        json!([found["status"], found["endReason"], found["optionId"], found["canAnswer"]])
    }
}

#[tokio::test]
async fn withdrawn_question_ends_the_wait_of_its_agent_without_an_answer() {
    let fixture = QuestionFixture::new().await;
    let asked = fixture.create_question("0", "touch a").await;
    let (withdrawn, taken) =
        tokio::join!(fixture.withdraw(&asked, &fixture.ada.token), fixture.wait_for_answer(&asked));
    assert_eq!(withdrawn.status, 200, "{}", withdrawn.text);
    // Without an option, the runner declines the action.
    assert_eq!(taken, json!(["withdrawn", null, false]));
    assert_eq!(withdrawn.body, fixture.get(&asked).await);
    assert_eq!(fixture.end(&asked).await, json!(["withdrawn", "withdrawn-by-person", null, false]));

    let again = fixture.withdraw(&asked, &fixture.ben.token).await;
    assert_eq!((again.status.as_u16(), again.body), (200, withdrawn.body), "repeated");
    let late = fixture.cluster.first.vote(&asked, &fixture.ben.token, "yes").await;
    late.assert_failure(409, "conflict");
    assert_eq!(late.body["approvalStatus"], "withdrawn", "{}", late.text);
    assert_eq!(fixture.audited_withdrawals().await, [json!([fixture.ada.principal, asked])]);
    let events = fixture.cluster.list_events(&fixture.claim.run).await;
    let ends: Vec<&Value> =
        events.iter().filter(|event| event["payload"]["reason"] == "withdrawn-by-person").collect();
    assert_eq!(ends.len(), 1, "{events:?}");
    // A withdrawal is no denial: the same action is asked anew.
    let next = fixture.create_question("1", "touch a").await;
    assert_eq!(fixture.status(&next).await, "pending");
}

#[tokio::test]
async fn withdrawn_parked_question_continues_nothing() {
    let fixture = QuestionFixture::new().await;
    let parked = fixture.create_question("0", "touch a").await;
    fixture.park(&parked).await;
    assert_eq!(fixture.withdraw(&parked, &fixture.ada.token).await.status, 200);
    assert_eq!(fixture.end(&parked).await, json!(["withdrawn", "withdrawn-by-person", null, false]));
    assert_eq!(fixture.continuing_turns().await, [] as [Value; 0]);
    let close = format!("/api/v1/runs/{}/close", fixture.claim.run);
    let closed = fixture.cluster.first.post_as(&close, &fixture.cluster.operator.token, json!({})).await;
    assert_eq!(closed.status, 200, "nothing waits: {}", closed.text);
}

#[tokio::test]
async fn answer_continues_the_turn_when_its_other_question_is_withdrawn() {
    let mut fixture = QuestionFixture::new().await;
    let (answered, withdrawn) =
        (fixture.create_question("0", "touch a").await, fixture.create_question("1", "touch b").await);
    fixture.park(&answered).await;
    assert_eq!(fixture.vote(&answered, &fixture.ada, "yes").await.0, 200);
    assert_eq!(fixture.withdraw(&withdrawn, &fixture.ben.token).await.status, 200);
    fixture.continue_turn().await;
    let again = fixture.create_question("2", "touch a").await;
    assert_eq!(fixture.wait_for_answer(&again).await, json!(["delivering", "yes", false]));
}

#[tokio::test]
async fn decided_question_cannot_be_withdrawn() {
    let fixture = QuestionFixture::new().await;
    let asked = fixture.create_question("0", "touch a").await;
    assert_eq!(fixture.vote(&asked, &fixture.ada, "yes").await.0, 200);
    let refused = fixture.withdraw(&asked, &fixture.ben.token).await;
    refused.assert_failure(409, "conflict");
    let details = &refused.body;
    assert_eq!(
        json!([details["approvalStatus"], details["optionId"], details["decidedBy"]]),
        json!(["decided", "yes", fixture.ada.principal]),
        "{}",
        refused.text
    );
    assert_eq!(fixture.take(&asked).await, json!(["delivering", "yes"]));
    assert_eq!(fixture.audited_withdrawals().await, [] as [Value; 0]);
}

#[tokio::test]
async fn creator_without_the_permission_withdraws_under_any_policy() {
    let fixture = QuestionFixture::new().await;
    let developer = fixture.cluster.create_user("dev").await;
    fixture.cluster.set_role(&fixture.tenant.id, &developer, "developer").await;
    fixture.set_policy(json!({ "mode": "designated", "approverId": fixture.ada.principal })).await;
    let asked = fixture.create_question("0", "touch a").await;
    fixture.withdraw(&asked, &developer.token).await.assert_failure(403, "forbidden");
    let creator = format!(
        "UPDATE runs SET created_by = '{}' WHERE id = '{}'",
        developer.principal.trim_start_matches("prn_"),
        fixture.claim.run.trim_start_matches("run_"),
    );
    fixture.cluster.db.sql().await.execute(creator).await;
    assert_eq!(fixture.vote(&asked, &developer, "no").await.0, 403, "another is designated to answer");
    assert_eq!(fixture.withdraw(&asked, &developer.token).await.status, 200);
    assert_eq!(fixture.audited_withdrawals().await, [json!([developer.principal, asked])]);
}

/// The attack: whoever may not answer ends the question instead, so that nobody sees it.
#[tokio::test]
async fn callers_without_the_right_withdraw_nothing() {
    let fixture = QuestionFixture::new().await;
    let cluster = &fixture.cluster;
    let asked = fixture.create_question("0", "touch a").await;
    let member = cluster.create_user("member").await;
    for role in ["viewer", "developer"] {
        cluster.set_role(&fixture.tenant.id, &member, role).await;
        fixture.withdraw(&asked, &member.token).await.assert_failure(403, "forbidden");
    }
    let stranger = cluster.create_user("stranger").await;
    let other = cluster.create_tenant("other").await;
    cluster.set_role(&other, &stranger, "owner").await;
    fixture.withdraw(&asked, &stranger.token).await.assert_failure(404, "not-found");
    let (_, viewer_key) = cluster.create_key(&fixture.tenant.id, "developer").await;
    fixture.withdraw(&asked, &viewer_key).await.assert_failure(403, "forbidden");
    for token in [&fixture.claim.token, &fixture.tenant.enrolment] {
        let refused = fixture.withdraw(&asked, token).await;
        assert!([401, 403].contains(&refused.status.as_u16()), "{}", refused.text);
    }
    // An answer that the member could not give, of somebody who was removed meanwhile.
    cluster.set_role(&fixture.tenant.id, &fixture.ben, "viewer").await;
    fixture.withdraw(&asked, &fixture.ben.token).await.assert_failure(403, "forbidden");
    assert_eq!(text(&fixture.get(&asked).await, "status"), "pending");
    assert_eq!(fixture.audited_withdrawals().await, [] as [Value; 0]);
}
