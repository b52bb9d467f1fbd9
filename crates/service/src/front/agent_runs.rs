//! Runs of agents. A thread is a session under the id of a client, and a run of the client is a turn: it goes to the open
//! run of the session, or to a new one.

use std::collections::BTreeSet;

use guildhall_domain::access::role::Right;
use guildhall_domain::access::role::rights::{RunsRead, RunsWrite};
use guildhall_domain::access::thread_owner::ThreadOwner;
use guildhall_domain::agents::{Agent, AgentKey, AgentRevision};
use guildhall_domain::front::attachment::Attachment;
use guildhall_domain::front::external_id::ExternalId;
use guildhall_domain::front::time_zone::TimeZoneName;
use guildhall_domain::front::{ClientTurn, ThreadKey};
use guildhall_domain::ids::{RunId, SessionId};
use guildhall_domain::runs::command::{CommandError, CommandKind};
use guildhall_store::client_runs::{self, ClientRun};
use guildhall_store::sessions::{self, NewSession, Reader};
use guildhall_store::{end_user_usage, loaded_runs, threads};
use serde_json::Value;

use super::attachments::Attachments;
use super::error::FrontError;
use super::pipelines::{self, PipelineSource, TurnSetup};
use crate::ServiceError;
use crate::deps::Deps;
use crate::runs::commands::{ClientTurnRequest, CommandRequest, Commands};
use crate::runs::error::RunError;
use crate::runs::{CreateRun, Runs};

/// How often a turn looks for an open run. Another caller may end the run, or create one, at the same time.
const MAX_ATTEMPTS: usize = 5;

/// A turn of an application.
#[derive(Debug, Clone)]
pub struct TurnRequest<'a> {
    /// The client's id of the conversation.
    pub thread: &'a ExternalId,
    /// The client's id of the turn. The same id is the same turn.
    pub client_run: &'a ExternalId,
    /// The client's id of the message.
    pub message: &'a ExternalId,
    /// The time zone of the client's device.
    pub device_zone: Option<&'a TimeZoneName>,
    /// What the agent and later readers get: `prompt`, and what else the client sent.
    pub payload: Value,
    /// The signed URLs of its images.
    pub images: Vec<String>,
}

/// The conversation of a turn, with what the turn needs.
#[derive(Debug)]
pub struct TurnThread {
    setup: TurnSetup,
    /// None if the conversation is new.
    pub session: Option<SessionId>,
}

/// A turn that was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AcceptedTurn {
    pub session: SessionId,
    pub turn: ClientTurn,
    /// Whether the conversation is new.
    pub is_new_thread: bool,
}

/// Starts and finds turns.
#[derive(Debug, Clone)]
pub struct AgentRuns {
    deps: Deps,
    runs: Runs,
    commands: Commands,
    attachments: Attachments,
}

impl AgentRuns {
    pub(super) fn new(deps: Deps, runs: Runs, commands: Commands, attachments: Attachments) -> Self {
        Self { deps, runs, commands, attachments }
    }

    /// Finds the agent and the pipeline of a turn, and the conversation that it is for.
    pub async fn find_thread(
        &self,
        caller: &ThreadOwner<RunsWrite>,
        agent: Option<&AgentKey>,
        source: PipelineSource<'_>,
        thread: &ExternalId,
    ) -> Result<TurnThread, ServiceError> {
        let setup = pipelines::load(&self.deps, caller, agent, source).await?;
        let key = ThreadKey { agent: setup.agent.id, owner: caller.principal, thread };
        let session = threads::find(&self.deps.store, &key).await?;
        Ok(TurnThread { setup, session })
    }

    /// Starts a turn with an agent, or returns the turn that has the id.
    pub async fn find_or_start_turn(
        &self,
        caller: &ThreadOwner<RunsWrite>,
        agent: Option<&AgentKey>,
        source: PipelineSource<'_>,
        request: TurnRequest<'_>,
    ) -> Result<AcceptedTurn, ServiceError> {
        let thread = self.find_thread(caller, agent, source, request.thread).await?;
        if let Some(session) = thread.session
            && let Some(turn) = self.find_turn(session, request.client_run).await?
        {
            return Ok(AcceptedTurn { session, turn, is_new_thread: false });
        }
        self.start_turn(caller, thread, request).await
    }

