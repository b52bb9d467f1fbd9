//! Following a run: every event once, in order, from where the reader left off, on any replica.

use guildhall_domain::caller::Caller;
use guildhall_domain::ids::{RunId, TenantId};
use guildhall_domain::journal::{Cursor, Incarnation, Position, Seq};
use guildhall_domain::role::Right;
use guildhall_store::journal::{self, Entry};
use guildhall_store::{runs as rows, schema_state};

use super::Runs;
use crate::ServiceError;
use crate::journal::Follower;

/// An open stream of a run's events.
#[derive(Debug)]
pub struct RunStream {
    pub tenant: TenantId,
    pub incarnation: Incarnation,
    /// The database began another life since the reader's cursor: what follows begins anew.
    pub lost: bool,
    /// Where the stream ended when it was opened: up to here it is history.
    pub replayed_to: Seq,
    follower: Follower,
}

impl RunStream {
    /// Waits for the next event. After an error it may be asked again; nothing is lost.
    pub async fn next(&mut self) -> Result<(Entry, Cursor), ServiceError> {
        let entry = self.follower.next().await?;
        let cursor = Cursor { incarnation: self.incarnation, seq: entry.seq };
        Ok((entry, cursor))
    }

    #[must_use]
    pub fn position(&self) -> Seq {
        self.follower.position()
    }
}

impl Runs {
    /// Follows a run from a cursor, or from its beginning. The caller's authority must be looked at again meanwhile.
    pub async fn follow(
        &self,
        caller: &Caller,
        id: RunId,
        cursor: Option<Cursor>,
    ) -> Result<RunStream, ServiceError> {
        let run = self.load(caller, id, Right::RunsRead).await?;
        let stream = rows::stream(id);
        let incarnation = schema_state::incarnation(&self.store).await?;
        let last = journal::last_seqs(&self.store, &[stream]).await?.remove(&stream).unwrap_or_default();
        let position = cursor.map_or(Position::After(Seq::ZERO), |cursor| cursor.resume(incarnation, last));
        let (after, lost) = match position {
            Position::After(seq) => (seq, false),
            Position::Lost => (Seq::ZERO, true),
        };
        let follower = self.journals.follow(stream, after);
        Ok(RunStream { tenant: run.tenant, incarnation, lost, replayed_to: last, follower })
    }

    /// Returns whether a caller may read the runs of a tenant now.
    #[must_use]
    pub fn may_read(&self, caller: &Caller, tenant: TenantId) -> bool {
        caller.acting(tenant).and_then(|acting| acting.require(Right::RunsRead)).is_ok()
    }
}
