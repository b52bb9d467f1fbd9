//! Restrictions of one tenant, within the bounds of the installation.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::allow_list::AllowList;
use super::authority::{Approval, Network, Sandbox};
use super::bounds::{MaxPolicy, TenantBounds};
use super::timeout::RunTimeout;

/// What an operator restricts for one tenant. `None` restricts nothing: the bounds of the installation apply.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TenantRestrictions {
    pub projects: Option<AllowList>,
    pub providers: Option<AllowList>,
    pub profiles: Option<AllowList>,
    pub directories: Option<AllowList>,
    pub trace_sinks: Option<AllowList>,
    pub sandbox: Option<Sandbox>,
    pub approval: Option<Approval>,
    #[serde(rename = "timeoutMs")]
    pub timeout: Option<RunTimeout>,
    pub network: Option<Network>,
}

impl TenantRestrictions {
    /// Patterns in one list.
    pub const MAX_PATTERNS: usize = 100;

    /// Parses stored restrictions. Unreadable ones, perhaps of a newer version, allow nothing.
    #[must_use]
    pub fn from_json(text: &str) -> Self {
        // Through a map, because serde reads an empty array as a struct of defaults.
        let fields = serde_json::from_str::<Map<String, Value>>(text);
        fields
            .and_then(|fields| serde_json::from_value(Value::Object(fields)))
            .unwrap_or_else(|_| Self::nothing())
    }

    /// Returns the restrictions as they are stored.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// Returns the restrictions that allow no run.
    fn nothing() -> Self {
        let none = Some(AllowList::default());
        Self {
            projects: none.clone(),
            providers: none.clone(),
            profiles: none.clone(),
            directories: none.clone(),
            trace_sinks: none,
            sandbox: Some(Sandbox::ReadOnly),
            approval: Some(Approval::Untrusted),
            timeout: Some(RunTimeout::MIN),
            network: Some(Network::Disabled),
        }
    }
}

impl TenantBounds {
    /// Returns the bounds of a tenant: what both these bounds and the restrictions allow.
    #[must_use]
    pub fn restrict(&self, tenant: &TenantRestrictions) -> Self {
        let max = &self.max_policy;
        Self {
            projects: restrict_list(&self.projects, tenant.projects.as_ref()),
            providers: restrict_list(&self.providers, tenant.providers.as_ref()),
            profiles: restrict_list(&self.profiles, tenant.profiles.as_ref()),
            directories: restrict_list(&self.directories, tenant.directories.as_ref()),
            trace_sinks: restrict_list(&self.trace_sinks, tenant.trace_sinks.as_ref()),
            max_policy: MaxPolicy {
                sandbox: restrict_max(max.sandbox, tenant.sandbox),
                approval: restrict_max(max.approval, tenant.approval),
                timeout: restrict_max(max.timeout, tenant.timeout),
                network: restrict_max(max.network, tenant.network),
                secrets: max.secrets.clone(),
            },
        }
    }
}

fn restrict_list(installation: &AllowList, tenant: Option<&AllowList>) -> AllowList {
    tenant.map_or_else(|| installation.clone(), |tenant| installation.intersect(tenant))
}

fn restrict_max<T: Copy + Ord>(installation: T, tenant: Option<T>) -> T {
    tenant.map_or(installation, |tenant| installation.min(tenant))
}

#[cfg(test)]
mod tests;
