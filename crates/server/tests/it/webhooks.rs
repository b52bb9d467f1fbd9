//! Webhooks: who manages them, and which are accepted.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::cluster::{Cluster, SignedInUser};
use crate::support::webhook_fixture::webhook_fixture;
use crate::support::webhook_receiver::WebhookReceiver;
use crate::support::{TestServer, read_response};

#[tokio::test]
async fn urls_of_internal_addresses_are_refused_by_default() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let path = format!("/api/v1/tenants/{tenant}/webhooks");
    let create = async |url: &str| {
        let body = json!({ "url": url, "events": ["approval.requested"] });
        cluster.first.post_as(&path, &cluster.operator.token, body).await
    };
    for url in [
        "http://127.0.0.1:9/hunter2",
        "http://localhost/hunter2",
        "https://a.localhost/hunter2",
        "https://2130706433/hunter2",
        "https://[::1]/hunter2",
        "https://[::ffff:169.254.169.254]/hunter2",
        "https://10.1.2.3/hunter2",
        "https://169.254.169.254/hunter2",
        "https://metadata.google.internal/hunter2",
        "https://169.254.169.254.nip.io/hunter2",
    ] {
        let refused = create(url).await;
        refused.assert_failure(403, "tenant-policy-denied");
        assert!(!refused.text.contains("hunter2"), "{}", refused.text);
    }
    for url in [
        "http://example.org/hunter2",
        "ftp://example.org/hunter2",
        "https://me:hunter2@example.org/",
        "https://example.org/#hunter2",
        "hunter2",
    ] {
        let refused = create(url).await;
        refused.assert_failure(400, "schema-invalid");
        assert!(!refused.text.contains("hunter2"), "{}", refused.text);
    }
    assert_eq!(cluster.db.sql().await.number("SELECT count(*) FROM webhooks").await, 0);
}

#[tokio::test]
async fn webhook_is_created_once_per_idempotency_key_and_shown_without_secret() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let path = format!("/api/v1/tenants/{tenant}/webhooks");
    let create = async |server: &TestServer, url: &str| {
        let body = json!({ "url": url, "events": ["approval.requested"], "description": "team chat" });
        let request = server.client.post(server.url(&path)).bearer_auth(&cluster.operator.token);
        let request = request.header("idempotency-key", "one").json(&body);
        read_response(request.send().await.expect("a response")).await
    };
    let url = "https://hooks.example.org/a";
    let (first, second) = tokio::join!(create(&cluster.first, url), create(&cluster.second, url));
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (201, 201), "{} {}", first.text, second.text);
    assert_eq!(first.body["id"], second.body["id"]);
    let secrets = [&first, &second].map(|created| created.body["secret"].as_str());
    let secret = secrets.into_iter().flatten().collect::<Vec<_>>();
    let [secret] = secret.as_slice() else {
        panic!("the secret is shown once: {} {}", first.text, second.text)
    };
    assert_eq!((secret.starts_with("whsec_"), secret.len()), (true, 50));
    create(&cluster.first, "https://other.example.org/").await.assert_failure(409, "idempotency-conflict");

    let list = cluster.second.get_as(&path, &cluster.operator.token).await;
    let expected = json!({
        "id": first.body["id"], "url": url, "events": ["approval.requested"], "description": "team chat",
        "agentId": null, "sender": "server", "createdBy": cluster.operator.principal, "createdAt": list.body["webhooks"][0]["createdAt"],
        "enabled": true, "disabledAt": null, "disabledReason": null, "previousSecretEndsAt": null,
        "lastSuccessAt": null, "lastFailure": null, "failingSince": null,
    });
    assert_eq!(list.body, json!({ "webhooks": [expected] }));
    let log = cluster.first.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &cluster.operator.token).await;
    let created = log.body["entries"].as_array().expect("entries").last().expect("an entry").clone();
    let detail = json!({ "host": "hooks.example.org", "events": ["approval.requested"] });
    assert_eq!(json!([created["action"], created["body"]["detail"]]), json!(["webhook.created", detail]));
    assert!(!log.text.contains(secret));
    let stored = format!("SELECT count(*) FROM webhooks AS t WHERE t::text LIKE '%{secret}%'");
    assert_eq!(cluster.db.sql().await.number(stored).await, 0);
}

