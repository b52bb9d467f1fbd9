//! The front door for applications: threads and turns under the ids of clients.

pub mod agent_inboxes;
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
use crate::{approvals, identity, messages, runs};
use guildhall_runtime::Tasks;

/// The services of this group.
#[derive(Debug, Clone)]
pub struct Group {
    pub agent_runs: agent_runs::AgentRuns,
    pub automation_runs: automation_runs::AutomationRuns,
    pub copilotkit: copilotkit::CopilotKit,
    pub attachments: attachments::Attachments,
    pub history: history::History,
    pub interrupt_answers: interrupt_answers::InterruptAnswers,
    pub agent_inboxes: agent_inboxes::AgentInboxes,
}

/// Groups that this one builds on.
#[derive(Debug)]
pub struct FrontParts<'a> {
    pub runs: &'a runs::Group,
    pub approvals: &'a approvals::Group,
    pub identity: &'a identity::Group,
    pub attachments: attachments::Attachments,
}

/// Opens the group.
#[must_use]
pub fn open(deps: &Deps, parts: FrontParts<'_>) -> Group {
    let FrontParts { runs, approvals, identity, attachments } = parts;
    let (runs, commands) = (runs.runs.clone(), runs.commands.clone());
    let agent_runs = agent_runs::AgentRuns::new(deps.clone(), runs, commands, attachments.clone());
    let (questions, votes) = (approvals.approvals.clone(), approvals.votes.clone());
    Group {
        agent_inboxes: agent_inboxes::AgentInboxes::new(deps.clone(), identity.clone()),
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

impl Group {
    /// Returns what answers the messages of agents.
    #[must_use]
    pub fn answer_messages(
        &self,
        deps: &Deps,
        identity: &identity::Group,
        messages: &messages::Group,
        tasks: &Tasks,
    ) -> agent_inboxes::AnswerMessages {
        let (messages, identity, tasks) = (messages.clone(), identity.clone(), tasks.clone());
        agent_inboxes::AnswerMessages::new(deps.clone(), messages, identity, self.agent_runs.clone(), tasks)
    }
}
