//! The questions of one turn.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::journal_event::JournalEvent;
use crate::agui::event::{Interrupt, without_nulls};

/// The questions of a turn, as far as its segments depend on them.
#[derive(Debug, Default)]
pub(super) struct TurnApprovals {
    /// Questions that were listed and are not closed.
    open: Vec<Interrupt>,
    closed: BTreeSet<String>,
    /// Approvals that were closed since the last segment, to show at the start of the next one.
    decisions: Vec<Value>,
    /// The segment that follows each listed approval.
    following_segments: BTreeMap<String, u32>,
}

impl TurnApprovals {
    /// Returns whether the turn waits for an answer.
    pub(super) const fn is_waiting(&self) -> bool {
        !self.open.is_empty()
    }

    pub(super) fn is_closed(&self, id: &str) -> bool {
        self.closed.contains(id)
    }

    pub(super) fn open(&mut self, interrupt: Interrupt) {
        self.open.push(interrupt);
    }

    /// Closes an approval with its new status.
    pub(super) fn close(&mut self, event: &JournalEvent) {
        let id = event.text("approvalId");
        if !self.closed.insert(id.to_owned()) {
            return;
        }
        let before = self.open.len();
        self.open.retain(|interrupt| interrupt.id != id);
        if self.open.len() < before {
            let field = |name: &str| event.field(name).cloned().unwrap_or_default();
            self.decisions.push(without_nulls(json!({
                "approvalId": id, "status": field("status"), "effect": field("effect"),
                "optionId": field("optionId"),
            })));
        }
    }

    /// Closes all approvals: an event that closed one of them was erased, or the run has ended.
    pub(super) fn close_all(&mut self) {
        self.open.clear();
    }

    /// Returns the open questions for the end of a segment.
    pub(super) fn list(&mut self, next_segment: u32) -> Vec<Interrupt> {
        for interrupt in &self.open {
            self.following_segments.insert(interrupt.id.clone(), next_segment);
        }
        self.open.clone()
    }

    /// Returns the segment that a resume with these approvals continues with. The first one, if the turn asked none of
    /// them: then it continues a parked turn.
    pub(super) fn resumed_segment(&self, event: &JournalEvent) -> u32 {
        let resumed = event.field("resumed").and_then(Value::as_array).into_iter().flatten();
        let following = |id: &Value| self.following_segments.get(id.as_str()?).copied();
        resumed.filter_map(following).max().unwrap_or(0)
    }

    pub(super) fn take_decisions(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.decisions)
    }
}
