//! The backend of an agent that speaks JSON-RPC.

use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::session::{JsonlSession, Protocol, Translate};
use crate::backend::control::reject_pending;
use crate::backend::model::AgentModelProxy;
use crate::backend::{
    Backend, BackendConfig, BackendFailure, Capabilities, EventSink, ModelEndpoint, ModelProvider, Prompt,
    ThreadId, ThreadStart, TurnControl, TurnOutcome,
};

/// How long an agent may take to exit by itself.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// An agent program with its profile.
pub trait Agent: Send + Sync + 'static {
    const CAPABILITIES: Capabilities;
    const PROTOCOL: Protocol;
    type Translator: Translate + Send + 'static;

    /// Returns its model provider.
    fn provider(&self, config: &BackendConfig) -> ModelProvider;

    /// Starts the process, and starts or resumes a thread.
    fn open_session(
        &self,
        config: &BackendConfig,
        endpoint: &ModelEndpoint,
        thread: ThreadStart,
        sink: &EventSink,
    ) -> impl Future<Output = Result<JsonlSession<Self::Translator>, BackendFailure>> + Send;

    /// Runs one turn.
    fn run_turn(
        &self,
        session: &mut JsonlSession<Self::Translator>,
        config: &BackendConfig,
        prompt: &Prompt,
        sink: &EventSink,
        control: &mut mpsc::Receiver<TurnControl>,
    ) -> impl Future<Output = TurnOutcome> + Send;
}

/// Drives an agent: at most one process at a time.
#[derive(Debug)]
pub struct AgentBackend<A: Agent> {
    config: BackendConfig,
    agent: A,
    session: Option<JsonlSession<A::Translator>>,
    model: AgentModelProxy,
}

impl<A: Agent> AgentBackend<A> {
    #[must_use]
    pub fn new(config: BackendConfig, agent: A) -> Self {
        Self { config, agent, session: None, model: AgentModelProxy::default() }
    }
}

impl<A: Agent> Backend for AgentBackend<A> {
    fn capabilities(&self) -> Capabilities {
        A::CAPABILITIES
    }

    fn start<'a>(
        &'a mut self,
        thread: ThreadStart,
        sink: &'a EventSink,
    ) -> BoxFuture<'a, Result<ThreadId, BackendFailure>> {
        Box::pin(async move {
            // The old process must exit before the new one opens its files.
            self.session = None;
            let provider = self.agent.provider(&self.config);
            let endpoint = self.model.endpoint(&self.config, Some(&provider)).await?;
            let session = self.agent.open_session(&self.config, &endpoint, thread, sink).await?;
            let thread = ThreadId(session.thread().to_owned());
            self.session = Some(session);
            Ok(thread)
        })
    }

    fn run_turn<'a>(
        &'a mut self,
        prompt: &'a Prompt,
        sink: &'a EventSink,
        control: &'a mut mpsc::Receiver<TurnControl>,
    ) -> BoxFuture<'a, TurnOutcome> {
        Box::pin(async move {
            let outcome = match &mut self.session {
                Some(session) => tokio::select! {
                    biased;
                    failure = self.model.exceeded() => TurnOutcome::Failed(failure),
                    outcome = self.agent.run_turn(session, &self.config, prompt, sink, control) => after_death(outcome),
                },
                None => {
                    let message = format!("{} is not running", A::PROTOCOL.agent);
                    TurnOutcome::Failed(BackendFailure::died(message))
                }
            };
            reject_pending(control);
            if matches!(&outcome, TurnOutcome::Failed(failure) if failure.died)
                && let Some(session) = self.session.take()
            {
                session.terminate(sink).await;
            }
            outcome
        })
    }

    fn shutdown(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            if let Some(session) = self.session {
                session.shutdown(EXIT_TIMEOUT).await;
            }
        })
    }

    fn process_id(&self) -> Option<u32> {
        self.session.as_ref().map(JsonlSession::process_id)
    }
}

/// Says in the failure of an agent that died during a turn what nobody knows.
fn after_death(outcome: TurnOutcome) -> TurnOutcome {
    if let TurnOutcome::Failed(failure) = &outcome
        && failure.died
    {
        let message = format!("{}; side effects unknown: check the workspace", failure.message);
        return TurnOutcome::Failed(BackendFailure::died(message));
    }
    outcome
}
