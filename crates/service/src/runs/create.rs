//! Creates a run within the tenant's bounds, in a session, once per idempotency key.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::rights::RunsWrite;
use guildhall_domain::ids::{RunId, SessionId};
use guildhall_domain::journal::Seq;
use guildhall_domain::runs::event;
use guildhall_domain::runs::policy::{RunRequest, RunSpec, TraceSink};
use guildhall_domain::sessions::StorageKind;
use guildhall_store::Tx;
use guildhall_store::journal::StreamUpdate;
use guildhall_store::sessions::{self, NewSession, Reader};
use serde_json::json;

use super::error::RunError;
use super::{RunView, Runs};
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::idempotency::{self, Claim, IdempotencyKey};
use crate::run_steps::LockedRun;
use crate::run_steps::insert::{RunInsertion, RunRecord, insert_run};

/// A run to create.
#[derive(Debug, Clone)]
pub struct CreateRun {
    /// The session to continue; a new one without it.
    pub session: Option<SessionId>,
    pub run: RunRequest,
}

impl Runs {
    /// Creates a run. It waits for a runner from then on.
    pub async fn create(
        &self,
        caller: &Authorized<RunsWrite>,
        request: &CreateRun,
        key: Option<&IdempotencyKey>,
    ) -> Result<RunView, ServiceError> {
        let bounds = self.deps.tenant_bounds(caller.tenant()).await?;
        let spec = bounds.admit(&request.run)?.into_spec();
        // Checked before the transaction, which holds a connection; used after a replay was recognised.
        let has_credential =
            self.deps.credentials.require(&self.deps.store, caller.tenant(), &spec.profile).await;
        let (id, mut tx) = (RunId::generate(), self.deps.store.begin().await?);
        let body = json!(["run", caller.tenant(), request.session, spec_json(&spec)]);
        if let Claim::Created(created) = idempotency::claim(&mut tx, caller, key, &body, id.as_uuid()).await?
        {
            tx.rollback().await?;
            return self.view(self.load(caller, RunId::from_uuid(created)).await?).await;
        }
        has_credential?;
        let session = self.session_of(&mut tx, caller, request, &spec).await?;
        let record =
            RunRecord { id, tenant: caller.tenant(), session, spec: &spec, created_by: caller.principal };
        match insert_run(&mut tx, record).await? {
            RunInsertion::Inserted => {}
            RunInsertion::SessionBusy => {
                tx.rollback().await?;
                return Err(self.run_open_error(caller, session).await?);
            }
            RunInsertion::StorageEvicted => return Err(RunError::StorageEvicted.into()),
        }
        let mut locked = LockedRun::within(tx, id).await?;
        let by = caller.principal.to_string();
        let payload = json!({ "status": "pending", "by": by, "sessionId": session.to_string() });
        locked.append_event(event::RUN_STATUS, None, payload);
        let ordinal = locked.run.ordinal;
        let detail = json!({
            "sessionId": session.to_string(), "projectId": spec.project.as_str(), "backendProfile": spec.profile.as_str(),
        });
        let event = AuditEvent::by_member(caller, "run.created", id.to_string(), detail);
        audit::record(&mut locked.tx, &event).await?;
        locked.commit(&self.deps).await?;
        let last_seq = Seq::new(i64::from(ordinal)).unwrap_or_default();
        self.deps.journals.announce(StreamUpdate { stream: sessions::stream(session), last_seq });
        self.view(self.load(caller, id).await?).await
    }

    /// Returns the session of a new run: the named one, unless it has an open run, or a new one.
    async fn session_of(
        &self,
        tx: &mut Tx,
        caller: &Authorized<RunsWrite>,
        request: &CreateRun,
        spec: &RunSpec,
    ) -> Result<SessionId, ServiceError> {
        let Some(id) = request.session else {
            let id = SessionId::generate();
            let new = NewSession {
                id,
                tenant: caller.tenant(),
                project: spec.project.as_str(),
                backend_profile: spec.profile.as_str(),
                created_by: caller.principal,
                expires_in: None,
            };
            sessions::insert(tx, &new).await?;
            return Ok(id);
        };
        let reader = Reader { principal: caller.principal, name: "" };
        let found = sessions::find(&self.deps.store, id, reader).await?;
        let session = caller.load(found)?;
        if session.backend_profile != spec.profile.as_str() {
            return Err(ServiceError::from(RunError::OtherProfile(session.backend_profile)));
        }
        if session.storage == StorageKind::Evicted {
            return Err(ServiceError::from(RunError::StorageEvicted));
        }
        match session.active_run {
            Some(active) => Err(ServiceError::from(RunError::RunOpen(Some(active)))),
            None => Ok(id),
        }
    }

    /// Builds the error that names the open run of a session.
    async fn run_open_error(&self, caller: &Caller, id: SessionId) -> Result<ServiceError, ServiceError> {
        let reader = Reader { principal: caller.principal, name: "" };
        let session = sessions::find(&self.deps.store, id, reader).await?;
        Ok(ServiceError::from(RunError::RunOpen(session.and_then(|session| session.active_run))))
    }
}

fn spec_json(spec: &RunSpec) -> serde_json::Value {
    json!([
        spec.project.as_str(),
        spec.provider.as_str(),
        spec.profile.as_str(),
        spec.workspace,
        spec.policy,
        match &spec.trace_sink {
            TraceSink::None => None,
            TraceSink::Named(sink) => Some(sink.as_str()),
        }
    ])
}