    /// Starts a turn in a thread that was found for it. A repeated request returns the same turn, also while the first one
    /// is served.
    pub async fn start_turn(
        &self,
        caller: &ThreadOwner<RunsWrite>,
        thread: TurnThread,
        request: TurnRequest<'_>,
    ) -> Result<AcceptedTurn, ServiceError> {
        let TurnThread { mut setup, session: found } = thread;
        setup.check_enabled()?;
        let agent = &setup.agent;
        let key = ThreadKey { agent: agent.id, owner: caller.principal, thread: request.thread };
        let end_user = caller.only_agent().map(|_| agent.settings.end_users);
        if let Some(limits) = end_user {
            // Before a session or a run is created; the turn itself is counted when it is stored.
            let usage = end_user_usage::find(&self.deps.store, caller.principal, agent.id, found).await?;
            limits.check_turn(usage).map_err(RunError::from)?;
        }
        let images = self.resolve_images(caller, &request.images).await?;
        let zone = pipelines::time_zone(&self.deps, caller, request.device_zone).await?;
        let mut payload = request.payload;
        setup.complete(&mut payload, &zone, !images.is_empty())?;
        let (session, is_new_thread) = match found {
            Some(session) => (session, false),
            None => self.create_session(caller, agent, &key).await?,
        };
        let client_run =
            ClientRun { session, id: request.client_run, message: Some(request.message), resumed: None };
        for _ in 0..MAX_ATTEMPTS {
            let run = self.open_run(caller, agent, session).await?;
            let turn = CommandRequest { kind: CommandKind::Turn, payload: payload.clone() };
            let client_turn = ClientTurnRequest {
                client_run,
                attachments: &images,
                end_user: end_user.map(|limits| (agent.id, limits)),
            };
            match self.commands.submit_client_run(caller.in_own_thread(), run, turn, client_turn).await {
                Ok(_) => {
                    let turn = client_runs::find(&self.deps.store, session, client_run.id).await?;
                    let turn = turn.ok_or(ServiceError::NOT_FOUND)?;
                    return Ok(AcceptedTurn { session, turn, is_new_thread });
                }
                Err(ServiceError::Run(RunError::Command(
                    CommandError::RunEnded(_) | CommandError::RunCancelling,
                ))) => {}
                Err(error) => return Err(error),
            }
        }
        Err(FrontError::NoOpenRun.into())
    }

    /// Returns the attachments that a message names by URL. A URL that is named twice is one attachment.
    async fn resolve_images(
        &self,
        caller: &ThreadOwner<RunsWrite>,
        urls: &[String],
    ) -> Result<Vec<Attachment>, ServiceError> {
        let mut images = Vec::with_capacity(urls.len());
        for url in urls {
            let image = self.attachments.resolve(caller, url).await?;
            if !images.contains(&image) {
                images.push(image);
            }
        }
        Ok(images)
    }

    /// Cancels the turns of a thread that have not ended, or one of them. Returns whether there were any.
    pub async fn stop(
        &self,
        caller: &ThreadOwner<RunsWrite>,
        agent: Option<&AgentKey>,
        thread: &ExternalId,
        client_run: Option<&ExternalId>,
    ) -> Result<bool, ServiceError> {
        let agent = self.agent(caller, agent).await?.id;
        let key = ThreadKey { agent, owner: caller.principal, thread };
        let session = threads::find(&self.deps.store, &key).await?.ok_or(ServiceError::NOT_FOUND)?;
        let only = match client_run {
            Some(id) => {
                let turn = client_runs::find(&self.deps.store, session, id).await?;
                Some(turn.ok_or(ServiceError::NOT_FOUND)?.command)
            }
            None => None,
        };
        let reader = Reader { principal: caller.principal, name: "" };
        let caller = caller.in_own_thread();
        let found = caller.load(sessions::find(&self.deps.store, session, reader).await?)?;
        let Some(run) = found.active_run else { return Ok(false) };
        let loaded = loaded_runs::find(&self.deps.store, run, None).await?.ok_or(ServiceError::NOT_FOUND)?;
        let turns = loaded.open.iter().filter(|command| command.kind == CommandKind::Turn);
        let mut is_stopped = false;
        for turn in turns.filter(|turn| only.is_none_or(|only| only == turn.id)) {
            self.commands.cancel(caller, turn.id).await?;
            is_stopped = true;
        }
        Ok(is_stopped)
    }

