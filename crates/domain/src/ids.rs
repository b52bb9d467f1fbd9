//! Typed ids: a readable prefix and a UUIDv7, which sorts by creation time.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

/// The text is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {kind} id: expected `{prefix}_` followed by 32 hexadecimal digits")]
pub struct InvalidId {
    pub kind: &'static str,
    pub prefix: &'static str,
}

macro_rules! typed_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $prefix:literal $(, formerly $former:literal)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            pub const PREFIX: &'static str = $prefix;
            $(
                /// Earlier versions wrote this prefix. It is still parsed.
                pub const FORMER_PREFIX: &'static str = $former;
            )?

            /// Generates a new id. Later ids sort after earlier ones.
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
                    $(.or_else(|| parse($former, text)))?
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

/// Parses the canonical form only, so that no two texts name the same object.
fn parse(prefix: &str, text: &str) -> Option<Uuid> {
    let digits = text.strip_prefix(prefix)?.strip_prefix('_')?;
    let canonical =
        digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    canonical.then(|| Uuid::try_parse(digits).ok()).flatten()
}

typed_id! {
    /// A running server process.
    ReplicaId, "replica", "rep"
}

typed_id! {
    /// A journal entry. The writer chooses the id, so that a repeated append is recognised.
    EntryId, "entry", "ent"
}

typed_id! {
    /// A person, agent, service or external subject.
    PrincipalId, "principal", "prn"
}

impl PrincipalId {
    /// The principal of runners that servers start. It has no role.
    pub const LAUNCHED_RUNNERS: Self = Self(Uuid::from_u128(0x0000_0000_0000_8000_8000_0000_0000_0001));
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
    /// An agent of a tenant: the id of its principal.
    AgentId, "agent", "agt"
}

typed_id! {
    /// A stored automation of a tenant.
    AutomationId, "automation", "aut"
}

typed_id! {
    /// An image that an application has uploaded for a message.
    AttachmentId, "attachment", "att"
}

typed_id! {
    /// A login: one family of refresh tokens, or one browser session.
    LoginId, "login", "lgn"
}

typed_id! {
    /// One connection to the socket, for logs.
    ConnectionId, "connection", "con"
}

typed_id! {
    /// A long-lived API key of a tenant.
    ServiceKeyId, "service key", "key"
}

typed_id! {
    /// An invitation to a tenant.
    InviteId, "invite", "inv"
}

typed_id! {
    /// A key that signs access tokens: the `kid` in their header.
    SigningKeyId, "signing key", "sgk"
}

typed_id! {
    /// An execution in a session, claimed by one runner at a time.
    RunId, "run", "run"
}

typed_id! {
    /// An instruction to a run.
    CommandId, "command", "cmd"
}

typed_id! {
    /// A conversation and its storage.
    SessionId, "session", "ses"
}

typed_id! {
    /// An enrolment token, with which runners register and claim runs.
    EnrolmentId, "enrolment", "enr"
}

typed_id! {
    /// A runner: a process that drives an agent in a workspace.
    RunnerId, "runner", "rnr"
}

typed_id! {
    /// A job that starts a runner.
    RunnerJobId, "runner job", "rjb"
}

typed_id! {
    /// One attempt of a launcher to start a process. Each is started at most once.
    AttemptId, "attempt", "atp", formerly "att"
}

typed_id! {
    /// A launcher: its state directory on one machine. It outlives the server processes that use it.
    LauncherId, "launcher", "plc"
}

typed_id! {
    /// A test turn that checks whether a provider profile works.
    ValidationId, "validation", "val"
}

typed_id! {
    /// A question of an agent, and its answer.
    ApprovalId, "approval", "apr"
}

typed_id! {
    /// A remembered answer to the questions of agents.
    ApprovalRuleId, "approval rule", "apl"
}

typed_id! {
    /// What a user has granted to an agent.
    RelationId, "relation", "rel"
}

typed_id! {
    /// An endpoint of a tenant that is told about events.
    WebhookId, "webhook", "whk"
}

typed_id! {
    /// An event that is sent to webhooks: the same for each of them and at every attempt.
    WebhookEventId, "webhook event", "evt"
}

typed_id! {
    /// An outbox entry: a side effect to execute after a commit.
    EffectId, "effect", "eff"
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn id_round_trips_through_text(bits in any::<u128>()) {
            let id = ReplicaId::from_uuid(Uuid::from_u128(bits));
            prop_assert_eq!(id.to_string().parse::<ReplicaId>(), Ok(id));
        }

        #[test]
        fn parsed_id_prints_the_same_text(text in "(rep_)?[0-9a-fA-F-]{30,38}") {
            if let Ok(id) = text.parse::<ReplicaId>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }

    #[test]
    fn id_of_another_kind_is_rejected() {
        let error = "run_01920000000070008000000000000000".parse::<ReplicaId>().expect_err("another kind");
        assert_eq!(
            error.to_string(),
            "invalid replica id: expected `rep_` followed by 32 hexadecimal digits"
        );
    }

    /// The prefixes in the declarations above.
    fn prefixes() -> Vec<&'static str> {
        let declarations =
            include_str!("ids.rs").lines().filter(|line| line.starts_with("    ") && line.contains("Id, \""));
        declarations.filter_map(|line| line.split('"').nth(3)).collect()
    }

    #[test]
    fn prefix_names_one_kind_of_id() {
        let found = prefixes();
        assert!(found.contains(&ReplicaId::PREFIX) && found.contains(&EffectId::PREFIX), "{found:?}");
        let unique: std::collections::BTreeSet<_> = found.iter().copied().collect();
        assert_eq!(unique.len(), found.len(), "{found:?}");
    }

    #[test]
    fn attempt_id_with_its_former_prefix_is_parsed() {
        let id = AttemptId::from_uuid(Uuid::from_u128(7));
        assert_eq!(id.to_string(), "atp_00000000000000000000000000000007");
        assert_eq!("att_00000000000000000000000000000007".parse(), Ok(id));
        assert!("atx_00000000000000000000000000000007".parse::<AttemptId>().is_err());
    }

    #[test]
    fn later_ids_sort_after_earlier_ids() {
        let ids: Vec<_> = (0..100).map(|_| ReplicaId::generate()).collect();
        assert!(ids.is_sorted());
    }
}
