//! Commands over HTTP, on two replicas: their types, the forms of their text, and their idempotency keys.

use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::runs::text;
use crate::support::{TestResponse, TestServer, read_response};

impl Cluster {
    async fn post_command(&self, run: &str, body: Value) -> TestResponse {
        self.first.post_as(&format!("/api/v1/runs/{run}/commands"), &self.operator.token, body).await
    }
}

// covers: R7
#[tokio::test]
async fn interrupt_is_stored_and_delivered_and_does_not_end_the_turn() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let early = cluster.post_command(&run, json!({ "type": "interrupt" })).await;
    early.assert_failure(409, "conflict");
    assert_eq!(early.body["message"], "there is no turn to interrupt: send a command of type turn first");
    let turn = cluster.send_turn(&run, "long").await;
    let claim = cluster.first.claim(&tenant, &run).await;
    assert_eq!(cluster.first.ack(&claim, &turn).await.status, 200);

    let sent = cluster.post_command(&run, json!({ "type": "interrupt" })).await;
    assert_eq!(sent.status, 201, "{}", sent.text);
    let interrupt = text(&sent.body, "commandId");
    let path = format!("/api/v1/runs/{run}/commands/{interrupt}");
    let stored = cluster.second.get_as(&path, &cluster.operator.token).await.body;
    assert_eq!(stored, sent.body);
    assert_eq!(
        stored,
        json!({
            "commandId": interrupt, "runId": run, "seq": 2, "type": "interrupt", "payload": {},
            "targetCommandId": turn, "status": "pending", "terminalStatus": null, "cancelRequested": false,
            "failureKind": null, "message": null, "createdBy": cluster.operator.principal,
            "createdAt": stored["createdAt"], "ackedAt": null, "endedAt": null,
        })
    );
    let work = cluster.second.poll(&claim, 1, 0).await.body;
    assert_eq!(
        json!([work["commands"], work["steers"], work["cancelCommandIds"]]),
        json!([[stored], [], []]),
        "the runner gets the interrupt once, as a command"
    );
    assert_eq!(cluster.second.ack(&claim, &interrupt).await.status, 200);
    let done = cluster.first.finish(&claim, &interrupt, json!({ "status": "completed" })).await;
    assert_eq!(done.body["status"], "completed", "{}", done.text);
    let turn_path = format!("/api/v1/runs/{run}/commands/{turn}");
    let running = cluster.second.get_as(&turn_path, &cluster.operator.token).await.body;
    assert_eq!(
        json!([running["status"], running["cancelRequested"]]),
        json!(["running", false]),
        "only the runner ends the turn"
    );
    let ended = cluster.first.finish(&claim, &turn, json!({ "status": "cancelled" })).await;
    assert_eq!(ended.body["status"], "cancelled", "{}", ended.text);
}

// covers: R7
#[tokio::test]
async fn prompt_message_or_text_is_required_and_delivered() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let claim = cluster.first.claim(&tenant, &run).await;
    let mut sent = Vec::new();
    for kind in ["turn", "steer"] {
        for payload in
            [json!({}), json!({ "prompt": " ", "message": "", "text": 7 }), json!({ "note": "hi" })]
        {
            let refused = cluster.post_command(&run, json!({ "type": kind, "payload": payload })).await;
            refused.assert_failure(400, "schema-invalid");
            let message = format!("payload: a {kind} needs a non-empty prompt, message or text");
            assert_eq!(refused.body["message"], json!(message));
        }
        for form in ["prompt", "message", "text"] {
            let payload = json!({ form: format!("{kind} by {form}") });
            let created = cluster.post_command(&run, json!({ "type": kind, "payload": payload })).await;
            assert_eq!(created.status, 201, "{}", created.text);
            sent.push(json!([kind, payload]));
        }
    }
    let work = cluster.second.poll(&claim, 0, 0).await.body;
    let delivered = ["commands", "steers"].map(|list| {
        let commands = work[list].as_array().expect("a list").iter();
        commands.map(|command| json!([command["type"], command["payload"]])).collect::<Vec<_>>()
    });
    let (turns, steers) = sent.split_at(3);
    assert_eq!(delivered, [turns, steers], "steers are delivered apart from turns");
}

/// Sends a body with an optional `Idempotency-Key` header.
async fn post_with_key(
    cluster: &Cluster,
    server: &TestServer,
    path: &str,
    header: Option<&str>,
    body: &Value,
) -> TestResponse {
    let mut request = server.client.post(server.url(path)).bearer_auth(&cluster.operator.token).json(body);
    if let Some(key) = header {
        request = request.header("idempotency-key", key);
    }
    read_response(request.send().await.expect("a response")).await
}

// covers: R6
#[tokio::test]
async fn idempotency_key_in_the_body_equals_the_header() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let commands = format!("/api/v1/runs/{run}/commands");
    let with_key = |mut body: Value, key: &str| {
        body["idempotencyKey"] = json!(key);
        body
    };
    let command = json!({ "type": "turn", "payload": { "prompt": "tidy" } });
    let other_command = json!({ "type": "turn", "payload": { "prompt": "other" } });
    let request = crate::support::runs::run_request("acme");
    let mut other_request = request.clone();
    other_request["projectId"] = json!("acme/other");
    let cases = [
        (commands.as_str(), "commandId", command, other_command),
        ("/api/v1/runs", "runId", request, other_request),
    ];
    for (path, id, body, other) in cases {
        let key = format!("once-{id}");
        let first = post_with_key(&cluster, &cluster.first, path, None, &with_key(body.clone(), &key)).await;
        assert_eq!(first.status, 201, "{}", first.text);
        let by_body =
            post_with_key(&cluster, &cluster.second, path, None, &with_key(body.clone(), &key)).await;
        let by_header = post_with_key(&cluster, &cluster.second, path, Some(&key), &body).await;
        let by_both =
            post_with_key(&cluster, &cluster.first, path, Some(&key), &with_key(body.clone(), &key)).await;
        for again in [by_body, by_header, by_both] {
            assert_eq!((again.status.as_u16(), &again.body[id]), (201, &first.body[id]), "{}", again.text);
        }
        post_with_key(&cluster, &cluster.second, path, None, &with_key(other, &key))
            .await
            .assert_failure(409, "idempotency-conflict");
        let two =
            post_with_key(&cluster, &cluster.first, path, Some("another"), &with_key(body.clone(), &key))
                .await;
        two.assert_failure(400, "schema-invalid");
        assert_eq!(
            two.body["message"],
            "idempotencyKey: differs from the Idempotency-Key header: send one of them, or the same key in both"
        );
        let invalid = post_with_key(&cluster, &cluster.first, path, None, &with_key(body, "two words")).await;
        invalid.assert_failure(400, "schema-invalid");
    }
}
