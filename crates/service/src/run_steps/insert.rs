//! Inserts runs and commands within a transaction.

use guildhall_domain::ids::{CommandId, PrincipalId, RunId, SessionId, TenantId};
use guildhall_domain::runs::command::Command;
use guildhall_domain::runs::command::CommandKind;
use guildhall_domain::runs::event;
use guildhall_domain::runs::message::{message_text, title};
use guildhall_domain::runs::policy::{RunSpec, TraceSink};
use guildhall_store::commands::{self, NewCommand};
use guildhall_store::runs::{self, NewRun};
use guildhall_store::{Tx, sessions};
use serde_json::{Value, json};

use super::LockedRun;
use crate::ServiceError;

/// A run to insert.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunRecord<'a> {
    pub(crate) id: RunId,
    pub(crate) tenant: TenantId,
    pub(crate) session: SessionId,
    pub(crate) spec: &'a RunSpec,
    pub(crate) created_by: PrincipalId,
}

/// Whether a run was inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunInsertion {
    Inserted,
    /// The session has an open run already.
    SessionBusy,
    /// The storage of the session was evicted.
    StorageEvicted,
}

/// Inserts a run into its session. Of two at once a unique index lets one through.
pub(crate) async fn insert_run(tx: &mut Tx, record: RunRecord<'_>) -> Result<RunInsertion, ServiceError> {
    let RunRecord { id, tenant, session, spec, created_by } = record;
    let Some(ordinal) = sessions::begin_run(tx, session, id).await? else {
        return Ok(RunInsertion::StorageEvicted);
    };
    let new = NewRun {
        id,
        tenant,
        session,
        ordinal,
        project: spec.project.as_str(),
        provider: spec.provider.as_str(),
        backend_profile: spec.profile.as_str(),
        workspace_ref: &json!(spec.workspace).to_string(),
        execution_policy: &json!(spec.policy).to_string(),
        trace_sink: match &spec.trace_sink {
            TraceSink::None => None,
            TraceSink::Named(sink) => Some(sink.as_str()),
        },
        created_by,
    };
    match runs::insert(tx, &new).await {
        Ok(()) => Ok(RunInsertion::Inserted),
        Err(error) if error.is_duplicate() => Ok(RunInsertion::SessionBusy),
        Err(error) => Err(error.into()),
    }
}

/// A command to insert.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandRecord<'a> {
    pub(crate) id: CommandId,
    pub(crate) kind: CommandKind,
    pub(crate) payload: &'a Value,
    /// The exact payload, encrypted, if `payload` is a redacted copy.
    pub(crate) sealed_payload: Option<&'a [u8]>,
    /// The turn that a steer or an interrupt is for.
    pub(crate) target: Option<CommandId>,
    /// The blocked turn whose work it continues.
    pub(crate) continues: Option<CommandId>,
    pub(crate) created_by: PrincipalId,
}

/// Inserts a pending command into a locked run and appends its status event and its text.
pub(crate) async fn insert_command(
    locked: &mut LockedRun,
    record: CommandRecord<'_>,
) -> Result<Command, ServiceError> {
    let CommandRecord { id, kind, payload, sealed_payload, target, continues, created_by } = record;
    let run = locked.run.id;
    let text = message_text(payload);
    let ordinal = runs::next_ordinal(&mut locked.tx, run, text.and_then(title).as_deref()).await?;
    let stored = payload.to_string();
    let new = NewCommand { id, run, ordinal, kind, payload: &stored, sealed_payload, target, created_by };
    commands::insert(&mut locked.tx, &new).await?;
    let command = commands::load(&mut locked.tx, id).await?.ok_or(ServiceError::NOT_FOUND)?;
    locked.open.push(command.clone());
    let mut status = json!({ "status": "pending", "type": kind.as_str(), "ordinal": ordinal });
    if let Some(continued) = continues {
        status["continues"] = json!(continued.to_string());
    }
    locked.append_event(event::COMMAND_STATUS, Some(id), status);
    if let Some(text) = text {
        let message = json!({ "text": text, "type": kind.as_str(), "by": created_by.to_string() });
        locked.append_event(event::USER_MESSAGE, Some(id), message);
    }
    Ok(command)
}
