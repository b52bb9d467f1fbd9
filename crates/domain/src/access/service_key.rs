//! Service keys as they are read.

use jiff::Timestamp;

use crate::ids::ServiceKeyId;

/// A key in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceKey {
    pub id: ServiceKeyId,
    pub name: String,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}
