//! Answers of applications: a run of a client that answers the questions of a turn, and shows what follows.

use guildhall_domain::access::role::rights::RunsWrite;
use guildhall_domain::access::thread_owner::ThreadOwner;
use guildhall_domain::agents::AgentKey;
use guildhall_domain::approvals::approval::Approval;
use guildhall_domain::approvals::state::{ApprovalState, ApprovalStatus};
use guildhall_domain::approvals::voter::ClientConnection;
use guildhall_domain::front::ClientTurn;
use guildhall_domain::front::external_id::ExternalId;
use guildhall_domain::front::front_end_tools::stored_tools;
use guildhall_domain::front::interrupt_answer::InterruptAnswer;
use guildhall_domain::ids::{ApprovalId, CommandId, SessionId};
use guildhall_domain::journal::{Seq, SessionPosition};
use guildhall_domain::runs::event;
use guildhall_store::client_runs::{self, ClientRun};
use guildhall_store::commands;
use serde_json::{Value, json};

use super::agent_runs::AgentRuns;
use super::error::FrontError;
use crate::ServiceError;
use crate::approvals::Approvals;
use crate::approvals::error::ApprovalError;
use crate::approvals::votes::{Answer, Votes};
use crate::deps::Deps;
use crate::run_steps::LockedRun;

/// A run of a client that answers questions.
#[derive(Debug, Clone, Copy)]
pub struct ResumeRequest<'a> {
    /// The client's id of the conversation.
    pub thread: &'a ExternalId,
    /// The client's id of the run. The same id is the same run, unless it is the id of the run that was interrupted.
    pub client_run: &'a ExternalId,
    pub parent_run: Option<&'a ExternalId>,
    /// The tools of the front end.
    pub tools: &'a Value,
    pub answers: &'a [(ApprovalId, InterruptAnswer)],
    /// How the caller is connected.
    pub peer: ClientConnection,
}

/// Gives the answers of applications to agents.
#[derive(Debug, Clone)]
pub struct InterruptAnswers {
    deps: Deps,
    agent_runs: AgentRuns,
    approvals: Approvals,
    votes: Votes,
}

/// The run that follows the answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumedRun {
    pub session: SessionId,
    pub turn: ClientTurn,
    /// Its id in the journal.
    pub client_run: ExternalId,
}

/// An answer with its question.
struct ApprovalAnswer {
    approval: Approval,
    /// None if the question has this answer already.
    vote: Option<Answer>,
}

impl InterruptAnswers {
    pub(super) fn new(deps: Deps, agent_runs: AgentRuns, approvals: Approvals, votes: Votes) -> Self {
        Self { deps, agent_runs, approvals, votes }
    }

    /// Answers questions of one turn, and names what follows in that turn as a run of the client. A repeated request
    /// gives the answers that are missing, and returns the same turn. Answers that others have given in the same way
    /// count as given; if they differ, nothing is answered.
    ///
    /// The id of the run that was interrupted is taken too: CopilotKit sends it. In the journal, what follows has the id
    /// of the question then.
    pub async fn resume(
        &self,
        caller: &ThreadOwner<RunsWrite>,
        agent: Option<&AgentKey>,
        request: ResumeRequest<'_>,
    ) -> Result<ResumedRun, ServiceError> {
        let session = self.agent_runs.find(&caller.as_reader()?, agent, request.thread).await?;
        let session = session.ok_or(ServiceError::NOT_FOUND)?;
        let resumed = request.answers.iter().map(|(id, _)| *id).max().ok_or(FrontError::SeveralTurns)?;
        let (client_run, claimed) = self.find_claim(session, request.client_run, resumed).await?;
        let name = ClientRun { session, id: &client_run, message: None, resumed: Some(resumed) };
        let mut checked = Vec::with_capacity(request.answers.len());
        for (id, answer) in request.answers {
            checked.push(self.check(caller, session, request.peer, *id, answer, claimed.is_some()).await?);
        }
        let turn = one_turn(&checked)?;
        // The name comes first, so that what follows the answers has it. A parked turn is continued by another one, which
        // its last answer creates.
        let is_parked = checked.iter().any(|answer| !is_held(&answer.approval));
        let named = match claimed {
            Some(named) => Some(named),
            None if is_parked => None,
            None => Some(self.name(name, turn, &request).await?),
        };
        for ApprovalAnswer { approval, vote } in &checked {
            if let Some(vote) = vote {
                self.vote(caller, approval.id, vote).await?;
            }
        }
        let turn = match named {
            Some(named) => named,
            None => {
                let next = self.find_continuation(&checked, turn).await?;
                self.name(name, next, &request).await?
            }
        };
        Ok(ResumedRun { session, turn, client_run })
    }

    /// Returns the id of the run that answers a question, and its turn if it is a repeated request.
    async fn find_claim(
        &self,
        session: SessionId,
        client_run: &ExternalId,
        resumed: ApprovalId,
    ) -> Result<(ExternalId, Option<ClientTurn>), ServiceError> {
        let store = &self.deps.store;
        match client_runs::find_resume(store, session, client_run, resumed).await? {
            None => Ok((client_run.clone(), None)),
            Some(found) if found.is_same => Ok((client_run.clone(), Some(found.turn))),
            Some(_interrupted) => {
                let own = ExternalId::from(resumed);
                let claimed = client_runs::find(store, session, &own).await?;
                Ok((own, claimed))
            }
        }
    }

