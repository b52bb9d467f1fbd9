//! Creates a run within the tenant's bounds, in a session, once per idempotency key.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::rights::RunsWrite;
use guildhall_domain::agents::AgentRevision;
use guildhall_domain::ids::{RunId, SessionId};
use guildhall_domain::journal::Seq;
use guildhall_domain::runs::event;
use guildhall_domain::runs::policy::{RunRequest, RunSpec, TraceSink};
use guildhall_domain::sessions::StorageKind;
use guildhall_store::journal::StreamUpdate;
use guildhall_store::sessions::{self, Reader};
use serde_json::json;

use super::bundles;
use super::error::RunError;
use super::{RunView, Runs};
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::idempotency::{self, Claim, IdempotencyKey};
use crate::run_steps::LockedRun;
use crate::run_steps::insert::{RunInsertion, RunRecord, insert_first_run, insert_run};

/// A run to create.
#[derive(Debug, Clone)]
pub struct CreateRun {
    /// The session to continue; a new one without it.
    pub session: Option<SessionId>,
    pub run: RunRequest,
    /// The agent whose settings the run has.
    pub agent: Option<AgentRevision>,
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
            return self.load_view(caller, RunId::from_uuid(created)).await;
        }
        has_credential?;
        let session = request.session.unwrap_or_else(SessionId::generate);
        let (tenant, created_by) = (caller.tenant(), caller.principal);
        let record = RunRecord { id, tenant, session, spec: &spec, created_by, agent: request.agent };
        let insertion = if request.session.is_some() {
            self.check_session(caller, session, &spec).await?;
            insert_run(&mut tx, record).await?
        } else {
            insert_first_run(&mut tx, record, None).await?;
            RunInsertion::Inserted
        };
        match insertion {
            RunInsertion::Inserted => {}
            RunInsertion::SessionBusy => {
                tx.rollback().await?;
                return Err(self.run_open_error(caller, session).await?);
            }
            RunInsertion::StorageEvicted => return Err(RunError::StorageEvicted.into()),
        }
        bundles::insert(&self.deps, &mut tx, &record).await?;
        let mut locked = LockedRun::created(tx, id).await?;
        let by = caller.principal.to_string();
        let payload = json!({ "status": "pending", "by": by, "sessionId": session.to_string() });
        locked.append_event(event::RUN_STATUS, None, payload);
        let run = locked.run.clone();
        let detail = json!({
            "sessionId": session.to_string(), "projectId": spec.project.as_str(), "backendProfile": spec.profile.as_str(),
        });
        let event = AuditEvent::by_member(caller, "run.created", id.to_string(), detail);
        audit::record(&mut locked.tx, &event).await?;
        let (_, fold) = locked.commit_with_fold(&self.deps).await?;
        self.tenants.insert(id, caller.tenant());
        let last_seq = Seq::new(i64::from(run.ordinal)).unwrap_or_default();
        self.deps.journals.announce(StreamUpdate { stream: sessions::stream(session), last_seq });
        Ok(self.view_created(run, fold.unwrap_or_default()))
    }

    /// Checks that a run can be created in an existing session: it has the same profile, and no open run.
    async fn check_session(
        &self,
        caller: &Authorized<RunsWrite>,
        id: SessionId,
        spec: &RunSpec,
    ) -> Result<(), ServiceError> {
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
            None => Ok(()),
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
