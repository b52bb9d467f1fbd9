//! What all runs of a stream have in common.

use crate::agui::event::AguiVersion;

/// What all runs of a stream have in common.
#[derive(Debug, Clone)]
pub(super) struct StreamContext {
    pub(super) thread_id: String,
    pub(super) version: AguiVersion,
    /// The run id that a client asked for, in place of that of the segment.
    pub(super) run_id: Option<String>,
}
