//! Starts an ACP agent and opens its session.

use std::path::Path;

use guildhall_domain::FailureKind;
use guildhall_domain::runs::policy::Approval;
use serde_json::{Value, json};

use super::error;
use super::home::AgentHome;
use super::known_agent::KnownAgent;
use super::profile::AcpProfile;
use super::translate::AcpTranslator;
use crate::backend::jsonl::{self, Agent};
use crate::backend::{BackendConfig, BackendFailure, EventSink, ModelEndpoint, ThreadStart};
use crate::child::{Child, ProcessSpec};

pub(super) type AcpSession = jsonl::JsonlSession<AcpTranslator>;

/// The protocol version that we support.
const VERSION: u64 = 1;

/// The mode in which agents ask for permission before they act.
const ASK_MODE: &str = "default";

/// The capabilities of the agent that we use.
#[derive(Debug, Clone, Copy)]
struct AgentCapabilities {
    can_load: bool,
    can_resume: bool,
}

impl AcpSession {
    /// Starts the process, and starts or resumes its session.
    pub(super) async fn open(
        config: &BackendConfig,
        profile: &AcpProfile,
        endpoint: &ModelEndpoint,
        thread: ThreadStart,
        sink: &EventSink,
    ) -> Result<Self, BackendFailure> {
        let home = AgentHome::prepare(config, profile).map_err(|error| {
            let message = format!("cannot write the agent's settings: {}", error.kind());
            BackendFailure::new(FailureKind::InfraFailed, message)
        })?;
        let Some((program, arguments)) = profile.command.split_first() else {
            return Err(BackendFailure::new(FailureKind::InfraFailed, "the profile has no command"));
        };
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let child = Child::start(&ProcessSpec {
            program: Path::new(program),
            arguments: &arguments,
            dir: &config.workspace,
            environment: home.environment(config, profile, endpoint),
            containment: &config.containment,
            access: config.access(Path::new(program), &home.dirs(), endpoint),
        })
        .map_err(|error| BackendFailure::died(format!("cannot start the agent: {}", error.kind())))?;
        let mut session = Self::new(child, AcpProfile::PROTOCOL, AcpTranslator::default());
        let meta = KnownAgent::of(profile).and_then(KnownAgent::session_meta);
        let handshake = session.handshake(config, thread, meta, sink).await;
        session.after_handshake(handshake, sink).await
    }

    async fn handshake(
        &mut self,
        config: &BackendConfig,
        thread: ThreadStart,
        meta: Option<Value>,
        sink: &EventSink,
    ) -> Result<(), BackendFailure> {
        let capabilities = self.initialize(config, sink).await?;
        let response = match thread {
            ThreadStart::New => {
                self.translator.instructions.clone_from(&config.instructions);
                self.start_session(open_params(config, meta), sink).await?
            }
            ThreadStart::Resume(thread) => {
                self.resume_session(open_params(config, meta), capabilities, thread.0, sink).await?
            }
        };
        let thread = self.thread().to_owned();
        self.translator.set_thread(thread);
        self.set_ask_mode(config, &response, sink).await
    }

    /// Negotiates the protocol. We offer neither files nor terminals. People are asked if the policy says so.
    async fn initialize(
        &mut self,
        config: &BackendConfig,
        sink: &EventSink,
    ) -> Result<AgentCapabilities, BackendFailure> {
        let mut capabilities =
            json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false });
        if config.approval != Approval::Never {
            capabilities["elicitation"] = json!({ "form": {}, "url": {} });
        }
        let params = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": capabilities,
            "clientInfo": { "name": "guildhall", "version": env!("CARGO_PKG_VERSION") },
        });
        let unsupported = || BackendFailure::died("the agent does not support our protocol version");
        let response = self.call("initialize", &params, Some(sink)).await?.map_err(|_| unsupported())?;
        if response["protocolVersion"].as_u64() != Some(VERSION) {
            return Err(unsupported());
        }
        let capabilities = &response["agentCapabilities"];
        self.translator.takes_images = capabilities["promptCapabilities"]["image"] == true;
        Ok(AgentCapabilities {
            can_load: capabilities["loadSession"] == true,
            can_resume: !capabilities["sessionCapabilities"]["resume"].is_null(),
        })
    }

    async fn start_session(&mut self, params: Value, sink: &EventSink) -> Result<Value, BackendFailure> {
        let response =
            self.call("session/new", &params, Some(sink)).await?.map_err(|error| error::classify(&error))?;
        let id = response["sessionId"].as_str();
        let id = id.ok_or_else(|| BackendFailure::died("the agent started a session without an id"))?;
        self.set_thread(id.to_owned());
        Ok(response)
    }

    /// Resumes the given session. Its earlier messages are not reported again.
    async fn resume_session(
        &mut self,
        mut params: Value,
        capabilities: AgentCapabilities,
        thread: String,
        sink: &EventSink,
    ) -> Result<Value, BackendFailure> {
        let failed = |message: &str| BackendFailure::new(FailureKind::ThreadResumeFailed, message);
        params["sessionId"] = json!(thread);
        self.set_thread(thread);
        let response = match capabilities {
            AgentCapabilities { can_resume: true, .. } => {
                self.call("session/resume", &params, Some(sink)).await?
            }
            // `session/load` repeats all messages before it responds, so they are dropped.
            AgentCapabilities { can_load: true, .. } => self.call("session/load", &params, None).await?,
            AgentCapabilities { .. } => return Err(failed("this agent cannot resume a session")),
        };
        response.map_err(|_| failed("the agent has no record of this session"))
    }

    /// Sets the mode in which the agent asks for permission. An agent that has modes, but not this one, is rejected
    /// when the policy needs approvals.
    async fn set_ask_mode(
        &mut self,
        config: &BackendConfig,
        response: &Value,
        sink: &EventSink,
    ) -> Result<(), BackendFailure> {
        let params = json!({ "sessionId": self.thread(), "modeId": ASK_MODE });
        let Some(modes) = response["modes"]["availableModes"].as_array() else {
            // It may have modes without listing them, for example after a resume.
            self.call("session/set_mode", &params, Some(sink)).await?.ok();
            return Ok(());
        };
        if modes.iter().any(|mode| mode["id"] == ASK_MODE) {
            let result = self.call("session/set_mode", &params, Some(sink)).await?;
            return result.map(drop).map_err(|_| {
                let message = "the agent rejected the mode in which it asks for permission";
                BackendFailure::new(FailureKind::BackendFailed, message)
            });
        }
        match config.approval {
            Approval::Never => Ok(()),
            Approval::OnRequest | Approval::Untrusted => Err(BackendFailure::new(
                FailureKind::TenantPolicyDenied,
                "the agent has no mode in which it asks for permission",
            )),
        }
    }
}

/// Returns the parameters with which a session is started or resumed.
fn open_params(config: &BackendConfig, meta: Option<Value>) -> Value {
    let mut params = json!({ "cwd": config.workspace, "mcpServers": [] });
    if let Some(meta) = meta {
        params["_meta"] = meta;
    }
    params
}
