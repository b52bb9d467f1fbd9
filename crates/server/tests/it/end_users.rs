//! End users of an application: external subjects who talk to one agent in threads of their own.

use std::time::{Duration, Instant};

use guildhall_testkit::TestDb;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::agent_threads::{
    RUNS, THREAD, TestTurn, agui_request, input_with, read_frames, serve_turn, tenant_with_agent, types,
};
use crate::support::cluster::Cluster;
use crate::support::routes::{MISSING_IDS, PARAMETERS, fill, operations, send};
use crate::support::runs::{TestTenant, command_question, text};
use crate::support::{Setup, TestResponse, TestServer, read_response};

const EVENTS: &str = "/api/v1/agent/runs/550e8400-e29b-41d4-a716-446655440000/events";
const HISTORY: &str = "/api/v1/agent/history";

/// An application with the agent `helper` and a service key.
struct Application {
    cluster: Cluster,
    tenant: TestTenant,
    agent: String,
    key_id: String,
    key: String,
}

impl Application {
    async fn new() -> Self {
        Self::with_cluster(Cluster::new().await).await
    }

    async fn with_cluster(cluster: Cluster) -> Self {
        let tenant = tenant_with_agent(&cluster).await;
        let agents = cluster.first.get_as("/api/v1/agents?tenantId=acme", &cluster.operator.token).await;
        let agent = text(&agents.body["agents"][0], "id");
        let (key_id, key) = cluster.create_key(&tenant.id, "developer").await;
        Self { cluster, tenant, agent, key_id, key }
    }

    /// Creates a token for a user of the application.
    async fn token(&self, subject: &str, agent: &str) -> TestResponse {
        let path = format!("/api/v1/tenants/{}/subject-tokens", self.tenant.id);
        self.cluster.first.post_as(&path, &self.key, json!({ "subject": subject, "agentId": agent })).await
    }

    async fn sign_in(&self, subject: &str) -> String {
        let minted = self.token(subject, "helper").await;
        assert_eq!(minted.status, 201, "{}", minted.text);
        text(&minted.body, "accessToken")
    }

    async fn limit(&self, limits: Value) {
        let path = format!("/api/v1/agents/{}", self.agent);
        let body = Some(json!({ "endUsers": limits }));
        let changed =
            self.cluster.first.request_as(Method::PATCH, &path, &self.cluster.operator.token, body).await;
        assert_eq!(changed.status, 200, "{}", changed.text);
    }

    /// Serves the next turn with a reply.
    async fn serve(&self, reply: &str) {
        serve_turn(&self.cluster.second, &self.tenant, reply).await;
    }
}

/// Sends a message as the source of the run input says: in the thread, under the id of the run.
async fn post(server: &TestServer, token: &str, thread: &str, run: &str) -> TestResponse {
    let input = input_with(&json!({ "threadId": thread, "runId": run }));
    server.post_as("/api/v1/agent/runs", token, input).await
}

/// Returns the id of one of several threads.
fn thread(number: usize) -> String {
    format!("550e8400-e29b-41d4-a716-{number:012}")
}

fn contents(history: &TestResponse) -> Vec<String> {
    let messages = history.body["messages"].as_array().expect("messages").iter();
    messages.map(|message| text(message, "content")).collect()
}

