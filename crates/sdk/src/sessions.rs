//! Sessions, as their readers see them.

use guildhall_domain::ids::{RunId, SessionId, TenantId};
use guildhall_protocol::rest::sessions::{
    ControlSession, ControlledView, CreateSession, MarkRead, SessionView, SessionsView, StorageView,
};
use reqwest::{Method, RequestBuilder};

use crate::client::keyed;
use crate::{Client, ClientError, RunEventPage};

/// Which sessions to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionScope {
    /// What runs, and what is new to the reader.
    News,
    All,
}

impl SessionScope {
    const fn as_str(self) -> &'static str {
        match self {
            Self::News => "default",
            Self::All => "all",
        }
    }
}

/// A list of sessions to ask for.
#[derive(Debug, Clone, Copy)]
pub struct SessionsAsk<'a> {
    pub scope: SessionScope,
    /// As whom to look: a name of your choice, with a place of its own in every session.
    pub reader: &'a str,
    /// The sessions of one tenant; of all that are the caller's without it.
    pub tenant: Option<TenantId>,
    pub backend_profile: Option<&'a str>,
    /// Those made before one; the newest without it.
    pub before: Option<SessionId>,
    /// 200 is the most that a page holds.
    pub limit: u32,
}

/// Which events of a session to read.
#[derive(Debug, Clone, Copy)]
pub struct SessionEventsAsk {
    /// One of its runs; the open or last one without it.
    pub run: Option<RunId>,
    pub after_seq: i64,
    /// 1000 is the most that a page holds.
    pub limit: u32,
}

impl Client {
    /// Lists sessions, newest first.
    pub async fn list_sessions(&self, ask: SessionsAsk<'_>) -> Result<SessionsView, ClientError> {
        let mut query = vec![
            ("state", ask.scope.as_str().to_owned()),
            ("readerId", ask.reader.to_owned()),
            ("limit", ask.limit.to_string()),
        ];
        query.extend(ask.tenant.map(|tenant| ("tenantId", tenant.to_string())));
        query.extend(ask.backend_profile.map(|profile| ("backendProfile", profile.to_owned())));
        query.extend(ask.before.map(|session| ("cursor", session.to_string())));
        self.call(self.query(&["sessions"], &query)).await
    }

    /// Reads a session, with the run that is open or was last.
    pub async fn show_session(&self, session: SessionId, reader: &str) -> Result<SessionView, ClientError> {
        self.call(self.query(&["sessions", &session.to_string()], &[("readerId", reader)])).await
    }

    /// Reads events of one of a session's runs.
    pub async fn session_trace(
        &self,
        session: SessionId,
        ask: SessionEventsAsk,
    ) -> Result<RunEventPage, ClientError> {
        self.event_page(self.session_events(session, "trace", ask)).await
    }

    /// Reads what was said and printed in one of a session's runs. A page may have none of it and still have more after.
    pub async fn session_output(
        &self,
        session: SessionId,
        ask: SessionEventsAsk,
    ) -> Result<RunEventPage, ClientError> {
        self.event_page(self.session_events(session, "output", ask)).await
    }

    fn session_events(&self, session: SessionId, part: &str, ask: SessionEventsAsk) -> RequestBuilder {
        let mut query = vec![("afterSeq", ask.after_seq.to_string()), ("limit", ask.limit.to_string())];
        query.extend(ask.run.map(|run| ("runId", run.to_string())));
        self.query(&["sessions", &session.to_string(), part], &query)
    }

    /// Says that a reader has read a session up to a version; all of it without one.
    pub async fn read_session(
        &self,
        session: SessionId,
        reader: &str,
        version: Option<i64>,
    ) -> Result<SessionView, ClientError> {
        let body = MarkRead { reader_id: reader.to_owned(), version };
        self.call(self.request(Method::POST, &["sessions", &session.to_string(), "read"]).json(&body)).await
    }

    /// Makes a session, without a run yet.
    pub async fn create_session(
        &self,
        wanted: &CreateSession,
        idempotency_key: Option<&str>,
    ) -> Result<SessionView, ClientError> {
        let request = self.request(Method::POST, &["sessions"]).json(wanted);
        self.call(keyed(request, idempotency_key)).await
    }

    /// Reads what is known of a session's storage.
    pub async fn session_storage(&self, session: SessionId) -> Result<StorageView, ClientError> {
        self.call(self.request(Method::GET, &["sessions", &session.to_string(), "storage"])).await
    }

    /// Gives a session's storage up: nobody goes on with the session from then on.
    pub async fn evict_session_storage(&self, session: SessionId) -> Result<StorageView, ClientError> {
        self.call(self.request(Method::DELETE, &["sessions", &session.to_string(), "storage"])).await
    }

    /// Cancels what is at work in a session: the command that runs, or else the open run.
    pub async fn cancel_session(&self, session: SessionId) -> Result<ControlledView, ClientError> {
        let body = ControlSession { action: "cancel".to_owned() };
        let request = self.request(Method::POST, &["sessions", &session.to_string(), "control"]);
        self.call(request.json(&body)).await
    }
}
