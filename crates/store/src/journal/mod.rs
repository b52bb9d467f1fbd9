//! Journals: append, page, erase. The rules are in `domain`; this module applies them to the tables.
//!
//! There are two ways to append, with the same rules. [`append`] runs in a transaction that also changes what the entry
//! describes. [`GroupWriter`] collects frequent appends of many callers and commits them together.

mod append;
mod append_new;
mod erase;
mod folds;
mod group;
mod heads;
mod page;
mod partitions;
mod request;

pub use append::append;
pub use append_new::{RunUpdate, append_new, append_new_to_run};
pub use erase::erase;
pub use folds::{Scope, StoredFolds, load as load_folds, load_in as load_fold_in, rebuild as rebuild_fold};
pub use group::{GroupWriter, StreamUpdate};
pub use heads::{last_seqs, lock as lock_head, take_over, try_lock as try_lock_head};
pub use page::{list_by_seqs, page};
pub use partitions::{
    RunPartition, create_run_partitions, drop_detached_partitions, drop_run_partition, list_run_partitions,
};
pub use request::{AppendError, AppendRequest, NewEntry};