#[tokio::test]
async fn tenant_has_at_most_twenty_webhooks() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    for _ in 0..17 {
        cluster.create_webhook(&tenant, "https://hooks.example.org/").await;
    }
    let path = format!("/api/v1/tenants/{tenant}/webhooks");
    let create = async |server: &TestServer| {
        let body = json!({ "url": "https://hooks.example.org/", "events": ["approval.decided"] });
        server.post_as(&path, &cluster.operator.token, body).await.status.as_u16()
    };
    let servers = [&cluster.first, &cluster.second].into_iter().cycle().take(8);
    let mut statuses = futures::future::join_all(servers.map(create)).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 201, 201, 409, 409, 409, 409, 409]);
    let other = cluster.create_tenant("other").await;
    cluster.create_webhook(&other, "https://hooks.example.org/").await;
}

#[tokio::test]
async fn only_members_who_manage_keys_manage_webhooks() {
    let fixture = webhook_fixture().await;
    let receiver = WebhookReceiver::start([]).await;
    let webhook = fixture.add_webhook(&receiver).await;
    let cluster = &fixture.cluster;
    let user = cluster.create_user("person").await;
    let path = fixture.webhooks_path();
    let requests = [
        (Method::GET, path.clone(), None, 200),
        (
            Method::POST,
            path.clone(),
            Some(json!({ "url": "https://example.org", "events": ["approval.decided"] })),
            201,
        ),
        (Method::POST, format!("{path}/{webhook}/rotate"), None, 200),
        (Method::POST, format!("{path}/{webhook}/test"), None, 202),
        (Method::DELETE, format!("{path}/{webhook}"), None, 200),
    ];
    let send = async |user: &SignedInUser, (method, path, body, _): &(Method, String, Option<Value>, u16)| {
        cluster.second.request_as(method.clone(), path, &user.token, body.clone()).await
    };
    for role in ["viewer", "developer"] {
        cluster.set_role(&fixture.tenant.id, &user, role).await;
        for request in &requests {
            send(&user, request).await.assert_failure(403, "forbidden");
        }
    }
    cluster.set_role(&fixture.tenant.id, &user, "operator").await;
    for request in &requests {
        let response = send(&user, request).await;
        assert_eq!(response.status.as_u16(), request.3, "{} {}: {}", request.0, request.1, response.text);
    }
    let entries = fixture.audit_entries("webhook.").await;
    let actions: Vec<String> =
        entries.iter().map(|entry| entry[0].as_str().expect("text").to_owned()).collect();
    let expected =
        ["webhook.created", "webhook.created", "webhook.secret-rotated", "webhook.tested", "webhook.deleted"];
    assert_eq!(actions, expected);
    assert!(entries[1..].iter().all(|entry| entry[1] == user.principal.as_str()), "{entries:?}");
}

#[tokio::test]
async fn events_of_a_webhook_are_a_set_of_known_types() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_tenant("acme").await;
    let path = format!("/api/v1/tenants/{tenant}/webhooks");
    for body in [
        json!({ "events": [] }),
        json!({ "events": ["approval.requested", "approval.requested"] }),
        json!({ "events": ["webhook.test"] }),
        json!({ "events": ["run.completed"] }),
        json!({ "events": ["message.new"] }),
        json!({ "events": ["webhook.disabled"] }),
        json!({ "events": ["approval.requested"], "sender": "listener" }),
        json!({ "events": ["message.new"], "agentId": "agt_01920000000070008000000000000000" }),
        json!({ "events": ["approval.requested"], "description": "a".repeat(201) }),
        json!({ "events": ["approval.requested"], "description": "a\nb" }),
        json!({ "events": ["approval.requested"], "secret": "mine" }),
    ] {
        let mut body = body;
        body["url"] = json!("https://hooks.example.org/");
        let refused = cluster.first.post_as(&path, &cluster.operator.token, body).await;
        refused.assert_failure(400, "schema-invalid");
    }
}
