//! Runs with what a request needs of them, read with one statement.

use std::collections::HashMap;

use guildhall_domain::ids::{CommandId, RunId, RunnerId, TenantId};
use guildhall_domain::runs::command::Command;
use guildhall_domain::runs::{Run, RunFilter};
use guildhall_domain::sessions::StorageKind;
use jiff_sqlx::Timestamp;
use serde::Deserialize;
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::commands::OpenCommand;
use crate::journal::StoredFolds;
use crate::runs::RunRow;
use crate::session_storage::parse_kind;
use crate::{Store, StoreError, Tx};

/// A run with its open commands, the folds of these and of the run, and the storage of its session.
#[derive(Debug, Clone)]
pub struct LoadedRun {
    pub run: Run,
    /// The commands that have not ended, in order.
    pub open: Vec<Command>,
    /// Those of them that have an encrypted exact payload.
    pub sealed: Vec<CommandId>,
    pub folds: StoredFolds,
    pub storage: StorageKind,
    pub thread_id: Option<String>,
    /// Whether an open command has a question that is not settled.
    pub has_open_approvals: bool,
    /// Whether the enrolment of the named runner was not revoked, and covers this run.
    pub is_authorized: bool,
}

/// The JSON of a statement.
#[derive(Debug, Deserialize)]
struct LoadedRunJson {
    open: Vec<OpenCommand>,
    folds: HashMap<Uuid, String>,
    storage_kind: String,
    thread_id: Option<String>,
    has_open_approvals: bool,
    is_authorized: bool,
}

/// Loads a run. `runner` is the one whose enrolment is checked.
pub async fn find(
    store: &Store,
    id: RunId,
    runner: Option<RunnerId>,
) -> Result<Option<LoadedRun>, StoreError> {
    find_with(&store.pool, id, runner).await
}

/// Loads a run in a transaction that holds the lock of its head.
pub async fn load(tx: &mut Tx, id: RunId, runner: Option<RunnerId>) -> Result<Option<LoadedRun>, StoreError> {
    find_with(tx.connection(), id, runner).await
}

async fn find_with(
    executor: impl PgExecutor<'_>,
    id: RunId,
    runner: Option<RunnerId>,
) -> Result<Option<LoadedRun>, StoreError> {
    let runner = runner.map(RunnerId::as_uuid);
    let row = sqlx::query_file_as!(RunRow, "queries/runs/load.sql", id.as_uuid(), runner)
        .fetch_optional(executor)
        .await?;
    row.map(into_loaded).transpose()
}

/// Lists the runs of a tenant that are older than `before`, newest first. No runner is checked.
pub async fn list(
    store: &Store,
    tenant: TenantId,
    before: Option<RunId>,
    filter: RunFilter,
    limit: u32,
) -> Result<Vec<LoadedRun>, StoreError> {
    let before = before.map_or(Uuid::max(), RunId::as_uuid);
    let (is_full, limit) = (filter == RunFilter::All, i64::from(limit));
    let rows =
        sqlx::query_file_as!(RunRow, "queries/runs/list.sql", tenant.as_uuid(), before, is_full, limit)
            .fetch_all(&store.pool)
            .await?;
    rows.into_iter().map(into_loaded).collect()
}

fn into_loaded(mut row: RunRow) -> Result<LoadedRun, StoreError> {
    let text = row.work.take().unwrap_or_default();
    let work: LoadedRunJson = serde_json::from_str(&text)
        .map_err(|source| StoreError::Unreadable { column: "commands", source: source.into() })?;
    let scopes = work.open.iter().map(OpenCommand::id).chain([Uuid::nil()]);
    let folds = StoredFolds::new(scopes, &work.folds);
    let sealed = work.open.iter().filter(|open| open.is_sealed()).map(OpenCommand::id);
    Ok(LoadedRun {
        run: row.into_run(),
        sealed: sealed.map(CommandId::from_uuid).collect(),
        folds,
        storage: parse_kind(&work.storage_kind),
        thread_id: work.thread_id,
        has_open_approvals: work.has_open_approvals,
        is_authorized: work.is_authorized,
        open: work.open.into_iter().map(OpenCommand::into_command).collect(),
    })
}
