//! Approval policies of tenants: who answers, when answers decide, and what expiry does.

use std::time::Duration;

use guildhall_testkit::TestDb;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::SignedInUser;
use crate::support::question_fixture::QuestionFixture;
use crate::support::runs::text;
use crate::support::{Setup, TestResponse};

const TIMEOUT: Duration = Duration::from_secs(120);

impl QuestionFixture {
    pub(crate) async fn try_set_policy(&self, caller: &SignedInUser, policy: Value) -> TestResponse {
        let path = format!("/api/v1/tenants/{}/approval-policy", self.tenant.id);
        self.cluster.first.request_as(Method::PUT, &path, &caller.token, Some(policy)).await
    }

    pub(crate) async fn set_policy(&self, policy: Value) -> Value {
        let response = self.try_set_policy(&self.cluster.operator, policy).await;
        assert_eq!(response.status, 200, "{}", response.text);
        response.body
    }

    /// Lets a question expire, and waits until the server has done what its policy says.
    pub(crate) async fn expire(&self, approval: &str, is_done: fn(&Value) -> bool) -> Value {
        let mut sql = self.cluster.db.sql().await;
        let id = approval.trim_start_matches("apr_");
        sql.execute(format!(
            "UPDATE approvals SET expires_at = now() - interval '1 second' WHERE id = '{id}'"
        ))
        .await;
        let poll = async {
            loop {
                let found = self.get(approval).await;
                if is_done(&found) {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, poll).await.expect("expired")
    }
}

fn pending() -> (u16, String) {
    (200, "pending".to_owned())
}

fn decided() -> (u16, String) {
    (200, "decided".to_owned())
}

// covers: C8
// exercises: permission_mediation
#[tokio::test]
async fn capabilities_show_the_policy_of_the_acting_tenant() {
    let fixture = QuestionFixture::new().await;
    let (server, token) = (&fixture.cluster.second, &fixture.cluster.operator.token);
    let permission = async |path: &str| server.get_as(path, token).await.body["policy"]["permission"].clone();
    assert_eq!(permission("/capabilities?tenantId=acme").await, "first-responder");
    for (policy, mode) in [
        (json!({ "mode": "designated" }), "designated"),
        (json!({ "mode": "consensus", "quorum": 2 }), "consensus"),
        (json!({ "mode": "local-only" }), "local-only"),
        (json!({ "mode": "first-responder" }), "first-responder"),
    ] {
        fixture.set_policy(policy).await;
        assert_eq!(permission("/capabilities?tenantId=acme").await, mode);
        assert_eq!(permission("/capabilities").await, "first-responder", "without a tenant");
    }
    let stranger = fixture.cluster.create_user("eve").await;
    server.get_as("/capabilities?tenantId=acme", &stranger.token).await.assert_failure(404, "not-found");
    let anonymous = server.get("/capabilities?tenantId=acme").await;
    anonymous.assert_failure(401, "unauthenticated");
}

// covers: C8
#[tokio::test]
async fn quorum_counts_people_and_no_service_keys() {
    let fixture = QuestionFixture::new().await;
    fixture.set_policy(json!({ "mode": "consensus", "quorum": 2 })).await;
    let approval = fixture.create_question("a", "touch a").await;
    assert_eq!(fixture.vote(&approval, &fixture.ada, "yes").await, pending());
    let (_, key) = fixture.cluster.create_key(&fixture.tenant.id, "operator").await;
    fixture.cluster.second.vote(&approval, &key, "yes").await.assert_failure(403, "forbidden");
    // Of three people, two who cannot agree any more leave no quorum, whatever keys there are.
    fixture.set_policy(json!({ "mode": "consensus", "quorum": 3 })).await;
    let split = fixture.create_question("b", "touch b").await;
    assert_eq!(fixture.vote(&split, &fixture.ada, "yes").await, pending());
    assert_eq!(fixture.vote(&split, &fixture.ben, "no").await, decided());
    assert_eq!(fixture.get(&split).await["effect"], "deny");
}

// covers: C8
#[tokio::test]
async fn consensus_needs_equal_answers_of_a_quorum() {
    let fixture = QuestionFixture::new().await;
    fixture.set_policy(json!({ "mode": "consensus", "quorum": 2 })).await;
    let approval = fixture.create_question("a", "touch a").await;
    assert_eq!(fixture.vote(&approval, &fixture.ada, "yes").await, pending());
    assert_eq!(fixture.vote(&approval, &fixture.ada, "yes").await, pending(), "one vote each");
    let changed = fixture.cluster.second.vote(&approval, &fixture.ada.token, "no").await;
    changed.assert_failure(409, "conflict");
    assert_eq!(changed.body["optionId"], "yes", "what was counted");
    assert_eq!(fixture.take(&approval).await, json!(["pending", null]));
    assert_eq!(fixture.vote(&approval, &fixture.ben, "yes").await, decided());
    let found = fixture.get(&approval).await;
    assert_eq!(found["decidedBy"], json!([fixture.ada.principal, fixture.ben.principal]));
    assert_eq!(fixture.take(&approval).await, json!(["delivering", "yes"]));
    let events = fixture.cluster.list_events(&fixture.claim.run).await;
    let votes: Vec<&Value> = events.iter().filter(|event| event["type"] == "approval_vote").collect();
    assert_eq!(votes.len(), 1);
    let expected = json!({
        "approvalId": approval, "optionId": "yes", "by": fixture.ada.principal, "votes": 1, "quorum": 2,
    });
    assert_eq!(votes[0]["payload"], expected);
}

// covers: C8
#[tokio::test]
async fn quorum_that_cannot_be_reached_denies_at_once() {
    let fixture = QuestionFixture::new().await;
    fixture.set_policy(json!({ "mode": "consensus", "quorum": 3 })).await;
    let split = fixture.create_question("a", "touch a").await;
    assert_eq!(fixture.vote(&split, &fixture.ada, "yes").await, pending());
    assert_eq!(fixture.vote(&split, &fixture.ben, "no").await, decided(), "one voter is left");
    let found = fixture.get(&split).await;
    assert_eq!(json!([found["effect"], found["decidedBy"]]), json!(["deny", ["quorum"]]));
    fixture.set_policy(json!({ "mode": "consensus", "quorum": 4 })).await;
    let hopeless = fixture.get(&fixture.create_question("b", "touch b").await).await;
    assert_eq!(json!([hopeless["status"], hopeless["effect"]]), json!(["decided", "deny"]));
    fixture.set_policy(json!({ "mode": "consensus", "quorum": 2, "veto": true })).await;
    let vetoed = fixture.create_question("c", "touch c").await;
    assert_eq!(fixture.vote(&vetoed, &fixture.ada, "no").await, decided());
}

#[tokio::test]
async fn vote_of_a_member_who_left_does_not_count() {
    let fixture = QuestionFixture::new().await;
    fixture.set_policy(json!({ "mode": "consensus", "quorum": 2 })).await;
    let approval = fixture.create_question("a", "touch a").await;
    assert_eq!(fixture.vote(&approval, &fixture.ada, "yes").await, pending());
    fixture.cluster.set_role(&fixture.tenant.id, &fixture.ada, "viewer").await;
    assert_eq!(fixture.vote(&approval, &fixture.ben, "yes").await, pending());
    let operator = fixture.cluster.operator.clone();
    assert_eq!(fixture.vote(&approval, &operator, "yes").await, decided());
    let found = fixture.get(&approval).await;
    assert_eq!(found["decidedBy"], json!([fixture.ben.principal, operator.principal]));
}

// covers: C8
#[tokio::test]
async fn designated_person_alone_answers() {
    let fixture = QuestionFixture::new().await;
    let operator = fixture.cluster.operator.clone();
    fixture.set_policy(json!({ "mode": "designated", "approverId": fixture.ada.principal })).await;
    let named = fixture.create_question("a", "touch a").await;
    assert_eq!(fixture.vote(&named, &operator, "yes").await.0, 403, "the creator of the run");
    assert_eq!(fixture.vote(&named, &fixture.ada, "yes").await, decided());
    fixture.set_policy(json!({ "mode": "designated" })).await;
    let of_sender = fixture.create_question("b", "touch b").await;
    assert_eq!(fixture.vote(&of_sender, &fixture.ada, "yes").await.0, 403);
    assert_eq!(fixture.vote(&of_sender, &operator, "yes").await, decided(), "who sent the turn");
    let unknown = json!({ "mode": "designated", "approverId": "prn_01920000000070008000000000000000" });
    fixture.try_set_policy(&operator, unknown).await.assert_failure(400, "schema-invalid");
}

// covers: C8
#[tokio::test]
async fn local_only_accepts_direct_answers_from_this_machine() {
    let fixture = QuestionFixture::new().await;
    fixture.set_policy(json!({ "mode": "local-only" })).await;
    let approval = fixture.create_question("a", "touch a").await;
    let server = &fixture.cluster.second;
    let shown = fixture.get(&approval).await["shownDigest"].clone();
    for header in ["x-forwarded-for", "forwarded", "via"] {
        let request = server.client.post(server.url(&format!("/api/v1/approvals/{approval}/votes")));
        let request = request.bearer_auth(&fixture.ada.token).header(header, "127.0.0.1");
        let body = json!({ "optionId": "yes", "shownDigest": shown });
        let response = request.json(&body).send().await.expect("a response");
        assert_eq!(response.status(), 403, "a proxy on this machine: {header}");
    }
    assert_eq!(fixture.vote(&approval, &fixture.ada, "yes").await, decided());
}

// covers: C8
#[tokio::test]
async fn public_server_refuses_local_only() {
    let fixture = QuestionFixture::new().await;
    fixture.set_policy(json!({ "mode": "local-only" })).await;
    let public = |db: &TestDb| Setup::new(db).with("http.public_url", "https://guildhall.example.org");
    let refused = public(&fixture.cluster.db).try_start().await.expect_err("refused").to_string();
    assert!(refused.contains("local-only"), "{refused}");
    fixture.set_policy(json!({ "mode": "first-responder" })).await;
    let server = public(&fixture.cluster.db).start().await;
    let path = format!("/api/v1/tenants/{}/approval-policy", fixture.tenant.id);
    let body = Some(json!({ "mode": "local-only" }));
    let set = server.request_as(Method::PUT, &path, &fixture.cluster.operator.token, body).await;
    set.assert_failure(400, "schema-invalid");
}

#[tokio::test]
async fn only_owners_change_the_policy_and_versions_are_kept() {
    let fixture = QuestionFixture::new().await;
    let path = format!("/api/v1/tenants/{}/approval-policy", fixture.tenant.id);
    let read = fixture.cluster.second.get_as(&path, &fixture.ada.token).await;
    assert_eq!(json!([read.status.as_u16(), read.body["version"]]), json!([200, 1]));
    let policy = json!({ "mode": "consensus", "quorum": 2, "expiresAfterMs": 600_000, "holdForMs": 20_000 });
    assert_eq!(
        fixture.try_set_policy(&fixture.ada, policy.clone()).await.status,
        403,
        "an operator of the tenant"
    );
    let before = fixture.create_question("a", "touch a").await;
    let expected = json!({
        "version": 2, "mode": "consensus", "approverId": null, "quorum": 2, "veto": false,
        "expiresAfterMs": 600_000, "onExpiry": "deny", "holdForMs": 20_000,
        "reuseWithinMs": read.body["reuseWithinMs"],
    });
    assert_eq!(fixture.set_policy(policy).await, expected);
    assert_eq!(fixture.cluster.second.get_as(&path, &fixture.ada.token).await.body, expected);
    let stale = json!({ "mode": "first-responder", "expectedVersion": 1 });
    fixture.try_set_policy(&fixture.cluster.operator, stale).await.assert_failure(409, "conflict");
    assert_eq!(fixture.vote(&before, &fixture.ada, "yes").await, decided(), "under the policy it was asked");
    assert_eq!(fixture.take(&before).await, json!(["void", null]), "the policy has changed since");
    assert_eq!(fixture.get(&before).await["endReason"], "policy-changed");
    for invalid in [
        json!({ "mode": "consensus" }),
        json!({ "mode": "first-responder", "quorum": 2 }),
        json!({ "mode": "first-responder", "onExpiry": "allow" }),
        json!({ "mode": "first-responder", "expiresAfterMs": 1 }),
        json!({ "mode": "first-responder", "holdForMs": 90_000_000 }),
    ] {
        fixture
            .try_set_policy(&fixture.cluster.operator, invalid)
            .await
            .assert_failure(400, "schema-invalid");
    }
}

#[tokio::test]
async fn expired_question_is_escalated_to_owners_then_denied() {
    let fixture = QuestionFixture::new().await;
    let policy = json!({ "mode": "designated", "approverId": fixture.ada.principal, "onExpiry": "escalate" });
    fixture.set_policy(policy).await;
    let (answered, ignored) =
        (fixture.create_question("a", "touch a").await, fixture.create_question("b", "touch b").await);
    let operator = fixture.cluster.operator.clone();
    assert_eq!(fixture.vote(&answered, &operator, "yes").await.0, 403);
    for approval in [&answered, &ignored] {
        let escalated = fixture.expire(approval, |found| found["escalated"] == true).await;
        assert_eq!(escalated["status"], "pending");
    }
    assert_eq!(fixture.vote(&answered, &fixture.ben, "yes").await.0, 403, "not an owner");
    assert_eq!(fixture.vote(&answered, &operator, "yes").await, decided());
    let denied = fixture.expire(&ignored, |found| found["status"] != "pending").await;
    assert_eq!(json!([denied["status"], denied["decidedBy"]]), json!(["expired", ["expiry"]]));
}

#[tokio::test]
async fn expired_question_interrupts_its_turn_if_the_policy_says_so() {
    let fixture = QuestionFixture::new().await;
    fixture.set_policy(json!({ "mode": "first-responder", "onExpiry": "interrupt" })).await;
    let approval = fixture.create_question("a", "touch a").await;
    let ended = fixture.expire(&approval, |found| found["status"] != "pending").await;
    assert_eq!(json!([ended["status"], ended["effect"]]), json!(["void", "deny"]));
    let events = fixture.cluster.list_events(&fixture.claim.run).await;
    let last = events.iter().rfind(|event| event["type"] == "command_status").expect("a status");
    assert_eq!(text(&last["payload"], "status"), "cancelling");
}

#[tokio::test]
async fn answer_of_an_owner_to_an_escalated_parked_question_is_delivered() {
    let mut fixture = QuestionFixture::new().await;
    let designated =
        json!({ "mode": "designated", "approverId": fixture.ada.principal, "onExpiry": "escalate" });
    fixture.set_policy(designated).await;
    let asked = fixture.create_question("0", "touch a").await;
    fixture.park(&asked).await;
    fixture.expire(&asked, |found| found["escalated"] == true).await;
    let operator = fixture.cluster.first.sign_in("operator").await;
    assert_eq!(fixture.vote(&asked, &operator, "yes").await.0, 200);
    fixture.continue_turn().await;
    let again = fixture.create_question("1", "touch a").await;
    assert_eq!(fixture.take(&again).await, json!(["delivering", "yes"]));
}
