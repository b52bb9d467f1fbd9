//! What the user has granted to agents on this device.

use std::collections::BTreeSet;

use guildhall_domain::identity::Aid;
use guildhall_domain::ids::AgentId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{DeviceStore, DeviceStoreError};

/// Scopes of one agent, with the manifest that the user has seen. Nothing that a server says is added to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredToolGrant {
    pub agent: AgentId,
    pub scopes: BTreeSet<String>,
    pub manifest_version: i64,
    /// Canonical JSON.
    pub manifest: String,
    pub granted_at: Timestamp,
    /// Tools that have changed since, by the last manifest that this device has seen. They hold also where the present one cannot be
    /// read any more.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub changed_tools: BTreeSet<String>,
}

impl DeviceStore {
    /// Returns what the user has granted to the agent of an AID.
    pub fn tool_grant(&self, aid: &Aid) -> Result<Option<StoredToolGrant>, DeviceStoreError> {
        self.0.folder.read(&file(aid))
    }

    /// Stores what the user has granted, in the place of an earlier grant.
    pub fn put_tool_grant(&self, aid: &Aid, grant: StoredToolGrant) -> Result<(), DeviceStoreError> {
        self.0
            .folder
            .update(&file(aid), |stored: &mut Option<StoredToolGrant>| *stored = Some(grant))
            .map(drop)
    }

    /// Stores which tools have changed since a grant, unless there is another grant now.
    pub(crate) fn set_changed_tools(
        &self,
        aid: &Aid,
        granted: &StoredToolGrant,
        tools: &BTreeSet<String>,
    ) -> Result<(), DeviceStoreError> {
        let change = |stored: &mut Option<StoredToolGrant>| {
            if let Some(stored) = stored.as_mut().filter(|stored| stored.manifest == granted.manifest) {
                stored.changed_tools.clone_from(tools);
            }
        };
        self.0.folder.update(&file(aid), change).map(drop)
    }

    /// Takes all grants of an agent back.
    pub fn remove_tool_grant(&self, aid: &Aid) -> Result<(), DeviceStoreError> {
        self.0.folder.update(&file(aid), |stored: &mut Option<StoredToolGrant>| *stored = None).map(drop)
    }
}

/// One file for each agent: a manifest has up to 128 KB. An AID is a host name.
fn file(aid: &Aid) -> String {
    format!("tool-grant.{aid}.json")
}
