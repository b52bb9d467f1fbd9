//! One lane of the group writer.

use std::collections::HashMap;
use std::time::Duration;

use guildhall_domain::journal::{AppendedEntry, Stream};
use guildhall_domain::runs::fold::Fold;
use metrics::{counter, histogram};
use sqlx::{Connection, PgConnection};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::message::{PendingAppend, StreamUpdate};
use super::plan::{CachedStream, Plan};
use crate::journal::append::append_with;
use crate::journal::request::{AppendError, AppendRequest};
use crate::journal::{folds, heads};
use crate::{Store, StoreError};

/// Maximum entries of one group: enough to amortise the commit, few enough to keep the latency low.
const MAX_GROUP_ENTRIES: usize = 2_000;

/// Maximum cached streams; beyond it the lane clears the cache.
const MAX_CACHED_STREAMS: usize = 20_000;

/// Maximum cached folds of one run: its own, and those of its latest commands.
const MAX_CACHED_FOLDS: usize = 64;

/// How long a lane retries a group whose commit was interrupted by a lost connection.
const RETRY_TIMEOUT: Duration = Duration::from_secs(5);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct JournalLane {
    store: Store,
    requests: mpsc::Receiver<PendingAppend>,
    updates: mpsc::Sender<StreamUpdate>,
    connection: Option<PgConnection>,
    cache: HashMap<Stream, CachedStream>,
}

impl JournalLane {
    pub(super) fn new(
        store: Store,
        requests: mpsc::Receiver<PendingAppend>,
        updates: mpsc::Sender<StreamUpdate>,
    ) -> Self {
        Self { store, requests, updates, connection: None, cache: HashMap::new() }
    }

