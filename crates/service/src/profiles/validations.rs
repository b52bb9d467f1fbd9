//! Validates a profile with an ordinary run of one short turn. The record is inserted with the run and settled by any
//! replica: a killed replica loses nothing.

use std::time::Duration;

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{ProfilesManage, TenantRead};
use guildhall_domain::ids::{CommandId, PrincipalId, RunId, SessionId, ValidationId};
use guildhall_domain::profiles::validation::Validation;
use guildhall_domain::profiles::validation::{CANARY_PROMPT, decide_outcome};
use guildhall_domain::runs::command::{Command, CommandKind};
use guildhall_domain::runs::event;
use guildhall_domain::runs::policy::{
    AllowList, BackendProfile, Network, PolicyRequest, RunRequest, RunSpec, RunTimeout, Sandbox, SecretRef,
    SecretScope, TenantBounds, TraceSink, WorkspaceRef,
};
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::commands;
use guildhall_store::profile_validations::{self as rows, NewValidation};
use serde_json::json;
use tracing::{info, warn};

use super::Profiles;
use super::error::ProfileError;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::idempotency::{self, Claim, IdempotencyKey};
use crate::run_steps::LockedRun;
use crate::run_steps::insert::{CommandRecord, RunRecord, insert_command, insert_first_run};

/// The project and the provider of the canary run.
const PROJECT: &str = "guildhall/profile-validation";
const PROVIDER: &str = "profile-validation";

/// Validations settled in one round; the next takes the rest.
const BATCH_SIZE: u32 = 100;

/// Validates profiles.
#[derive(Debug, Clone)]
pub struct Validations {
    profiles: Profiles,
    timeout: Duration,
}

impl Validations {
    pub(super) fn new(profiles: Profiles, timeout: Duration) -> Self {
        Self { profiles, timeout }
    }

    /// Starts a validation. The same key returns the same validation.
    pub async fn start(
        &self,
        caller: &Authorized<ProfilesManage>,
        profile: &BackendProfile,
        key: Option<&IdempotencyKey>,
    ) -> Result<Validation, ServiceError> {
        let tenant = caller.tenant();
        let deps = &self.profiles.deps;
        let spec = self.spec(&deps.tenant_bounds(tenant).await?, profile)?;
        let has_credential = deps.credentials.require(&deps.store, tenant, profile).await;
        let version = self.profiles.find(tenant, profile).await?.map(|(_, stored)| stored.resource_version);
        let (id, run, command) = (ValidationId::generate(), RunId::generate(), CommandId::generate());
        let mut tx = deps.store.begin().await?;
        let body = json!(["profile.validate", tenant, profile.as_str()]);
        if let Claim::Created(created) = idempotency::claim(&mut tx, caller, key, &body, id.as_uuid()).await?
        {
            tx.rollback().await?;
            let found = rows::find(&deps.store, ValidationId::from_uuid(created)).await?;
            return self.settle_and_load(caller.load(found)?).await;
        }
        has_credential?;
        let session = SessionId::generate();
        let (created_by, agent) = (caller.principal, None);
        let record = RunRecord { id: run, tenant, session, spec: &spec, created_by, agent };
        // Nobody continues the session.
        insert_first_run(&mut tx, record, Some(self.timeout)).await?;
        let detail = json!({ "validation": id, "run": run });
        let event = AuditEvent::by_member(caller, "profile.validated", profile.to_string(), detail);
        audit::record(&mut tx, &event).await?;
        let mut locked = LockedRun::created(tx, run).await?;
        let by = caller.principal.to_string();
        let payload = json!({
            "status": "pending", "by": by, "sessionId": session.to_string(), "validationId": id.to_string(),
        });
        locked.append_event(event::RUN_STATUS, None, payload);
        insert_canary_turn(&mut locked, command, caller.principal).await?;
        let new = NewValidation {
            id,
            tenant,
            profile: profile.as_str(),
            resource_version: version.as_deref(),
            run,
            command,
            created_by: caller.principal,
            timeout: self.timeout,
        };
        rows::insert(&mut locked.tx, &new).await?;
        let waiting = locked.run.clone();
        locked.commit(deps).await?;
        deps.offers.announce(&waiting).await;
        self.find(id).await
    }

    /// Returns a validation with its outcome, if it has one.
    pub async fn get(
        &self,
        caller: &Authorized<TenantRead>,
        profile: &BackendProfile,
        id: ValidationId,
    ) -> Result<Validation, ServiceError> {
        let found = caller.load(rows::find(&self.profiles.deps.store, id).await?)?;
        if found.profile != profile.as_str() {
            return Err(ServiceError::NOT_FOUND);
        }
        self.settle_and_load(found).await
    }

