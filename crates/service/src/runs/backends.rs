//! The backends that runs may name, from the stored profiles. A backend is available where a runner drives it.

use std::collections::BTreeMap;

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::TenantRead;
use guildhall_domain::profiles::{BackendKind, Profile, StoredProfile};
use guildhall_domain::runs::command::CommandKind;
use guildhall_domain::runs::policy::{BackendProfile, TenantBounds};

use crate::ServiceError;
use crate::deps::Deps;

/// What a kind of backend can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackendFeatures {
    pub kind: &'static str,
    pub protocol: &'static str,
    pub transport: &'static str,
    pub commands: &'static [CommandKind],
    pub secret_keys: &'static [&'static str],
}

/// A backend profile and what it can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    pub profile: BackendProfile,
    pub features: BackendFeatures,
    /// Whether everything that a run needs is stored on this server. Runners may bring their own.
    pub configured: bool,
    /// Why it cannot be used here.
    pub unavailable: Option<&'static str>,
}

const CODEX: BackendFeatures = BackendFeatures {
    kind: "codex-app-server-stdio",
    protocol: "codex-app-server",
    transport: "stdio",
    commands: CommandKind::ALL,
    secret_keys: &["auth.json", "config.toml"],
};

/// An agent behind the Agent Client Protocol, which cannot steer a running turn.
const ACP: BackendFeatures = BackendFeatures {
    kind: "acp-stdio",
    protocol: "agent-client-protocol",
    transport: "stdio",
    commands: &[CommandKind::Turn, CommandKind::Interrupt],
    secret_keys: &["credential"],
};

const SCRIPT: BackendFeatures = BackendFeatures {
    kind: "script",
    protocol: "script",
    transport: "in-process",
    commands: CommandKind::ALL,
    secret_keys: &[],
};

/// Lists backends.
#[derive(Debug, Clone)]
pub struct Backends {
    deps: Deps,
}

impl Backends {
    pub(super) fn new(deps: Deps) -> Self {
        Self { deps }
    }

    /// Lists the built-in profiles, the templates and the stored profiles, by name: those of a tenant, or else the shared ones.
    pub async fn list(&self, caller: Option<&Authorized<TenantRead>>) -> Result<Vec<Backend>, ServiceError> {
        let tenant = caller.map(Authorized::tenant);
        let stored = self.deps.credentials.list(tenant).await?;
        let bounds = match tenant {
            Some(tenant) => self.deps.tenant_bounds(tenant).await?,
            None => TenantBounds::clone(&self.deps.run_bounds),
        };
        let demo = BackendProfile::DEMO.parse().ok();
        let mut profiles: BTreeMap<BackendProfile, Option<StoredProfile>> =
            self.deps.credentials.known().chain(demo).map(|profile| (profile, None)).collect();
        profiles.extend(stored.into_iter().map(|(profile, (_, stored))| (profile, Some(stored))));
        let templates = &self.deps.credentials.templates;
        let backends = profiles.into_iter().map(|(profile, stored)| {
            let template = templates.get(profile.as_str());
            backend(&bounds, profile, template, stored.as_ref())
        });
        Ok(backends.collect())
    }
}

fn backend(
    bounds: &TenantBounds,
    profile: BackendProfile,
    template: Option<&Profile>,
    stored: Option<&StoredProfile>,
) -> Backend {
    let settings = match stored {
        Some(stored) => stored.settings.as_ref(),
        None => template,
    };
    // A built-in profile without a template uses Codex until something else is stored under its name.
    let kind = settings.map(|settings| settings.backend);
    let unavailable = if !bounds.profiles.allows(profile.as_str()) {
        Some("the tenant's bounds do not allow this profile")
    } else if stored.is_some() && settings.is_none() {
        Some("profile.toml is not valid")
    } else {
        None
    };
    Backend {
        features: match kind {
            Some(BackendKind::Codex) => CODEX,
            Some(BackendKind::Acp) => ACP,
            Some(BackendKind::Script) => SCRIPT,
            None if profile.needs_credential() => CODEX,
            None => SCRIPT,
        },
        configured: stored.is_some_and(StoredProfile::is_configured) || !profile.needs_credential(),
        unavailable,
        profile,
    }
}
