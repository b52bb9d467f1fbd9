//! A run that a runner holds.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures::future::ready;
use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::runs::Ending;
use guildhall_protocol::rest::runners::{
    AppendedView, ChangeLease, EndStatus, LeaseChangedView, NewEvent, PlacedView, WorkView,
};
use guildhall_protocol::rest::runs::RunView;
use guildhall_protocol::rest::runs::commands::CommandView;
use guildhall_protocol::rest::sessions::{RefreshStorage, StorageView};
use reqwest::{Method, RequestBuilder};
use secrecy::SecretString;
use serde::Serialize;

use super::{Grant, grant};
use crate::{Client, ClientError, TokenFuture, TokenSource};

/// The longest that one poll waits: well within what this client waits for any answer.
const POLL_AT_MOST: Duration = Duration::from_secs(20);

/// A run under one epoch of its lease. Clones share the token, so that one may renew the lease while others work.
#[derive(Debug, Clone)]
pub struct HeldRun {
    client: Client,
    run: RunId,
    token: Arc<RunToken>,
}

/// The token of the last renewal.
#[derive(Debug)]
struct RunToken(RwLock<SecretString>);

impl TokenSource for RunToken {
    fn token(&self) -> TokenFuture<'_> {
        let token = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(ready(Ok(token)))
    }
}

#[derive(Serialize)]
struct Events<'a> {
    events: &'a [NewEvent],
}

/// What a poll has seen: sent back from its last answer, or the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PollFrom {
    pub after_seq: i32,
    pub cancel_seq: i64,
}

impl PollFrom {
    /// Returns where to go on after an answer.
    #[must_use]
    pub fn after(work: &WorkView) -> Self {
        Self { after_seq: work.next_after_seq, cancel_seq: work.cancel_seq }
    }
}

impl HeldRun {
    pub(super) fn new(client: Client, run: RunId, token: SecretString) -> Self {
        let token = Arc::new(RunToken(RwLock::new(token)));
        Self { client: client.with_tokens(token.clone()), run, token }
    }

    #[must_use]
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Renews the lease. From the answer on, this and every clone use the token that came with it.
    pub async fn renew(&self) -> Result<Grant, ClientError> {
        let changed = self.change_lease(false).await?;
        let view = changed.grant.ok_or_else(|| self.client.bad_answer("a renewed lease without a grant"))?;
        let (token, grant) = grant(&self.client, view)?;
        *self.token.0.write().unwrap_or_else(PoisonError::into_inner) = token;
        Ok(grant)
    }

    /// Gives the run back, so that the next runner need not wait. Refused while a command runs.
    pub async fn release(&self) -> Result<(), ClientError> {
        self.change_lease(true).await.map(drop)
    }

    async fn change_lease(&self, release: bool) -> Result<LeaseChangedView, ClientError> {
        let request = self.of_run(Method::PATCH, "lease").json(&ChangeLease { release });
        self.client.call(request).await
    }

    /// Asks for something to do. The answer comes when there is something, or when the time is over.
    pub async fn poll(&self, from: PollFrom, wait: Duration) -> Result<WorkView, ClientError> {
        let query = [
            ("afterSeq", i64::from(from.after_seq)),
            ("cancelSeq", from.cancel_seq),
            ("wait", i64::try_from(wait.min(POLL_AT_MOST).as_millis()).unwrap_or(0)),
        ];
        let segments = ["runs", &self.run.to_string(), "commands"];
        self.client.call(self.client.query(&segments, &query)).await
    }

    /// Takes a command: from here on it may have side effects, and no other runner gets it.
    pub async fn ack(&self, command: CommandId) -> Result<CommandView, ClientError> {
        let segments = ["commands", &command.to_string(), "ack"];
        self.client.call(self.client.request(Method::POST, &segments)).await
    }

    /// Appends events, all or none; 500 are the most. Those that are there already keep their numbers, so the same call
    /// may be made again. Returns where each stands, in the order given.
    pub async fn append(&self, events: &[NewEvent]) -> Result<Vec<PlacedView>, ClientError> {
        let request = self.of_run(Method::POST, "events").json(&Events { events });
        Ok(self.client.call::<AppendedView>(request).await?.events)
    }

    /// Ends a command; the run goes on. The thread is what the next command resumes.
    pub async fn finish(
        &self,
        command: CommandId,
        ending: &Ending,
        thread_id: Option<&str>,
    ) -> Result<CommandView, ClientError> {
        let body = EndStatus { thread_id: thread_id.map(str::to_owned), ..status(ending) };
        let segments = ["commands", &command.to_string(), "status"];
        self.client.call(self.client.request(Method::PATCH, &segments).json(&body)).await
    }

    /// Ends the run and every open command, for what the runner cannot go on from.
    pub async fn end(&self, ending: &Ending) -> Result<RunView, ClientError> {
        self.client.call(self.of_run(Method::PATCH, "status").json(&status(ending))).await
    }

    /// Says what the storage of the run's session holds.
    pub async fn refresh_storage(
        &self,
        session: &str,
        summary: &RefreshStorage,
    ) -> Result<StorageView, ClientError> {
        let segments = ["sessions", session, "storage", "refresh"];
        self.client.call(self.client.request(Method::POST, &segments).json(summary)).await
    }

    fn of_run(&self, method: Method, part: &str) -> RequestBuilder {
        self.client.request(method, &["runs", &self.run.to_string(), part])
    }
}

fn status(ending: &Ending) -> EndStatus {
    let failure = ending.failure.as_ref();
    EndStatus {
        status: ending.status.to_string(),
        failure_kind: failure.map(|failure| failure.kind.to_string()),
        message: failure.map(|failure| failure.message.clone()),
        thread_id: None,
    }
}
