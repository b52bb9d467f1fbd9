//! What a user has granted to an agent.

use std::collections::{BTreeMap, BTreeSet};

use guildhall_domain::agents::manifest::document::ManifestHash;
use guildhall_domain::agents::manifest::{Manifest, Sensitivity};
use guildhall_domain::agents::tool_calls::{
    ConversationKind, DeclaredTool, DenialReason, ToolCall, ToolErrorCode, ToolOutcome, check_call,
};
use guildhall_protocol::manifest::{CheckedManifest, compile_input_schema};
use jsonschema::Validator;

use super::error::InvalidGrant;

/// Scopes of one agent, pinned to the manifest that the user has seen. Its input schemas are compiled once.
#[derive(Debug)]
pub struct ToolGrant {
    manifest: Manifest,
    hash: ManifestHash,
    scopes: BTreeSet<String>,
    /// Tools of granted scopes that may not be called now.
    blocked: BTreeSet<String>,
    schemas: BTreeMap<String, Validator>,
}

impl ToolGrant {
    pub fn new(checked: CheckedManifest, scopes: BTreeSet<String>) -> Result<Self, InvalidGrant> {
        let CheckedManifest { document, manifest, warnings: _ } = checked;
        let schema = |name: &str, schema| {
            let compiled = compile_input_schema(schema).map_err(|_| InvalidGrant(name.to_owned()))?;
            Ok((name.to_owned(), compiled))
        };
        let schemas = manifest
            .tools
            .iter()
            .map(|tool| schema(&tool.name, &tool.input_schema))
            .collect::<Result<_, _>>()?;
        Ok(Self { hash: document.hash(), manifest, scopes, blocked: BTreeSet::new(), schemas })
    }

    /// Denies calls of some tools, although their scopes are granted: they have changed, and the user was not asked yet.
    #[must_use]
    pub fn without_tools(mut self, tools: BTreeSet<String>) -> Self {
        self.blocked = tools;
        self
    }

    #[must_use]
    pub fn manifest_hash(&self) -> ManifestHash {
        self.hash
    }

    #[must_use]
    pub(super) fn sensitivity(&self, declared: DeclaredTool<'_>) -> Sensitivity {
        self.manifest.sensitivity(declared.tool)
    }

    /// Returns the tool that a call may use, once a person has allowed it; or the answer of a call that may not.
    pub fn check(
        &self,
        call: &ToolCall,
        conversation: ConversationKind,
    ) -> Result<DeclaredTool<'_>, ToolOutcome> {
        let declared =
            check_call(call, conversation, &self.manifest, &self.scopes).map_err(ToolOutcome::Denied)?;
        if self.blocked.contains(&call.tool) {
            return Err(ToolOutcome::Denied(DenialReason::ScopeNotGranted));
        }
        let is_valid = self.schemas.get(&call.tool).is_some_and(|schema| schema.is_valid(&call.arguments));
        if is_valid { Ok(declared) } else { Err(ToolOutcome::Failed(ToolErrorCode::InvalidArguments)) }
    }
}
