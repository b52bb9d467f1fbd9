//! Folds of a run: running aggregates of its events, updated in the same transaction as the events.

use std::collections::HashMap;

use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::journal::{AppendedEntry, Fence, Journal, Seq, Stream};
use guildhall_domain::runs::event::{self, StoredEvent};
use guildhall_domain::runs::fold::Fold;
use sqlx::{PgConnection, PgExecutor};
use uuid::Uuid;

use super::page::page;
use super::request::{AppendError, AppendRequest, NewEntry};
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

/// Folds of a run as they were read, perhaps under the lock of its head.
#[derive(Debug, Clone, Default)]
pub struct StoredFolds(HashMap<Uuid, StoredFold>);

#[derive(Debug, Clone)]
enum StoredFold {
    /// The scope has no events.
    Missing,
    /// Written by another version of this binary.
    Unreadable,
    Read(Box<Fold>),
}

impl StoredFolds {
    /// Reads the rows of these scopes.
    pub(crate) fn new(scopes: impl Iterator<Item = Uuid>, rows: &HashMap<Uuid, String>) -> Self {
        let folds = scopes.map(|scope| {
            let fold = match rows.get(&scope).map(|text| Fold::from_json(text)) {
                None => StoredFold::Missing,
                Some(None) => StoredFold::Unreadable,
                Some(Some(fold)) => StoredFold::Read(Box::new(fold)),
            };
            (scope, fold)
        });
        Self(folds.collect())
    }

    /// Adds a command that was just created.
    pub fn insert_new(&mut self, command: CommandId) {
        self.0.insert(command.as_uuid(), StoredFold::Missing);
    }

    /// Returns a fold. It is empty for a scope without events; `None` if the scope was not read, or is in an unknown format.
    #[must_use]
    pub fn get(&self, scope: Scope) -> Option<Fold> {
        match self.0.get(&scope.as_uuid())? {
            StoredFold::Missing => Some(Fold::default()),
            StoredFold::Unreadable => None,
            StoredFold::Read(fold) => Some(fold.as_ref().clone()),
        }
    }

    /// Replaces the fold of a scope that has changed.
    pub fn set(&mut self, scope: Scope, fold: Fold) {
        self.0.insert(scope.as_uuid(), StoredFold::Read(Box::new(fold)));
    }

    /// Returns the rows of these scopes, if all of them were read.
    fn rows(&self, scopes: &[Uuid]) -> Option<HashMap<Uuid, Option<Fold>>> {
        let mut rows = HashMap::new();
        for scope in scopes {
            match self.0.get(scope)? {
                StoredFold::Missing => {}
                StoredFold::Unreadable => drop(rows.insert(*scope, None)),
                StoredFold::Read(fold) => drop(rows.insert(*scope, Some(fold.as_ref().clone()))),
            }
        }
        Some(rows)
    }
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
            let event = event::parse_stored(&entry.kind, entry.body.as_deref());
            add(&mut fold, scope, entry.seq, &event);
        }
    }
}

/// Adds an event to a fold, if the fold covers it.
fn add(fold: &mut Fold, scope: Scope, seq: Seq, StoredEvent { parsed, late, bytes }: &StoredEvent) {
    if scope == Scope::Run {
        fold.bytes = fold.bytes.saturating_add(*bytes);
    }
    match scope {
        Scope::Run if *late => fold.apply_late(seq),
        Scope::Run => fold.apply(seq, &parsed.content),
        Scope::Command(command) if parsed.command != Some(command) => {}
        Scope::Command(_) if *late || fold.is_closed() => fold.count_late(),
        Scope::Command(_) => fold.apply(seq, &parsed.content),
    }
}

/// Applies an append to folds in memory; a missing fold starts empty. Returns for each entry whether it is late.
pub(super) fn apply(folds: &mut Folds, append: &AppendRequest, appended: &[AppendedEntry]) -> Vec<bool> {
    let entries = append.entries.iter().zip(appended);
    entries.map(|(entry, appended)| apply_entry(folds, entry, *appended)).collect()
}

fn apply_entry(folds: &mut Folds, entry: &NewEntry, appended: AppendedEntry) -> bool {
    let (Some(parsed_event), AppendedEntry::New(seq)) = (&entry.parsed_event, appended) else { return false };
    let ended = |command: CommandId| folds.get(&command.as_uuid()).is_some_and(Fold::is_closed);
    let late = parsed_event.command.is_some_and(ended);
    let bytes = entry.stored_body(late).len() as u64;
    let event = StoredEvent { parsed: parsed_event.clone(), late, bytes };
    for scope in [Scope::Run].into_iter().chain(parsed_event.command.map(Scope::Command)) {
        add(folds.entry(scope.as_uuid()).or_default(), scope, seq, &event);
    }
    event.late
}

