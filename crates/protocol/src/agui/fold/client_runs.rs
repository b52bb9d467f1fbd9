//! Run ids of the segments of one turn.

use std::collections::BTreeMap;

use guildhall_domain::ids::CommandId;
use serde_json::Value;

use super::context::StreamContext;
use super::front_end_tools::front_end_tools;
use super::journal_event::JournalEvent;

/// Run ids of clients, by segment.
#[derive(Debug)]
pub(super) struct ClientRuns {
    command: CommandId,
    claims: BTreeMap<u32, ClientRun>,
}

/// A client's run id for a segment.
#[derive(Debug)]
struct ClientRun {
    id: String,
    parent: Option<String>,
    worker: Option<String>,
    tools: Vec<Value>,
}

impl ClientRuns {
    pub(super) const fn new(command: CommandId) -> Self {
        Self { command, claims: BTreeMap::new() }
    }

    /// Gives a segment that has not started to the run of a `client_run` event. The first claim counts.
    pub(super) fn claim(&mut self, segment: u32, event: &JournalEvent) {
        if let Some(id) = event.optional_text("clientRunId") {
            let parent = event.optional_text("parentRunId").map(str::to_owned);
            let worker = event.optional_text("worker").map(str::to_owned);
            let (id, tools) = (id.to_owned(), front_end_tools(event));
            self.claims.entry(segment).or_insert(ClientRun { id, parent, worker, tools });
        }
    }

    pub(super) fn has_claim(&self, segment: u32) -> bool {
        self.claims.contains_key(&segment)
    }

    /// Returns the worker that the router of the turn picked, if the turn has a router.
    pub(super) fn worker(&self) -> Option<&str> {
        self.claims.get(&0)?.worker.as_deref()
    }

    pub(super) fn parent(&self, segment: u32) -> Option<String> {
        self.claims.get(&segment)?.parent.clone()
    }

    /// Returns the tools of the front end that started a segment.
    pub(super) fn tools(&self, segment: u32) -> Vec<Value> {
        self.claims.get(&segment).map(|claim| claim.tools.clone()).unwrap_or_default()
    }

    /// Returns the run id of a segment: the one that the stream is for, the client's, or a stable one of ours.
    pub(super) fn run_id(&self, segment: u32, context: &StreamContext) -> String {
        let claimed = || self.claims.get(&segment).map(|claim| claim.id.clone());
        context.run_id.clone().or_else(claimed).unwrap_or_else(|| format!("{}.{segment}", self.command))
    }
}
