//! The front door for applications: runs of an agent, its history, and what it shows.

pub mod agent_runs;
pub mod history;
pub mod ui_schema;

use uuid::Uuid;

/// Parses the form with hyphens of RFC 9562, in any case. `uuid` also takes others.
fn parse_hyphenated_uuid(text: &str) -> Option<Uuid> {
    (text.len() == uuid::fmt::Hyphenated::LENGTH).then(|| Uuid::try_parse(text).ok())?
}
