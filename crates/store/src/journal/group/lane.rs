//! One lane of the group writer.

use std::collections::HashMap;
use std::time::Duration;

use guildhall_domain::journal::{Placed, Stream};
use guildhall_domain::runs::fold::Fold;
use metrics::{counter, histogram};
use sqlx::{Connection, PgConnection};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::plan::{Plan, Seen};
use super::{Request, Wake};
use crate::journal::append::append_on;
use crate::journal::{Append, AppendError, folds, heads};
use crate::{Store, StoreError};

/// Entries in one group: enough to pay for the commit many times over, few enough to stay quick.
const ENTRIES_AT_MOST: usize = 2_000;

/// Heads remembered; beyond it the lane forgets them all and reads again what it needs.
const HEADS_AT_MOST: usize = 20_000;

/// Folds remembered of one run: its own, and those of its latest commands.
const FOLDS_AT_MOST: usize = 64;

/// How long a lane tries to find out what became of a group when PostgreSQL was lost during its commit.
const RESOLVE_WITHIN: Duration = Duration::from_secs(5);

const CONNECT_WITHIN: Duration = Duration::from_secs(2);

pub(super) struct Lane {
    store: Store,
    requests: mpsc::Receiver<Request>,
    wakes: mpsc::Sender<Wake>,
    connection: Option<PgConnection>,
    seen: HashMap<Stream, Seen>,
}

impl Lane {
    pub(super) fn new(store: Store, requests: mpsc::Receiver<Request>, wakes: mpsc::Sender<Wake>) -> Self {
        Self { store, requests, wakes, connection: None, seen: HashMap::new() }
    }

