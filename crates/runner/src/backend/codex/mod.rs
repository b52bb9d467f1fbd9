//! Codex, driven through its app-server: one child process, one JSON message per line on its standard streams.
//!
//! Written for Codex 0.166.0. Unknown notifications are passed through as events; unknown requests are rejected.

mod error;
mod home;
mod image;
mod item;
mod mcp_call;
mod options;
mod permission;
mod policy;
mod profile;
mod question;
mod reasoning;
mod running_calls;
mod session;
mod translate;
mod turn;
mod user_input;

use std::time::Duration;

use tokio::sync::mpsc;

use super::jsonl::{Agent, AgentBackend, Envelope, Protocol};
use super::{
    BackendConfig, BackendFailure, Capabilities, EventSink, ModelApi, ModelEndpoint, ModelProvider, Prompt,
    ThreadStart, TurnControl, TurnOutcome,
};
pub use profile::CodexProfile;
use session::CodexSession;
use translate::CodexTranslator;
use turn::CodexTurn;

/// A Codex process, started with its thread.
pub type CodexBackend = AgentBackend<CodexProfile>;

impl Agent for CodexProfile {
    const CAPABILITIES: Capabilities = Capabilities {
        name: "codex",
        can_steer: true,
        can_interrupt: true,
        can_resume: true,
        asks_approval: true,
        is_separate_process: true,
    };
    const PROTOCOL: Protocol = Protocol {
        agent: "codex",
        event_prefix: translate::EVENT_PREFIX,
        envelope: Envelope::WithoutVersion,
        // Resuming reads the history of a thread; everything else is answered at once, but not on a machine that compiles.
        response_timeout: Duration::from_secs(120),
    };
    type Translator = CodexTranslator;

    fn provider(&self, _config: &BackendConfig) -> ModelProvider {
        ModelProvider { api: ModelApi::Responses, base_url: Some(self.base_url.clone()) }
    }

    async fn open_session(
        &self,
        config: &BackendConfig,
        endpoint: &ModelEndpoint,
        thread: ThreadStart,
        sink: &EventSink,
    ) -> Result<CodexSession, BackendFailure> {
        CodexSession::open(config, self, endpoint, thread, sink).await
    }

    async fn run_turn(
        &self,
        session: &mut CodexSession,
        config: &BackendConfig,
        prompt: &Prompt,
        sink: &EventSink,
        control: &mut mpsc::Receiver<TurnControl>,
    ) -> TurnOutcome {
        let outcome = match CodexTurn::start(session, config, prompt, sink).await {
            Ok(turn) => turn.run(control).await,
            Err(failure) => TurnOutcome::Failed(failure),
        };
        if !prompt.images.is_empty() {
            image::remove_after_turn(config);
        }
        outcome
    }
}
