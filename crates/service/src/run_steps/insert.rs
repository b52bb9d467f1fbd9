//! Inserts runs and commands within a transaction.

use std::time::Duration;

use guildhall_domain::agents::AgentRevision;
use guildhall_domain::front::attachment::AttachmentReference;
use guildhall_domain::ids::{CommandId, PrincipalId, RunId, SessionId, TenantId};
use guildhall_domain::runs::command::Command;
use guildhall_domain::runs::command::CommandKind;
use guildhall_domain::runs::event;
use guildhall_domain::runs::message::{message_text, title};
use guildhall_domain::runs::policy::{RunSpec, TraceSink};
use guildhall_store::commands::{self, NewCommand};
use guildhall_store::runs::{self, NewRun};
use guildhall_store::sessions::{self, NewSession};
use guildhall_store::{StoreError, Tx};
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
    pub(crate) agent: Option<AgentRevision>,
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

/// Inserts a run and its session, whose storage expires after some time.
pub(crate) async fn insert_first_run(
    tx: &mut Tx,
    record: RunRecord<'_>,
    expires_in: Option<Duration>,
) -> Result<(), ServiceError> {
    let session = NewSession {
        id: record.session,
        tenant: record.tenant,
        project: record.spec.project.as_str(),
        backend_profile: record.spec.profile.as_str(),
        created_by: record.created_by,
        expires_in,
    };
    sessions::insert_with_run(tx, &session, record.id).await?;
    Ok(insert_row(tx, record, 1).await?)
}

/// Inserts a run into an existing session. Of two at once a unique index lets one through.
pub(crate) async fn insert_run(tx: &mut Tx, record: RunRecord<'_>) -> Result<RunInsertion, ServiceError> {
    let Some(ordinal) = sessions::begin_run(tx, record.session, record.id).await? else {
        let is_evicted = sessions::is_evicted(tx, record.session).await?;
        return Ok(if is_evicted { RunInsertion::StorageEvicted } else { RunInsertion::SessionBusy });
    };
    match insert_row(tx, record, ordinal).await {
        Ok(()) => Ok(RunInsertion::Inserted),
        Err(error) if error.is_duplicate() => Ok(RunInsertion::SessionBusy),
        Err(error) => Err(error.into()),
    }
}

async fn insert_row(tx: &mut Tx, record: RunRecord<'_>, ordinal: i32) -> Result<(), StoreError> {
    let RunRecord { id, tenant, session, spec, created_by, agent } = record;
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
        agent,
    };
    runs::insert(tx, &new).await
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
    /// The images of the message.
    pub(crate) attached: &'a [AttachmentReference],
    pub(crate) created_by: PrincipalId,
}

/// Inserts a pending command into a locked run and appends its status event and its text.
pub(crate) async fn insert_command(
    locked: &mut LockedRun,
    record: CommandRecord<'_>,
) -> Result<Command, ServiceError> {
    let CommandRecord { id, kind, payload, sealed_payload, target, continues, attached, created_by } = record;
    let run = locked.run.id;
    let text = message_text(payload);
    let (stored, title) = (payload.to_string(), text.and_then(title));
    let new = NewCommand {
        id,
        run,
        kind,
        payload: &stored,
        sealed_payload,
        target,
        continues,
        created_by,
        title: title.as_deref(),
    };
    let command = commands::insert(&mut locked.tx, &new).await?;
    locked.add_command(command.clone());
    let mut status = json!({ "status": "pending", "type": kind.as_str(), "ordinal": command.ordinal });
    if let Some(continued) = continues {
        status["continues"] = json!(continued.to_string());
    }
    locked.append_event(event::COMMAND_STATUS, Some(id), status);
    if text.is_some() || !attached.is_empty() {
        let text = text.unwrap_or_default();
        let mut message = json!({ "text": text, "type": kind.as_str(), "by": created_by.to_string() });
        if !attached.is_empty() {
            message[AttachmentReference::FIELD] = json!(attached);
        }
        if let Some(client_message) = payload.get("clientMessageId").and_then(Value::as_str) {
            message["clientMessageId"] = json!(client_message);
        }
        locked.append_event(event::USER_MESSAGE, Some(id), message);
    }
    Ok(command)
}
