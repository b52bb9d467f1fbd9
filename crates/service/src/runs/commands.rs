//! Commands: submitting, reading and cancelling them.

use std::collections::BTreeSet;

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::{RunsRead, RunsWrite};
use guildhall_domain::agents::end_users::EndUserSettings;
use guildhall_domain::agents::turn_pipeline::TurnPipeline;
use guildhall_domain::front::ClientTurn;
use guildhall_domain::front::attachment::{Attachment, AttachmentReference};
use guildhall_domain::front::front_end_tools::stored_tools;
use guildhall_domain::ids::{AgentId, AttachmentId, CommandId, RunId, SessionId, TenantId};
use guildhall_domain::journal::{Seq, SessionPosition};
use guildhall_domain::redact::redact_json;
use guildhall_domain::runs::command::Command;
use guildhall_domain::runs::command::{self, CommandCancellation, CommandKind};
use guildhall_domain::runs::event;
use guildhall_store::client_runs::{self, ClientRun};
use guildhall_store::commands as rows;
use guildhall_store::runs::{self, CancelTarget};
use guildhall_store::{attachments, end_user_usage};
use secrecy::zeroize::Zeroizing;
use serde_json::{Value, json};

use super::error::RunError;
use super::{Runs, bundles};
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::idempotency::{self, Claim, IdempotencyKey};
use crate::run_steps::LockedRun;
use crate::run_steps::insert::{CommandRecord, insert_command};

/// A command to submit.
#[derive(Debug, Clone)]
pub struct CommandRequest {
    pub kind: CommandKind,
    pub payload: Value,
}

/// The payload of a command as it is stored.
struct CommandPayload {
    redacted: Value,
    /// The exact payload, encrypted, if redaction changed it.
    sealed: Option<Vec<u8>>,
    /// Stands for the exact payload where equal requests are recognised.
    digest: Option<Value>,
}

/// What makes a repeated submission return the same command.
#[derive(Debug, Clone, Copy)]
enum SubmissionKey<'a> {
    Idempotency(Option<&'a IdempotencyKey>),
    /// The id that the client of a session chose for a turn.
    ClientRun(ClientTurnRequest<'a>),
}

/// A turn of an application.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClientTurnRequest<'a> {
    pub(crate) client_run: ClientRun<'a>,
    pub(crate) attachments: &'a [Attachment],
    /// The agent and its limits, if an end user has sent the turn.
    pub(crate) end_user: Option<(AgentId, EndUserSettings)>,
}

/// Submits, reads and cancels commands.
#[derive(Debug, Clone)]
pub struct Commands {
    runs: Runs,
}

impl Commands {
    pub(super) fn new(runs: Runs) -> Self {
        Self { runs }
    }

    /// Submits a command. The same key and the same body return the same command.
    pub async fn submit(
        &self,
        caller: &Authorized<RunsWrite>,
        run: RunId,
        request: CommandRequest,
        key: Option<&IdempotencyKey>,
    ) -> Result<Command, ServiceError> {
        self.submit_unless_created(caller, run, request, SubmissionKey::Idempotency(key), &[]).await
    }

    /// Submits a turn under the id of a client. The same id returns the same turn, whatever the body. The session uses the
    /// attachments from then on, so they are kept with it.
    pub(crate) async fn submit_client_run(
        &self,
        caller: &Authorized<RunsWrite>,
        run: RunId,
        request: CommandRequest,
        turn: ClientTurnRequest<'_>,
    ) -> Result<Command, ServiceError> {
        let key = SubmissionKey::ClientRun(turn);
        self.submit_unless_created(caller, run, request, key, turn.attachments).await
    }

