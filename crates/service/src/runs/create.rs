//! Making a run: inside the tenant's boundary, in a session, once.

use std::sync::Arc;

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Right;
use guildhall_domain::ids::{RunId, SessionId, TenantId};
use guildhall_domain::journal::Seq;
use guildhall_domain::runs::event;
use guildhall_domain::runs::policy::{Bounds, NewRunAsk, RunTerms, TraceSink};
use guildhall_domain::sessions::StorageKind;
use guildhall_store::journal::Wake;
use guildhall_store::runs::{self as rows, NewRun};
use guildhall_store::sessions::{self, NewSession, Reader};
use guildhall_store::{Store, Tx};
use serde_json::json;

use super::{Locked, Offers, RunRefusal, RunView, Runs, Times};
use crate::ServiceError;
use crate::idempotency::{self, Claim, IdempotencyKey};
use crate::journal::Journals;
use crate::profiles::Credentials;

/// What the runs of a tenant may ask for: the same for all tenants, until profiles say more.
pub(super) type Boundary = Arc<Bounds>;

/// A run to make.
#[derive(Debug, Clone)]
pub struct RunAsk {
    pub tenant: TenantId,
    /// The session that it goes on with; a new one without it.
    pub session: Option<SessionId>,
    pub terms: NewRunAsk,
}

impl Runs {
    #[must_use]
    pub fn new(store: Store, journals: Journals, offers: Offers, times: Times, bounds: Bounds) -> Self {
        let credentials = Credentials::default();
        Self { store, journals, times, offers, bounds: Arc::new(bounds), credentials }
    }

    /// Lets new runs be refused whose profile has no credential.
    #[must_use]
    pub fn with_credentials(self, credentials: Credentials) -> Self {
        Self { credentials, ..self }
    }

    pub(crate) fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Makes a run. It waits for a runner from then on.
    pub async fn create(
        &self,
        caller: &Caller,
        ask: &RunAsk,
        key: Option<&IdempotencyKey>,
    ) -> Result<RunView, ServiceError> {
        // Whose tenant it is, is a part of the boundary: not being a member is told like any other refusal of it.
        let acting = caller.acting(ask.tenant).map_err(|_| ServiceError::from(RunRefusal::NotYourTenant))?;
        acting.require(Right::RunsWrite)?;
        let terms = self.bounds.admit(&ask.terms)?.into_terms();
        // Asked before the transaction, which holds a connection, and heeded after a repeat was recognised.
        let has_credential = self.credentials.require(&self.store, ask.tenant, &terms.profile).await;
        let (id, mut tx) = (RunId::generate(), self.store.begin().await?);
        let said = json!(["run", ask.tenant, ask.session, columns(&terms)]);
        if let Claim::Made(made) = idempotency::claim(&mut tx, caller, key, &said, id.as_uuid()).await? {
            tx.rollback().await?;
            return self.show(caller, RunId::from_uuid(made)).await;
        }
        has_credential?;
        let session = self.session_of(&mut tx, caller, ask, &terms).await?;
        if !insert(&mut tx, caller, id, ask.tenant, session, &terms).await? {
            tx.rollback().await?;
            return Err(self.run_open(caller, session).await?);
        }
        let mut locked = Locked::within(tx, id).await?;
        let by = caller.principal.to_string();
        let payload = json!({ "status": "pending", "by": by, "sessionId": session.to_string() });
        locked.say(event::RUN_STATUS, None, payload);
        let ordinal = locked.run.ordinal;
        locked.commit(&self.journals).await?;
        let last_seq = Seq::new(i64::from(ordinal)).unwrap_or_default();
        self.journals.announce(Wake { stream: sessions::stream(session), last_seq });
        self.show(caller, id).await
    }

    /// Returns the session of a new run: the one it names, unless a run of it is open, or a new one.
    async fn session_of(
        &self,
        tx: &mut Tx,
        caller: &Caller,
        ask: &RunAsk,
        terms: &RunTerms,
    ) -> Result<SessionId, ServiceError> {
        let Some(id) = ask.session else {
            let id = SessionId::generate();
            let new = NewSession {
                id,
                tenant: ask.tenant,
                project: terms.project.as_str(),
                backend_profile: terms.profile.as_str(),
                created_by: caller.principal,
                expires_in: None,
            };
            sessions::insert(tx, &new).await?;
            return Ok(id);
        };
        let reader = Reader { principal: caller.principal, name: "" };
        let found = sessions::find(&self.store, id, reader).await?;
        let session = found.filter(|found| found.tenant == ask.tenant).ok_or(ServiceError::NOT_FOUND)?;
        if session.backend_profile != terms.profile.as_str() {
            return Err(ServiceError::from(RunRefusal::OtherProfile(session.backend_profile)));
        }
        if session.storage == StorageKind::Evicted {
            return Err(ServiceError::from(RunRefusal::StorageEvicted));
        }
        match session.active_run {
            Some(active) => Err(ServiceError::from(RunRefusal::RunOpen(Some(active)))),
            None => Ok(id),
        }
    }

    /// Says which run of a session is open.
    async fn run_open(&self, caller: &Caller, id: SessionId) -> Result<ServiceError, ServiceError> {
        let reader = Reader { principal: caller.principal, name: "" };
        let session = sessions::find(&self.store, id, reader).await?;
        Ok(ServiceError::from(RunRefusal::RunOpen(session.and_then(|session| session.active_run))))
    }
}

/// Writes the run. Returns whether its session has no other that is open: of two at once, the index lets one through.
pub(crate) async fn insert(
    tx: &mut Tx,
    caller: &Caller,
    id: RunId,
    tenant: TenantId,
    session: SessionId,
    terms: &RunTerms,
) -> Result<bool, ServiceError> {
    let begun = sessions::begin_run(tx, session, id).await?;
    let ordinal = begun.ok_or(ServiceError::from(RunRefusal::StorageEvicted))?;
    let new = NewRun {
        id,
        tenant,
        session,
        ordinal,
        project: terms.project.as_str(),
        provider: terms.provider.as_str(),
        backend_profile: terms.profile.as_str(),
        workspace_ref: &json!(terms.workspace).to_string(),
        execution_policy: &json!(terms.policy).to_string(),
        trace_sink: match &terms.trace_sink {
            TraceSink::Nowhere => None,
            TraceSink::Named(sink) => Some(sink.as_str()),
        },
        created_by: caller.principal,
    };
    match rows::insert(tx, &new).await {
        Ok(()) => Ok(true),
        Err(error) if error.is_duplicate() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn columns(terms: &RunTerms) -> serde_json::Value {
    json!([
        terms.project.as_str(),
        terms.provider.as_str(),
        terms.profile.as_str(),
        terms.workspace,
        terms.policy,
        match &terms.trace_sink {
            TraceSink::Nowhere => None,
            TraceSink::Named(sink) => Some(sink.as_str()),
        }
    ])
}