#[tokio::test]
async fn end_users_talk_to_the_agent_in_threads_of_their_own() {
    let app = Application::new().await;
    let (first, second) = (&app.cluster.first, &app.cluster.second);
    let (ada, bob) = (app.sign_in("ada").await, app.sign_in("bob").await);
    for (token, reply) in [(&ada, "for ada"), (&bob, "for bob"), (&app.cluster.operator.token, "for staff")] {
        let path = if *token == app.cluster.operator.token { RUNS } else { "/api/v1/agent/runs" };
        let created = first.post_as(path, token, input_with(&json!({ "runId": "run-1" }))).await;
        assert_eq!(
            (created.status.as_u16(), &created.body["created"]),
            (200, &json!(true)),
            "{}",
            created.text
        );
        app.serve(reply).await;
    }
    for (token, reply) in [(&ada, "for ada"), (&bob, "for bob")] {
        let (frames, _) =
            read_frames(second.client.get(second.url(EVENTS)).bearer_auth(token), |_| false).await;
        let said: String = frames.iter().filter_map(|frame| frame["delta"].as_str()).collect();
        assert_eq!(said, reply);
        let named = second.get_as(&format!("{HISTORY}?threadId={THREAD}"), token).await;
        let latest = second.get_as(HISTORY, token).await;
        assert_eq!(contents(&named), ["hello", reply], "{}", named.text);
        assert_eq!(contents(&latest), ["hello", reply], "{}", latest.text);
    }
    let eve = app.sign_in("eve").await;
    second.get_as(EVENTS, &eve).await.assert_failure(404, "not-found");
    second.get_as(&format!("{HISTORY}?threadId={THREAD}"), &eve).await.assert_failure(404, "not-found");
    assert_eq!(contents(&second.get_as(HISTORY, &eve).await), Vec::<String>::new());
    let stop = format!("/api/v1/agent/runs/{THREAD}/stop");
    second.post_as(&stop, &eve, json!({})).await.assert_failure(404, "not-found");
}

#[tokio::test]
async fn subject_token_is_for_one_agent_of_its_tenant() {
    let app = Application::new().await;
    let server = &app.cluster.second;
    let other = app.cluster.create_agent("acme", "other").await;
    app.cluster.create_automation("acme", "helper").await;
    app.cluster.create_tenant("globex").await;
    let foreign = app.cluster.create_agent("globex", "foreign").await;
    for agent in ["unknown", "foreign", &foreign] {
        app.token("ada", agent).await.assert_failure(404, "not-found");
    }
    app.token("ada", "not a slug").await.assert_failure(400, "schema-invalid");
    app.token("ada", &"a".repeat(41)).await.assert_failure(400, "schema-invalid");
    let ada = app.sign_in("ada").await;
    let input = input_with(&json!({}));
    for query in [
        "agentId=other".to_owned(),
        format!("agentId={other}"),
        "tenantId=globex".to_owned(),
        "tenantId=no".to_owned(),
    ] {
        let refused = server.post_as(&format!("/api/v1/agent/runs?{query}"), &ada, input.clone()).await;
        refused.assert_failure(404, "not-found");
    }
    let mut body = input.clone();
    body["forwardedProps"] = json!({ "runtime_mode": "automation" });
    let refused = server.post_as("/api/v1/agent/runs?automationId=daily", &ada, body).await;
    refused.assert_failure(404, "not-found");
    let path = format!("/api/v1/agents/{other}/agui");
    server.post_as(&path, &ada, input.clone()).await.assert_failure(404, "not-found");
    let info = server.get_as("/api/v1/copilotkit/info", &ada).await;
    let names: Vec<&String> = info.body["agents"].as_object().expect("agents").keys().collect();
    assert_eq!(names, ["default", "helper"], "{}", info.text);
    for path in ["/api/v1/agent/runs?tenantId=acme&agentId=helper", "/api/v1/agent/runs"] {
        let accepted = server.post_as(path, &ada, input.clone()).await;
        assert_eq!(accepted.status, 200, "{}", accepted.text);
    }
    // The same user has conversations with another agent, with another token.
    let with_other = text(&app.token("ada", "other").await.body, "accessToken");
    let body = input_with(&json!({ "threadId": thread(9) }));
    assert_eq!(server.post_as("/api/v1/agent/runs", &with_other, body).await.status, 200);
    for (token, expected) in [(&ada, THREAD.to_owned()), (&with_other, thread(9))] {
        assert_eq!(text(&server.get_as(HISTORY, token).await.body, "threadId"), expected);
    }
    // Without an agent the token only identifies the subject.
    let minted = app.cluster.mint_subject_token(&app.tenant.id, &app.key, "ada").await;
    let bare = text(&minted.body, "accessToken");
    server.post_as("/api/v1/agent/runs", &bare, input).await.assert_failure(404, "not-found");
    server.get_as(HISTORY, &bare).await.assert_failure(404, "not-found");
}

