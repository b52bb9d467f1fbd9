//! Interrupts of AG-UI: questions of agents that an application answers with its next run.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::agent_threads::{
    RUNS, THREAD, TestTurn, agui_request, input_with, read_frames, tenant_with_agent, types,
};
use crate::support::cluster::Cluster;
use crate::support::runs::{TestTenant, command_question, run_agent_input, text};
use crate::support::{TestResponse, TestServer, read_response};

/// The agent's id of the tool call that it asks about.
const CALL: &str = "call-1";

/// An application whose agent has a question.
struct InterruptFixture {
    cluster: Cluster,
    tenant: TestTenant,
    /// The turn that asks, served at the second replica.
    turn: TestTurn,
    /// The id that the tool call has in the stream.
    call: String,
    /// The last frame of the application's run, of the type `RUN_FINISHED`.
    last: Value,
    approval: String,
}

fn run_input(run: &str, values: &Value) -> Value {
    let mut input = input_with(&json!({ "threadId": "main", "runId": run, "protocolVersion": "1.0" }));
    input["forwardedProps"] = json!({});
    for (name, value) in values.as_object().expect("an object") {
        input[name] = value.clone();
    }
    input
}

fn resume_input(run: &str, approval: &str, entry: &Value) -> Value {
    let mut entry = entry.clone();
    entry["interruptId"] = json!(approval);
    run_input(run, &json!({ "messages": [], "resume": [entry] }))
}

fn approved(approved: bool) -> Value {
    json!({ "status": "resolved", "payload": { "approved": approved } })
}

impl InterruptFixture {
    /// Opens the thread `main` with the run `run-1`, whose agent asks at the second replica.
    async fn new() -> Self {
        let cluster = Cluster::new().await;
        let tenant = tenant_with_agent(&cluster).await;
        let input = run_input("run-1", &json!({}));
        let asks = async {
            let turn = TestTurn::claim(&cluster.second, &tenant).await;
            let call =
                json!({ "callId": CALL, "toolName": "shell", "status": "started", "command": "rm -r build" });
            let call =
                json!({ "id": "1-call", "type": "tool_call", "commandId": turn.command, "payload": call });
            let appended = cluster.second.append_events(&turn.claim, json!([call])).await;
            assert_eq!(appended.status, 200, "{}", appended.text);
            let body = json!({
                "commandId": turn.command, "process": "p", "request": "1", "callId": CALL,
                "question": command_question("rm -r build"),
            });
            let asked = cluster.second.try_ask(&turn.claim, body).await;
            assert_eq!(asked.status, 200, "{}", asked.text);
            (text(&asked.body, "approvalId"), turn)
        };
        let open = read_frames(agui_request(&cluster.first, &cluster.operator.token, &input), |_| false);
        let ((frames, _), (approval, turn)) = tokio::join!(open, asks);
        let started = frames.iter().find(|frame| frame["type"] == "TOOL_CALL_START").expect("a call");
        let (call, last) = (text(started, "toolCallId"), frames.last().expect("a last frame").clone());
        Self { cluster, tenant, turn, call, last, approval }
    }

    fn token(&self) -> &str {
        &self.cluster.operator.token
    }

    async fn resume(&self, server: &TestServer, run: &str, entry: &Value) -> Vec<Value> {
        let input = resume_input(run, &self.approval, entry);
        read_frames(agui_request(server, self.token(), &input), |_| false).await.0
    }

    /// Sends a resume that is refused.
    async fn refused(&self, bearer: &str, input: &Value) -> TestResponse {
        let response = agui_request(&self.cluster.second, bearer, input).send().await.expect("a response");
        read_response(response).await
    }

    async fn status(&self) -> String {
        let path = format!("/api/v1/approvals/{}", self.approval);
        text(&self.cluster.second.get_as(&path, self.token()).await.body, "status")
    }

    /// Waits for the answer in place of the agent's process, says it, and ends the turn.
    async fn finish_turn(&self) {
        let server = &self.cluster.second;
        let answer = server.take_until_answered(&self.turn.claim, &self.approval).await;
        self.turn.say(server, "m2", &format!("the answer is {answer}")).await;
        self.turn.complete(server).await;
    }

