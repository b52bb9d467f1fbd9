//! Any agent that speaks the Agent Client Protocol: one child process, one JSON message per line on its standard
//! streams.
//!
//! Written for version 1 of the protocol, and tested with Qwen Code 0.24.4, Claude Code's adapter 0.99.1 and Gemini CLI
//! 0.61.0. Unknown notifications are passed through as events;
//! unknown requests are rejected. The agent gets no access to the client's files or terminals.

mod claude;
mod error;
mod gemini;
mod home;
mod known_agent;
mod open_request;
mod permission;
mod profile;
mod question;
mod qwen;
mod session;
mod thought;
mod tool_call;
mod translate;
mod turn;
mod turn_questions;
mod user_question;

use std::time::Duration;

use tokio::sync::mpsc;

use super::jsonl::{Agent, AgentBackend, Envelope, Protocol};
use super::{
    BackendConfig, BackendFailure, Capabilities, EventSink, ModelApi, ModelEndpoint, ModelProvider, Prompt,
    ThreadStart, TurnControl, TurnOutcome,
};
pub use profile::AcpProfile;
use session::AcpSession;
use translate::AcpTranslator;
use turn::AcpTurn;

/// An ACP agent process, started with its thread.
pub type AcpBackend = AgentBackend<AcpProfile>;

impl Agent for AcpProfile {
    const CAPABILITIES: Capabilities = Capabilities {
        name: "acp",
        can_steer: false,
        can_interrupt: true,
        can_resume: true,
        asks_approval: true,
        is_separate_process: true,
    };
    const PROTOCOL: Protocol = Protocol {
        agent: "the agent",
        event_prefix: translate::EVENT_PREFIX,
        envelope: Envelope::JsonRpc2,
        // An agent on Node may need ten seconds to start, and more on a busy machine. To resume a session it reads the
        // whole history.
        response_timeout: Duration::from_secs(120),
    };
    type Translator = AcpTranslator;

    fn provider(&self, config: &BackendConfig) -> ModelProvider {
        let variable = config.secrets.first().map_or("", |(name, _)| name.as_str());
        ModelProvider { api: ModelApi::of_variable(variable, self.api), base_url: self.base_url.clone() }
    }

    async fn open_session(
        &self,
        config: &BackendConfig,
        endpoint: &ModelEndpoint,
        thread: ThreadStart,
        sink: &EventSink,
    ) -> Result<AcpSession, BackendFailure> {
        AcpSession::open(config, self, endpoint, thread, sink).await
    }

    async fn run_turn(
        &self,
        session: &mut AcpSession,
        config: &BackendConfig,
        prompt: &Prompt,
        sink: &EventSink,
        control: &mut mpsc::Receiver<TurnControl>,
    ) -> TurnOutcome {
        match AcpTurn::start(session, config, self, prompt, sink).await {
            Ok(turn) => turn.run(control).await,
            Err(failure) => TurnOutcome::Failed(failure),
        }
    }
}