    /// Checks an answer: the question is one of the thread, and the answer is valid and can be given.
    async fn check(
        &self,
        caller: &ThreadOwner<RunsWrite>,
        session: SessionId,
        peer: ClientConnection,
        id: ApprovalId,
        answer: &InterruptAnswer,
        is_repeated: bool,
    ) -> Result<ApprovalAnswer, ServiceError> {
        let unknown = || ServiceError::from(FrontError::UnknownInterrupt(id));
        let listed = match self.approvals.get(caller.as_reader()?.in_own_thread(), peer, id).await {
            Err(ServiceError::Denied(_)) => return Err(unknown()),
            listed => listed?,
        };
        let approval = listed.approval;
        if approval.session != session {
            return Err(unknown());
        }
        let shown_digest = approval.shown.to_string();
        if answer.shown_digest.as_ref().is_some_and(|seen| *seen != shown_digest) {
            return Err(ApprovalError::NotShown.into());
        }
        let option = answer.choose(&approval.question);
        let option = option.map_err(|error| FrontError::InterruptAnswer(id, error))?;
        let vote = Answer {
            option: option.id.clone(),
            shown_digest,
            peer,
            remember: None,
            content: answer.content.clone(),
        };
        if approval.state.status() == ApprovalStatus::Pending {
            if !listed.can_answer {
                // Before anything is named: it says why not, unless the caller has given the same answer before.
                self.vote(caller, id, &vote).await?;
            }
            return Ok(ApprovalAnswer { vote: listed.can_answer.then_some(vote), approval });
        }
        let is_same = approval.state.decision().is_some_and(|decision| decision.effect() == option.effect);
        if is_same || is_repeated {
            return Ok(ApprovalAnswer { approval, vote: None });
        }
        Err(ApprovalError::AlreadyDecided(Box::new(approval.state)).into())
    }

    /// Gives an answer. Another one may have decided the question since it was checked.
    async fn vote(
        &self,
        caller: &ThreadOwner<RunsWrite>,
        id: ApprovalId,
        vote: &Answer,
    ) -> Result<(), ServiceError> {
        match self.votes.vote(caller.in_own_thread(), id, vote).await {
            Ok(_) => Ok(()),
            Err(ServiceError::Approval(ApprovalError::AlreadyDecided(state)))
                if state.decision().is_some_and(|decision| decision.option() == vote.option) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Records the client's name of what follows in a turn.
    async fn name(
        &self,
        client_run: ClientRun<'_>,
        turn: CommandId,
        request: &ResumeRequest<'_>,
    ) -> Result<ClientTurn, ServiceError> {
        let command = commands::find(&self.deps.store, turn).await?.ok_or(ServiceError::NOT_FOUND)?;
        let mut locked = LockedRun::begin(&self.deps.store, command.run).await?;
        if locked.run.state.is_ended() {
            return Err(FrontError::RunEnded.into());
        }
        let start = client_runs::load_start(&mut locked.tx, client_run.session, turn).await?;
        let run_start = SessionPosition { ordinal: locked.run.ordinal, seq: Seq::ZERO };
        let new = ClientTurn { command: turn, start: start.unwrap_or(run_start) };
        let claimed = client_runs::claim(&mut locked.tx, client_run, new).await?;
        if !claimed.is_new {
            locked.tx.rollback().await?;
            return Ok(claimed.turn);
        }
        let resumed: Vec<String> = request.answers.iter().map(|(id, _)| id.to_string()).collect();
        let mut payload = json!({ "clientRunId": client_run.id.as_str(), "resumed": resumed });
        if let Some(parent) = request.parent_run {
            payload["parentRunId"] = json!(parent.as_str());
        }
        if let Some(tools) = stored_tools(request.tools) {
            payload["tools"] = tools;
        }
        locked.append_event(event::CLIENT_RUN, Some(turn), payload);
        locked.commit(&self.deps).await?;
        Ok(claimed.turn)
    }

    /// Finds the turn that follows the answers: the one that continues a parked turn, or the turn itself.
    async fn find_continuation(
        &self,
        checked: &[ApprovalAnswer],
        turn: CommandId,
    ) -> Result<CommandId, ServiceError> {
        let store = &self.deps.store;
        let parked = commands::find(store, turn).await?.ok_or(ServiceError::NOT_FOUND)?;
        if let Some(next) = commands::find_continuation(store, &parked).await? {
            return Ok(next);
        }
        let was_parked =
            |answer: &ApprovalAnswer| answer.approval.state == ApprovalState::Pending { is_parked: true };
        if checked.iter().any(was_parked) {
            return Err(FrontError::OpenInterrupts.into());
        }
        Ok(turn)
    }
}

/// Returns whether the process of the agent waits for the answer.
fn is_held(approval: &Approval) -> bool {
    approval.state == ApprovalState::Pending { is_parked: false }
}

/// Returns the turn of all answers.
fn one_turn(checked: &[ApprovalAnswer]) -> Result<CommandId, ServiceError> {
    let mut turns = checked.iter().map(|answer| answer.approval.command);
    let first = turns.next().ok_or(FrontError::SeveralTurns)?;
    if turns.all(|turn| turn == first) { Ok(first) } else { Err(FrontError::SeveralTurns.into()) }
}
