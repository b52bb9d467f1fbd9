//! The questions of a tenant as they come: a stream, a long poll, and who may answer each.

use std::time::Duration;

use futures::future::join;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::SignedInUser;
use crate::support::events::EventStream;
use crate::support::question_fixture::QuestionFixture;
use crate::support::runs::text;
use crate::support::{TestResponse, TestServer};

const TIMEOUT: Duration = Duration::from_secs(120);

impl QuestionFixture {
    async fn follow(&self, server: &TestServer, after: Option<&str>) -> EventStream {
        let path = format!("/api/v1/tenants/{}/approvals/stream", self.tenant.id);
        server.open_stream(&path, &self.cluster.operator.token, after).await
    }

    /// Lists questions, with more query parameters.
    async fn list(&self, user: &SignedInUser, query: &str) -> Value {
        let path = format!("/api/v1/approvals?tenantId=acme{query}");
        let listed = self.cluster.second.get_as(&path, &user.token).await;
        assert_eq!(listed.status, 200, "{}", listed.text);
        listed.body
    }

    async fn listed_ids(&self, user: &SignedInUser, query: &str) -> Vec<String> {
        let list = self.list(user, query).await;
        list["approvals"].as_array().expect("a list").iter().map(|found| text(found, "approvalId")).collect()
    }

    /// Waits until a long poll is open, so that what happens from now on ends it.
    async fn wait_for_open_long_poll(&self) {
        let is_open =
            |metrics: &TestResponse| metrics.text.lines().any(|line| line == "guildhall_streams_open 1");
        self.cluster.second.wait_until("/metrics", TIMEOUT, is_open).await;
    }

    async fn position(&self) -> String {
        text(&self.list(&self.ada, "").await, "position")
    }
}

/// Returns what an event of the stream says.
fn content(event: &Value) -> Value {
    let payload = &event["payload"];
    json!([event["type"], event["runId"], payload["approvalId"], payload["status"], payload["reason"]])
}

#[tokio::test]
async fn stream_shows_questions_and_answers_and_resumes_on_the_other_replica() {
    let fixture = QuestionFixture::new().await;
    let earlier = fixture.create_question("0", "touch a").await;
    let position = fixture.position().await;
    let mut stream = fixture.follow(&fixture.cluster.second, None).await;
    let asked = fixture.create_question("1", "touch 'hunter2hunter2'").await;
    assert_eq!(fixture.vote(&asked, &fixture.ada, "yes").await.0, 200);
    fixture.take(&asked).await;
    let end = json!({ "status": "completed" });
    assert_eq!(fixture.cluster.first.finish(&fixture.claim, &fixture.command, end).await.status, 200);
    let streamed = stream.next_events(3).await;
    let run = &fixture.claim.run;
    let expected = [
        json!(["approval_requested", run, asked, null, null]),
        json!(["approval_status", run, asked, "decided", null]),
        // The way of the answer to its process is not shown.
        json!(["approval_status", run, earlier, "withdrawn", "turn-ended"]),
    ];
    assert_eq!(streamed.iter().map(|event| content(&event.data)).collect::<Vec<_>>(), expected);
    let requested = &streamed[0].data;
    assert_eq!(requested["payload"]["tool"], "shell");
    assert!(!requested.to_string().contains("hunter2"), "{requested}");
    for after in [position.as_str(), streamed[0].id.as_deref().expect("a cursor")] {
        let mut resumed = fixture.follow(&fixture.cluster.first, Some(after)).await;
        let skipped = usize::from(after != position);
        let again = resumed.next_events(3 - skipped).await;
        assert_eq!(again.iter().map(|event| &event.data).collect::<Vec<_>>(), {
            streamed[skipped..].iter().map(|event| &event.data).collect::<Vec<_>>()
        });
    }
}