    /// Runs until `stop`; appends that were queued by then are still written.
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
            let group = self.collect_group(first);
            self.commit(group).await;
        }
    }

    /// Collects the appends that are already queued, without waiting for more.
    fn collect_group(&mut self, first: PendingAppend) -> Vec<PendingAppend> {
        let mut entries = first.append.entries.len();
        let mut group = vec![first];
        while entries < MAX_GROUP_ENTRIES
            && let Ok(next) = self.requests.try_recv()
        {
            entries += next.append.entries.len();
            group.push(next);
        }
        group
    }

    async fn commit(&mut self, group: Vec<PendingAppend>) {
        #[expect(clippy::cast_precision_loss, reason = "a count of appends is exact to 2^53")]
        histogram!("guildhall_journal_group_appends").record(group.len() as f64);
        let answer_timeout = self.store.answer_timeout;
        let written = timeout(answer_timeout, self.try_group(&group)).await;
        let results = match written.unwrap_or_else(|_| Err(StoreError::silent())) {
            Ok(results) => results,
            Err(error) => {
                debug!(
                    error = &error as &dyn std::error::Error,
                    "cannot write the group with one statement: appending one by one"
                );
                counter!("guildhall_journal_groups_split_total").increment(1);
                if matches!(error, StoreError::Unavailable(_)) {
                    self.connection = None;
                }
                self.cache.clear();
                vec![None; group.len()]
            }
        };
        let deadline = Instant::now() + RETRY_TIMEOUT;
        for (request, result) in group.into_iter().zip(results) {
            let outcome = match result {
                Some(appended) => Ok(appended),
                None => self.append_alone(&request.append, deadline).await,
            };
            if let Ok(appended) = &outcome {
                self.notify(request.append.stream, appended);
            }
            // The caller may have gone away; the entries stay.
            let _caller_gone = request.reply.send(outcome);
        }
    }

    /// Writes the group with one atomic statement. Returns the positions of its appends, or `None` for those that must
    /// be appended alone.
    async fn try_group(
        &mut self,
        group: &[PendingAppend],
    ) -> Result<Vec<Option<Vec<AppendedEntry>>>, StoreError> {
        let appends: Vec<&AppendRequest> = group.iter().map(|request| &request.append).collect();
        self.fill_cache(&appends).await?;
        let plan = Plan::new(&appends, &self.cache);
        if plan.next.is_empty() {
            return Ok(plan.results);
        }
        let (heads, entries, folds) = (&plan.heads, &plan.entries, &plan.folds);
        let bodies: Vec<&str> = entries.bodies.iter().map(AsRef::as_ref).collect();
        let written = sqlx::query_file!(
            "queries/journal/append_group.sql",
            &heads.journals,
            &heads.owners,
            &heads.expected,
            &heads.epochs,
            &heads.next,
            &entries.streams,
            &entries.seqs,
            &entries.ids,
            &entries.kinds as &[&str],
            &bodies as &[&str],
            &folds.runs,
            &folds.scopes,
            &folds.folds,
            &plan.leases.runs,
            &plan.leases.epochs
        )
        .fetch_one(ensure_connected(&mut self.connection, &self.store).await?)
        .await;
        let Plan { results, next, .. } = plan;
        written.map_err(|error| self.handle_error(error))?;
        for (stream, next) in next {
            let cached = self.cache.entry(stream).or_default();
            cached.head = next.head;
            cached.folds.extend(next.folds.into_iter().map(|(scope, fold)| (scope, Some(fold))));
        }
        Ok(results)
    }

    /// Reads the heads and folds that are not cached. Heads are read first: a fold that is newer than its head is
    /// detected when the head is updated, an older one would not be.
    async fn fill_cache(&mut self, appends: &[&AppendRequest]) -> Result<(), StoreError> {
        if self.cache.len() > MAX_CACHED_STREAMS {
            self.cache.clear();
        }
        let filled = self.try_fill_cache(appends).await;
        if filled.is_err() {
            self.connection = None;
        }
        filled
    }

    async fn try_fill_cache(&mut self, appends: &[&AppendRequest]) -> Result<(), StoreError> {
        let streams = appends.iter().map(|append| &append.stream);
        let missing: Vec<Stream> =
            streams.filter(|stream| !self.cache.contains_key(stream)).copied().collect();
        if !missing.is_empty() {
            let connection = ensure_connected(&mut self.connection, &self.store).await?;
            for (stream, head) in heads::read(connection, missing.iter()).await? {
                self.cache.insert(stream, CachedStream { head, folds: HashMap::new() });
            }
        }
        for append in appends {
            let Some(cached) = self.cache.get_mut(&append.stream) else { continue };
            let mut scopes = folds::scopes(append);
            scopes.retain(|scope| !cached.folds.contains_key(scope));
            if scopes.is_empty() {
                continue;
            }
            if cached.folds.len() + scopes.len() > MAX_CACHED_FOLDS {
                cached.folds.clear();
                scopes = folds::scopes(append);
            }
            let connection = ensure_connected(&mut self.connection, &self.store).await?;
            let mut stored = folds::read(connection, append.stream.owner, &scopes).await?;
            for scope in scopes {
                let fold = stored.remove(&scope).unwrap_or_else(|| Some(Fold::default()));
                cached.folds.insert(scope, fold);
            }
        }
        Ok(())
    }

    /// Appends one request under the lock of its head. Repeats are recognised by id, so a retry is safe after a commit
    /// with an unknown outcome.
    async fn append_alone(
        &mut self,
        append: &AppendRequest,
        deadline: Instant,
    ) -> Result<Vec<AppendedEntry>, AppendError> {
        let mut pause = Duration::from_millis(20);
        loop {
            let answer_timeout = self.store.answer_timeout;
            let written = timeout(answer_timeout, self.try_alone(append)).await;
            match written.unwrap_or_else(|_| Err(AppendError::Store(StoreError::silent()))) {
                Err(AppendError::Store(StoreError::Unavailable(error))) => {
                    self.connection = None;
                    if Instant::now() + pause > deadline {
                        let stream = append.stream;
                        warn!(%stream, "cannot append to {stream}: PostgreSQL does not respond");
                        return Err(AppendError::Store(StoreError::Unavailable(error)));
                    }
                    sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_millis(500));
                }
                outcome => return outcome,
            }
        }
    }

    async fn try_alone(&mut self, append: &AppendRequest) -> Result<Vec<AppendedEntry>, AppendError> {
        let connection = ensure_connected(&mut self.connection, &self.store).await?;
        let mut transaction = connection.begin().await.map_err(StoreError::from)?;
        let result = match append_with(&mut transaction, append).await {
            Ok(result) => result,
            Err(error) => {
                // Explicit rollback: a dropped transaction would hold the head's lock until the next use of the
                // connection.
                transaction.rollback().await.map_err(StoreError::from)?;
                return Err(error);
            }
        };
        transaction.commit().await.map_err(StoreError::from)?;
        // Replaces the cached stream: other cached folds may be older than this append.
        let folds = result.folds.into_iter().map(|(scope, fold)| (scope, Some(fold))).collect();
        self.cache.insert(append.stream, CachedStream { head: result.head, folds });
        Ok(result.entries)
    }

    fn handle_error(&mut self, error: sqlx::Error) -> StoreError {
        let error = StoreError::from(error);
        if matches!(error, StoreError::Unavailable(_)) {
            self.connection = None;
        }
        error
    }

    fn notify(&self, stream: Stream, appended: &[AppendedEntry]) {
        let Some(last_seq) = appended.iter().map(|entry| entry.seq()).max() else { return };
        counter!("guildhall_journal_entries_total", "journal" => stream.journal.as_str())
            .increment(u64::try_from(appended.len()).unwrap_or(0));
        let _timer_finds_it = self.updates.try_send(StreamUpdate { stream, last_seq });
    }
}

/// Returns the lane's connection, and opens it if necessary.
async fn ensure_connected<'a>(
    connection: &'a mut Option<PgConnection>,
    store: &Store,
) -> Result<&'a mut PgConnection, StoreError> {
    if connection.is_none() {
        // The group statement never changes; planning it each time would cost more than running it.
        let options = store
            .pool
            .connect_options()
            .as_ref()
            .clone()
            .options([("plan_cache_mode", "force_generic_plan")]);
        let connecting = timeout(CONNECT_TIMEOUT, PgConnection::connect_with(&options));
        let opened = connecting.await.map_err(|_| StoreError::from(sqlx::Error::PoolTimedOut))?;
        *connection = Some(opened?);
    }
    connection.as_mut().ok_or(StoreError::Closed)
}