/// What a subject with an agent gets a success from. All of it is its own.
const OPEN_TO_SUBJECTS: [(&str, &str); 11] = [
    ("GET", "/api/v1/account/settings"),
    ("GET", "/api/v1/agent/history"),
    ("GET", "/api/v1/copilotkit/info"),
    ("GET", "/api/v1/sessions"),
    ("GET", "/api/v1/tenants"),
    ("GET", "/api/v1/whoami"),
    ("POST", "/api/v1/agent/runs"),
    ("POST", "/api/v1/agent/runs/{thread}/stop"),
    ("POST", "/api/v1/auth/logout"),
    ("POST", "/api/v1/copilotkit/agent/{agent}/stop/{thread}"),
    ("PUT", "/api/v1/account/settings"),
];

/// Streams stay open; other tests read them.
const STREAMS: [&str; 4] = [
    "/api/v1/agents/{agent}/agui",
    "/api/v1/copilotkit/agent/{agent}/run",
    "/api/v1/copilotkit/agent/{agent}/connect",
    "/api/v1/agent/runs/{thread}/events",
];

/// Every route, with the ids of the end user's own run, session, turn and question.
#[tokio::test]
async fn subject_token_with_an_agent_opens_only_its_threads() {
    let app = Application::new().await;
    app.limit(json!({ "turnsPerMinute": 100, "answerApprovals": true })).await;
    let ada = app.sign_in("ada").await;
    assert_eq!(post(&app.cluster.first, &ada, THREAD, "run-1").await.status, 200);
    let turn = TestTurn::claim(&app.cluster.second, &app.tenant).await;
    let approval = app.cluster.second.ask(&turn.claim, &turn.command, "1", command_question("ls")).await;
    let session = text(&app.cluster.get_run(&turn.claim.run).await, "sessionId");
    let own = [
        ("{tenant}", app.tenant.id.as_str()),
        ("{run}", &turn.claim.run),
        ("{command}", &turn.command),
        ("{session}", &session),
        ("{approval}", &approval),
        ("{agent}", &app.agent),
    ];
    let value = |(name, missing): (&&str, &'static str)| {
        own.iter().find(|(own, _)| own == name).map_or(missing, |(_, id)| *id)
    };
    let mut ids = MISSING_IDS.map(|_| "");
    for (id, pair) in ids.iter_mut().zip(PARAMETERS.iter().zip(MISSING_IDS)) {
        *id = value(pair);
    }
    let (mut open, mut refused) = (Vec::new(), 0);
    for (method, template) in operations(&app.cluster.first).await {
        if STREAMS.contains(&template.as_str()) {
            continue;
        }
        let with_token =
            send(&app.cluster.second, &method, &fill(&template, ids), &template, Some(&ada)).await;
        if with_token.status.is_success() {
            let without = send(&app.cluster.second, &method, &fill(&template, ids), &template, None).await;
            if !without.status.is_success() {
                open.push((method, template));
            }
        } else {
            assert!(
                [400, 401, 403, 404, 405, 409, 413, 415, 422].contains(&with_token.status.as_u16()),
                "{method} {template}: {}",
                with_token.text
            );
            refused += 1;
        }
    }
    assert!(refused > 100, "only {refused} routes were refused");
    let mut expected: Vec<(String, String)> =
        OPEN_TO_SUBJECTS.iter().map(|(method, path)| ((*method).to_owned(), (*path).to_owned())).collect();
    expected.sort();
    open.sort();
    assert_eq!(open, expected);
    let sessions = app.cluster.second.get_as("/api/v1/sessions?state=all", &ada).await.body;
    assert_eq!(sessions, json!({ "sessions": [], "nextCursor": null }));
    let tenants = app.cluster.second.get_as("/api/v1/tenants", &ada).await.body;
    assert_eq!(tenants, json!({ "tenants": [] }));
    assert_eq!(
        text(&app.cluster.get_run(&turn.claim.run).await, "status"),
        "running",
        "nothing was cancelled"
    );
}

