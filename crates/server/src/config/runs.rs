use std::time::Duration;

use guildhall_domain::runs::policy::{
    AllowList, Approval, BundleLimits, InvalidPattern, InvalidSecretPrefix, InvalidTimeout, MaxPolicy,
    Network, RunTimeout, Sandbox, SecretAliases, SecretBounds, TenantBounds,
};
use guildhall_domain::runs::quota::EventQuota;
use guildhall_service::run_steps::timeouts::RunTimeouts;

use super::section::section;

section! {
    /// Leases of runs, and what a run may request. List items are names, `*`, or a prefix followed by `*`.
    Runs = "runs" {
        /// Lease: how long a runner holds a run without contacting the server.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        lease: Duration = "\"30s\"";
        /// How long after the end of its lease a runner counts as lost. Its running command then fails, and another
        /// runner can claim the run.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        lease_grace: Duration = "\"5s\"";
        /// Interval of the check for lost runners and expired runs.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        tend_every: Duration = "\"2s\"";
        /// A run with a pending command ends if no runner claims it for this long.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        unclaimed_after: Duration = "\"1h\"";
        /// A run without a command and without a runner ends after this long.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        idle_after: Duration = "\"168h\"";
        /// Projects that runs may use.
        #[serde(deserialize_with = "super::list::list")]
        projects: Vec<String> = "[\"*\"]";
        /// Providers that runs may use.
        #[serde(deserialize_with = "super::list::list")]
        providers: Vec<String> = "[\"*\"]";
        /// Backend profiles that runs may use.
        #[serde(deserialize_with = "super::list::list")]
        profiles: Vec<String> = "[\"*\"]";
        /// Folders on the runner's machine that runs may work in.
        #[serde(deserialize_with = "super::list::list")]
        directories: Vec<String> = "[]";
        /// Trace sinks that runs may use.
        #[serde(deserialize_with = "super::list::list")]
        trace_sinks: Vec<String> = "[]";
        /// Secrets that runs may use.
        #[serde(deserialize_with = "super::list::list")]
        secrets: Vec<String> = "[\"guildhall-provider-*\", \"guildhall-tool-*\"]";
        /// Prefixes of secret names that requests may use instead of `guildhall-provider-`, such as
        /// `agentrun-v01-provider-`. The run is stored with the name that starts with `guildhall-provider-`.
        #[serde(deserialize_with = "super::list::list")]
        provider_secret_prefixes: Vec<String> = "[]";
        /// Prefixes of secret names that requests may use instead of `guildhall-tool-`.
        #[serde(deserialize_with = "super::list::list")]
        tool_secret_prefixes: Vec<String> = "[]";
        /// The least restrictive sandbox that a run may request: read-only, workspace-write or danger-full-access.
        sandbox: Sandbox = "\"workspace-write\"";
        /// The least restrictive approval policy that a run may request: untrusted, on-request or never.
        approval: Approval = "\"never\"";
        /// Widest network access of a run: disabled (only its model), allow-list (also `sandbox.allowed_hosts`) or enabled
        /// (also every public host). A run that requests none has no network access.
        network: Network = "\"enabled\"";
        /// The longest turn timeout that a run may request.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        turn_timeout: Duration = "\"30m\"";
        /// The largest event of a run, in bytes. A larger one is refused.
        max_event_bytes: u64 = "1048576";
        /// The bytes that all events of a run may use. Further events are refused; the run can still be ended.
        max_event_bytes_per_run: u64 = "1073741824";
        /// The largest Git bundle that a run may have as its workspace, in bytes. `guildhall run` uploads one where runners
        /// do not have the folder. 0: no uploads.
        max_bundle_bytes: u64 = "67108864";
        /// The bytes of all bundles of a tenant. They are erased when their runs end.
        max_bundle_bytes_per_tenant: u64 = "1073741824";
    }
}

/// Why the section `runs` is invalid.
#[derive(Debug, thiserror::Error)]
pub enum RunsConfigError {
    #[error("invalid list in section `runs`")]
    Pattern(#[from] InvalidPattern),
    #[error("invalid runs.provider_secret_prefixes or runs.tool_secret_prefixes")]
    SecretPrefix(#[from] InvalidSecretPrefix),
    #[error("invalid runs.turn_timeout")]
    Timeout(#[from] InvalidTimeout),
}

impl Runs {
    pub(crate) fn timeouts(&self) -> RunTimeouts {
        RunTimeouts {
            hold: self.lease,
            grace: self.lease_grace,
            unclaimed: self.unclaimed_after,
            idle: self.idle_after,
        }
    }

    pub(crate) fn event_quota(&self) -> EventQuota {
        EventQuota { max_event_bytes: self.max_event_bytes, max_run_bytes: self.max_event_bytes_per_run }
    }

    pub(crate) fn bundle_limits(&self) -> BundleLimits {
        BundleLimits { max_bytes: self.max_bundle_bytes, max_tenant_bytes: self.max_bundle_bytes_per_tenant }
    }

    pub(crate) fn bounds(&self) -> Result<TenantBounds, RunsConfigError> {
        let timeout_ms = u64::try_from(self.turn_timeout.as_millis()).unwrap_or(u64::MAX);
        Ok(TenantBounds {
            projects: AllowList::parse(&self.projects)?,
            providers: AllowList::parse(&self.providers)?,
            profiles: AllowList::parse(&self.profiles)?,
            directories: AllowList::parse(&self.directories)?,
            trace_sinks: AllowList::parse(&self.trace_sinks)?,
            max_policy: MaxPolicy {
                sandbox: self.sandbox,
                approval: self.approval,
                timeout: RunTimeout::from_millis(timeout_ms)?,
                network: self.network,
                secrets: SecretBounds {
                    names: AllowList::parse(&self.secrets)?,
                    allow_credential_echo: false,
                    aliases: SecretAliases::new(&self.provider_secret_prefixes, &self.tool_secret_prefixes)?,
                },
            },
        })
    }
}