    async fn submit_unless_created(
        &self,
        caller: &Authorized<RunsWrite>,
        run: RunId,
        mut request: CommandRequest,
        key: SubmissionKey<'_>,
        attachments: &[Attachment],
    ) -> Result<Command, ServiceError> {
        let attached: Vec<_> = attachments.iter().map(AttachmentReference::from).collect();
        if !attached.is_empty() {
            request.payload[AttachmentReference::FIELD] = json!(attached);
        }
        let mut locked = self.lock_with_bundle(caller, run).await?;
        let id = CommandId::generate();
        let tools = stored_tools(&request.payload["input"]["tools"]);
        let payload = self.seal_payload(id, request.payload)?;
        let body =
            json!(["command", run, request.kind, payload.digest.as_ref().unwrap_or(&payload.redacted)]);
        if let Some(created) = claim(&mut locked, caller, key, &body, id).await? {
            locked.tx.rollback().await?;
            return self.find(created).await;
        }
        let turn = locked.open_turn();
        command::submit(&locked.run.state, request.kind, turn.is_some())?;
        let record = CommandRecord {
            id,
            kind: request.kind,
            payload: &payload.redacted,
            sealed_payload: payload.sealed.as_deref(),
            target: match request.kind {
                CommandKind::Turn => None,
                CommandKind::Steer | CommandKind::Interrupt => turn,
            },
            continues: None,
            attached: &attached,
            created_by: caller.principal,
        };
        let command = insert_command(&mut locked, record).await?;
        keep_attachments(&mut locked, attachments).await?;
        if let SubmissionKey::ClientRun(ClientTurnRequest { client_run, .. }) = key {
            let mut event = json!({ "clientRunId": client_run.id.as_str() });
            if let Some(parent) = payload.redacted.get("parentRunId").and_then(Value::as_str) {
                event["parentRunId"] = json!(parent);
            }
            if let Some(pipeline) = TurnPipeline::of_payload(&payload.redacted) {
                event["worker"] = json!(pipeline.worker);
            }
            if let Some(tools) = tools {
                event["tools"] = tools;
            }
            locked.append_event(event::CLIENT_RUN, Some(id), event);
        }
        let waiting = locked.run.lease.is_none().then(|| locked.run.clone());
        // Without the payload: it is in the journal of the run, where it can be erased.
        let detail = json!({ "runId": run.to_string(), "type": request.kind });
        let event = AuditEvent::by_member(caller, "command.created", id.to_string(), detail);
        audit::record(&mut locked.tx, &event).await?;
        locked.commit(&self.runs.deps).await?;
        if let Some(waiting) = waiting {
            self.runs.deps.offers.announce(&waiting).await;
        }
        Ok(command)
    }

    /// Locks a run of the caller's tenant. If its workspace is an uploaded bundle, that is complete.
    async fn lock_with_bundle(
        &self,
        caller: &Authorized<RunsWrite>,
        run: RunId,
    ) -> Result<LockedRun, ServiceError> {
        let deps = &self.runs.deps;
        let locked = LockedRun::begin(&deps.store, run).await?;
        caller.load(Some(locked.run.clone()))?;
        if bundles::bundle_of(&locked.run).is_none() {
            return Ok(locked);
        }
        // Not under the lock: it needs a second connection.
        let loaded = locked.run.clone();
        locked.tx.rollback().await?;
        bundles::check_complete(deps, &loaded).await?;
        LockedRun::begin(&deps.store, run).await
    }

    /// Returns a command of a run.
    pub async fn get(
        &self,
        caller: &Authorized<RunsRead>,
        run: RunId,
        id: CommandId,
    ) -> Result<Command, ServiceError> {
        self.runs.load(caller, run).await?;
        let found = rows::find(&self.runs.deps.store, id).await?.filter(|found| found.run == run);
        found.ok_or(ServiceError::NOT_FOUND)
    }

    /// Lists the commands of a run after an ordinal, in order.
    pub async fn list(
        &self,
        caller: &Authorized<RunsRead>,
        run: RunId,
        after: i32,
        limit: u32,
    ) -> Result<Vec<Command>, ServiceError> {
        self.runs.load(caller, run).await?;
        Ok(rows::list(&self.runs.deps.store, run, after, limit).await?)
    }

    /// Requests a command to end; its run stays open. Repeating the request changes nothing.
    pub async fn cancel(
        &self,
        caller: &Authorized<RunsWrite>,
        id: CommandId,
    ) -> Result<Command, ServiceError> {
        let run = self.find(id).await?.run;
        self.runs.load(caller, run).await?;
        let deps = &self.runs.deps;
        let mut locked = LockedRun::begin(&deps.store, run).await?;
        let command = rows::load(&mut locked.tx, id).await?.ok_or(ServiceError::NOT_FOUND)?;
        match command::cancel(&command.state) {
            CommandCancellation::AlreadyEnded(_) => locked.tx.rollback().await?,
            CommandCancellation::Requested(state) if state == command.state => locked.tx.rollback().await?,
            CommandCancellation::EndsNow(outcome) => {
                locked.end_command(id, &outcome).await?;
                locked.end_if_cancelled().await?;
                record_cancellation(caller, &mut locked, id).await?;
                locked.commit(deps).await?;
            }
            CommandCancellation::Requested(state) => {
                locked.set_command_state(id, state, None).await?;
                let at = locked.next_seq();
                let payload = json!({ "status": "cancelling", "by": caller.principal.to_string() });
                locked.append_event(event::COMMAND_STATUS, Some(id), payload);
                runs::request_cancel(&mut locked.tx, run, at, CancelTarget::Command).await?;
                record_cancellation(caller, &mut locked, id).await?;
                locked.commit(deps).await?;
            }
        }
        self.find(id).await
    }