    /// Works until told to stop; what was taken by then is still finished.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        loop {
            let first = tokio::select! {
                biased;
                first = self.requests.recv() => first,
                () = stop.cancelled() => {
                    self.requests.close();
                    self.requests.recv().await
                }
            };
            let Some(first) = first else { return };
            let group = self.gather(first);
            self.commit(group).await;
        }
    }

    /// Takes what waits already. Nobody is kept waiting for more to come.
    fn gather(&mut self, first: Request) -> Vec<Request> {
        let mut entries = first.append.entries.len();
        let mut group = vec![first];
        while entries < ENTRIES_AT_MOST
            && let Ok(next) = self.requests.try_recv()
        {
            entries += next.append.entries.len();
            group.push(next);
        }
        group
    }

    async fn commit(&mut self, group: Vec<Request>) {
        #[expect(clippy::cast_precision_loss, reason = "a count of appends is exact to 2^53")]
        histogram!("guildhall_journal_group_appends").record(group.len() as f64);
        let placed = match self.try_group(&group).await {
            Ok(placed) => placed,
            Err(error) => {
                debug!(error = &error as &dyn std::error::Error, "a group is appended singly");
                counter!("guildhall_journal_groups_split_total").increment(1);
                self.seen.clear();
                vec![None; group.len()]
            }
        };
        let deadline = Instant::now() + RESOLVE_WITHIN;
        for (request, placed) in group.into_iter().zip(placed) {
            let outcome = match placed {
                Some(placed) => Ok(placed),
                None => self.append_singly(&request.append, deadline).await,
            };
            if let Ok(placed) = &outcome {
                self.say_grown(request.append.stream, placed);
            }
            // A caller that went away has no use for the answer; the entries stay.
            let _caller_gone = request.answer.send(outcome);
        }
    }

    /// Writes the group with one statement, whole or not at all. Returns the places of its members; none for those
    /// that have to be appended singly.
    async fn try_group(&mut self, group: &[Request]) -> Result<Vec<Option<Vec<Placed>>>, StoreError> {
        let appends: Vec<&Append> = group.iter().map(|request| &request.append).collect();
        self.learn(&appends).await?;
        let plan = Plan::new(&appends, &self.seen);
        if plan.next.is_empty() {
            return Ok(plan.placed);
        }
        let (heads, entries, folds) = (&plan.heads, &plan.entries, &plan.folds);
        let written = sqlx::query_file!(
            "queries/journal/append_group.sql",
            &heads.journals,
            &heads.owners,
            &heads.seen,
            &heads.epochs,
            &heads.next,
            &entries.streams,
            &entries.seqs,
            &entries.ids,
            &entries.kinds as &[&str],
            &entries.bodies as &[&str],
            &folds.runs,
            &folds.scopes,
            &folds.folds,
            &plan.leases.runs,
            &plan.leases.epochs
        )
        .fetch_one(connected(&mut self.connection, &self.store).await?)
        .await;
        let Plan { placed, next, .. } = plan;
        written.map_err(|error| self.lost(error))?;
        for (stream, next) in next {
            let seen = self.seen.entry(stream).or_default();
            seen.head = next.head;
            seen.folds.extend(next.folds.into_iter().map(|(scope, fold)| (scope, Some(fold))));
        }
        Ok(placed)
    }

    /// Reads the heads and folds of streams that this lane has not written to lately. Heads come first: a fold that
    /// is newer than its head is noticed when the head is moved, one that is older would not be.
    async fn learn(&mut self, appends: &[&Append]) -> Result<(), StoreError> {
        if self.seen.len() > HEADS_AT_MOST {
            self.seen.clear();
        }
        let learned = self.try_learn(appends).await;
        if learned.is_err() {
            self.connection = None;
        }
        learned
    }

    async fn try_learn(&mut self, appends: &[&Append]) -> Result<(), StoreError> {
        let streams = appends.iter().map(|append| &append.stream);
        let unseen: Vec<Stream> = streams.filter(|stream| !self.seen.contains_key(stream)).copied().collect();
        if !unseen.is_empty() {
            let connection = connected(&mut self.connection, &self.store).await?;
            for (stream, head) in heads::read(connection, unseen.iter()).await? {
                self.seen.insert(stream, Seen { head, folds: HashMap::new() });
            }
        }
        for append in appends {
            let Some(seen) = self.seen.get_mut(&append.stream) else { continue };
            let mut scopes = folds::scopes(append);
            scopes.retain(|scope| !seen.folds.contains_key(scope));
            if scopes.is_empty() {
                continue;
            }
            if seen.folds.len() + scopes.len() > FOLDS_AT_MOST {
                seen.folds.clear();
                scopes = folds::scopes(append);
            }
            let connection = connected(&mut self.connection, &self.store).await?;
            let mut kept = folds::read(connection, append.stream.owner, &scopes).await?;
            for scope in scopes {
                let fold = kept.remove(&scope).unwrap_or_else(|| Some(Fold::default()));
                seen.folds.insert(scope, fold);
            }
        }
        Ok(())
    }

    /// Appends one request under its head's lock. Repeats are recognised by id, so it may be tried again after a
    /// commit whose outcome is unknown.
    async fn append_singly(
        &mut self,
        append: &Append,
        deadline: Instant,
    ) -> Result<Vec<Placed>, AppendError> {
        let mut pause = Duration::from_millis(20);
        loop {
            match self.try_singly(append).await {
                Err(AppendError::Store(StoreError::Unavailable(error))) => {
                    self.connection = None;
                    if Instant::now() + pause > deadline {
                        warn!(stream = %append.stream, "an append is given up: PostgreSQL does not answer");
                        return Err(AppendError::Store(StoreError::Unavailable(error)));
                    }
                    sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_millis(500));
                }
                outcome => return outcome,
            }
        }
    }

    async fn try_singly(&mut self, append: &Append) -> Result<Vec<Placed>, AppendError> {
        let connection = connected(&mut self.connection, &self.store).await?;
        let mut transaction = connection.begin().await.map_err(StoreError::from)?;
        let appended = match append_on(&mut transaction, append).await {
            Ok(appended) => appended,
            Err(error) => {
                // Undone now: a dropped transaction would hold the head's lock until this lane works again.
                transaction.rollback().await.map_err(StoreError::from)?;
                return Err(error);
            }
        };
        transaction.commit().await.map_err(StoreError::from)?;
        // What else was known of the stream may be older than this.
        let folds = appended.folds.into_iter().map(|(scope, fold)| (scope, Some(fold))).collect();
        self.seen.insert(append.stream, Seen { head: appended.head, folds });
        Ok(appended.placed)
    }

    fn lost(&mut self, error: sqlx::Error) -> StoreError {
        let error = StoreError::from(error);
        if matches!(error, StoreError::Unavailable(_)) {
            self.connection = None;
        }
        error
    }

    fn say_grown(&self, stream: Stream, placed: &[Placed]) {
        let Some(last_seq) = placed.iter().map(|placed| placed.seq()).max() else { return };
        counter!("guildhall_journal_entries_total", "journal" => stream.journal.as_str())
            .increment(u64::try_from(placed.len()).unwrap_or(0));
        let _found_by_the_timer = self.wakes.try_send(Wake { stream, last_seq });
    }
}

/// Returns the lane's own connection, opened where it has none.
async fn connected<'a>(
    connection: &'a mut Option<PgConnection>,
    store: &Store,
) -> Result<&'a mut PgConnection, StoreError> {
    if connection.is_none() {
        // The group statement is the same every time; planning it anew would cost more than running it.
        let options = store
            .pool
            .connect_options()
            .as_ref()
            .clone()
            .options([("plan_cache_mode", "force_generic_plan")]);
        let opening = timeout(CONNECT_WITHIN, PgConnection::connect_with(&options));
        let opened = opening.await.map_err(|_| StoreError::from(sqlx::Error::PoolTimedOut))?;
        *connection = Some(opened?);
    }
    connection.as_mut().ok_or(StoreError::Closed)
}
