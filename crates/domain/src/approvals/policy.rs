//! The approval policy of a tenant: who answers, when answers decide, and what happens without one.

use std::num::NonZeroU8;

use jiff::SignedDuration;

use crate::ids::PrincipalId;
use crate::named_enum::named_enum;

/// The rules for questions of a tenant. Each question keeps the version that it was asked under.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ApprovalPolicy {
    /// Set by the store, beside the policy.
    #[serde(skip)]
    pub version: u32,
    pub mediation: Mediation,
    /// A question without an answer expires after this time.
    pub expires_after: SignedDuration,
    pub on_expiry: ExpiryEffect,
    /// How long an agent waits with its process before the question is parked.
    pub hold_for: SignedDuration,
    /// How long an answer that was not delivered can be used when the agent asks again.
    pub reuse_within: SignedDuration,
}

/// How the answers of several people become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "mode", rename_all = "kebab-case")]
pub enum Mediation {
    /// The first answer of anyone who may answer.
    FirstResponder,
    /// The answer of one person; none for who sent the turn that asks.
    Designated { approver: Option<PrincipalId> },
    /// The same answer of `quorum` people. With `veto`, one denial is enough.
    Consensus { quorum: NonZeroU8, veto: bool },
    /// The first answer from the server's own machine.
    LocalOnly,
}

impl Mediation {
    /// The names of all modes.
    pub const MODES: &[&str] = &["first-responder", "designated", "consensus", "local-only"];

    /// Returns the name that capabilities and events show.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::FirstResponder => "first-responder",
            Self::Designated { .. } => "designated",
            Self::Consensus { .. } => "consensus",
            Self::LocalOnly => "local-only",
        }
    }
}

named_enum! {
    /// What happens to a question without an answer. Nothing allows it.
    ExpiryEffect, "expiry effect";
    Deny = "deny",
    /// Denies, and ends the turn.
    Interrupt = "interrupt",
    /// Asks the owners of the tenant, for the same time once more; then denies.
    Escalate = "escalate",
}

/// Why a policy cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPolicy {
    #[error(
        "local-only needs a server that is reached on loopback only: remove http.public_url, or choose another mode"
    )]
    PublicServer,
    #[error("questions must expire after 1 minute to 90 days")]
    Expiry,
    #[error("an agent must wait for 10 seconds to 24 hours, and no longer than the question")]
    Hold,
    #[error("an answer can be used for at most 90 days")]
    Reuse,
}

/// How the server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerAddress {
    Loopback,
    Public,
}

/// The policy of tenants that have none of their own.
impl Default for ApprovalPolicy {
    fn default() -> Self {
        let day = SignedDuration::from_hours(24);
        Self {
            version: Self::DEFAULT_VERSION,
            mediation: Mediation::FirstResponder,
            expires_after: day,
            on_expiry: ExpiryEffect::Deny,
            hold_for: SignedDuration::from_mins(10),
            reuse_within: day,
        }
    }
}

impl ApprovalPolicy {
    const MIN_EXPIRY: SignedDuration = SignedDuration::from_mins(1);
    const MAX_EXPIRY: SignedDuration = SignedDuration::from_hours(90 * 24);
    const MIN_HOLD: SignedDuration = SignedDuration::from_secs(10);
    const MAX_HOLD: SignedDuration = SignedDuration::from_hours(24);

    /// The version of the default policy. A tenant's own policies have later ones.
    pub const DEFAULT_VERSION: u32 = 1;

    /// Reads a stored policy.
    pub fn from_json(version: u32, text: &str) -> Result<Self, serde_json::Error> {
        Ok(Self { version, ..serde_json::from_str(text)? })
    }

    /// Returns the stored form. The version is stored beside it.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// Checks a policy when it is set, and when the server starts.
    pub fn check(&self, address: ServerAddress) -> Result<(), InvalidPolicy> {
        if self.mediation == Mediation::LocalOnly && address == ServerAddress::Public {
            return Err(InvalidPolicy::PublicServer);
        }
        if !(Self::MIN_EXPIRY..=Self::MAX_EXPIRY).contains(&self.expires_after) {
            return Err(InvalidPolicy::Expiry);
        }
        let max_hold = Self::MAX_HOLD.min(self.expires_after);
        if !(Self::MIN_HOLD..=max_hold).contains(&self.hold_for) {
            return Err(InvalidPolicy::Hold);
        }
        if !(SignedDuration::ZERO..=Self::MAX_EXPIRY).contains(&self.reuse_within) {
            return Err(InvalidPolicy::Reuse);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(mediation: Mediation) -> ApprovalPolicy {
        ApprovalPolicy { mediation, ..ApprovalPolicy::default() }
    }

    fn quorum(number: u8) -> NonZeroU8 {
        NonZeroU8::new(number).expect("not zero")
    }

    #[test]
    fn stored_policy_is_read_back() {
        for mediation in [
            Mediation::FirstResponder,
            Mediation::Designated { approver: None },
            Mediation::Designated { approver: Some(PrincipalId::generate()) },
            Mediation::Consensus { quorum: quorum(3), veto: true },
            Mediation::LocalOnly,
        ] {
            let policy = ApprovalPolicy { version: 7, ..policy(mediation) };
            assert_eq!(ApprovalPolicy::from_json(7, &policy.to_json()).expect("readable"), policy);
        }
    }

    #[test]
    fn local_only_is_refused_on_a_public_server() {
        let local = policy(Mediation::LocalOnly);
        assert_eq!(local.check(ServerAddress::Public), Err(InvalidPolicy::PublicServer));
        assert_eq!(local.check(ServerAddress::Loopback), Ok(()));
        let endless =
            ApprovalPolicy { expires_after: SignedDuration::MAX, ..policy(Mediation::FirstResponder) };
        assert_eq!(endless.check(ServerAddress::Public), Err(InvalidPolicy::Expiry));
        let held =
            ApprovalPolicy { hold_for: SignedDuration::from_hours(25), ..policy(Mediation::LocalOnly) };
        assert_eq!(held.check(ServerAddress::Loopback), Err(InvalidPolicy::Hold));
    }
}
