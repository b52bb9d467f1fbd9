use std::time::Duration;

use guildhall_domain::runs::policy::{
    AllowList, Approval, Bounds, InvalidPattern, InvalidTimeout, Network, RunTimeout, Sandbox, SecretBounds,
    WidestPolicy,
};
use guildhall_service::runs::Times;

use super::section::section;

section! {
    /// Runs: how long a runner holds one, and what a run may ask for. Lists hold names, `*`, or a beginning with `*`.
    Runs = "runs" {
        /// How long a runner holds a run without a sign of life.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        lease: Duration = "\"30s\"";
        /// How long after that it is taken for lost: what it ran ends as failed, and the run is offered to the next.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        lease_grace: Duration = "\"5s\"";
        /// How often lost runners are looked for.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        tend_every: Duration = "\"2s\"";
        /// A run with a command that no runner came for ends after this long.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        unclaimed_after: Duration = "\"1h\"";
        /// A run with nothing to do, and no runner, ends after this long.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        idle_after: Duration = "\"168h\"";
        /// Projects that runs may name.
        #[serde(deserialize_with = "super::list::list")]
        projects: Vec<String> = "[\"*\"]";
        /// Providers that runs may name.
        #[serde(deserialize_with = "super::list::list")]
        providers: Vec<String> = "[\"*\"]";
        /// Backend profiles that runs may name.
        #[serde(deserialize_with = "super::list::list")]
        profiles: Vec<String> = "[\"*\"]";
        /// Folders of a runner's machine that runs may work in.
        #[serde(deserialize_with = "super::list::list")]
        directories: Vec<String> = "[]";
        /// Sinks that runs may send their trace to.
        #[serde(deserialize_with = "super::list::list")]
        trace_sinks: Vec<String> = "[]";
        /// Secrets that runs may name.
        #[serde(deserialize_with = "super::list::list")]
        secrets: Vec<String> = "[\"guildhall-provider-*\", \"guildhall-tool-*\"]";
        /// The widest sandbox of a run: read-only, workspace-write or danger-full-access.
        sandbox: Sandbox = "\"workspace-write\"";
        /// The least that a run asks a person: untrusted, on-request or never.
        approval: Approval = "\"never\"";
        /// Whether a run's commands may reach the network: disabled or enabled.
        network: Network = "\"enabled\"";
        /// The longest that a turn may take.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        turn_timeout: Duration = "\"30m\"";
    }
}

/// Why the boundary of runs cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidRuns {
    #[error("a list in the section runs is not usable")]
    Pattern(#[from] InvalidPattern),
    #[error("runs.turn_timeout is not usable")]
    Timeout(#[from] InvalidTimeout),
}

impl Runs {
    pub(crate) fn times(&self) -> Times {
        Times {
            hold: self.lease,
            grace: self.lease_grace,
            unclaimed: self.unclaimed_after,
            idle: self.idle_after,
        }
    }

    pub(crate) fn bounds(&self) -> Result<Bounds, InvalidRuns> {
        let timeout_ms = u64::try_from(self.turn_timeout.as_millis()).unwrap_or(u64::MAX);
        Ok(Bounds {
            projects: AllowList::parse(&self.projects)?,
            providers: AllowList::parse(&self.providers)?,
            profiles: AllowList::parse(&self.profiles)?,
            directories: AllowList::parse(&self.directories)?,
            trace_sinks: AllowList::parse(&self.trace_sinks)?,
            widest: WidestPolicy {
                sandbox: self.sandbox,
                approval: self.approval,
                timeout: RunTimeout::from_millis(timeout_ms)?,
                network: self.network,
                secrets: SecretBounds {
                    names: AllowList::parse(&self.secrets)?,
                    allow_credential_echo: false,
                },
            },
        })
    }
}
