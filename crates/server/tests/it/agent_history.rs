//! The history of conversations, day by day.

use serde_json::{Value, json};

use crate::support::agent_threads::{RUNS, THREAD, TestTurn, input_with, tenant_with_agent};
use crate::support::cluster::Cluster;
use crate::support::runs::{command_event, run_agent_input, text};

const HISTORY: &str = "/api/v1/agent/history?tenantId=acme";

/// Moves the turns of the database by a number of days.
async fn shift_turns(cluster: &Cluster, days: i32) {
    let sql = format!(
        "UPDATE commands SET created_at = created_at + interval '{days} days', \
         ended_at = ended_at + interval '{days} days'"
    );
    cluster.db.sql().await.execute(sql).await;
}

async fn history(cluster: &Cluster, parameters: &str) -> Value {
    let path = format!("{HISTORY}{parameters}");
    let one = cluster.first.get_as(&path, &cluster.operator.token).await;
    assert_eq!(one.status, 200, "{}", one.text);
    let two = cluster.second.get_as(&path, &cluster.operator.token).await;
    assert_eq!(one.body, two.body, "both replicas");
    one.body
}

/// Returns the messages without their times.
fn messages(snapshot: &Value) -> Value {
    let mut messages = snapshot["messages"].clone();
    for message in messages.as_array_mut().expect("messages") {
        message.as_object_mut().expect("an object").remove("timestamp");
    }
    messages
}

// covers: I7
#[tokio::test]
async fn history_is_read_a_day_at_a_time_from_the_newest() {
    let cluster = Cluster::new().await;
    let tenant = tenant_with_agent(&cluster).await;
    let token = &cluster.operator.token;
    let nothing =
        json!({ "scope": "history_day", "threadId": null, "day": null, "hasMore": false, "messages": [] });
    assert_eq!(history(&cluster, "").await, nothing);
    let first = cluster.first.post_as(RUNS, token, run_agent_input("good morning")).await;
    let mut turn = TestTurn::claim(&cluster.first, &tenant).await;
    turn.say(&cluster.first, "m1", "hello").await;
    turn.complete(&cluster.first).await;
    shift_turns(&cluster, -40).await;
    let message = json!([{ "id": "msg-2", "role": "user", "content": "and now?" }]);
    let second = input_with(&json!({ "runId": "run-2", "messages": message }));
    let second = cluster.second.post_as(RUNS, token, second).await;
    let newest = history(&cluster, "").await;
    assert_eq!((&newest["threadId"], &newest["hasMore"]), (&json!(THREAD), &json!(true)));
    let unanswered = json!([{
        "id": "msg-2", "seq": 3, "role": "user", "content": "and now?", "attachments": [],
    }]);
    assert_eq!(messages(&newest), unanswered, "a turn that has not ended has no reply");
    turn.take_next(&cluster.second, &text(&second.body, "taskId")).await;
    turn.say(&cluster.second, "m2", "later").await;
    turn.complete(&cluster.second).await;
    let reply = |turn: &Value, seq: u64, content: &str| {
        json!({
            "id": format!("{}:reply", text(turn, "taskId")), "seq": seq, "role": "assistant", "content": content,
            "ui_schema": null,
        })
    };
    let newest = history(&cluster, &format!("&threadId={THREAD}")).await;
    assert_eq!(messages(&newest), json!([unanswered[0], reply(&second.body, 4, "later")]));
    let older = history(&cluster, &format!("&before={}", text(&newest, "day"))).await;
    assert_eq!(older["hasMore"], false);
    let user =
        json!({ "id": "msg-1", "seq": 1, "role": "user", "content": "good morning", "attachments": [] });
    assert_eq!(messages(&older), json!([user, reply(&first.body, 2, "hello")]));
    let oldest = history(&cluster, &format!("&before={}", text(&older, "day"))).await;
    assert_eq!((&oldest["day"], &oldest["messages"]), (&Value::Null, &json!([])));
}

// covers: I8
#[tokio::test]
async fn hints_of_the_agent_are_compiled_for_the_reader() {
    let cluster = Cluster::new().await;
    let tenant = tenant_with_agent(&cluster).await;
    cluster.first.post_as(RUNS, &cluster.operator.token, run_agent_input("create it")).await;
    let turn = TestTurn::claim(&cluster.first, &tenant).await;
    let hints = json!({ "status": "success", "title": "Created", "body": "The meeting is created." });
    let reply = json!({ "itemId": "m1", "text": "Done.", "final": true, "uiHints": hints });
    let event = command_event("1-1", "assistant_message", &turn.command, reply);
    assert_eq!(cluster.first.append_events(&turn.claim, json!([event])).await.status, 200);
    turn.complete(&cluster.first).await;
    let request = cluster.second.client.get(cluster.second.url(HISTORY)).bearer_auth(&cluster.operator.token);
    let response = request.header("accept-language", "zh-CN,zh;q=0.9").send().await.expect("a response");
    let snapshot: Value = response.json().await.expect("JSON");
    let expected = json!({
        "version": "2.0", "locale": "zh-CN", "status": "success", "theme": "default",
        "root": { "type": "stack", "appearance": "card", "children": [
            { "type": "text", "content": "Created", "role": "title" },
            { "type": "badge", "label": "SUCCESS", "status": "success" },
            { "type": "text", "content": "The meeting is created.", "role": "body" },
        ] },
    });
    assert_eq!(snapshot["messages"][1]["ui_schema"], expected, "{snapshot}");
    assert_eq!(snapshot["messages"][1]["content"], "Done.");
}

#[tokio::test]
async fn history_is_of_the_callers_own_threads() {
    let cluster = Cluster::new().await;
    let tenant = tenant_with_agent(&cluster).await;
    cluster.first.post_as(RUNS, &cluster.operator.token, run_agent_input("mine")).await;
    let user = cluster.create_user("person").await;
    cluster.set_role(&tenant.id, &user, "owner").await;
    let latest = cluster.second.get_as(HISTORY, &user.token).await;
    assert_eq!((latest.status.as_u16(), &latest.body["threadId"]), (200, &Value::Null), "{}", latest.text);
    let named = format!("{HISTORY}&threadId={THREAD}");
    cluster.second.get_as(&named, &user.token).await.assert_failure(404, "not-found");
    for (parameters, status, kind) in [
        ("&threadId=unknown", 404, "not-found"),
        ("&threadId=a%00b", 422, "invalid-input"),
        ("&before=yesterday", 422, "invalid-input"),
        ("&agentId=nobody", 404, "not-found"),
    ] {
        let path = format!("{HISTORY}{parameters}");
        cluster.first.get_as(&path, &cluster.operator.token).await.assert_failure(status, kind);
    }
}
