//! Prompts that look like secrets, on two replicas: the runner gets the exact text, everyone else a redacted copy.

use guildhall_testkit::SqlConnection;
use serde_json::{Value, json};

use crate::support::cluster::Cluster;
use crate::support::runs::text;

/// The values that no store may contain in clear.
const SECRETS: [&str; 5] = [
    "hunter2-Zx81",
    "sk-proj-9fQ2mB7xT4vK1c",
    "AKIAIOSFODNN7EXAMPLQ",
    "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "s3cr3t-pw",
];

fn prompt() -> String {
    let [password, openai, aws, github, url] = SECRETS;
    format!(
        "fix the login test\r\n\tpassword: {password}\n  OPENAI_API_KEY={openai}\naws_access_key_id = {aws}\n\
         Authorization: Bearer {github}\npostgres://app:{url}@db/app\n\u{1F511} \u{202e}\n"
    )
}

impl Cluster {
    async fn number(&self, sql: &str) -> i64 {
        let mut connection = SqlConnection::connect(&self.db.admin_url()).await;
        connection.number(sql).await
    }

    /// Returns how many commands have an encrypted payload.
    async fn sealed_payloads(&self) -> i64 {
        self.number("SELECT count(*) FROM commands WHERE sealed_payload IS NOT NULL").await
    }
}

fn secrets_in(text: &str) -> Vec<&'static str> {
    SECRETS.into_iter().filter(|secret| text.contains(secret)).collect()
}

#[tokio::test]
async fn runner_receives_the_exact_prompt_and_readers_a_redacted_copy() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let mut sent = Vec::new();
    for (kind, form) in [("turn", "prompt"), ("steer", "text")] {
        let path = format!("/api/v1/runs/{run}/commands");
        let payload = json!({ form: prompt(), "note": ["token: xoxb-17653285-aBcDeFgHiJ"] });
        let body = json!({ "type": kind, "payload": payload });
        let created = cluster.first.post_as(&path, &cluster.operator.token, body).await;
        assert_eq!((created.status.as_u16(), secrets_in(&created.text)), (201, vec![]), "{}", created.text);
        let path = format!("{path}/{}", text(&created.body, "commandId"));
        let read = cluster.second.get_as(&path, &cluster.operator.token).await;
        assert_eq!(read.body, created.body, "readers get the redacted copy");
        sent.push(payload);
    }
    let claim = cluster.first.claim(&tenant, &run).await;
    let work = cluster.second.poll(&claim, 0, 0).await.body;
    let delivered = [&work["commands"][0]["payload"], &work["steers"][0]["payload"]].map(Value::clone);
    assert_eq!(delivered.to_vec(), sent, "the runner gets exactly what was sent");
}

#[tokio::test]
async fn exact_prompt_is_erased_when_its_command_ends() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let cancelled = cluster.send_turn(&run, &prompt()).await;
    let finished = cluster.send_turn(&run, &prompt()).await;
    let _without_secret = cluster.send_turn(&run, "fix the login test").await;
    assert_eq!(cluster.sealed_payloads().await, 2, "only a redacted prompt has an encrypted copy");
    let path = format!("/api/v1/commands/{cancelled}/cancel");
    assert_eq!(cluster.first.post_as(&path, &cluster.operator.token, json!({})).await.status, 200);
    assert_eq!(cluster.sealed_payloads().await, 1);
    let claim = cluster.first.claim(&tenant, &run).await;
    assert_eq!(cluster.first.ack(&claim, &finished).await.status, 200);
    assert_eq!(cluster.sealed_payloads().await, 1, "another runner may need it");
    let done = cluster.first.finish(&claim, &finished, json!({ "status": "completed" })).await;
    assert_eq!((done.status.as_u16(), cluster.sealed_payloads().await), (200, 0), "{}", done.text);
}

#[tokio::test]
async fn idempotency_key_distinguishes_prompts_that_are_redacted_alike() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let path = format!("/api/v1/runs/{run}/commands");
    let send = async |prompt: &str| {
        let body = json!({ "type": "turn", "payload": { "prompt": prompt }, "idempotencyKey": "once" });
        cluster.second.post_as(&path, &cluster.operator.token, body).await
    };
    let (first, again) = (send("password: one-4711").await, send("password: one-4711").await);
    assert_eq!((first.status.as_u16(), &again.body), (201, &first.body));
    send("password: two-4711").await.assert_failure(409, "idempotency-conflict");
}

#[tokio::test]
async fn exact_prompt_is_in_no_table_and_not_in_the_wal() {
    let cluster = Cluster::new().await;
    let tenant = cluster.create_test_tenant("acme").await;
    let run = cluster.create_run(&tenant).await;
    let clear = format!("in-clear-{}", std::process::id());
    // Twice: one of them may be cut by the border of a page of the log.
    let command = cluster.send_turn(&run, &format!("{clear} {clear} {}", prompt())).await;
    let claim = cluster.first.claim(&tenant, &run).await;
    assert_eq!(cluster.first.poll(&claim, 0, 0).await.body["commands"][0]["commandId"], json!(command));
    let found_in = async |text: &str| {
        let tables = cluster
            .number(&format!("SELECT count(*) FROM commands WHERE strpos(commands::text, '{text}') > 0"))
            .await;
        let wal = cluster
            .number(&format!(
                "SELECT count(*) FROM pg_ls_waldir() AS segment \
                 WHERE position('{text}'::bytea IN pg_read_binary_file('pg_wal/' || segment.name, 0, segment.size, true)) > 0"
            ))
            .await;
        (tables > 0, wal > 0)
    };
    let in_clear = found_in(&clear).await;
    assert_eq!(in_clear, (true, true), "the text around the secrets is found, so the search works");
    for secret in SECRETS {
        assert_eq!(found_in(secret).await, (false, false), "{secret}");
    }
}
