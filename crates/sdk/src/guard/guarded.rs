//! The chain from a call to its answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guildhall_domain::agents::tool_calls::{
    AllowanceKey, Allowances, ConversationKind, DeclaredTool, DenialReason, PROMPT_TIMEOUT, PromptPolicy,
    ToolCall, ToolErrorCode, ToolOutcome,
};
use guildhall_domain::identity::Aid;
use guildhall_runtime::Clock;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::timeout;

use super::audit_entry::{AuditStatus, ToolAuditEntry};
use super::audit_log::AuditLog;
use super::error::GuardError;
use super::grant::ToolGrant;
use super::handled_calls::Claim;
use super::parts::{PromptAnswer, Prompts, ToolPrompt, ToolRun, Tools};

/// The largest result, as JSON. What is larger does not fit into a message.
pub const MAX_RESULT_BYTES: usize = 200_000;

/// A call as it arrived.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedCall<'a> {
    /// The sender of the message, which is authenticated.
    pub agent: &'a Aid,
    pub conversation: &'a str,
    pub kind: ConversationKind,
    pub call: &'a ToolCall,
}

type Grants = BTreeMap<Aid, Arc<ToolGrant>>;

/// Decides about calls, runs those that are allowed, and keeps the audit log. Calls are handled beside each other.
#[derive(Debug)]
pub struct Guard<P, T> {
    prompts: P,
    tools: T,
    clock: Clock,
    audit: AuditLog,
    prompt_timeout: Duration,
    allowances: Mutex<Allowances>,
    grants: watch::Sender<Grants>,
}

impl<P: Prompts + Sync, T: Tools + Sync> Guard<P, T> {
    #[must_use]
    pub fn new(prompts: P, tools: T, clock: Clock, audit: AuditLog) -> Self {
        let (grants, allowances) = (watch::Sender::default(), Mutex::default());
        Self { prompts, tools, clock, audit, prompt_timeout: PROMPT_TIMEOUT, allowances, grants }
    }

    #[cfg(test)]
    pub(super) fn with_prompt_timeout(self, prompt_timeout: Duration) -> Self {
        Self { prompt_timeout, ..self }
    }

    /// Sets what an agent may call from now on. Calls in flight that it does not cover are denied.
    pub fn set_grant(&self, agent: &Aid, grant: ToolGrant) {
        self.grants.send_modify(|grants| drop(grants.insert(agent.clone(), Arc::new(grant))));
    }

    /// Takes all grants of an agent back. Its calls in flight are denied.
    pub fn revoke(&self, agent: &Aid) {
        self.allowances().revoke(agent);
        self.grants.send_modify(|grants| drop(grants.remove(agent)));
    }

    #[must_use]
    pub fn audit_log(&self) -> &AuditLog {
        &self.audit
    }

    /// Handles a call. The outcome is for the agent, also where the tool did not run. An error has no answer.
    pub async fn handle(&self, received: ReceivedCall<'_>) -> Result<ToolOutcome, GuardError> {
        self.handle_with(received, std::future::ready(())).await
    }

    /// Handles a call as [`Guard::handle`] does, where grants may have changed while a person was asked: the tool runs only after a
    /// future is ready, which means that the grants of this guard are up to date.
    pub async fn handle_with(
        &self,
        received: ReceivedCall<'_>,
        are_up_to_date: impl Future<Output = ()> + Send,
    ) -> Result<ToolOutcome, GuardError> {
        self.claim(received)?;
        let outcome = match self.permit(received, are_up_to_date).await {
            Ok(grant) => {
                self.record(received, AuditStatus::Started)?;
                self.run(received, &grant).await
            }
            Err(outcome) => outcome,
        };
        self.record(received, outcome.status().into())?;
        Ok(outcome)
    }

    /// Answers a call that there is no room for. It does not run, also when its message comes again.
    pub fn refuse(&self, received: ReceivedCall<'_>) -> Result<ToolOutcome, GuardError> {
        self.claim(received)?;
        let outcome = ToolOutcome::Failed(ToolErrorCode::PlatformError);
        self.record(received, outcome.status().into())?;
        Ok(outcome)
    }

    /// Takes a call on, unless it was taken on before.
    fn claim(&self, received: ReceivedCall<'_>) -> Result<(), GuardError> {
        match self.audit.claim(received.agent, &received.call.id) {
            Claim::New => Ok(()),
            Claim::Repeated => Err(GuardError::Replayed(received.call.id.clone())),
            Claim::Interrupted { has_ended } => {
                if !has_ended {
                    self.record(received, AuditStatus::Error)?;
                }
                Err(GuardError::Interrupted(received.call.id.clone()))
            }
        }
    }

    /// Returns the grant that permits a call to run now.
    async fn permit(
        &self,
        received: ReceivedCall<'_>,
        are_up_to_date: impl Future<Output = ()> + Send,
    ) -> Result<Arc<ToolGrant>, ToolOutcome> {
        let grant = self.allow(received).await?;
        // Not for longer than a person has time: their answer is for now.
        let waited = tokio::select! {
            biased;
            () = self.wait_until_revoked(received) => {
                return Err(ToolOutcome::Denied(DenialReason::ScopeNotGranted));
            }
            waited = timeout(self.prompt_timeout, are_up_to_date) => waited,
        };
        waited.map_err(|_| ToolOutcome::Failed(ToolErrorCode::PlatformError))?;
        Ok(grant)
    }