    /// Parks the turn as a runner does: it ends, and the run is released.
    async fn park(&self) {
        let (server, claim) = (&self.cluster.second, &self.turn.claim);
        let shift = "UPDATE approvals SET created_at = created_at - interval '11 minutes', \
                     expires_at = expires_at - interval '11 minutes'";
        self.cluster.db.sql().await.execute(shift.to_owned()).await;
        let taken = server.take_answer(claim, &self.approval, "p").await;
        assert_eq!(taken.body["parked"], true, "{}", taken.text);
        let message = format!("approval:{}", self.approval);
        let blocked =
            json!({ "status": "blocked", "failureKind": "tenant-policy-denied", "message": message });
        let finished = server.finish(claim, &self.turn.command, blocked).await;
        assert_eq!(finished.status, 200, "{}", finished.text);
        let path = format!("/api/v1/runs/{}/lease", claim.run);
        let release = Some(json!({ "release": true }));
        let released = server.request_as(Method::PATCH, &path, &claim.token, release).await;
        assert_eq!(released.status, 200, "{}", released.text);
    }

    /// Returns the frames of the whole thread.
    async fn thread(&self, server: &TestServer) -> Vec<Value> {
        let events = server.url("/api/v1/agent/runs/main/events?tenantId=acme");
        read_frames(server.client.get(&events).bearer_auth(self.token()), |_| false).await.0
    }
}

fn said(frames: &[Value]) -> String {
    frames.iter().filter_map(|frame| frame["delta"].as_str()).collect()
}

fn run_ids(frames: &[Value]) -> Vec<String> {
    let started = frames.iter().filter(|frame| frame["type"] == "RUN_STARTED");
    started.map(|frame| text(frame, "runId")).collect()
}

#[tokio::test]
async fn interrupt_shows_the_whole_question() {
    let app = InterruptFixture::new().await;
    assert_eq!(app.last["type"], "RUN_FINISHED");
    let interrupt = &app.last["outcome"]["interrupts"][0];
    assert_eq!((&app.last["outcome"]["type"], &interrupt["id"]), (&json!("interrupt"), &json!(app.approval)));
    let message = "Allow this command?\n\nrm -r build\n\nThe agent says: to see what is there";
    assert_eq!(interrupt["message"], message);
    assert_eq!(interrupt["metadata"]["arguments"], json!({ "command": "rm -r build" }));
    assert_eq!((&interrupt["reason"], &interrupt["toolCallId"]), (&json!("tool_call"), &json!(app.call)));
    let path = format!("/api/v1/approvals/{}", app.approval);
    let approval = app.cluster.first.get_as(&path, app.token()).await.body;
    assert_eq!(interrupt["metadata"]["shownDigest"], approval["shownDigest"]);
    let thread = app.thread(&app.cluster.second).await;
    assert_eq!(thread.last(), Some(&app.last), "the same for who follows the thread at the other replica");
}

#[tokio::test]
async fn resume_answers_the_question_and_shows_the_rest_of_the_turn() {
    for (entry, option) in [(approved(true), "yes"), (json!({ "status": "cancelled" }), "no")] {
        let app = InterruptFixture::new().await;
        let (frames, ()) = tokio::join!(app.resume(&app.cluster.first, "run-2", &entry), app.finish_turn());
        assert_eq!(run_ids(&frames), ["run-2"], "{frames:?}");
        assert_eq!(said(&frames), format!("the answer is {option}"));
        let last = frames.last().expect("a last frame");
        assert_eq!((&last["type"], &last["outcome"]["type"]), (&json!("RUN_FINISHED"), &json!("success")));
        let decided = frames.iter().find(|frame| frame["name"] == "guildhall.approval").expect("a decision");
        assert_eq!(decided["value"]["optionId"], option);
        let repeated = app.resume(&app.cluster.second, "run-2", &entry).await;
        assert_eq!(repeated, frames, "the same run id at the other replica");
        let (one, two) = tokio::join!(app.thread(&app.cluster.first), app.thread(&app.cluster.second));
        assert_eq!(one, two);
        assert_eq!(run_ids(&one), ["run-1", "run-2"], "{:?}", types(&one));
    }
}

