//! Starts a Codex process and opens its thread.

use guildhall_domain::FailureKind;
use serde_json::{Value, json};

use super::home::CodexHome;
use super::profile::CodexProfile;
use super::translate::{CodexTranslator, IGNORED_NOTIFICATIONS};
use crate::backend::jsonl::{self, Agent, RpcError};
use crate::backend::{BackendConfig, BackendFailure, EventSink, ModelEndpoint, ThreadStart};
use crate::child::{Child, ProcessSpec};
use crate::sandbox::ProcessAccess;

pub(super) type CodexSession = jsonl::JsonlSession<CodexTranslator>;

impl CodexSession {
    /// Starts the process, and starts or resumes its thread.
    pub(super) async fn open(
        config: &BackendConfig,
        profile: &CodexProfile,
        endpoint: &ModelEndpoint,
        thread: ThreadStart,
        sink: &EventSink,
    ) -> Result<Self, BackendFailure> {
        let home = CodexHome::prepare(config, profile, endpoint).map_err(|error| {
            let message = format!("cannot write codex's configuration: {}", error.kind());
            BackendFailure::new(FailureKind::InfraFailed, message)
        })?;
        let child = Child::start(&ProcessSpec {
            program: &profile.program,
            arguments: &["app-server"],
            dir: &config.workspace,
            environment: home.environment(config, endpoint),
            containment: &config.containment,
            // Codex runs its commands in a sandbox of its own, inside of ours.
            access: ProcessAccess {
                can_nest: true,
                ..config.access(&profile.program, &home.dirs(), endpoint)
            },
        })
        .map_err(|error| BackendFailure::died(format!("cannot start codex: {}", error.kind())))?;
        let is_resumed = matches!(thread, ThreadStart::Resume(_));
        let mut session = Self::new(child, CodexProfile::PROTOCOL, CodexTranslator::new(is_resumed));
        let handshake = session.handshake(config, thread, sink).await;
        session.after_handshake(handshake, sink).await
    }

    async fn handshake(
        &mut self,
        config: &BackendConfig,
        thread: ThreadStart,
        sink: &EventSink,
    ) -> Result<(), BackendFailure> {
        self.initialize(sink).await?;
        let thread = self.open_thread(config, thread, sink).await?;
        self.translator.set_thread(thread.clone());
        self.set_thread(thread);
        Ok(())
    }

    async fn initialize(&mut self, sink: &EventSink) -> Result<(), BackendFailure> {
        let params = json!({
            "clientInfo": { "name": "guildhall", "version": env!("CARGO_PKG_VERSION") },
            "capabilities": {
                "experimentalApi": false, "requestAttestation": false,
                "optOutNotificationMethods": IGNORED_NOTIFICATIONS,
            },
        });
        self.call("initialize", &params, Some(sink))
            .await?
            .map_err(|_| BackendFailure::died("codex does not support our protocol version"))?;
        self.send_notification("initialized", None).await
    }

    async fn open_thread(
        &mut self,
        config: &BackendConfig,
        thread: ThreadStart,
        sink: &EventSink,
    ) -> Result<String, BackendFailure> {
        let mut params = json!({
            "cwd": config.workspace, "approvalPolicy": config.approval.as_str(), "approvalsReviewer": "user",
            "sandbox": config.sandbox.as_str(),
        });
        if let Some(instructions) = &config.instructions {
            params["developerInstructions"] = json!(instructions);
        }
        match thread {
            ThreadStart::New => {
                let failed =
                    |_| BackendFailure::new(FailureKind::BackendFailed, "codex did not start a thread");
                let response = self.call("thread/start", &params, Some(sink)).await?.map_err(failed)?;
                thread_id(&response)
                    .ok_or_else(|| BackendFailure::died("codex started a thread without an id"))
            }
            ThreadStart::Resume(thread) => {
                params["threadId"] = json!(thread.0);
                params["excludeTurns"] = json!(true);
                let response = self.call("thread/resume", &params, Some(sink)).await?;
                resumed_thread(response, &thread.0)
            }
        }
    }

    /// Sends a request that must succeed for the turn to continue.
    pub(super) async fn require(
        &mut self,
        method: &str,
        params: &Value,
        sink: &EventSink,
    ) -> Result<Value, BackendFailure> {
        self.call(method, params, Some(sink))
            .await?
            .map_err(|_| BackendFailure::new(FailureKind::BackendFailed, format!("codex rejected {method}")))
    }
}

/// Returns the resumed thread, which must be the requested one.
fn resumed_thread(response: Result<Value, RpcError>, requested: &str) -> Result<String, BackendFailure> {
    let failed = |message: &str| BackendFailure::new(FailureKind::ThreadResumeFailed, message);
    match response {
        Ok(response) => thread_id(&response)
            .filter(|thread| thread == requested)
            .ok_or_else(|| failed("codex resumed another thread than the requested one")),
        Err(error) if error.message.contains("no rollout found") => {
            Err(failed("codex has no record of this thread"))
        }
        Err(_) => Err(failed("codex could not read its record of this thread")),
    }
}

fn thread_id(response: &Value) -> Option<String> {
    response["thread"]["id"].as_str().map(str::to_owned)
}
