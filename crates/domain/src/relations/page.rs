//! Pages of relations.

use crate::ids::RelationId;

/// A page of the relations of a user.
#[derive(Debug, Clone, Copy)]
pub struct RelationPage {
    pub with_ended: bool,
    pub after: Option<RelationId>,
    pub limit: u32,
}