fn resume_input(approval: &str) -> Value {
    let answer = json!({ "status": "resolved", "payload": { "approved": true }, "interruptId": approval });
    let values = json!({ "runId": "run-2", "protocolVersion": "1.0", "messages": [], "resume": [answer], "forwardedProps": {} });
    input_with(&values)
}

#[tokio::test]
async fn end_user_answers_own_questions_if_the_agent_says_so() {
    let app = Application::new().await;
    let (first, second) = (&app.cluster.first, &app.cluster.second);
    let (ada, bob) = (app.sign_in("ada").await, app.sign_in("bob").await);
    let stream = |server: &TestServer, token: &str, input: &Value| {
        let request = server.client.post(server.url("/api/v1/agent/runs")).bearer_auth(token).json(input);
        request.header("accept", "text/event-stream")
    };
    let asks = async {
        let turn = TestTurn::claim(second, &app.tenant).await;
        let approval = second.ask(&turn.claim, &turn.command, "1", command_question("rm -r build")).await;
        (turn, approval)
    };
    let input = input_with(&json!({ "runId": "run-1", "protocolVersion": "1.0", "forwardedProps": {} }));
    let ((frames, _), (turn, approval)) =
        tokio::join!(read_frames(stream(first, &ada, &input), |_| false), asks);
    let last = frames.last().expect("a last frame");
    assert_eq!(last["outcome"]["interrupts"][0]["id"], approval.as_str(), "{last}");
    let resume = resume_input(&approval);
    let refused = read_response(stream(second, &ada, &resume).send().await.expect("a response")).await;
    refused.assert_failure(403, "forbidden");
    app.limit(json!({ "answerApprovals": true })).await;
    assert_eq!(post(first, &bob, THREAD, "run-1").await.status, 200);
    let foreign = read_response(stream(second, &bob, &resume).send().await.expect("a response")).await;
    foreign.assert_failure(422, "invalid-input");
    let vote = json!({ "optionId": "allow", "shownDigest": "00" });
    let path = format!("/api/v1/approvals/{approval}/votes");
    second.post_as(&path, &ada, vote).await.assert_failure(404, "not-found");
    let finish = async {
        let answer = second.take_until_answered(&turn.claim, &approval).await;
        turn.say(second, "m2", &format!("the answer is {answer}")).await;
        turn.complete(second).await;
    };
    let ((frames, _), ()) = tokio::join!(read_frames(stream(second, &ada, &resume), |_| false), finish);
    assert_eq!(types(&frames).last().map(String::as_str), Some("RUN_FINISHED"), "{frames:?}");
    let said: String = frames.iter().filter_map(|frame| frame["delta"].as_str()).collect();
    assert_eq!(said, "the answer is yes");
    let decided = first.get_as(&format!("/api/v1/approvals/{approval}"), &app.cluster.operator.token).await;
    let principal = text(&first.get_as("/api/v1/whoami", &ada).await.body, "principal");
    assert!(decided.text.contains(&principal), "the answer names who gave it: {}", decided.text);
}