/// Returns whether an append fits into its quota, given the fold of its run. Repeated entries count too.
pub(super) fn fits(append: &AppendRequest, run: Option<&Fold>) -> bool {
    let added = append.entries.iter().map(|entry| entry.body.len() as u64).sum::<u64>();
    let stored = run.map_or(0, |run| run.bytes);
    append.quota.is_none_or(|quota| stored.saturating_add(added) <= quota)
}

/// Returns the command that a runner names and its run does not have. Every command has a fold since it was submitted.
fn unknown_command(append: &AppendRequest, stored: &HashMap<Uuid, Option<Fold>>) -> Option<CommandId> {
    match append.fence {
        Fence::Open => None,
        Fence::Holder(_) => commands(append).find(|command| !stored.contains_key(&command.as_uuid())),
    }
}

fn commands(append: &AppendRequest) -> impl Iterator<Item = CommandId> {
    append.entries.iter().filter_map(|entry| entry.parsed_event.as_ref()?.command)
}

/// Returns the scopes that an append changes.
pub(super) fn scopes(append: &AppendRequest) -> Vec<Uuid> {
    if append.stream.journal != Journal::Run {
        return Vec::new();
    }
    let mut scopes: Vec<Uuid> =
        commands(append).map(CommandId::as_uuid).chain([Scope::Run.as_uuid()]).collect();
    scopes.sort_unstable();
    scopes.dedup();
    scopes
}

/// What an append changes in the folds of its run.
#[derive(Debug, Default)]
pub(super) struct FoldUpdate {
    pub(super) folds: Folds,
    /// For each entry of the append, whether it is late.
    pub(super) late: Vec<bool>,
}

/// Updates the folds of an append under the lock of its head.
pub(super) async fn update(
    connection: &mut PgConnection,
    append: &AppendRequest,
    appended: &[AppendedEntry],
) -> Result<FoldUpdate, AppendError> {
    let update = change(&mut *connection, append, appended, &StoredFolds::default()).await?;
    if !update.folds.is_empty() {
        let (ids, texts): (Vec<Uuid>, Vec<String>) =
            update.folds.iter().map(|(scope, fold)| (*scope, fold.to_json())).unzip();
        sqlx::query_file!("queries/run_folds/upsert.sql", append.stream.owner, &ids, &texts)
            .execute(connection)
            .await
            .map_err(StoreError::from)?;
    }
    Ok(update)
}

/// Returns the folds of the first append to a run.
pub(super) fn change_first(append: &AppendRequest, appended: &[AppendedEntry]) -> FoldUpdate {
    let mut folds = Folds::new();
    let late = apply(&mut folds, append, appended);
    FoldUpdate { folds, late }
}

/// Returns the folds that an append changes, under the lock of its head. The caller stores them. `known` was read under the same
/// lock; other folds are read.
pub(super) async fn change(
    connection: &mut PgConnection,
    append: &AppendRequest,
    appended: &[AppendedEntry],
    known: &StoredFolds,
) -> Result<FoldUpdate, AppendError> {
    let scopes = scopes(append);
    if scopes.is_empty() {
        return Ok(FoldUpdate { folds: Folds::new(), late: vec![false; append.entries.len()] });
    }
    let stored = match known.rows(&scopes) {
        Some(stored) => stored,
        None => read(connection, append.stream.owner, &scopes).await?,
    };
    if let Some(command) = unknown_command(append, &stored) {
        return Err(AppendError::UnknownCommand(command));
    }
    // A fold in an unknown format is not touched: readers rebuild it.
    let unreadable: Vec<Uuid> =
        stored.iter().filter(|(_, fold)| fold.is_none()).map(|(scope, _)| *scope).collect();
    let mut folds: Folds = stored.into_iter().filter_map(|(scope, fold)| Some((scope, fold?))).collect();
    if let Some(quota) = append.quota.filter(|_| !fits(append, folds.get(&Scope::Run.as_uuid()))) {
        return Err(AppendError::QuotaExceeded(quota));
    }
    let late = apply(&mut folds, append, appended);
    folds.retain(|scope, _| !unreadable.contains(scope));
    Ok(FoldUpdate { folds, late })
}