    /// Returns the session of a thread of the caller.
    pub async fn find(
        &self,
        caller: &ThreadOwner<RunsRead>,
        agent: Option<&AgentKey>,
        thread: &ExternalId,
    ) -> Result<Option<SessionId>, ServiceError> {
        let agent = self.agent(caller, agent).await?.id;
        let key = ThreadKey { agent, owner: caller.principal, thread };
        Ok(threads::find(&self.deps.store, &key).await?)
    }

    /// Returns which messages of a client a session has had.
    pub async fn known_messages(
        &self,
        session: SessionId,
        messages: &[ExternalId],
    ) -> Result<BTreeSet<String>, ServiceError> {
        Ok(client_runs::list_messages(&self.deps.store, session, messages).await?)
    }

    /// Returns the turn that a client has named.
    pub async fn find_turn(
        &self,
        session: SessionId,
        client_run: &ExternalId,
    ) -> Result<Option<ClientTurn>, ServiceError> {
        Ok(client_runs::find(&self.deps.store, session, client_run).await?)
    }

    /// Returns the agent that a request names, or the default of the tenant.
    pub(super) async fn agent<R: Right>(
        &self,
        caller: &ThreadOwner<R>,
        key: Option<&AgentKey>,
    ) -> Result<Agent, ServiceError> {
        pipelines::load_agent(&self.deps, caller, key).await
    }

    /// Creates the session of a thread. Returns it, or the one that another request has created, and which of both.
    async fn create_session(
        &self,
        caller: &ThreadOwner<RunsWrite>,
        agent: &Agent,
        key: &ThreadKey<'_>,
    ) -> Result<(SessionId, bool), ServiceError> {
        let (id, mut tx) = (SessionId::generate(), self.deps.store.begin().await?);
        let new = NewSession {
            id,
            tenant: caller.tenant(),
            project: agent.settings.project.as_str(),
            backend_profile: agent.settings.profile.as_str(),
            created_by: caller.principal,
            expires_in: None,
        };
        sessions::insert(&mut tx, &new).await?;
        if threads::insert(&mut tx, key, id).await? {
            tx.commit().await?;
            return Ok((id, true));
        }
        tx.rollback().await?;
        let found = threads::find(&self.deps.store, key).await?.ok_or(ServiceError::NOT_FOUND)?;
        Ok((found, false))
    }

    /// Returns the open run of a session, or creates one.
    async fn open_run(
        &self,
        caller: &ThreadOwner<RunsWrite>,
        agent: &Agent,
        id: SessionId,
    ) -> Result<RunId, ServiceError> {
        let reader = Reader { principal: caller.principal, name: "" };
        let caller = caller.in_own_thread();
        let session = caller.load(sessions::find(&self.deps.store, id, reader).await?)?;
        if let Some(run) = session.active_run {
            return Ok(run);
        }
        let mut settings = agent.settings.clone();
        // A conversation keeps the profile that it started with.
        settings.profile = session.backend_profile.parse().map_err(|_| ServiceError::NOT_FOUND)?;
        let request = CreateRun {
            session: Some(id),
            run: settings.run_request(),
            agent: Some(AgentRevision { id: agent.id, revision: agent.revision }),
        };
        match self.runs.create(caller, &request, None).await {
            Ok(created) => Ok(created.run.id),
            Err(ServiceError::Run(RunError::RunOpen(Some(run)))) => Ok(run),
            Err(error) => Err(error),
        }
    }
}