    /// Returns the tenant of a command, for the edge to load the caller's role in it.
    pub async fn tenant_of(&self, id: CommandId) -> Result<Option<TenantId>, ServiceError> {
        match rows::find(&self.runs.deps.store, id).await? {
            Some(command) => self.runs.tenant_of(command.run).await,
            None => Ok(None),
        }
    }

    /// Redacts a payload. If that changes it, the exact one is encrypted for the runner.
    fn seal_payload(&self, id: CommandId, payload: Value) -> Result<CommandPayload, ServiceError> {
        let mut redacted = payload.clone();
        redact_json(&mut redacted);
        if redacted == payload {
            return Ok(CommandPayload { redacted, sealed: None, digest: None });
        }
        let exact = Zeroizing::new(payload.to_string());
        let sealer = &self.runs.deps.payload_sealer;
        let sealed = sealer.seal(id.as_uuid(), &exact).map_err(RunError::Payload)?;
        Ok(CommandPayload { redacted, sealed: Some(sealed), digest: Some(json!(sealer.digest(&exact))) })
    }

    async fn find(&self, id: CommandId) -> Result<Command, ServiceError> {
        rows::find(&self.runs.deps.store, id).await?.ok_or(ServiceError::NOT_FOUND)
    }
}

/// Claims a key for a new command. Returns the command that has the key already.
async fn claim(
    locked: &mut LockedRun,
    caller: &Authorized<RunsWrite>,
    key: SubmissionKey<'_>,
    body: &Value,
    id: CommandId,
) -> Result<Option<CommandId>, ServiceError> {
    match key {
        SubmissionKey::Idempotency(key) => {
            Ok(match idempotency::claim(&mut locked.tx, caller, key, body, id.as_uuid()).await? {
                Claim::Created(created) => Some(CommandId::from_uuid(created)),
                Claim::Create => None,
            })
        }
        SubmissionKey::ClientRun(ClientTurnRequest { client_run, end_user, .. }) => {
            let seq = Seq::new(locked.next_seq().get() - 1).unwrap_or_default();
            let start = SessionPosition { ordinal: locked.run.ordinal, seq };
            let new = ClientTurn { command: id, start };
            let claimed = client_runs::claim(&mut locked.tx, client_run, new).await?;
            if let Some(limits) = end_user.filter(|_| claimed.is_new) {
                count_end_user_turn(locked, caller, client_run.session, limits).await?;
            }
            Ok((!claimed.is_new).then_some(claimed.turn.command))
        }
    }
}

/// Counts a turn of an end user, and refuses it if a limit is reached: the transaction is rolled back then. Every turn of
/// the same end user waits here, so the limits hold on all replicas.
async fn count_end_user_turn(
    locked: &mut LockedRun,
    caller: &Authorized<RunsWrite>,
    session: SessionId,
    (agent, limits): (AgentId, EndUserSettings),
) -> Result<(), ServiceError> {
    let usage = end_user_usage::count_turn(&mut locked.tx, caller.principal, agent, session).await?;
    Ok(limits.check_turn(usage).map_err(RunError::from)?)
}

/// Records that the session of the run uses these attachments. Locks them in the order of their ids, so that no two
/// transactions wait for each other.
async fn keep_attachments(locked: &mut LockedRun, attachments: &[Attachment]) -> Result<(), ServiceError> {
    let ids: BTreeSet<AttachmentId> = attachments.iter().map(|attachment| attachment.id).collect();
    for id in ids {
        if !attachments::add_session(&mut locked.tx, id, locked.run.session).await? {
            return Err(RunError::AttachmentRemoved(id).into());
        }
    }
    Ok(())
}

async fn record_cancellation(
    caller: &Authorized<RunsWrite>,
    locked: &mut LockedRun,
    id: CommandId,
) -> Result<(), ServiceError> {
    let detail = json!({ "runId": locked.run.id.to_string() });
    let event = AuditEvent::by_member(caller, "command.cancelled", id.to_string(), detail);
    audit::record(&mut locked.tx, &event).await
}
