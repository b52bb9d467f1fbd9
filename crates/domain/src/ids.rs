//! Typed ids: a prefix that a person recognises, and a UUIDv7 that sorts by time.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

/// A text that is not an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a {kind} id: expected `{prefix}_` and 32 hexadecimal digits")]
pub struct InvalidId {
    pub kind: &'static str,
    pub prefix: &'static str,
}

macro_rules! typed_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            pub const PREFIX: &'static str = $prefix;

            /// Makes a new id; ids made later sort later.
            #[must_use]
            pub fn generate() -> Self {
                Self(Uuid::now_v7())
            }

            #[must_use]
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            #[must_use]
            pub const fn as_uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}_{}", $prefix, self.0.simple())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                parse($prefix, text)
                    .map(Self)
                    .ok_or(InvalidId { kind: $kind, prefix: $prefix })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

/// Reads the one spelling that an id has, so that two different texts never name the same object.
fn parse(prefix: &str, text: &str) -> Option<Uuid> {
    let digits = text.strip_prefix(prefix)?.strip_prefix('_')?;
    let canonical =
        digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    canonical.then(|| Uuid::try_parse(digits).ok()).flatten()
}

typed_id! {
    /// One running server process.
    ReplicaId, "replica", "rep"
}

typed_id! {
    /// One entry of a journal; chosen by whoever appends it, so that a repeat is recognised.
    EntryId, "entry", "ent"
}

typed_id! {
    /// A person, agent, service or external subject: the root of identity.
    PrincipalId, "principal", "prn"
}

typed_id! {
    /// An owner of projects, runs, agents and keys.
    TenantId, "tenant", "ten"
}

typed_id! {
    /// A project of a tenant.
    ProjectId, "project", "prj"
}

typed_id! {
    /// A signed-in session: one family of refresh tokens, or one browser session.
    LoginId, "login", "lgn"
}

typed_id! {
    /// A long-lived key of a tenant, for programs.
    ServiceKeyId, "service key", "key"
}

typed_id! {
    /// An invitation to become a member.
    InviteId, "invite", "inv"
}

typed_id! {
    /// A key that signs access tokens; the `kid` in their header.
    SigningKeyId, "signing key", "sgk"
}

typed_id! {
    /// An execution inside a session, claimed by one runner at a time.
    RunId, "run", "run"
}

typed_id! {
    /// One instruction to a run.
    CommandId, "command", "cmd"
}

typed_id! {
    /// A conversation with its storage.
    SessionId, "session", "ses"
}

typed_id! {
    /// A token with which runners register and claim.
    EnrolmentId, "enrolment", "enr"
}

typed_id! {
    /// A process that drives an agent in a workspace.
    RunnerId, "runner", "rnr"
}

typed_id! {
    /// A runner that the server was asked to start, or starts by itself.
    RunnerJobId, "runner job", "rjb"
}

typed_id! {
    /// One process that a launcher starts, at most once.
    AttemptId, "attempt", "att"
}

typed_id! {
    /// Where a launcher starts processes: a folder of one machine. It outlives the servers that use it.
    PlaceId, "place", "plc"
}

typed_id! {
    /// A canary turn that shows whether a provider profile works.
    ValidationId, "validation", "val"
}

typed_id! {
    /// An effect on the world outside that a committed fact asks for.
    EffectId, "effect", "eff"
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_id_is_read_back_from_its_text(bits in any::<u128>()) {
            let id = ReplicaId::from_uuid(Uuid::from_u128(bits));
            prop_assert_eq!(id.to_string().parse::<ReplicaId>(), Ok(id));
        }

        #[test]
        fn a_text_that_parses_is_the_text_that_prints(text in "(rep_)?[0-9a-fA-F-]{30,38}") {
            if let Ok(id) = text.parse::<ReplicaId>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }

    #[test]
    fn an_id_of_another_kind_is_refused_with_what_was_expected() {
        let error = "run_01920000000070008000000000000000".parse::<ReplicaId>().expect_err("another kind");
        assert_eq!(error.to_string(), "not a replica id: expected `rep_` and 32 hexadecimal digits");
    }

    #[test]
    fn ids_made_later_sort_later() {
        let ids: Vec<_> = (0..100).map(|_| ReplicaId::generate()).collect();
        assert!(ids.is_sorted());
    }
}
