//! A run that a runner has claimed.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures::future::ready;
use guildhall_domain::ids::{ApprovalId, AttachmentId, CommandId, RunId};
use guildhall_domain::runs::TerminalOutcome;
use guildhall_protocol::base64_bytes::Base64Bytes;
use guildhall_protocol::rest::approvals::{AnswerView, AskQuestion, ConfirmAnswer, TakeAnswer};
use guildhall_protocol::rest::runners::{
    AppendedEventView, AppendedEventsView, ChangeLease, EndStatus, LeaseChangedView, NewEvent, WorkView,
};
use guildhall_protocol::rest::runs::RunView;
use guildhall_protocol::rest::runs::bundle::BundlePartView;
use guildhall_protocol::rest::runs::commands::CommandView;
use guildhall_protocol::rest::runs::diff::{PutDiff, StoredDiffView};
use guildhall_protocol::rest::sessions::{RefreshStorage, StorageView};
use reqwest::{Method, RequestBuilder};
use secrecy::SecretString;
use serde::Serialize;

use super::grant::{Grant, parse_grant};
use crate::{Client, ClientError, TokenFuture, TokenSource};

/// Maximum wait of one poll: well below the response timeout of the client.
const MAX_POLL_WAIT: Duration = Duration::from_secs(20);

/// A run with one epoch of its lease. Clones share the token, so that one can renew the lease while others work.
#[derive(Debug, Clone)]
pub struct LeasedRun {
    client: Client,
    run: RunId,
    token: Arc<RunToken>,
}

/// An attachment, as the server has sent it.
#[derive(Clone, PartialEq, Eq)]
pub struct RunAttachment {
    pub content_type: String,
    pub content: Vec<u8>,
}

/// Without the content.
impl fmt::Debug for RunAttachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunAttachment({}, {} bytes)", self.content_type, self.content.len())
    }
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
struct AppendEventsBody<'a> {
    events: &'a [NewEvent],
}

/// The position of a poll: taken from the last response, or the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PollCursor {
    pub after_seq: i32,
    pub cancel_seq: i64,
}

impl PollCursor {
    /// Returns the position after a response.
    #[must_use]
    pub fn after(work: &WorkView) -> Self {
        Self { after_seq: work.next_after_seq, cancel_seq: work.cancel_seq }
    }
}

impl LeasedRun {
    pub(super) fn new(client: Client, run: RunId, token: SecretString) -> Self {
        let token = Arc::new(RunToken(RwLock::new(token)));
        Self { client: client.with_tokens(token.clone()), run, token }
    }

    #[must_use]
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Renews the lease. Afterwards this run and its clones use the new token.
    pub async fn renew(&self) -> Result<Grant, ClientError> {
        let changed = self.change_lease(false).await?;
        let view = changed.grant.ok_or_else(|| self.client.invalid_response("renewed lease has no grant"))?;
        let (token, grant) = parse_grant(&self.client, view)?;
        *self.token.0.write().unwrap_or_else(PoisonError::into_inner) = token;
        Ok(grant)
    }

    /// Releases the lease, so that the next runner need not wait. Fails while a command is running.
    pub async fn release(&self) -> Result<(), ClientError> {
        self.change_lease(true).await.map(drop)
    }

    async fn change_lease(&self, release: bool) -> Result<LeaseChangedView, ClientError> {
        let request = self.run_request(Method::PATCH, "lease").json(&ChangeLease { release });
        self.client.call(request).await
    }

    /// Polls for commands. Returns when there is one, or after `wait`.
    pub async fn poll(&self, cursor: PollCursor, wait: Duration) -> Result<WorkView, ClientError> {
        let query = [
            ("afterSeq", i64::from(cursor.after_seq)),
            ("cancelSeq", cursor.cancel_seq),
            ("wait", i64::try_from(wait.min(MAX_POLL_WAIT).as_millis()).unwrap_or(0)),
        ];
        let segments = ["runs", &self.run.to_string(), "commands"];
        self.client.call(self.client.query(&segments, &query)).await
    }

    /// Acknowledges a command: from now on it may have side effects, and no other runner gets it.
    pub async fn ack(&self, command: CommandId) -> Result<CommandView, ClientError> {
        let segments = ["commands", &command.to_string(), "ack"];
        self.client.call(self.client.request(Method::POST, &segments)).await
    }

