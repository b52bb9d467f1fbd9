//! The capability registry: the tags that a server can advertise, and the configuration that each depends on.
//!
//! A tag stands for a behaviour. New behaviour gets a new tag, and the meaning of a tag never changes. Clients detect
//! features by tags alone.

use std::fmt;

use crate::approvals::policy::Mediation;

/// Version of the capabilities response: its `v`. Independent of [`Protocol`] and [`EVENT_SCHEMA_VERSION`].
pub const ENVELOPE_VERSION: u32 = 1;

/// Version of the event and frame format: the `v` of each, in streams and in pages.
pub const EVENT_SCHEMA_VERSION: u32 = 1;

/// A protocol version, written as `v1`. A later version is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Protocol(u16);

impl Protocol {
    pub const CURRENT: Self = REGISTRY.protocol.current;

    #[must_use]
    pub const fn new(version: u16) -> Self {
        Self(version)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

/// The current protocol version and all supported ones, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtocolVersions {
    pub current: Protocol,
    pub supported: &'static [Protocol],
}

const V1: Protocol = Protocol::new(1);

/// Deployment settings that tags depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Toggles {
    pub require_auth: bool,
    pub allow_origin: bool,
    pub rate_limit: bool,
}

/// Isolation of agents from the server and from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containment {
    /// This server starts no runners; isolation depends on whatever starts them.
    Elsewhere,
    /// Runners are processes on the server's machine. The kernel denies their agents access to the server's state, the
    /// credentials, PostgreSQL and NATS.
    Contained,
    /// Runners are processes under the server's own account, and agents can access whatever that account can. Only for
    /// a single tenant, or for tenants that trust each other.
    Uncontained,
}

impl Containment {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Elsewhere => "elsewhere",
            Self::Contained => "contained",
            Self::Uncontained => "uncontained",
        }
    }
}

/// A capability tag of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability {
    pub tag: &'static str,
    pub since: Protocol,
    /// Supported modes, if there are several.
    pub modes: &'static [&'static str],
}

/// Decides whether a deployment advertises a tag.
pub type Predicate = fn(&Toggles) -> bool;

/// The tags of a build.
#[derive(Debug, Clone, Copy)]
pub struct Registry {
    pub protocol: ProtocolVersions,
    pub capabilities: &'static [Capability],
    /// Tags that depend on the deployment, with their predicates. All other tags are always advertised.
    pub conditional: &'static [(&'static str, Predicate)],
}

/// All tags of this build. A tag of the session routes is added with its route, not before.
pub const REGISTRY: Registry = Registry {
    protocol: ProtocolVersions { current: V1, supported: &[V1] },
    capabilities: &[
        Capability { tag: "health", since: V1, modes: &[] },
        Capability { tag: "capabilities", since: V1, modes: &[] },
        Capability { tag: "require_auth", since: V1, modes: &[] },
        Capability { tag: "allow_origin", since: V1, modes: &[] },
        Capability { tag: "rate_limit", since: V1, modes: &[] },
        Capability { tag: "slow_client_warning", since: V1, modes: &[] },
        Capability { tag: "typed_event_schema", since: V1, modes: &[] },
        Capability { tag: "permission_mediation", since: V1, modes: Mediation::MODES },
    ],
    conditional: &[
        ("require_auth", |toggles| toggles.require_auth),
        ("allow_origin", |toggles| toggles.allow_origin),
        ("rate_limit", |toggles| toggles.rate_limit),
    ],
};