    /// Stores the outcome of a validation, if it has one by now, and returns the validation.
    async fn settle_and_load(&self, found: Validation) -> Result<Validation, ServiceError> {
        if found.outcome.is_some() {
            return Ok(found);
        }
        self.settle(found.id).await?;
        self.find(found.id).await
    }

    async fn find(&self, id: ValidationId) -> Result<Validation, ServiceError> {
        rows::find(&self.profiles.deps.store, id).await?.ok_or(ServiceError::NOT_FOUND)
    }

    /// Stores the outcome of a validation, if it has one, and ends its run.
    async fn settle(&self, id: ValidationId) -> Result<(), ServiceError> {
        let deps = &self.profiles.deps;
        let Some(found) = rows::find(&deps.store, id).await? else { return Ok(()) };
        let mut locked = LockedRun::begin(&deps.store, found.run).await?;
        // Read again under the lock: another replica may have settled it.
        let (validation, turn) =
            (rows::load(&mut locked.tx, id).await?, commands::load(&mut locked.tx, found.command).await?);
        let pending = validation.filter(|validation| validation.outcome.is_none());
        let outcome = pending
            .zip(turn)
            .and_then(|(open, turn)| decide_outcome(&turn.state, open.deadline_at, locked.run.now));
        let Some(outcome) = outcome else { return Ok(locked.tx.rollback().await?) };
        rows::settle(&mut locked.tx, id, &outcome).await?;
        if !locked.run.state.is_ended() {
            locked.end(&outcome.run_outcome()).await?;
        }
        locked.commit(deps).await?;
        info!(validation.id = %id, run.id = %found.run, "{id} is settled");
        Ok(())
    }

    /// Returns the spec of the canary run: the smallest policy, in a project that the bounds need not allow.
    fn spec(&self, bounds: &TenantBounds, profile: &BackendProfile) -> Result<RunSpec, ServiceError> {
        let bounds =
            TenantBounds { projects: AllowList::any(), providers: AllowList::any(), ..bounds.clone() };
        let own = SecretRef::new(&SecretRef::provider_name(profile), ["credential"]);
        let own = own.map_err(|_| ProfileError::NoCredential(profile.clone()))?;
        let needed = profile.needs_credential().then_some(own);
        let timeout = u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX);
        let timeout = RunTimeout::from_millis(timeout).unwrap_or(bounds.max_policy.timeout);
        let name = |_| ServiceError::Invalid("invalid project or provider name of the canary run".to_owned());
        let request = RunRequest {
            project: PROJECT.parse().map_err(name)?,
            workspace: WorkspaceRef::Empty,
            provider: PROVIDER.parse().map_err(name)?,
            profile: profile.clone(),
            policy: PolicyRequest {
                sandbox: Some(Sandbox::ReadOnly),
                approval: None,
                timeout: Some(timeout.min(bounds.max_policy.timeout)),
                network: Some(Network::Disabled),
                secret_scope: Some(SecretScope {
                    provider_credentials: needed.into_iter().collect(),
                    ..SecretScope::default()
                }),
            },
            trace_sink: TraceSink::None,
        };
        Ok(bounds.admit(&request)?.into_spec())
    }
}

/// Settles validations whose turn has ended or whose deadline has passed.
#[derive(Debug)]
pub struct SettleValidations(pub Validations);

impl Reconciler for SettleValidations {
    type Error = ServiceError;
    const NAME: &'static str = "profile-validations";

    async fn round(&self) -> Result<(), ServiceError> {
        let mut failed = None;
        for id in rows::list_due(&self.0.profiles.deps.store, BATCH_SIZE).await? {
            // One whose run is locked for long must not delay the others.
            if let Err(error) = self.0.settle(id).await {
                warn!(validation.id = %id, error = &error as &dyn std::error::Error, "cannot settle {id}");
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }
}

/// Inserts the turn that tries the credential.
async fn insert_canary_turn(
    locked: &mut LockedRun,
    id: CommandId,
    created_by: PrincipalId,
) -> Result<Command, ServiceError> {
    let payload = json!({ "prompt": CANARY_PROMPT });
    let (kind, payload) = (CommandKind::Turn, &payload);
    let record = CommandRecord {
        id,
        kind,
        payload,
        sealed_payload: None,
        target: None,
        continues: None,
        attached: &[],
        created_by,
    };
    insert_command(locked, record).await
}