    /// Returns the grant that allows a call, after a person was asked if need be.
    async fn allow(&self, received: ReceivedCall<'_>) -> Result<Arc<ToolGrant>, ToolOutcome> {
        if received.kind == ConversationKind::Group {
            return Err(ToolOutcome::Denied(DenialReason::NotSupportedInGroup));
        }
        let grant = self.grants.borrow().get(received.agent).cloned();
        let grant = grant.ok_or(ToolOutcome::Denied(DenialReason::ScopeNotGranted))?;
        let declared = grant.check(received.call, received.kind)?;
        let key = AllowanceKey {
            agent: received.agent.clone(),
            conversation: received.conversation.to_owned(),
            scope: declared.tool.permission_scope.clone(),
            manifest: grant.manifest_hash(),
        };
        let is_prompted = match declared.prompt {
            PromptPolicy::Never => false,
            PromptPolicy::EachCall => true,
            PromptPolicy::FirstCall => !self.allowances().renew(&key, self.clock.now()),
        };
        if is_prompted {
            self.ask(received, &grant, declared).await.map_err(ToolOutcome::Denied)?;
            if declared.prompt == PromptPolicy::FirstCall {
                self.allowances().allow(key, self.clock.now());
            }
        }
        Ok(grant)
    }

    async fn ask(
        &self,
        received: ReceivedCall<'_>,
        grant: &ToolGrant,
        declared: DeclaredTool<'_>,
    ) -> Result<(), DenialReason> {
        let prompt = ToolPrompt {
            agent: received.agent.clone(),
            conversation: received.conversation.to_owned(),
            tool: declared.tool.name.clone(),
            description: declared.tool.description_fallback.clone(),
            scope: declared.tool.permission_scope.clone(),
            sensitivity: grant.sensitivity(declared),
            arguments: received.call.arguments.clone(),
            expires_in: self.prompt_timeout,
        };
        let answer = tokio::select! {
            biased;
            () = self.wait_until_revoked(received) => return Err(DenialReason::ScopeNotGranted),
            answer = timeout(self.prompt_timeout, self.prompts.ask(prompt)) => answer,
        };
        match answer {
            Ok(PromptAnswer::Allow) => Ok(()),
            Ok(PromptAnswer::Refuse) => Err(DenialReason::UserRefused),
            Err(_) => Err(DenialReason::UserTimeout),
        }
    }

    /// Runs a tool until it ends, its time is over, or the grant is revoked.
    async fn run(&self, received: ReceivedCall<'_>, grant: &ToolGrant) -> ToolOutcome {
        let call = received.call;
        let declared = match grant.check(call, received.kind) {
            Ok(declared) => declared,
            Err(outcome) => return outcome,
        };
        let declared_ms = declared.tool.timeout_ms;
        let limit =
            Duration::from_millis(call.timeout_ms.map_or(declared_ms, |asked| asked.min(declared_ms)));
        let run = ToolRun {
            agent: received.agent.clone(),
            tool: declared.tool.name.clone(),
            arguments: call.arguments.clone(),
        };
        let ended = tokio::select! {
            biased;
            () = self.wait_until_revoked(received) => {
                return ToolOutcome::Denied(DenialReason::ScopeNotGranted);
            }
            ended = timeout(limit, self.tools.run(run)) => ended,
        };
        match ended {
            Ok(Ok(result)) if is_small(&result) => ToolOutcome::Done(result),
            Ok(Ok(_)) | Err(_) => ToolOutcome::Failed(ToolErrorCode::PlatformError),
            Ok(Err(failure)) => ToolOutcome::Failed(failure.into()),
        }
    }

    /// Waits until the agent has no grant that covers the call.
    async fn wait_until_revoked(&self, received: ReceivedCall<'_>) {
        let is_revoked = |grants: &Grants| {
            let is_denied = |grant: &Arc<ToolGrant>| grant.check(received.call, received.kind).is_err();
            grants.get(received.agent).is_none_or(is_denied)
        };
        let mut grants = self.grants.subscribe();
        // No error: the sender lives as long as the guard.
        drop(grants.wait_for(is_revoked).await);
    }

    fn record(&self, received: ReceivedCall<'_>, status: AuditStatus) -> Result<(), GuardError> {
        let call = received.call;
        Ok(self.audit.append(ToolAuditEntry {
            call_id: call.id.to_string(),
            agent_id: received.agent.to_string(),
            tool_name: call.tool.clone(),
            scope: call.scope.clone(),
            arguments_digest: call.arguments_digest(),
            status,
            timestamp: self.clock.now(),
        })?)
    }

    fn allowances(&self) -> MutexGuard<'_, Allowances> {
        self.allowances.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_small(result: &Value) -> bool {
    serde_json::to_vec(result).is_ok_and(|json| json.len() <= MAX_RESULT_BYTES)
}
