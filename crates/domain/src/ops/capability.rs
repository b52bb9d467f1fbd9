//! The capability registry: the tags that a server can advertise, and the configuration that each depends on.
//!
//! A tag stands for a behaviour. New behaviour gets a new tag, and the meaning of a tag never changes. Clients detect
//! features by tags alone.

/// Version of the capabilities response: its `v`. Independent of [`Protocol`] and [`EVENT_SCHEMA_VERSION`].
pub const ENVELOPE_VERSION: u32 = 1;

/// Version of the event and frame format: the `v` of each, in streams and in pages.
pub const EVENT_SCHEMA_VERSION: u32 = 1;

/// Protocol versions, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    V1,
}

impl Protocol {
    pub const CURRENT: Self = Self::V1;
    pub const SUPPORTED: &'static [Self] = &[Self::V1];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "v1",
        }
    }
}

/// Deployment settings that tags depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Toggles {
    pub require_auth: bool,
    pub allow_origin: bool,
    pub rate_limit: bool,
}

/// How permission requests of agents are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionPolicy {
    /// Every request is declined: there is no approval flow yet.
    Decline,
}

impl PermissionPolicy {
    pub const ACTIVE: Self = Self::Decline;

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Decline => "decline",
        }
    }
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
#[derive(Debug, Clone, Copy)]
pub struct Capability {
    pub tag: &'static str,
    pub since: Protocol,
    /// Supported modes, if there are several.
    pub modes: &'static [&'static str],
}

/// All tags of this build.
pub const REGISTRY: &[Capability] = &[
    Capability { tag: "health", since: Protocol::V1, modes: &[] },
    Capability { tag: "capabilities", since: Protocol::V1, modes: &[] },
    Capability { tag: "require_auth", since: Protocol::V1, modes: &[] },
    Capability { tag: "allow_origin", since: Protocol::V1, modes: &[] },
    Capability { tag: "rate_limit", since: Protocol::V1, modes: &[] },
    Capability { tag: "session_events", since: Protocol::V1, modes: &[] },
    Capability { tag: "slow_client_warning", since: Protocol::V1, modes: &[] },
    Capability { tag: "typed_event_schema", since: Protocol::V1, modes: &[] },
    Capability { tag: "client_identity", since: Protocol::V1, modes: &[] },
];

/// Decides whether a deployment advertises a tag.
pub type Predicate = fn(&Toggles) -> bool;

/// Tags that depend on the deployment, with their predicates. All other tags are always advertised.
pub const CONDITIONAL_TAGS: &[(&str, Predicate)] = &[
    ("require_auth", |toggles| toggles.require_auth),
    ("allow_origin", |toggles| toggles.allow_origin),
    ("rate_limit", |toggles| toggles.rate_limit),
];

/// Returns all registered tags, regardless of the deployment.
pub fn registered_tags() -> impl Iterator<Item = &'static str> {
    REGISTRY.iter().map(|capability| capability.tag)
}

/// Returns the tags that a deployment advertises to a client of a protocol version.
pub fn advertised_tags(version: Protocol, toggles: &Toggles) -> impl Iterator<Item = &'static str> {
    let is_enabled = |tag: &str| {
        CONDITIONAL_TAGS.iter().find(|(known, _)| *known == tag).is_none_or(|(_, when)| when(toggles))
    };
    REGISTRY
        .iter()
        .filter(move |capability| capability.since <= version && is_enabled(capability.tag))
        .map(|capability| capability.tag)
}

/// Returns the current protocol version and all supported ones.
#[must_use]
pub fn protocol_versions() -> (Protocol, &'static [Protocol]) {
    (Protocol::CURRENT, Protocol::SUPPORTED)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ALL_ON: Toggles = Toggles { require_auth: true, allow_origin: true, rate_limit: true };

    // covers: C2
    #[test]
    fn tags_are_unique_and_all_advertised_when_all_toggles_are_on() {
        let tags: BTreeSet<_> = registered_tags().collect();
        assert_eq!(tags.len(), REGISTRY.len());
        assert_eq!(advertised_tags(Protocol::CURRENT, &ALL_ON).collect::<BTreeSet<_>>(), tags);
    }

    // covers: C3
    #[test]
    fn each_conditional_tag_depends_on_its_own_toggle_only() {
        let switches: [(&str, Toggles); 3] = [
            ("require_auth", Toggles { require_auth: true, ..Toggles::default() }),
            ("allow_origin", Toggles { allow_origin: true, ..Toggles::default() }),
            ("rate_limit", Toggles { rate_limit: true, ..Toggles::default() }),
        ];
        let conditional: BTreeSet<_> = CONDITIONAL_TAGS.iter().map(|(tag, _)| *tag).collect();
        assert_eq!(
            switches.iter().map(|(tag, _)| *tag).collect::<BTreeSet<_>>(),
            conditional,
            "a tag without a test"
        );
        assert!(
            conditional.iter().all(|tag| registered_tags().any(|known| known == *tag)),
            "a predicate without a tag"
        );
        let off: BTreeSet<_> = advertised_tags(Protocol::CURRENT, &Toggles::default()).collect();
        assert!(off.is_disjoint(&conditional), "advertised without its toggle");
        for (tag, on) in switches {
            let with: BTreeSet<_> = advertised_tags(Protocol::CURRENT, &on).collect();
            assert_eq!(with.difference(&off).copied().collect::<Vec<_>>(), vec![tag]);
        }
    }
}
