//! The capability registry: what a server may advertise, and under which configuration it does.
//!
//! A tag means behaviour. New behaviour gets a new tag; a tag is never given another meaning. Clients look at tags
//! before they rely on anything, and at nothing else.

/// The version of the envelope that carries the tags: its `v`. One of three axes that move without each other; the
/// others are [`Protocol`] and [`EVENT_SCHEMA_VERSION`].
pub const ENVELOPE_VERSION: u32 = 1;

/// The version of the form of facts and of frames: the `v` on each, in streams and in pages.
pub const EVENT_SCHEMA_VERSION: u32 = 1;

/// The versions of the protocol that tags belong to, oldest first.
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

/// The switches of a deployment that tags depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Toggles {
    pub require_auth: bool,
    pub allow_origin: bool,
    pub rate_limit: bool,
}

/// Who decides when an agent asks for permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionPolicy {
    /// Nobody can be asked yet: every request for permission is declined.
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

/// How far agents are kept from what is not theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containment {
    /// This server starts no runners: whoever does answers for it.
    Elsewhere,
    /// Runners are processes of the server's machine, and the kernel keeps their agents from its state, the credentials and
    /// the engines.
    Contained,
    /// Runners are processes under the server's own account: an agent reaches what that reaches. For one tenant, or for
    /// those who trust each other.
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

/// A tag and what is known of it.
#[derive(Debug, Clone, Copy)]
pub struct Capability {
    pub tag: &'static str,
    pub since: Protocol,
    /// The ways in which it can work, where there are several.
    pub modes: &'static [&'static str],
}

/// Every tag that this build knows.
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

/// Decides whether a deployment has a tag's behaviour.
pub type Predicate = fn(&Toggles) -> bool;

/// Tags that depend on the deployment, each with its predicate. A tag that is not here is always advertised.
pub const CONDITIONAL: &[(&str, Predicate)] = &[
    ("require_auth", |toggles| toggles.require_auth),
    ("allow_origin", |toggles| toggles.allow_origin),
    ("rate_limit", |toggles| toggles.rate_limit),
];

/// Returns every tag there is, whatever the deployment.
pub fn registered() -> impl Iterator<Item = &'static str> {
    REGISTRY.iter().map(|capability| capability.tag)
}

/// Returns the tags that a client of a protocol version can rely on in a deployment.
pub fn advertised(version: Protocol, toggles: &Toggles) -> impl Iterator<Item = &'static str> {
    let holds =
        |tag: &str| CONDITIONAL.iter().find(|(known, _)| *known == tag).is_none_or(|(_, when)| when(toggles));
    REGISTRY
        .iter()
        .filter(move |capability| capability.since <= version && holds(capability.tag))
        .map(|capability| capability.tag)
}

/// Returns the protocol versions: the current one and all that are supported.
#[must_use]
pub fn versions() -> (Protocol, &'static [Protocol]) {
    (Protocol::CURRENT, Protocol::SUPPORTED)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ALL_ON: Toggles = Toggles { require_auth: true, allow_origin: true, rate_limit: true };

    // covers: C2
    #[test]
    fn each_tag_is_registered_once_and_everything_registered_can_be_advertised() {
        let tags: BTreeSet<_> = registered().collect();
        assert_eq!(tags.len(), REGISTRY.len());
        assert_eq!(advertised(Protocol::CURRENT, &ALL_ON).collect::<BTreeSet<_>>(), tags);
    }

    // covers: C3
    #[test]
    fn every_conditional_tag_follows_its_toggle_and_no_other() {
        let switches: [(&str, Toggles); 3] = [
            ("require_auth", Toggles { require_auth: true, ..Toggles::default() }),
            ("allow_origin", Toggles { allow_origin: true, ..Toggles::default() }),
            ("rate_limit", Toggles { rate_limit: true, ..Toggles::default() }),
        ];
        let conditional: BTreeSet<_> = CONDITIONAL.iter().map(|(tag, _)| *tag).collect();
        assert_eq!(
            switches.iter().map(|(tag, _)| *tag).collect::<BTreeSet<_>>(),
            conditional,
            "a tag without a test"
        );
        assert!(
            conditional.iter().all(|tag| registered().any(|known| known == *tag)),
            "a predicate without a tag"
        );
        let off: BTreeSet<_> = advertised(Protocol::CURRENT, &Toggles::default()).collect();
        assert!(off.is_disjoint(&conditional), "advertised without its toggle");
        for (tag, on) in switches {
            let with: BTreeSet<_> = advertised(Protocol::CURRENT, &on).collect();
            assert_eq!(with.difference(&off).copied().collect::<Vec<_>>(), vec![tag]);
        }
    }
}
