//! Trying a profile: an ordinary run with one short turn, and a record of what came of it. The record is written with the
//! run, and settled by whichever replica comes round: one that is killed loses nothing.

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Right;
use guildhall_domain::ids::{CommandId, RunId, SessionId, TenantId, ValidationId};
use guildhall_domain::profiles::validation::{PROMPT, outcome};
use guildhall_domain::runs::command::CommandKind;
use guildhall_domain::runs::event;
use guildhall_domain::runs::policy::{
    AllowList, BackendProfile, Bounds, Network, NewRunAsk, PolicyAsk, RunTerms, RunTimeout, Sandbox,
    SecretRef, SecretScope, TraceSink, WorkspaceRef,
};
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::commands::{self, NewCommand};
use guildhall_store::profile_validations::{self as rows, NewValidation, Validation};
use guildhall_store::runs;
use guildhall_store::sessions::{self, NewSession};
use serde_json::json;
use tracing::{info, warn};

use super::{ProfileRefusal, Profiles};
use crate::ServiceError;
use crate::access::audit;
use crate::idempotency::{self, Claim, IdempotencyKey};
use crate::runs::{Locked, insert_run};

/// What the canary's run says of its project and provider.
const PROJECT: &str = "guildhall/profile-validation";
const PROVIDER: &str = "profile-validation";

/// Validations settled in one round; the next takes the rest.
const AT_ONCE: u32 = 100;

impl Profiles {
    /// Begins to try a profile. The same key gives the same validation.
    pub async fn validate(
        &self,
        caller: &Caller,
        tenant: TenantId,
        profile: &BackendProfile,
        key: Option<&IdempotencyKey>,
    ) -> Result<Validation, ServiceError> {
        caller.acting(tenant)?.require(Right::ProfilesManage)?;
        let terms = self.terms(profile)?;
        let has_credential = self.runs.credentials.require(&self.store, tenant, profile).await;
        let version = self.find(tenant, profile).await?.map(|(_, kept)| kept.resource_version);
        let (id, run, command) = (ValidationId::generate(), RunId::generate(), CommandId::generate());
        let mut tx = self.store.begin().await?;
        let said = json!(["profile.validate", tenant, profile.as_str()]);
        if let Claim::Made(made) = idempotency::claim(&mut tx, caller, key, &said, id.as_uuid()).await? {
            tx.rollback().await?;
            return self.validation(caller, tenant, profile, ValidationId::from_uuid(made)).await;
        }
        has_credential?;
        let session = SessionId::generate();
        let new = NewSession {
            id: session,
            tenant,
            project: PROJECT,
            backend_profile: profile.as_str(),
            created_by: caller.principal,
            // Nobody goes on with it.
            expires_in: Some(self.within),
        };
        sessions::insert(&mut tx, &new).await?;
        insert_run(&mut tx, caller, run, tenant, session, &terms).await?;
        let detail = json!({ "validation": id, "run": run });
        let noted =
            crate::access::tenants::event(caller, tenant, "profile.validated", profile.to_string(), detail);
        audit::record(&mut tx, &noted).await?;
        let mut locked = Locked::within(tx, run).await?;
        let by = caller.principal.to_string();
        let payload = json!({
            "status": "pending", "by": by, "sessionId": session.to_string(), "validationId": id.to_string(),
        });
        locked.say(event::RUN_STATUS, None, payload);
        self.ask(&mut locked, caller, command).await?;
        let new = NewValidation {
            id,
            tenant,
            profile: profile.as_str(),
            resource_version: version.as_deref(),
            run,
            command,
            created_by: caller.principal,
            within: self.within,
        };
        rows::insert(&mut locked.tx, &new).await?;
        locked.commit(&self.runs.journals).await?;
        self.runs.offers.announce(tenant).await;
        rows::find(&self.store, id).await?.ok_or(ServiceError::NOT_FOUND)
    }

    /// Writes the canary turn.
    async fn ask(&self, locked: &mut Locked, caller: &Caller, id: CommandId) -> Result<(), ServiceError> {
        let run = locked.run.id;
        let ordinal = runs::next_ordinal(&mut locked.tx, run).await?;
        let new = NewCommand {
            id,
            run,
            ordinal,
            kind: CommandKind::Turn,
            payload: &json!({ "prompt": PROMPT }).to_string(),
            target: None,
            created_by: caller.principal,
        };
        commands::insert(&mut locked.tx, &new).await?;
        let command = commands::load(&mut locked.tx, id).await?.ok_or(ServiceError::NOT_FOUND)?;
        locked.open.push(command);
        let payload = json!({ "status": "pending", "type": CommandKind::Turn.as_str(), "ordinal": ordinal });
        locked.say(event::COMMAND_STATUS, Some(id), payload);
        Ok(())
    }

