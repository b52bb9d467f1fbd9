//! Steps of a run: its stages, and the wait for a runner.

use serde_json::json;

use crate::agui::event::AguiEvent;

/// A step of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The router picks a worker.
    Router,
    /// No runner has started the turn.
    Waiting,
    /// The worker does the turn.
    Worker,
}

impl Step {
    const fn name(self) -> &'static str {
        match self {
            Self::Router => "router",
            Self::Waiting => "waiting",
            Self::Worker => "worker",
        }
    }
}

/// The open step of a run. There is at most one.
#[derive(Debug, Default)]
pub(super) struct Steps {
    open: Option<Step>,
}

impl Steps {
    /// Shows what the router of a turn picked.
    pub(super) fn route(&mut self, worker: Option<&str>, events: &mut Vec<AguiEvent>) {
        if let Some(worker) = worker {
            self.open(Step::Router, events);
            let value = json!({ "worker": worker });
            events.push(AguiEvent::Custom { name: "guildhall.route".to_owned(), value });
            self.close(events);
        }
    }

    pub(super) fn open(&mut self, step: Step, events: &mut Vec<AguiEvent>) {
        self.close(events);
        self.open = Some(step);
        events.push(AguiEvent::StepStarted { step_name: step.name().to_owned() });
    }

    /// Ends the wait for a runner. The worker of the turn starts, if the turn has one.
    pub(super) fn end_waiting(&mut self, worker: Option<&str>, events: &mut Vec<AguiEvent>) {
        if self.open == Some(Step::Waiting) {
            self.close(events);
            if worker.is_some() {
                self.open(Step::Worker, events);
            }
        }
    }

    pub(super) fn close(&mut self, events: &mut Vec<AguiEvent>) {
        if let Some(step) = self.open.take() {
            events.push(AguiEvent::StepFinished { step_name: step.name().to_owned() });
        }
    }
}
