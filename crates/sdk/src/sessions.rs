//! Sessions.

use guildhall_domain::ids::{RunId, SessionId, TenantId};
use guildhall_protocol::rest::sessions::{
    ControlSession, CreateSession, MarkRead, SessionCancellationView, SessionView, SessionsView, StorageView,
};
use reqwest::{Method, RequestBuilder};

use crate::client::with_idempotency_key;
use crate::{Client, ClientError, RunEventPage};

/// Filter of [`Client::list_sessions`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionScope {
    /// Sessions that are running or have unread results.
    RunningOrUnread,
    All,
}

impl SessionScope {
    const fn as_str(self) -> &'static str {
        match self {
            Self::RunningOrUnread => "default",
            Self::All => "all",
        }
    }
}

/// Parameters of [`Client::list_sessions`].
#[derive(Debug, Clone, Copy)]
pub struct SessionListRequest<'a> {
    pub scope: SessionScope,
    /// A reader name of your choice; each has its own read marker in every session.
    pub reader: &'a str,
    /// Restricts the list to one tenant; default: all tenants of the caller.
    pub tenant: Option<TenantId>,
    pub backend_profile: Option<&'a str>,
    /// Only sessions created before this one; default: the newest.
    pub before: Option<SessionId>,
    /// At most 200.
    pub limit: u32,
}

/// Selects events of a session.
#[derive(Debug, Clone, Copy)]
pub struct SessionEventsRequest {
    /// One of its runs; default: the open or the last run.
    pub run: Option<RunId>,
    pub after_seq: i64,
    /// At most 1000.
    pub limit: u32,
}

impl Client {
    /// Lists sessions, newest first.
    pub async fn list_sessions(&self, request: SessionListRequest<'_>) -> Result<SessionsView, ClientError> {
        let mut query = vec![
            ("state", request.scope.as_str().to_owned()),
            ("readerId", request.reader.to_owned()),
            ("limit", request.limit.to_string()),
        ];
        query.extend(request.tenant.map(|tenant| ("tenantId", tenant.to_string())));
        query.extend(request.backend_profile.map(|profile| ("backendProfile", profile.to_owned())));
        query.extend(request.before.map(|session| ("cursor", session.to_string())));
        self.call(self.query(&["sessions"], &query)).await
    }

    /// Returns a session with its open or last run.
    pub async fn get_session(&self, session: SessionId, reader: &str) -> Result<SessionView, ClientError> {
        self.call(self.query(&["sessions", &session.to_string()], &[("readerId", reader)])).await
    }

    /// Reads a page of events of one of a session's runs.
    pub async fn session_trace(
        &self,
        session: SessionId,
        request: SessionEventsRequest,
    ) -> Result<RunEventPage, ClientError> {
        self.event_page(self.session_events(session, "trace", request)).await
    }

    /// Reads a page of messages and output of one of a session's runs. An empty page may still have more pages after
    /// it.
    pub async fn session_output(
        &self,
        session: SessionId,
        request: SessionEventsRequest,
    ) -> Result<RunEventPage, ClientError> {
        self.event_page(self.session_events(session, "output", request)).await
    }

    fn session_events(
        &self,
        session: SessionId,
        part: &str,
        request: SessionEventsRequest,
    ) -> RequestBuilder {
        let mut query =
            vec![("afterSeq", request.after_seq.to_string()), ("limit", request.limit.to_string())];
        query.extend(request.run.map(|run| ("runId", run.to_string())));
        self.query(&["sessions", &session.to_string(), part], &query)
    }

    /// Marks a session as read up to a version; by default completely.
    pub async fn mark_session_read(
        &self,
        session: SessionId,
        reader: &str,
        version: Option<i64>,
    ) -> Result<SessionView, ClientError> {
        let body = MarkRead { reader_id: reader.to_owned(), version };
        self.call(self.request(Method::POST, &["sessions", &session.to_string(), "read"]).json(&body)).await
    }

    /// Creates a session without a run.
    pub async fn create_session(
        &self,
        request_body: &CreateSession,
        idempotency_key: Option<&str>,
    ) -> Result<SessionView, ClientError> {
        let request = self.request(Method::POST, &["sessions"]).json(request_body);
        self.call(with_idempotency_key(request, idempotency_key)).await
    }

    /// Returns the storage summary of a session.
    pub async fn session_storage(&self, session: SessionId) -> Result<StorageView, ClientError> {
        self.call(self.request(Method::GET, &["sessions", &session.to_string(), "storage"])).await
    }

    /// Evicts the storage of a session. The session cannot be continued afterwards.
    pub async fn evict_session_storage(&self, session: SessionId) -> Result<StorageView, ClientError> {
        self.call(self.request(Method::DELETE, &["sessions", &session.to_string(), "storage"])).await
    }

    /// Cancels the running command of a session, or else its open run.
    pub async fn cancel_session(&self, session: SessionId) -> Result<SessionCancellationView, ClientError> {
        let body = ControlSession { action: "cancel".to_owned() };
        let request = self.request(Method::POST, &["sessions", &session.to_string(), "control"]);
        self.call(request.json(&body)).await
    }
}
