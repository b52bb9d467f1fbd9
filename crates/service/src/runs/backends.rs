//! The backends that runs may name. A backend is available where a runner drives it.

use std::sync::Arc;

use guildhall_domain::runs::command::CommandKind;
use guildhall_domain::runs::policy::TenantBounds;

/// A backend profile and what it can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    pub profile: &'static str,
    pub kind: &'static str,
    pub protocol: &'static str,
    pub transport: &'static str,
    pub commands: &'static [CommandKind],
    pub secret_keys: &'static [&'static str],
    /// Why it cannot be used here.
    pub unavailable: Option<&'static str>,
}

/// The profiles of the source share one backend.
const CODEX: Backend = Backend {
    profile: "codex",
    kind: "codex-app-server-stdio",
    protocol: "codex-app-server",
    transport: "stdio",
    commands: CommandKind::ALL,
    secret_keys: &["auth.json", "config.toml"],
    unavailable: None,
};

/// An agent behind the Agent Client Protocol, which cannot steer a running turn. The operator names its program in the
/// runner's profile.
const QWEN: Backend = Backend {
    profile: "qwen",
    kind: "acp-stdio",
    protocol: "agent-client-protocol",
    transport: "stdio",
    commands: &[CommandKind::Turn, CommandKind::Interrupt],
    secret_keys: &["credential"],
    unavailable: None,
};

const DEMO: Backend = Backend {
    profile: "demo",
    kind: "script",
    protocol: "script",
    transport: "in-process",
    commands: CommandKind::ALL,
    secret_keys: &[],
    unavailable: None,
};

/// Lists backends.
#[derive(Debug, Clone)]
pub struct Backends {
    bounds: Arc<TenantBounds>,
}

impl Backends {
    pub(super) fn new(bounds: Arc<TenantBounds>) -> Self {
        Self { bounds }
    }

    /// Lists the built-in profiles, and whether the tenant bounds allow them. Operators may add others.
    #[must_use]
    pub fn list(&self) -> Vec<Backend> {
        let codex = ["codex", "deepseek", "minimax-m3", "dsflash-go"];
        let all = codex.into_iter().map(|profile| Backend { profile, ..CODEX }).chain([QWEN, DEMO]);
        all.map(|backend| Backend {
            unavailable: (!self.bounds.profiles.allows(backend.profile))
                .then_some("the tenant's bounds do not allow this profile"),
            ..backend
        })
        .collect()
    }
}
