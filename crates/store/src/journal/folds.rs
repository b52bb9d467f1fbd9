//! The folds of a run: what its result needs of its events, moved in the same transaction as the events.

use std::collections::HashMap;

use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::journal::{Journal, Placed, Seq, Stream};
use guildhall_domain::runs::event::{self, Mark};
use guildhall_domain::runs::fold::Fold;
use sqlx::{PgConnection, PgExecutor};
use uuid::Uuid;

use super::{Append, page};
use crate::{Store, StoreError, Tx};

/// Events read at once when folds are made anew.
const PAGE: u32 = 1_000;

/// What a fold is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Everything in the run.
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

/// Reads folds of a run. A scope in which nothing has happened has an empty one.
pub async fn load(store: &Store, run: RunId, scopes: &[Scope]) -> Result<HashMap<Scope, Fold>, StoreError> {
    let ids: Vec<Uuid> = scopes.iter().map(|scope| scope.as_uuid()).collect();
    let found = read(&store.pool, run.as_uuid(), &ids).await?;
    let mut folds = HashMap::new();
    // A scope may be asked for twice: a run without a command is its own scope.
    for scope in scopes {
        let fold = match found.get(&scope.as_uuid()) {
            Some(Some(fold)) => fold.clone(),
            None => Fold::default(),
            // Kept by a binary of another age.
            Some(None) => rebuild(store, run, *scope).await?,
        };
        folds.insert(*scope, fold);
    }
    Ok(folds)
}

/// Reads one fold within a transaction that holds the lock of the run. None where this binary cannot read it.
pub async fn load_in(tx: &mut Tx, run: RunId, scope: Scope) -> Result<Option<Fold>, StoreError> {
    let mut kept = read(tx.connection(), run.as_uuid(), &[scope.as_uuid()]).await?;
    Ok(kept.remove(&scope.as_uuid()).unwrap_or_else(|| Some(Fold::default())))
}

/// Reads the rows; one that this binary cannot read is there without a fold.
pub(super) async fn read(
    executor: impl PgExecutor<'_>,
    run: Uuid,
    scopes: &[Uuid],
) -> Result<HashMap<Uuid, Option<Fold>>, StoreError> {
    let rows = sqlx::query_file!("queries/run_folds/read.sql", run, scopes).fetch_all(executor).await?;
    Ok(rows.into_iter().map(|row| (row.scope, Fold::read(&row.fold))).collect())
}

/// Folds a scope anew from all its events.
pub async fn rebuild(store: &Store, run: RunId, scope: Scope) -> Result<Fold, StoreError> {
    let stream = Stream { journal: Journal::Run, owner: run.as_uuid() };
    let (mut fold, mut after) = (Fold::default(), Seq::ZERO);
    loop {
        let entries = page(store, stream, after, PAGE).await?;
        let Some(last) = entries.last() else { return Ok(fold) };
        after = last.seq;
        for entry in &entries {
            let mark = event::mark_of(&entry.kind, entry.body.as_deref());
            if is_in(&mark, scope) {
                fold.take(entry.seq, &mark.what);
            }
        }
    }
}

fn is_in(mark: &Mark, scope: Scope) -> bool {
    match scope {
        Scope::Run => true,
        Scope::Command(command) => mark.command == Some(command),
    }
}

/// Takes an append into folds that are held in memory; what is missing there begins empty.
pub(super) fn take(folds: &mut Folds, append: &Append, placed: &[Placed]) {
    for (entry, placed) in append.entries.iter().zip(placed) {
        let (Some(mark), Placed::New(seq)) = (&entry.mark, placed) else { continue };
        folds.entry(Scope::Run.as_uuid()).or_default().take(*seq, &mark.what);
        if let Some(command) = mark.command {
            folds.entry(command.as_uuid()).or_default().take(*seq, &mark.what);
        }
    }
}

/// Returns the scopes that an append moves.
pub(super) fn scopes(append: &Append) -> Vec<Uuid> {
    if append.stream.journal != Journal::Run {
        return Vec::new();
    }
    let commands = append.entries.iter().filter_map(|entry| entry.mark.as_ref()?.command);
    let mut scopes: Vec<Uuid> = commands.map(CommandId::as_uuid).chain([Scope::Run.as_uuid()]).collect();
    scopes.sort_unstable();
    scopes.dedup();
    scopes
}

/// Moves the folds of an append under the lock of its head. Returns them as they are now.
pub(super) async fn write(
    connection: &mut PgConnection,
    append: &Append,
    placed: &[Placed],
) -> Result<Folds, StoreError> {
    let scopes = scopes(append);
    if scopes.is_empty() {
        return Ok(Folds::new());
    }
    let run = append.stream.owner;
    let kept = read(&mut *connection, run, &scopes).await?;
    // A fold of another age stays as it is: who reads it folds anew.
    let unreadable: Vec<Uuid> =
        kept.iter().filter(|(_, fold)| fold.is_none()).map(|(scope, _)| *scope).collect();
    let mut folds: Folds = kept.into_iter().filter_map(|(scope, fold)| Some((scope, fold?))).collect();
    take(&mut folds, append, placed);
    folds.retain(|scope, _| !unreadable.contains(scope));
    let (ids, texts): (Vec<Uuid>, Vec<String>) =
        folds.iter().map(|(scope, fold)| (*scope, fold.write())).unzip();
    sqlx::query_file!("queries/run_folds/write.sql", run, &ids, &texts).execute(connection).await?;
    Ok(folds)
}