#[tokio::test]
async fn open_thread_shows_the_rest_of_a_turn_that_is_answered_elsewhere() {
    let app = InterruptFixture::new().await;
    let follow = |query: &str| {
        let events = format!("/api/v1/agent/runs/main/events?tenantId=acme{query}");
        app.cluster.first.client.get(app.cluster.first.url(&events)).bearer_auth(app.token())
    };
    let before = read_frames(follow(""), |_| false).await.0;
    assert_eq!(before.last(), Some(&app.last), "the stream ends with the question");
    let open = read_frames(follow("&waitForAnswers=true"), |_| false);
    let answer = async {
        let voted = app.cluster.second.vote(&app.approval, app.token(), "yes").await;
        assert_eq!(voted.status, 200, "{}", voted.text);
        // Nothing has followed the answer yet, and the thread is not at its end.
        let (after, ()) = tokio::join!(read_frames(follow(""), |_| false), app.finish_turn());
        after.0
    };
    let ((frames, _), after) = tokio::join!(open, answer);
    assert_eq!(frames[..before.len()], before);
    let rest = &frames[before.len()..];
    assert_eq!(run_ids(rest), [format!("{}.1", app.turn.command)]);
    assert_eq!(said(rest), "the answer is yes");
    assert_eq!(rest.last().expect("an end")["outcome"], json!({ "type": "success" }));
    assert_eq!(after, frames, "who comes after the answer sees the same");
}

#[tokio::test]
async fn resume_at_two_replicas_at_once_is_one_answer() {
    let app = InterruptFixture::new().await;
    let entry = approved(true);
    let (one, two, ()) = tokio::join!(
        app.resume(&app.cluster.first, "run-2", &entry),
        app.resume(&app.cluster.second, "run-2", &entry),
        app.finish_turn()
    );
    assert_eq!(one, two);
    let events = app.cluster.list_events(&app.turn.claim.run).await;
    let named = events.iter().filter(|event| event["payload"]["clientRunId"] == "run-2").count();
    assert_eq!(named, 1, "the run has its name once");
}

#[tokio::test]
async fn answer_that_another_person_has_given_counts_if_it_is_the_same() {
    let app = InterruptFixture::new().await;
    let voted = app.cluster.second.vote(&app.approval, app.token(), "yes").await;
    assert_eq!(voted.status, 200, "{}", voted.text);
    let denial = resume_input("run-2", &app.approval, &approved(false));
    let refused = app.refused(app.token(), &denial).await;
    refused.assert_failure(409, "conflict");
    assert!(text(&refused.body, "message").starts_with("already answered with `yes`"), "{}", refused.text);
    app.finish_turn().await;
    let entry = approved(true);
    let frames = app.resume(&app.cluster.first, "run-3", &entry).await;
    assert_eq!((run_ids(&frames), said(&frames)), (vec!["run-3".to_owned()], "the answer is yes".to_owned()));
}

#[tokio::test]
async fn resume_of_a_parked_turn_shows_the_turn_that_continues_it() {
    let app = InterruptFixture::new().await;
    app.park().await;
    let serve = async {
        let turn = TestTurn::claim(&app.cluster.second, &app.tenant).await;
        turn.say(&app.cluster.second, "m1", "done after the pause").await;
        turn.complete(&app.cluster.second).await;
    };
    let entry = approved(true);
    let (frames, ()) = tokio::join!(app.resume(&app.cluster.first, "run-2", &entry), serve);
    assert_eq!(
        (run_ids(&frames), said(&frames)),
        (vec!["run-2".to_owned()], "done after the pause".to_owned())
    );
    assert_eq!(app.resume(&app.cluster.second, "run-2", &entry).await, frames);
    let sent = "SELECT payload FROM commands WHERE continues IS NOT NULL";
    let sent: Value = serde_json::from_str(&app.cluster.db.sql().await.texts(sent).await[0]).expect("JSON");
    assert_eq!(
        sent["pipeline"],
        json!({ "worker": "default", "enabledTools": ["shell"] }),
        "as the parked turn"
    );
    let history = "/api/v1/agent/history?tenantId=acme&threadId=main";
    let history = app.cluster.first.get_as(history, app.token()).await.body;
    let said = |message: &Value| text(message, "content");
    let said: Vec<String> = history["messages"].as_array().expect("messages").iter().map(said).collect();
    assert_eq!(said, ["hello", "done after the pause"], "without the words of the server to the agent");
}