    /// Shows how trying a profile came out, or that it is still tried.
    pub async fn validation(
        &self,
        caller: &Caller,
        tenant: TenantId,
        profile: &BackendProfile,
        id: ValidationId,
    ) -> Result<Validation, ServiceError> {
        caller.acting(tenant)?.require(Right::TenantRead)?;
        let found = rows::find(&self.store, id).await?;
        let is_asked = |found: &Validation| found.tenant == tenant && found.profile == profile.as_str();
        let found = found.filter(is_asked).ok_or(ServiceError::NOT_FOUND)?;
        if found.outcome.is_some() {
            return Ok(found);
        }
        self.settle(id).await?;
        rows::find(&self.store, id).await?.ok_or(ServiceError::NOT_FOUND)
    }

    /// Writes how a validation came out, if it has, and ends its run.
    async fn settle(&self, id: ValidationId) -> Result<(), ServiceError> {
        let Some(found) = rows::find(&self.store, id).await? else { return Ok(()) };
        let mut locked = Locked::begin(&self.store, found.run).await?;
        // Looked at again under the lock: another replica may have been here.
        let (validation, turn) =
            (rows::load(&mut locked.tx, id).await?, commands::load(&mut locked.tx, found.command).await?);
        let pending = validation.filter(|validation| validation.outcome.is_none());
        let came_out =
            pending.zip(turn).and_then(|(open, turn)| outcome(&turn.state, open.deadline_at, locked.run.now));
        let Some(came_out) = came_out else { return Ok(locked.tx.rollback().await?) };
        rows::settle(&mut locked.tx, id, &came_out).await?;
        if !locked.run.state.is_ended() {
            locked.end(&came_out.ending()).await?;
        }
        locked.commit(&self.runs.journals).await?;
        info!(validation.id = %id, run.id = %found.run, "{id} has come out");
        Ok(())
    }

    /// Returns the terms of the canary's run: as little as there is, and whatever the boundary says of projects.
    fn terms(&self, profile: &BackendProfile) -> Result<RunTerms, ServiceError> {
        let bounds =
            Bounds { projects: AllowList::any(), providers: AllowList::any(), ..self.runs.bounds().clone() };
        let own = SecretRef::new(&SecretRef::provider_name(profile), ["credential"]);
        let own = own.map_err(|_| ProfileRefusal::NoCredential(profile.clone()))?;
        let needed = profile.needs_credential().then_some(own);
        let within = u64::try_from(self.within.as_millis()).unwrap_or(u64::MAX);
        let within = RunTimeout::from_millis(within).unwrap_or(bounds.widest.timeout);
        let name = |_| ServiceError::Invalid("the canary's names are not usable".to_owned());
        let ask = NewRunAsk {
            project: PROJECT.parse().map_err(name)?,
            workspace: WorkspaceRef::Empty,
            provider: PROVIDER.parse().map_err(name)?,
            profile: profile.clone(),
            policy: PolicyAsk {
                sandbox: Some(Sandbox::ReadOnly),
                approval: None,
                timeout: Some(within.min(bounds.widest.timeout)),
                network: Some(Network::Disabled),
                secret_scope: Some(SecretScope {
                    provider_credentials: needed.into_iter().collect(),
                    ..SecretScope::default()
                }),
            },
            trace_sink: TraceSink::Nowhere,
        };
        Ok(bounds.admit(&ask)?.into_terms())
    }
}

/// Settles validations: those whose turn has ended, and those that nobody came for in time.
#[derive(Debug)]
pub struct SettleValidations(pub Profiles);

impl Reconciler for SettleValidations {
    type Error = ServiceError;
    const NAME: &'static str = "profile-validations";

    async fn round(&self) -> Result<(), ServiceError> {
        let mut failed = None;
        for id in rows::due(&self.0.store, AT_ONCE).await? {
            // One whose run is locked for long must not keep the others waiting.
            if let Err(error) = self.0.settle(id).await {
                warn!(validation.id = %id, error = &error as &dyn std::error::Error, "{id} could not be settled");
                failed = Some(error);
            }
        }
        failed.map_or(Ok(()), Err)
    }
}
