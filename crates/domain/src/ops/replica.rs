//! A server process as it is read.

use jiff::Timestamp;

use crate::ids::ReplicaId;

/// A server process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    pub id: ReplicaId,
    pub version: String,
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
}
