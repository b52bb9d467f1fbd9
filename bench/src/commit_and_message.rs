//! The lower bound for storing something in PostgreSQL and telling another process over NATS: an insert over one connection, and
//! then a message to another.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use guildhall_bus::{Bus, BusOptions, Subscription};
use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::Journal;
use secrecy::{ExposeSecret, SecretString};
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

const INSERT_ENTRY: &str =
    "INSERT INTO journal_entries (journal, owner, seq, id, kind, body) VALUES ($1, $2, $3, $4, $5, $6)";

pub(crate) struct CommitAndMessage {
    sql: PgConnection,
    publisher: Bus,
    subscription: Subscription,
    owner: Uuid,
    calls: i64,
    body: String,
}

impl CommitAndMessage {
    pub(crate) async fn prepare(
        postgres: &SecretString,
        nats: &SecretString,
        body_bytes: usize,
    ) -> Result<Self> {
        let options = BusOptions { url: nats.clone(), subject_prefix: "bench".to_owned() };
        let (publisher, subscriber) = (Bus::connect(&options).await?, Bus::connect(&options).await?);
        let subscription = subscriber.subscribe("baseline").await?;
        // Wait for the subscription: earlier messages would be lost.
        subscriber.round_trip(Duration::from_secs(5)).await?;
        let sql = PgConnection::connect(postgres.expose_secret()).await?;
        Ok(Self {
            sql,
            publisher,
            subscription,
            owner: Uuid::now_v7(),
            calls: 0,
            body: "x".repeat(body_bytes),
        })
    }

    pub(crate) async fn call(&mut self) -> Result<Duration> {
        self.calls += 1;
        let began = Instant::now();
        #[expect(clippy::disallowed_methods, reason = "the baseline uses plain SQL")]
        sqlx::query(INSERT_ENTRY)
            .bind(Journal::Audit.number())
            .bind(self.owner)
            .bind(self.calls)
            .bind(EntryId::generate().as_uuid())
            .bind("bench")
            .bind(&self.body)
            .execute(&mut self.sql)
            .await?;
        self.publisher.publish("baseline", self.calls.to_string().into_bytes()).await;
        self.subscription.next().await.context("the NATS subscription has ended")?;
        Ok(began.elapsed())
    }
}