#[tokio::test]
async fn long_poll_returns_when_a_question_is_asked_on_the_other_replica() {
    let fixture = QuestionFixture::new().await;
    let position = fixture.position().await;
    let unchanged = fixture.list(&fixture.ada, &format!("&after={position}&wait=100")).await;
    assert_eq!(unchanged, json!({ "approvals": [], "nextCursor": null, "position": position }));
    let query = format!("&after={position}&wait=25000");
    let ask = async {
        fixture.wait_for_open_long_poll().await;
        fixture.create_question("0", "touch a").await
    };
    let (listed, asked) = join(fixture.list(&fixture.ada, &query), ask).await;
    assert_eq!(listed["approvals"][0]["approvalId"], asked);
    assert_ne!(listed["position"], position);
    // A position from before a restore of the database is in the past.
    let restored = fixture.list(&fixture.ada, "&after=00000000deadbeef-99&wait=25000").await;
    assert_eq!(restored["approvals"][0]["approvalId"], asked);
    let position = text(&restored, "position");
    let unchanged = fixture.list(&fixture.ada, &format!("&after={position}&wait=100")).await;
    assert_eq!(unchanged["approvals"], json!([]), "nothing has changed");
    let path = "/api/v1/approvals?tenantId=acme&after=nonsense";
    let invalid = fixture.cluster.first.get_as(path, &fixture.ada.token).await;
    invalid.assert_failure(400, "schema-invalid");
}

#[tokio::test]
async fn right_taken_away_during_a_long_poll_ends_it_with_nothing() {
    let fixture = QuestionFixture::new().await;
    let position = fixture.position().await;
    let path = format!("/api/v1/approvals?tenantId=acme&after={position}&wait=25000");
    let remove_and_ask = async {
        fixture.wait_for_open_long_poll().await;
        let member = format!("/api/v1/tenants/acme/members/{}", fixture.ada.principal);
        let token = &fixture.cluster.operator.token;
        let removed = fixture.cluster.first.request_as(Method::DELETE, &member, token, None).await;
        assert_eq!(removed.status, 200, "{}", removed.text);
        fixture.create_question("0", "touch a").await
    };
    let waiting = fixture.cluster.second.get_as(&path, &fixture.ada.token);
    let (listed, _) = tokio::time::timeout(TIMEOUT, join(waiting, remove_and_ask)).await.expect("an answer");
    listed.assert_failure(404, "not-found");
}

#[tokio::test]
async fn list_shows_what_the_caller_may_answer_under_the_policy() {
    let fixture = QuestionFixture::new().await;
    let developer = fixture.cluster.create_user("dev").await;
    fixture.cluster.set_role(&fixture.tenant.id, &developer, "developer").await;
    let operator = fixture.cluster.first.sign_in("operator").await;
    let first = fixture.create_question("0", "touch a").await;
    fixture.set_policy(json!({ "mode": "designated", "approverId": fixture.ada.principal })).await;
    let second = fixture.create_question("1", "touch b").await;
    let both = vec![second.clone(), first.clone()];
    for (user, answerable) in [
        (&operator, vec![first.clone()]),
        (&fixture.ada, both.clone()),
        (&fixture.ben, vec![first.clone()]),
        (&developer, vec![]),
    ] {
        assert_eq!(fixture.listed_ids(user, "").await, both);
        assert_eq!(fixture.listed_ids(user, "&answerable=true").await, answerable, "{}", user.principal);
    }
    let shown = fixture.get(&second).await;
    assert_eq!(json!([shown["mode"], shown["canAnswer"]]), json!(["designated", false]), "the operator");
    assert_eq!(fixture.vote(&first, &fixture.ben, "no").await.0, 200);
    assert_eq!(fixture.get(&first).await["canAnswer"], false, "answered");
}

#[tokio::test]
async fn list_is_of_one_run_or_one_session() {
    let mut fixture = QuestionFixture::new().await;
    let first = fixture.create_question("0", "touch a").await;
    let (run, session) = (fixture.claim.run.clone(), text(&fixture.get(&first).await, "sessionId"));
    (fixture.claim, fixture.command) = fixture.cluster.start_command(&fixture.tenant).await;
    let second = fixture.create_question("0", "touch a").await;
    for query in [format!("&runId={run}"), format!("&sessionId={session}")] {
        assert_eq!(fixture.listed_ids(&fixture.ada, &query).await, [first.as_str()]);
    }
    assert_eq!(fixture.vote(&first, &fixture.ada, "no").await.0, 200);
    for (state, expected) in [("pending", vec![]), ("all", vec![first.as_str()])] {
        let query = format!("&sessionId={session}&state={state}");
        assert_eq!(fixture.listed_ids(&fixture.ada, &query).await, expected);
    }
    assert_eq!(fixture.listed_ids(&fixture.ada, "&state=all").await, [second.as_str(), first.as_str()]);
    let path = format!("/api/v1/approvals?tenantId=acme&sessionId={session}&runId={run}");
    let refused = fixture.cluster.first.get_as(&path, &fixture.ada.token).await;
    refused.assert_failure(400, "schema-invalid");
}