#[tokio::test]
async fn turns_of_an_end_user_are_limited_in_each_minute() {
    let app = Application::new().await;
    app.limit(json!({ "turnsPerMinute": 3, "openThreads": 100 })).await;
    let (ada, bob) = (app.sign_in("ada").await, app.sign_in("bob").await);
    let mut sql = app.cluster.db.sql().await;
    // The minute of the database does not change while the turns are sent.
    let seconds = "SELECT extract(second FROM now())::bigint";
    while sql.number(seconds).await > 40 {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let servers = [&app.cluster.first, &app.cluster.second];
    let sent = (0..10).map(|n| {
        let (server, ada) = (servers[n % 2], &ada);
        async move { post(server, ada, &thread(n), &format!("run-{n}")).await }
    });
    let responses = futures::future::join_all(sent).await;
    let accepted = responses.iter().filter(|response| response.status == 200).count();
    assert_eq!(accepted, 3, "{:?}", responses.iter().map(|response| &response.text).collect::<Vec<_>>());
    let refused = responses.iter().find(|response| response.status != 200).expect("one is refused");
    refused.assert_failure(429, "rate-limited");
    assert_eq!(refused.header("retry-after"), "60", "{}", refused.text);
    let mut repeated = responses.iter().zip(0..10).filter(|(response, _)| response.status == 200);
    let (known, n) = repeated.next().expect("one was accepted");
    let again = post(servers[0], &ada, &text(&known.body, "threadId"), &format!("run-{n}")).await;
    assert_eq!(again.body["taskId"], known.body["taskId"], "a repeated request is no new turn");
    assert_eq!(post(servers[0], &bob, THREAD, "run-1").await.status, 200, "another end user is not limited");
    let staff = servers[1].post_as(RUNS, &app.cluster.operator.token, input_with(&json!({}))).await;
    assert_eq!(staff.status, 200, "members are not limited");
    sql.execute("UPDATE end_user_usage SET minute = minute - interval '1 minute'").await;
    assert_eq!(post(servers[0], &ada, THREAD, "run-next").await.status, 200, "in the next minute");
}

#[tokio::test]
async fn open_threads_of_an_end_user_are_limited() {
    let app = Application::new().await;
    app.limit(json!({ "turnsPerMinute": 100, "openThreads": 2 })).await;
    let ada = app.sign_in("ada").await;
    let threads: Vec<String> = (0..8).map(thread).collect();
    let servers = [&app.cluster.first, &app.cluster.second];
    let sent = threads.iter().enumerate().map(|(n, thread)| post(servers[n % 2], &ada, thread, "run-1"));
    let responses = futures::future::join_all(sent).await;
    let (accepted, refused): (Vec<_>, Vec<_>) =
        responses.into_iter().zip(&threads).partition(|(response, _)| response.status == 200);
    assert_eq!((accepted.len(), refused.len()), (2, 6));
    refused[0].0.assert_failure(429, "rate-limited");
    let (_, open) = accepted[0];
    assert_eq!(post(servers[0], &ada, open, "run-2").await.status, 200, "the same thread is open already");
    let (_, closed) = refused[0];
    post(servers[0], &ada, closed, "run-2").await.assert_failure(429, "rate-limited");
    let stopped = servers[1].post_as(&format!("/api/v1/agent/runs/{open}/stop"), &ada, json!({})).await;
    assert_eq!(stopped.body, json!({ "stopped": true }), "{}", stopped.text);
    assert_eq!(post(servers[1], &ada, closed, "run-3").await.status, 200, "after a stop there is a place");
}

#[tokio::test]
async fn tokens_of_an_end_user_are_limited_in_each_day() {
    let app = Application::new().await;
    app.limit(json!({ "turnsPerMinute": 100, "tokensPerDay": 1000 })).await;
    let (ada, bob) = (app.sign_in("ada").await, app.sign_in("bob").await);
    let server = &app.cluster.first;
    for (n, tokens) in [400, 600].into_iter().enumerate() {
        assert_eq!(post(server, &ada, &thread(n), "run-1").await.status, 200);
        let turn = TestTurn::claim(&app.cluster.second, &app.tenant).await;
        let usage = json!({ "inputTokens": tokens - 100, "cachedInputTokens": 50, "outputTokens": 100 });
        let event =
            json!({ "id": format!("u{n}"), "type": "usage", "commandId": turn.command, "payload": usage });
        let appended = app.cluster.second.append_events(&turn.claim, json!([event])).await;
        assert_eq!(appended.status, 200, "{}", appended.text);
        turn.complete(&app.cluster.second).await;
    }
    let refused = post(server, &ada, THREAD, "run-1").await;
    refused.assert_failure(429, "rate-limited");
    assert!(refused.text.contains("tokens of this day"), "{}", refused.text);
    assert_eq!(post(server, &bob, THREAD, "run-1").await.status, 200);
    app.cluster.db.sql().await.execute("UPDATE end_user_usage SET day = day - 1").await;
    assert_eq!(post(server, &ada, THREAD, "run-1").await.status, 200, "on the next day");
}

#[tokio::test]
async fn limits_outside_their_bounds_are_refused() {
    let app = Application::new().await;
    let path = format!("/api/v1/agents/{}", app.agent);
    for limits in [
        json!({ "turnsPerMinute": 0 }),
        json!({ "openThreads": 101 }),
        json!({ "tokensPerDay": -1 }),
        json!({ "unknown": 1 }),
        json!([null, 5]),
    ] {
        let body = Some(json!({ "endUsers": limits }));
        let refused =
            app.cluster.first.request_as(Method::PATCH, &path, &app.cluster.operator.token, body).await;
        refused.assert_failure(400, "schema-invalid");
    }
    app.limit(json!({ "openThreads": 7 })).await;
    let agent = app.cluster.second.get_as(&path, &app.cluster.operator.token).await.body;
    let expected = json!({ "answerApprovals": false, "turnsPerMinute": 10, "openThreads": 7, "tokensPerDay": 2_000_000 });
    assert_eq!(agent["endUsers"], expected);
}

/// Opens a stream of an end user at the second replica, changes the service key at the first, and waits for the end.
async fn assert_stream_ends(app: &Application, method: Method, path: &str, body: Option<Value>) {
    let ada = app.sign_in("ada").await;
    let input = input_with(&json!({ "protocolVersion": "1.0", "forwardedProps": {} }));
    let server = &app.cluster.second;
    let request = server.client.post(server.url("/api/v1/agent/runs")).bearer_auth(&ada).json(&input);
    let mut response = request.header("accept", "text/event-stream").send().await.expect("a response");
    assert_eq!(response.status(), 200);
    response.chunk().await.expect("a chunk").expect("the run has started");
    let changed = app.cluster.first.request_as(method, path, &app.cluster.operator.token, body).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    let since = Instant::now();
    let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
    tokio::time::timeout(Duration::from_secs(10), rest).await.expect("the stream ends");
    assert!(since.elapsed() < Duration::from_secs(2), "after {:?}", since.elapsed());
    let again = agui_request(server, &ada, &input).send().await.expect("a response");
    assert_eq!(again.status(), 401);
}

#[tokio::test]
async fn stream_of_an_end_user_ends_with_the_service_key() {
    let app = Application::new().await;
    let path = format!("/api/v1/tenants/{}/keys/{}", app.tenant.id, app.key_id);
    assert_stream_ends(&app, Method::DELETE, &path, None).await;
}

#[tokio::test]
async fn stream_of_an_end_user_ends_when_the_key_loses_its_role() {
    let app = Application::new().await;
    let service = text(&app.cluster.first.get_as("/api/v1/whoami", &app.key).await.body, "principal");
    let path = format!("/api/v1/tenants/{}/members/{service}", app.tenant.id);
    assert_stream_ends(&app, Method::PUT, &path, Some(json!({ "role": "viewer" }))).await;
}

#[tokio::test]
async fn page_of_an_allowed_origin_uses_the_token_of_its_user() {
    let db = TestDb::new().await;
    let origin = "https://shop.example.org";
    let cluster = Cluster::with_setup(Setup::new(&db).with("access.allow_origins", origin), db).await;
    let app = Application::with_cluster(cluster).await;
    let ada = app.sign_in("ada").await;
    let server = &app.cluster.first;
    let url = server.url("/api/v1/agent/runs");
    let send = async |method: Method, from: &str| {
        let request = server.client.request(method, &url).header("origin", from).bearer_auth(&ada);
        read_response(request.json(&input_with(&json!({}))).send().await.expect("a response")).await
    };
    let preflight = send(Method::OPTIONS, origin).await;
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.header("access-control-allow-origin"), origin);
    let headers = preflight.header("access-control-allow-headers");
    for name in ["authorization", "content-type", "last-event-id"] {
        assert!(headers.split(", ").any(|allowed| allowed == name), "{name} in {headers}");
    }
    let created = send(Method::POST, origin).await;
    assert_eq!(
        (created.status.as_u16(), created.header("access-control-allow-origin")),
        (200, origin),
        "{}",
        created.text
    );
    assert_eq!(created.header("access-control-allow-credentials"), "");
    send(Method::POST, "https://evil.example.org").await.assert_failure(403, "origin-refused");
}
