//! Whether a call is covered by what its user has granted.

use std::collections::BTreeSet;
use std::time::Duration;

use super::call::ToolCall;
use super::outcome::DenialReason;
use crate::agents::manifest::{Manifest, Sensitivity, Tool};

/// How long a person has to answer before a call is denied.
pub const PROMPT_TIMEOUT: Duration = Duration::from_secs(30);

/// Where a call came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConversationKind {
    /// One user and one agent.
    Direct,
    Group,
}

/// When a person is asked before a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptPolicy {
    EachCall,
    /// Unless the scope was allowed in the same conversation a short time ago.
    FirstCall,
    Never,
}

impl From<Sensitivity> for PromptPolicy {
    fn from(sensitivity: Sensitivity) -> Self {
        match sensitivity {
            Sensitivity::High => Self::EachCall,
            Sensitivity::Medium => Self::FirstCall,
            Sensitivity::Low => Self::Never,
        }
    }
}

/// A tool of the manifest whose scope is granted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeclaredTool<'a> {
    pub tool: &'a Tool,
    pub prompt: PromptPolicy,
}

/// Checks a call against the manifest that its user agreed to, and the granted scopes. Scope and sensitivity are those of the
/// manifest: a call that names another scope is denied.
pub fn check_call<'a>(
    call: &ToolCall,
    conversation: ConversationKind,
    manifest: &'a Manifest,
    granted: &BTreeSet<String>,
) -> Result<DeclaredTool<'a>, DenialReason> {
    if conversation == ConversationKind::Group {
        return Err(DenialReason::NotSupportedInGroup);
    }
    let tool = manifest.tool(&call.tool).ok_or(DenialReason::ToolNotDeclared)?;
    if call.scope != tool.permission_scope || !granted.contains(&tool.permission_scope) {
        return Err(DenialReason::ScopeNotGranted);
    }
    Ok(DeclaredTool { tool, prompt: manifest.sensitivity(tool).into() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agents::manifest::{CapabilityFlags, PermissionScope};

    fn manifest() -> Manifest {
        let tool = |name: &str, scope: &str| Tool {
            name: name.to_owned(),
            description_i18n_key: "key".to_owned(),
            description_fallback: None,
            input_schema: json!({}),
            permission_scope: scope.to_owned(),
            required: false,
            timeout_ms: 1000,
            unknown: std::collections::BTreeMap::new(),
        };
        let scope = |id: &str, sensitivity| PermissionScope {
            id: id.to_owned(),
            label_i18n_key: "key".to_owned(),
            label_fallback: None,
            description_i18n_key: "key".to_owned(),
            description_fallback: None,
            sensitivity,
            unknown: std::collections::BTreeMap::new(),
        };
        Manifest {
            agent_version: "1.0.0".to_owned(),
            tools: vec![
                tool("notify", "notification:send"),
                tool("read_file", "filesystem:read"),
                tool("locate", "location:read"),
                tool("orphan", "nowhere"),
            ],
            permission_scopes: vec![
                scope("notification:send", Sensitivity::Low),
                scope("filesystem:read", Sensitivity::Medium),
                scope("location:read", Sensitivity::High),
            ],
            capability_flags: CapabilityFlags {
                supports_streaming: false,
                supports_artifacts: false,
                supports_voice: false,
                supports_group_chat: true,
                unknown: std::collections::BTreeMap::new(),
            },
            unknown: std::collections::BTreeMap::new(),
        }
    }

    fn check(tool: &str, scope: &str, conversation: ConversationKind) -> Result<PromptPolicy, DenialReason> {
        let granted = ["notification:send", "filesystem:read", "nowhere"].map(str::to_owned).into();
        let call = ToolCall {
            id: "call-1".parse().expect("an id"),
            tool: tool.to_owned(),
            arguments: json!({}),
            scope: scope.to_owned(),
            timeout_ms: None,
        };
        check_call(&call, conversation, &manifest(), &granted).map(|declared| {
            assert_eq!(declared.tool.name, tool);
            declared.prompt
        })
    }

    #[test]
    fn call_is_covered_by_its_declared_and_granted_scope_only() {
        use ConversationKind::{Direct, Group};
        use DenialReason::{NotSupportedInGroup, ScopeNotGranted, ToolNotDeclared};
        for (tool, scope, conversation, expected) in [
            ("notify", "notification:send", Direct, Ok(PromptPolicy::Never)),
            ("read_file", "filesystem:read", Direct, Ok(PromptPolicy::FirstCall)),
            ("locate", "location:read", Direct, Err(ScopeNotGranted)),
            ("delete_file", "filesystem:read", Direct, Err(ToolNotDeclared)),
            // A granted scope does not lend itself to another tool.
            ("locate", "notification:send", Direct, Err(ScopeNotGranted)),
            ("read_file", "notification:send", Direct, Err(ScopeNotGranted)),
            // No scope of the manifest: as sensitive as can be.
            ("orphan", "nowhere", Direct, Ok(PromptPolicy::EachCall)),
            // Even where the agent takes part in groups.
            ("notify", "notification:send", Group, Err(NotSupportedInGroup)),
            ("delete_file", "filesystem:read", Group, Err(NotSupportedInGroup)),
        ] {
            assert_eq!(check(tool, scope, conversation), expected, "{tool} {scope} {conversation:?}");
        }
    }
}