impl Registry {
    /// Returns all registered capabilities, regardless of the deployment.
    #[must_use]
    pub const fn registered(&self) -> &'static [Capability] {
        self.capabilities
    }

    /// Returns the capabilities that a deployment advertises to a client of a protocol version.
    pub fn advertised(
        &self,
        version: Protocol,
        toggles: &Toggles,
    ) -> impl Iterator<Item = &'static Capability> {
        let is_enabled = |tag: &str| {
            self.conditional.iter().find(|(known, _)| *known == tag).is_none_or(|(_, when)| when(toggles))
        };
        self.capabilities
            .iter()
            .filter(move |capability| capability.since <= version && is_enabled(capability.tag))
    }

    /// Returns the current protocol version and all supported ones.
    #[must_use]
    pub const fn versions(&self) -> ProtocolVersions {
        self.protocol
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ALL_ON: Toggles = Toggles { require_auth: true, allow_origin: true, rate_limit: true };
    const ALL_OFF: Toggles = Toggles { require_auth: false, allow_origin: false, rate_limit: false };

    const V2: Protocol = Protocol::new(2);
    const PLAIN: Capability = Capability { tag: "plain", since: V1, modes: &[] };
    const MODES: Capability = Capability { tag: "modes", since: V1, modes: &["warn", "enforce"] };
    const SWITCHED: Capability = Capability { tag: "switched", since: V1, modes: &[] };
    const LATER: Capability = Capability { tag: "later", since: V2, modes: &["one", "two"] };
    const LATER_SWITCHED: Capability = Capability { tag: "later_switched", since: V2, modes: &[] };

    /// A build with two protocol versions, and tags with modes and predicates in both.
    const TWO_VERSIONS: Registry = Registry {
        protocol: ProtocolVersions { current: V2, supported: &[V1, V2] },
        capabilities: &[PLAIN, MODES, SWITCHED, LATER, LATER_SWITCHED],
        conditional: &[
            ("switched", |toggles| toggles.rate_limit),
            ("later_switched", |toggles| toggles.rate_limit),
        ],
    };

    fn tags(registry: &Registry, version: Protocol, toggles: &Toggles) -> BTreeSet<&'static str> {
        registry.advertised(version, toggles).map(|capability| capability.tag).collect()
    }

    // covers: C2
    #[test]
    fn tags_are_unique_and_all_advertised_when_all_toggles_are_on() {
        let registered: BTreeSet<_> = REGISTRY.registered().iter().map(|capability| capability.tag).collect();
        assert_eq!(registered.len(), REGISTRY.registered().len());
        assert_eq!(tags(&REGISTRY, Protocol::CURRENT, &ALL_ON), registered);
    }

    // covers: C2
    #[test]
    fn version_and_toggles_filter_the_capabilities_and_modes_are_kept() {
        let cases: [(Protocol, Toggles, &[Capability]); 4] = [
            (V1, ALL_OFF, &[PLAIN, MODES]),
            (V1, ALL_ON, &[PLAIN, MODES, SWITCHED]),
            (V2, ALL_OFF, &[PLAIN, MODES, LATER]),
            (V2, ALL_ON, TWO_VERSIONS.registered()),
        ];
        for (version, toggles, expected) in cases {
            let advertised: Vec<_> = TWO_VERSIONS.advertised(version, &toggles).copied().collect();
            assert_eq!(advertised, expected, "{version} {toggles:?}");
        }
        let versions = TWO_VERSIONS.versions();
        assert_eq!(versions.supported.iter().map(ToString::to_string).collect::<Vec<_>>(), ["v1", "v2"]);
        assert_eq!(versions.current.to_string(), "v2");
    }

    // covers: C3
    #[test]
    fn each_conditional_tag_depends_on_its_own_toggle_only() {
        let switches: [(&str, Toggles); 3] = [
            ("require_auth", Toggles { require_auth: true, ..ALL_OFF }),
            ("allow_origin", Toggles { allow_origin: true, ..ALL_OFF }),
            ("rate_limit", Toggles { rate_limit: true, ..ALL_OFF }),
        ];
        let conditional: BTreeSet<_> = REGISTRY.conditional.iter().map(|(tag, _)| *tag).collect();
        assert_eq!(
            switches.iter().map(|(tag, _)| *tag).collect::<BTreeSet<_>>(),
            conditional,
            "a tag without a test"
        );
        assert!(
            conditional.is_subset(&tags(&REGISTRY, Protocol::CURRENT, &ALL_ON)),
            "a predicate without a tag"
        );
        let off = tags(&REGISTRY, Protocol::CURRENT, &ALL_OFF);
        assert!(off.is_disjoint(&conditional), "advertised without its toggle");
        for (tag, on) in switches {
            let with = tags(&REGISTRY, Protocol::CURRENT, &on);
            assert_eq!(with.difference(&off).copied().collect::<Vec<_>>(), vec![tag]);
        }
    }
}
