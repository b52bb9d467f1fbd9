//! The front door for applications: threads and turns under the ids of clients.

pub mod agent_runs;
pub mod attachment_removal;
pub mod attachments;
pub mod automation_runs;
pub mod copilotkit;
pub mod error;
pub mod history;
pub mod interrupt_answers;
pub mod object_storage;
pub mod pipelines;

use crate::deps::Deps;
use crate::{approvals, runs};

/// The services of this group.
#[derive(Debug, Clone)]
pub struct Group {
    pub agent_runs: agent_runs::AgentRuns,
    pub automation_runs: automation_runs::AutomationRuns,
    pub copilotkit: copilotkit::CopilotKit,
    pub attachments: attachments::Attachments,
    pub history: history::History,
    pub interrupt_answers: interrupt_answers::InterruptAnswers,
}

/// Opens the group.
#[must_use]
pub fn open(
    deps: &Deps,
    runs: &runs::Group,
    approvals: &approvals::Group,
    attachments: attachments::Attachments,
) -> Group {
    let (runs, commands) = (runs.runs.clone(), runs.commands.clone());
    let agent_runs = agent_runs::AgentRuns::new(deps.clone(), runs, commands, attachments.clone());
    let (questions, votes) = (approvals.approvals.clone(), approvals.votes.clone());
    Group {
        automation_runs: automation_runs::AutomationRuns::new(agent_runs.clone()),
        copilotkit: copilotkit::CopilotKit::new(deps.clone()),
        attachments,
        history: history::History::new(deps.clone(), agent_runs.clone()),
        interrupt_answers: interrupt_answers::InterruptAnswers::new(
            deps.clone(),
            agent_runs.clone(),
            questions,
            votes,
        ),
        agent_runs,
    }
}
