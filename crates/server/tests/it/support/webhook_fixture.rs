//! A tenant with webhooks, whose agent asks questions.

use std::time::{Duration, Instant};

use guildhall_testkit::TestDb;
use serde_json::{Value, json};

use super::Setup;
use super::question_fixture::QuestionFixture;
use super::runs::text;
use super::webhook_receiver::WebhookReceiver;

pub(crate) const PUBLIC_URL: &str = "https://guildhall.example.org";

/// A tenant whose agent asks questions, on servers that may call loopback addresses.
pub(crate) async fn webhook_fixture() -> QuestionFixture {
    let db = TestDb::new().await;
    let setup = Setup::new(&db).with("egress.allow", "127.0.0.0/8").with("http.public_url", PUBLIC_URL);
    QuestionFixture::with_setup(setup, db).await
}

impl QuestionFixture {
    pub(crate) async fn add_webhook(&self, receiver: &WebhookReceiver) -> String {
        self.cluster.create_webhook(&self.tenant.id, &receiver.url()).await.0
    }

    pub(crate) fn webhooks_path(&self) -> String {
        format!("/api/v1/tenants/{}/webhooks", self.tenant.id)
    }

    pub(crate) async fn list_webhooks(&self) -> Value {
        let token = &self.cluster.operator.token;
        self.cluster.second.get_as(&self.webhooks_path(), token).await.body["webhooks"].clone()
    }

    /// Sends a test event. Returns its id.
    pub(crate) async fn send_test(&self, webhook: &str) -> String {
        let path = format!("{}/{webhook}/test", self.webhooks_path());
        let sent = self.cluster.second.post_as(&path, &self.cluster.operator.token, json!({})).await;
        assert_eq!(sent.status, 202, "{}", sent.text);
        text(&sent.body, "eventId")
    }

    /// Waits until a webhook in the list meets a condition.
    pub(crate) async fn wait_for_webhook(&self, condition: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let webhook = self.list_webhooks().await[0].clone();
            if condition(&webhook) {
                return webhook;
            }
            assert!(Instant::now() < deadline, "{webhook}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until nothing is left to be sent.
    pub(crate) async fn wait_for_empty_queue(&self) {
        self.wait_for_rows("SELECT count(*) FROM webhook_events WHERE state = 'waiting'", 0).await;
    }

    pub(crate) async fn wait_for_rows(&self, query: &str, count: i64) {
        let mut sql = self.cluster.db.sql().await;
        let deadline = Instant::now() + Duration::from_secs(120);
        while sql.number(query).await != count {
            assert!(Instant::now() < deadline, "not {count}: {query}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) async fn audit_entries(&self, action: &str) -> Vec<Value> {
        let path = format!("/api/v1/tenants/{}/audit?limit=500", self.tenant.id);
        let log = self.cluster.first.get_as(&path, &self.cluster.operator.token).await.body;
        let entries = log["entries"].as_array().expect("entries").iter();
        let entries = entries.filter(|entry| text(entry, "action").starts_with(action));
        entries
            .map(|entry| json!([entry["action"], entry["body"]["actor"], entry["body"]["detail"]]))
            .collect()
    }

    /// Holds each event whose attempt fails: its next attempt is in an hour, until `release_held_events` is called.
    pub(crate) async fn hold_next_attempt(&self) {
        hold_next_attempt(&self.cluster.db).await;
    }

    /// Waits until an event is held after its failed attempt.
    pub(crate) async fn wait_for_failed_attempt(&self) {
        self.wait_for_rows(HELD_LANES, 1).await;
    }

    /// Lets the next attempt of the held events begin, as if this many had been made.
    pub(crate) async fn release_held_events(&self, attempts: u32) {
        let made = format!("UPDATE webhook_events SET attempts = {attempts} WHERE state = 'waiting'");
        let mut sql = self.cluster.db.sql().await;
        sql.execute(made.as_str()).await;
        sql.execute("UPDATE webhook_lanes SET next_attempt_at = now()").await;
    }
}

/// Lanes whose next attempt is held.
pub(crate) const HELD_LANES: &str = "SELECT count(*) FROM webhook_lanes WHERE claim IS NULL AND next_attempt_at > now() + interval '1 minute'";

/// Holds each event whose attempt fails, and the next one of its lane: for an hour.
pub(crate) async fn hold_next_attempt(db: &TestDb) {
    let trigger = "CREATE FUNCTION hold_next_attempt() RETURNS trigger LANGUAGE plpgsql AS \
                   $$ BEGIN NEW.next_attempt_at = now() + interval '1 hour'; RETURN NEW; END $$; \
                   CREATE TRIGGER hold_next_attempt BEFORE UPDATE ON webhook_lanes FOR EACH ROW \
                   WHEN (OLD.claim IS NOT NULL AND NEW.claim IS NULL) EXECUTE FUNCTION hold_next_attempt()";
    db.sql().await.execute(trigger).await;
}

/// Lets the held events be sent, and holds no more.
pub(crate) async fn release_held_lanes(db: &TestDb) {
    let mut sql = db.sql().await;
    sql.execute("DROP TRIGGER hold_next_attempt ON webhook_lanes").await;
    sql.execute("UPDATE webhook_lanes SET next_attempt_at = now() WHERE claim IS NULL").await;
}
