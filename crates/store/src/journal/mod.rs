//! Journals: append, page, erase. The rules are `domain`'s; here they meet the rows.
//!
//! There are two ways to append, and they keep the same rule. [`append`] is part of a transaction that also changes
//! what the entry describes. [`GroupWriter`] takes hot appends of many callers and commits them together.

mod append;
mod erase;
mod folds;
mod group;
mod heads;
mod page;
mod parts;

pub use append::append;
pub use erase::erase;
pub use folds::{Scope, load as load_folds, load_in as load_fold_in, rebuild as rebuild_fold};
pub use group::{GroupWriter, Wake};
pub use heads::{last_seqs, lock as lock_head, take_over};
pub use page::{Entry, page, pick};
pub use parts::make_run_parts;

use std::borrow::Cow;

use guildhall_domain::ids::EntryId;
use guildhall_domain::journal::{Fence, Refusal, Stream};
use guildhall_domain::runs::event::Mark;

use crate::StoreError;

/// An entry to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    pub id: EntryId,
    pub kind: Cow<'static, str>,
    /// JSON, kept as it is.
    pub body: String,
    /// What of it counts for the folds of its run; none in journals that have no folds.
    pub mark: Option<Mark>,
}

/// Entries for one stream; all of them are appended, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    pub stream: Stream,
    pub fence: Fence,
    pub entries: Vec<NewEntry>,
}

/// Why an append did not happen.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The writers have as much to do as they may hold. Nothing was written.
    #[error("too many appends wait")]
    Overloaded,
    /// The store failed. Where PostgreSQL was lost during a commit the entries may be there: append them again
    /// under the same ids, and they are recognised.
    #[error(transparent)]
    Store(#[from] StoreError),
}
