//! Folds of a run: running aggregates of its events, updated in the same transaction as the events.

use std::collections::HashMap;

use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::journal::{AppendedEntry, Journal, Seq, Stream};
use guildhall_domain::runs::event::{self, ParsedEvent};
use guildhall_domain::runs::fold::Fold;
use sqlx::{PgConnection, PgExecutor};
use uuid::Uuid;

use super::page::page;
use super::request::AppendRequest;
use crate::{Store, StoreError, Tx};

/// Events read at a time when a fold is rebuilt.
const PAGE_SIZE: u32 = 1_000;

/// The events that a fold covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// All events of the run.
    Run,
    Command(CommandId),
}

impl Scope {
    pub(super) fn as_uuid(self) -> Uuid {
        match self {
            Self::Run => Uuid::nil(),
            Self::Command(command) => command.as_uuid(),
        }
    }
}

/// Folds of one run, by scope.
pub(super) type Folds = HashMap<Uuid, Fold>;

/// Reads folds of a run. A scope without events has an empty fold.
pub async fn load(store: &Store, run: RunId, scopes: &[Scope]) -> Result<HashMap<Scope, Fold>, StoreError> {
    let ids: Vec<Uuid> = scopes.iter().map(|scope| scope.as_uuid()).collect();
    let found = read(&store.pool, run.as_uuid(), &ids).await?;
    let mut folds = HashMap::new();
    // A scope may be requested twice: a run without a command is its own scope.
    for scope in scopes {
        let fold = match found.get(&scope.as_uuid()) {
            Some(Some(fold)) => fold.clone(),
            None => Fold::default(),
            // Written by another version of this binary.
            Some(None) => rebuild(store, run, *scope).await?,
        };
        folds.insert(*scope, fold);
    }
    Ok(folds)
}

/// Reads one fold in a transaction that holds the lock of the run. Returns `None` if its format is unknown.
pub async fn load_in(tx: &mut Tx, run: RunId, scope: Scope) -> Result<Option<Fold>, StoreError> {
    let mut stored = read(tx.connection(), run.as_uuid(), &[scope.as_uuid()]).await?;
    Ok(stored.remove(&scope.as_uuid()).unwrap_or_else(|| Some(Fold::default())))
}

/// Reads the rows. A row in an unknown format maps to `None`.
pub(super) async fn read(
    executor: impl PgExecutor<'_>,
    run: Uuid,
    scopes: &[Uuid],
) -> Result<HashMap<Uuid, Option<Fold>>, StoreError> {
    let rows = sqlx::query_file!("queries/run_folds/list.sql", run, scopes).fetch_all(executor).await?;
    Ok(rows.into_iter().map(|row| (row.scope, Fold::from_json(&row.fold))).collect())
}

/// Rebuilds a fold from all events of its scope.
pub async fn rebuild(store: &Store, run: RunId, scope: Scope) -> Result<Fold, StoreError> {
    let stream = Stream { journal: Journal::Run, owner: run.as_uuid() };
    let (mut fold, mut after) = (Fold::default(), Seq::ZERO);
    loop {
        let entries = page(store, stream, after, PAGE_SIZE).await?;
        let Some(last) = entries.last() else { return Ok(fold) };
        after = last.seq;
        for entry in &entries {
            let parsed_event = event::parse_stored(&entry.kind, entry.body.as_deref());
            if covers(&parsed_event, scope) {
                fold.apply(entry.seq, &parsed_event.content);
            }
        }
    }
}

fn covers(parsed_event: &ParsedEvent, scope: Scope) -> bool {
    match scope {
        Scope::Run => true,
        Scope::Command(command) => parsed_event.command == Some(command),
    }
}

/// Applies an append to folds in memory; a missing fold starts empty.
pub(super) fn apply(folds: &mut Folds, append: &AppendRequest, appended: &[AppendedEntry]) {
    for (entry, appended) in append.entries.iter().zip(appended) {
        let (Some(parsed_event), AppendedEntry::New(seq)) = (&entry.parsed_event, appended) else { continue };
        folds.entry(Scope::Run.as_uuid()).or_default().apply(*seq, &parsed_event.content);
        if let Some(command) = parsed_event.command {
            folds.entry(command.as_uuid()).or_default().apply(*seq, &parsed_event.content);
        }
    }
}

/// Returns the scopes that an append changes.
pub(super) fn scopes(append: &AppendRequest) -> Vec<Uuid> {
    if append.stream.journal != Journal::Run {
        return Vec::new();
    }
    let commands = append.entries.iter().filter_map(|entry| entry.parsed_event.as_ref()?.command);
    let mut scopes: Vec<Uuid> = commands.map(CommandId::as_uuid).chain([Scope::Run.as_uuid()]).collect();
    scopes.sort_unstable();
    scopes.dedup();
    scopes
}

/// Updates the folds of an append under the lock of its head. Returns the updated folds.
pub(super) async fn write(
    connection: &mut PgConnection,
    append: &AppendRequest,
    appended: &[AppendedEntry],
) -> Result<Folds, StoreError> {
    let scopes = scopes(append);
    if scopes.is_empty() {
        return Ok(Folds::new());
    }
    let run = append.stream.owner;
    let stored = read(&mut *connection, run, &scopes).await?;
    // A fold in an unknown format is not touched: readers rebuild it.
    let unreadable: Vec<Uuid> =
        stored.iter().filter(|(_, fold)| fold.is_none()).map(|(scope, _)| *scope).collect();
    let mut folds: Folds = stored.into_iter().filter_map(|(scope, fold)| Some((scope, fold?))).collect();
    apply(&mut folds, append, appended);
    folds.retain(|scope, _| !unreadable.contains(scope));
    let (ids, texts): (Vec<Uuid>, Vec<String>) =
        folds.iter().map(|(scope, fold)| (*scope, fold.to_json())).unzip();
    sqlx::query_file!("queries/run_folds/upsert.sql", run, &ids, &texts).execute(connection).await?;
    Ok(folds)
}
