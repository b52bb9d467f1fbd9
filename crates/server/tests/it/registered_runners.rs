//! The runners of a tenant: listing and draining them.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::runs::{command_event, text};

#[tokio::test]
async fn drained_runner_keeps_its_run_and_gets_no_other() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let other = cluster.create_test_tenant("other").await;
    let token = &cluster.operator.token;
    let (claim, command) = cluster.start_command(&tenant).await;
    let idle = cluster.first.register_runner(&tenant).await;
    let of_other = cluster.first.register_runner(&other).await;
    let runners = format!("/api/v1/tenants/{}/runners", tenant.id);
    let listed = cluster.second.get_as(&runners, token).await;
    let summary = |runner: &Value| json!([runner["runnerId"], runner["runId"], runner["draining"]]);
    let summaries: Vec<Value> =
        listed.body["runners"].as_array().expect("runners").iter().map(summary).collect();
    assert_eq!(
        summaries,
        [json!([idle, null, false]), json!([claim.runner, claim.run, false])],
        "newest first, without those of another tenant"
    );

    let drain = async |runner: &str| {
        cluster.second.request_as(Method::POST, &format!("{runners}/{runner}/drain"), token, None).await
    };
    for _ in 0..2 {
        let drained = drain(&claim.runner).await;
        assert_eq!(summary(&drained.body), json!([claim.runner, claim.run, true]), "{}", drained.text);
    }
    let event = json!([command_event("1", "assistant_message", &command, json!({ "text": "still here" }))]);
    assert_eq!(cluster.first.append_events(&claim, event).await.status, 200, "it keeps its run");
    let waiting = cluster.create_run(&tenant).await;
    cluster.send_turn(&waiting, "go").await;
    let body = json!({ "runnerId": claim.runner, "wait": 0 });
    let next = cluster.first.post_as("/api/v1/runners/claim", &tenant.enrolment, body).await;
    next.assert_failure(409, "conflict");
    cluster.first.try_claim(&tenant, &waiting, &claim.runner).await.assert_failure(409, "conflict");
    cluster.first.finish(&claim, &command, json!({ "status": "completed" })).await;
    assert_eq!(cluster.first.try_claim(&tenant, &waiting, &idle).await.status, 200, "another runner gets it");

    drain(&of_other).await.assert_failure(404, "not-found");
    let (_, developer) = cluster.create_key(&tenant.id, "developer").await;
    cluster.first.get_as(&runners, &developer).await.assert_failure(403, "forbidden");
    let audit = cluster.first.get_as(&format!("/api/v1/tenants/{}/audit", tenant.id), token).await;
    let actions = audit.body["entries"].as_array().expect("entries").iter();
    assert_eq!(actions.filter(|entry| text(entry, "action") == "runner.drained").count(), 1);
}