    /// Appends at most 500 events atomically. Repeated events keep their sequence numbers, so the call may be retried.
    /// Returns the position of each event, in the given order.
    pub async fn append(&self, events: &[NewEvent]) -> Result<Vec<AppendedEventView>, ClientError> {
        let request = self.run_request(Method::POST, "events").json(&AppendEventsBody { events });
        Ok(self.client.call::<AppendedEventsView>(request).await?.events)
    }

    /// Reports the changes of the workspace after a command, instead of earlier ones.
    pub async fn put_diff(&self, command: CommandId, diff: Vec<u8>) -> Result<StoredDiffView, ClientError> {
        let body = PutDiff { command_id: command.to_string(), diff: Base64Bytes(diff) };
        self.client.call(self.run_request(Method::PUT, "diff").json(&body)).await
    }

    /// Reads a part of the uploaded workspace.
    pub async fn bundle_part(&self, number: u64) -> Result<Vec<u8>, ClientError> {
        let segments = ["runs", &self.run.to_string(), "bundle", "parts", &number.to_string()];
        let request = self.client.request(Method::GET, &segments);
        Ok(self.client.call::<BundlePartView>(request).await?.content.0)
    }

    /// Reads an attachment of the run's session, of at most `max_bytes`.
    pub async fn attachment(&self, id: AttachmentId, max_bytes: usize) -> Result<RunAttachment, ClientError> {
        let segments = ["runs", &self.run.to_string(), "attachments", &id.to_string()];
        let (content_type, content) =
            self.client.read_bytes(self.client.request(Method::GET, &segments), max_bytes).await?;
        Ok(RunAttachment { content_type, content })
    }

    /// Asks a question of the agent. The same request of the same process is asked once, so the call may be retried.
    pub async fn ask(&self, question: &AskQuestion) -> Result<AnswerView, ClientError> {
        self.client.call(self.run_request(Method::POST, "approvals").json(question)).await
    }

    /// Takes the answer to a question for the process that asked. Returns when there is one, or after `wait`.
    pub async fn take_answer(
        &self,
        approval: ApprovalId,
        process: &str,
        wait: Duration,
    ) -> Result<AnswerView, ClientError> {
        let wait = u64::try_from(wait.min(MAX_POLL_WAIT).as_millis()).unwrap_or(0);
        let body = TakeAnswer { process: process.to_owned(), wait };
        self.client.call(self.approval_request(approval, "take").json(&body)).await
    }

    /// Confirms that the process has got the answer.
    pub async fn confirm_answer(
        &self,
        approval: ApprovalId,
        process: &str,
    ) -> Result<AnswerView, ClientError> {
        let body = ConfirmAnswer { process: process.to_owned() };
        self.client.call(self.approval_request(approval, "confirm").json(&body)).await
    }

    fn approval_request(&self, approval: ApprovalId, verb: &str) -> RequestBuilder {
        let segments = ["runs", &self.run.to_string(), "approvals", &approval.to_string(), verb];
        self.client.request(Method::POST, &segments)
    }

    /// Ends a command; the run stays open. The next command resumes the thread.
    pub async fn finish(
        &self,
        command: CommandId,
        outcome: &TerminalOutcome,
        thread_id: Option<&str>,
    ) -> Result<CommandView, ClientError> {
        let body = EndStatus { thread_id: thread_id.map(str::to_owned), ..status(outcome) };
        let segments = ["commands", &command.to_string(), "status"];
        self.client.call(self.client.request(Method::PATCH, &segments).json(&body)).await
    }

    /// Ends the run and all its open commands, after a failure that the runner cannot recover from.
    pub async fn end(&self, outcome: &TerminalOutcome) -> Result<RunView, ClientError> {
        self.client.call(self.run_request(Method::PATCH, "status").json(&status(outcome))).await
    }

    /// Reports the summary of the session's storage.
    pub async fn refresh_storage(
        &self,
        session: &str,
        summary: &RefreshStorage,
    ) -> Result<StorageView, ClientError> {
        let segments = ["sessions", session, "storage", "refresh"];
        self.client.call(self.client.request(Method::POST, &segments).json(summary)).await
    }

    fn run_request(&self, method: Method, part: &str) -> RequestBuilder {
        self.client.request(method, &["runs", &self.run.to_string(), part])
    }
}

fn status(outcome: &TerminalOutcome) -> EndStatus {
    let failure = outcome.failure.as_ref();
    EndStatus {
        status: outcome.status.to_string(),
        failure_kind: failure.map(|failure| failure.kind.to_string()),
        message: failure.map(|failure| failure.message.clone()),
        thread_id: None,
    }
}