#[tokio::test]
async fn resume_that_may_not_answer_changes_nothing() {
    let app = InterruptFixture::new().await;
    let (cluster, approval) = (&app.cluster, &app.approval);
    let mut wrong_digest = approved(true);
    wrong_digest["payload"]["shownDigest"] = json!("00".repeat(32));
    let mut unknown_option = approved(true);
    unknown_option["payload"]["optionId"] = json!("other");
    let mut contradiction = approved(true);
    contradiction["payload"]["optionId"] = json!("no");
    for (entry, status, kind) in [
        (wrong_digest, 409, "conflict"),
        (unknown_option, 422, "invalid-input"),
        (contradiction, 422, "invalid-input"),
        (json!({ "status": "resolved" }), 422, "invalid-input"),
        (json!({ "status": "resolved", "payload": { "content": { "a": 1 } } }), 422, "invalid-input"),
    ] {
        let input = resume_input("run-2", approval, &entry);
        app.refused(app.token(), &input).await.assert_failure(status, kind);
    }
    let unknown = resume_input("run-2", "apr_01920000000070008000000000000000", &approved(true));
    app.refused(app.token(), &unknown).await.assert_failure(422, "invalid-input");
    // Another person has no such thread, and their own thread has no such interrupt.
    let user = cluster.create_user("person").await;
    cluster.set_role(&app.tenant.id, &user, "developer").await;
    let input = resume_input("run-2", approval, &approved(true));
    app.refused(&user.token, &input).await.assert_failure(404, "not-found");
    let started = cluster.first.post_as(RUNS, &user.token, run_agent_input("hello")).await;
    assert_eq!(started.status, 200, "{}", started.text);
    let mut own = input;
    own["threadId"] = json!(THREAD);
    app.refused(&user.token, &own).await.assert_failure(422, "invalid-input");
    assert_eq!(app.status().await, "pending");
    let thread = app.thread(&cluster.first).await;
    assert_eq!(run_ids(&thread), ["run-1"]);
    let events = cluster.list_events(&app.turn.claim.run).await;
    let named = events.iter().filter(|event| event["type"] == "client_run").count();
    assert_eq!(named, 1, "no refused resume has a name in the journal");
}

/// The state that a server leaves behind that is killed between the name of the run and the answer.
#[tokio::test]
async fn repeated_resume_gives_the_answer_that_is_missing() {
    let app = InterruptFixture::new().await;
    let mut sql = app.cluster.db.sql().await;
    let refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$; \
                  CREATE TRIGGER refuse BEFORE INSERT ON approval_votes FOR EACH ROW EXECUTE FUNCTION refuse()";
    sql.execute(refuse.to_owned()).await;
    let entry = approved(true);
    let input = resume_input("run-2", &app.approval, &entry);
    let failed = app.refused(app.token(), &input).await;
    assert!(failed.status.is_server_error(), "{}", failed.text);
    assert_eq!(app.status().await, "pending");
    sql.execute("DROP TRIGGER refuse ON approval_votes".to_owned()).await;
    let (frames, ()) = tokio::join!(app.resume(&app.cluster.first, "run-2", &entry), app.finish_turn());
    assert_eq!((run_ids(&frames), said(&frames)), (vec!["run-2".to_owned()], "the answer is yes".to_owned()));
    let events = app.cluster.list_events(&app.turn.claim.run).await;
    let named = events.iter().filter(|event| event["payload"]["clientRunId"] == "run-2").count();
    assert_eq!(named, 1, "the run has its name once");
}
