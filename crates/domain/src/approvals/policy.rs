//! Who may answer a question, and how answers are counted.

use std::num::NonZeroU8;

use jiff::SignedDuration;

use super::question::OptionEffect;
use crate::access::principal::{PrincipalKind, TokenKind};
use crate::ids::PrincipalId;

/// The rules for questions of a tenant. Each question keeps those it was asked under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalPolicy {
    pub version: u32,
    pub mediation: Mediation,
    /// A question without an answer expires after this time.
    pub expires_after: SignedDuration,
    pub on_expiry: ExpiryEffect,
    /// How long an agent waits with its process before the question is parked.
    pub hold_for: SignedDuration,
    /// How long an answer that was not delivered can be used when the agent asks again.
    pub reuse_within: SignedDuration,
    /// Whether an external subject may answer the questions of its own session.
    pub external_subjects_answer: bool,
}

/// How the answers of several people become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mediation {
    /// The first answer of anyone who may answer.
    FirstResponder,
    /// The answer of one person.
    Designated { approver: PrincipalId },
    /// The same answer of `quorum` people. With `veto`, one denial is enough.
    Consensus { quorum: NonZeroU8, veto: bool },
    /// The first answer from the server's own machine.
    LocalOnly,
}

impl Mediation {
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

/// What happens to a question without an answer. Nothing allows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpiryEffect {
    Deny,
    /// Denies, and ends the turn.
    Interrupt,
    /// Asks the owners of the tenant, for the same time once more; then denies.
    Escalate,
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
}

/// How the server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerAddress {
    Loopback,
    Public,
}

/// The policy of tenants. An agent waits with its process, so a question does not wait for long.
impl Default for ApprovalPolicy {
    fn default() -> Self {
        let hour = SignedDuration::from_hours(1);
        Self {
            version: 1,
            mediation: Mediation::FirstResponder,
            expires_after: hour,
            on_expiry: ExpiryEffect::Deny,
            hold_for: hour,
            reuse_within: hour,
            external_subjects_answer: false,
        }
    }
}

impl ApprovalPolicy {
    const MIN_EXPIRY: SignedDuration = SignedDuration::from_mins(1);
    const MAX_EXPIRY: SignedDuration = SignedDuration::from_hours(90 * 24);

    /// Checks a policy when it is set, and when the server starts.
    pub fn check(&self, address: ServerAddress) -> Result<(), InvalidPolicy> {
        if self.mediation == Mediation::LocalOnly && address == ServerAddress::Public {
            return Err(InvalidPolicy::PublicServer);
        }
        if (Self::MIN_EXPIRY..=Self::MAX_EXPIRY).contains(&self.expires_after) {
            Ok(())
        } else {
            Err(InvalidPolicy::Expiry)
        }
    }
}

/// How a caller is connected to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A connection from loopback, without a proxy.
    DirectLoopback,
    Other,
}

/// A caller who wants to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Voter {
    pub principal: PrincipalId,
    pub kind: PrincipalKind,
    pub token: TokenKind,
    /// Has the permission to decide questions of the tenant.
    pub may_decide: bool,
    /// Created the run, or owns the session of an external subject.
    pub is_creator: bool,
    pub peer: Peer,
}

/// Why a caller may not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VoterError {
    #[error("agents and runners cannot answer questions")]
    NotAPerson,
    #[error("the policy of the tenant does not let external subjects answer")]
    ExternalSubject,
    #[error("another person is designated to answer")]
    NotDesignated,
    #[error("the policy of the tenant wants an answer from the server's own machine")]
    NotLocal,
    #[error("only who created the run, and members with the permission approvals:decide, can answer")]
    NoPermission,
}

/// Decides whether a caller may answer.
pub fn check_voter(policy: &ApprovalPolicy, voter: &Voter) -> Result<(), VoterError> {
    match voter.token {
        TokenKind::User | TokenKind::Service | TokenKind::External => {}
        TokenKind::Agent | TokenKind::Enrolment | TokenKind::Run => return Err(VoterError::NotAPerson),
    }
    match voter.kind {
        PrincipalKind::Agent => return Err(VoterError::NotAPerson),
        PrincipalKind::External if !(policy.external_subjects_answer && voter.is_creator) => {
            return Err(VoterError::ExternalSubject);
        }
        // A service answers for people only with the permission.
        PrincipalKind::Service if !voter.may_decide => return Err(VoterError::NoPermission),
        PrincipalKind::Person | PrincipalKind::Service | PrincipalKind::External => {}
    }
    match policy.mediation {
        Mediation::Designated { approver } if approver != voter.principal => {
            return Err(VoterError::NotDesignated);
        }
        Mediation::LocalOnly if voter.peer != Peer::DirectLoopback => return Err(VoterError::NotLocal),
        // Being designated is the permission.
        Mediation::Designated { .. } => return Ok(()),
        Mediation::FirstResponder | Mediation::Consensus { .. } | Mediation::LocalOnly => {}
    }
    if voter.may_decide || voter.is_creator { Ok(()) } else { Err(VoterError::NoPermission) }
}

/// A counted answer. Each principal has at most one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vote {
    pub principal: PrincipalId,
    pub option: String,
    pub effect: OptionEffect,
}

/// The result of a count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VoteResult {
    /// More answers are needed.
    Open,
    /// These people have chosen this option.
    Chosen { option: String, by: Vec<PrincipalId> },
    /// The people who are left cannot reach the quorum: it is denied at once.
    Unreachable,
}

/// Counts the answers, in the order of their time. `voters_left` is the number of people who may answer and have not.
#[must_use]
pub fn count_votes(mediation: Mediation, votes: &[Vote], voters_left: usize) -> VoteResult {
    let chosen = |option: &str| VoteResult::Chosen {
        option: option.to_owned(),
        by: votes.iter().filter(|vote| vote.option == option).map(|vote| vote.principal).collect(),
    };
    let Mediation::Consensus { quorum, veto } = mediation else {
        return votes.first().map_or(VoteResult::Open, |first| VoteResult::Chosen {
            option: first.option.clone(),
            by: vec![first.principal],
        });
    };
    if let Some(denial) = votes.iter().find(|vote| veto && vote.effect == OptionEffect::Deny) {
        return VoteResult::Chosen { option: denial.option.clone(), by: vec![denial.principal] };
    }
    let quorum = usize::from(quorum.get());
    let count = |option: &str| votes.iter().filter(|vote| vote.option == option).count();
    if let Some(winner) = votes.iter().find(|vote| count(&vote.option) >= quorum) {
        return chosen(&winner.option);
    }
    let most = votes.iter().map(|vote| count(&vote.option)).max().unwrap_or(0);
    if most + voters_left < quorum { VoteResult::Unreachable } else { VoteResult::Open }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn policy(mediation: Mediation) -> ApprovalPolicy {
        ApprovalPolicy {
            version: 1,
            mediation,
            expires_after: SignedDuration::from_hours(24),
            on_expiry: ExpiryEffect::Deny,
            hold_for: SignedDuration::from_mins(5),
            reuse_within: SignedDuration::from_hours(24),
            external_subjects_answer: false,
        }
    }

    fn voter(kind: PrincipalKind, token: TokenKind) -> Voter {
        let principal = PrincipalId::generate();
        Voter { principal, kind, token, may_decide: false, is_creator: false, peer: Peer::Other }
    }

    fn quorum(number: u8) -> NonZeroU8 {
        NonZeroU8::new(number).expect("not zero")
    }

    fn vote(option: &str, effect: OptionEffect) -> Vote {
        Vote { principal: PrincipalId::generate(), option: option.to_owned(), effect }
    }

    #[test]
    fn agents_and_runners_never_answer_in_any_mode() {
        for (kind, token) in [
            (PrincipalKind::Agent, TokenKind::Agent),
            (PrincipalKind::Agent, TokenKind::User),
            (PrincipalKind::Person, TokenKind::Run),
            (PrincipalKind::Service, TokenKind::Enrolment),
        ] {
            let mut asker = voter(kind, token);
            (asker.may_decide, asker.is_creator, asker.peer) = (true, true, Peer::DirectLoopback);
            for mediation in [
                Mediation::FirstResponder,
                Mediation::Designated { approver: asker.principal },
                Mediation::Consensus { quorum: quorum(1), veto: false },
                Mediation::LocalOnly,
            ] {
                let refused = check_voter(&policy(mediation), &asker);
                assert_eq!(refused, Err(VoterError::NotAPerson), "{kind} {token} {}", mediation.name());
            }
        }
    }

    #[test]
    fn creator_and_members_with_the_permission_answer() {
        let policy = policy(Mediation::FirstResponder);
        let person = voter(PrincipalKind::Person, TokenKind::User);
        assert_eq!(check_voter(&policy, &person), Err(VoterError::NoPermission));
        assert_eq!(check_voter(&policy, &Voter { may_decide: true, ..person }), Ok(()));
        assert_eq!(check_voter(&policy, &Voter { is_creator: true, ..person }), Ok(()));
        let service = Voter { is_creator: true, ..voter(PrincipalKind::Service, TokenKind::Service) };
        assert_eq!(check_voter(&policy, &service), Err(VoterError::NoPermission));
        assert_eq!(check_voter(&policy, &Voter { may_decide: true, ..service }), Ok(()));
    }

    #[test]
    fn external_subject_answers_only_its_own_session_if_the_policy_says_so() {
        let mut policy = policy(Mediation::FirstResponder);
        let subject = Voter { is_creator: true, ..voter(PrincipalKind::External, TokenKind::External) };
        assert_eq!(check_voter(&policy, &subject), Err(VoterError::ExternalSubject));
        policy.external_subjects_answer = true;
        assert_eq!(check_voter(&policy, &subject), Ok(()));
        let other = Voter { is_creator: false, ..subject };
        assert_eq!(check_voter(&policy, &other), Err(VoterError::ExternalSubject));
    }

    #[test]
    fn designated_and_local_modes_refuse_everyone_else() {
        let person = Voter { may_decide: true, ..voter(PrincipalKind::Person, TokenKind::User) };
        let other = policy(Mediation::Designated { approver: PrincipalId::generate() });
        assert_eq!(check_voter(&other, &person), Err(VoterError::NotDesignated));
        let designated = policy(Mediation::Designated { approver: person.principal });
        assert_eq!(check_voter(&designated, &Voter { may_decide: false, ..person }), Ok(()));
        let local = policy(Mediation::LocalOnly);
        assert_eq!(check_voter(&local, &person), Err(VoterError::NotLocal));
        assert_eq!(check_voter(&local, &Voter { peer: Peer::DirectLoopback, ..person }), Ok(()));
    }

    #[test]
    fn local_only_is_refused_on_a_public_server() {
        let local = policy(Mediation::LocalOnly);
        assert_eq!(local.check(ServerAddress::Public), Err(InvalidPolicy::PublicServer));
        assert_eq!(local.check(ServerAddress::Loopback), Ok(()));
        let endless =
            ApprovalPolicy { expires_after: SignedDuration::MAX, ..policy(Mediation::FirstResponder) };
        assert_eq!(endless.check(ServerAddress::Public), Err(InvalidPolicy::Expiry));
    }

    #[test]
    fn quorum_that_cannot_be_reached_ends_at_once() {
        let two = Mediation::Consensus { quorum: quorum(2), veto: false };
        let votes = [vote("yes", OptionEffect::Allow), vote("no", OptionEffect::Deny)];
        assert_eq!(count_votes(two, &votes, 1), VoteResult::Open);
        assert_eq!(count_votes(two, &votes, 0), VoteResult::Unreachable);
        let veto = Mediation::Consensus { quorum: quorum(2), veto: true };
        let denied = VoteResult::Chosen { option: "no".to_owned(), by: vec![votes[1].principal] };
        assert_eq!(count_votes(veto, &votes, 5), denied);
    }

    fn votes() -> impl Strategy<Value = Vec<Vote>> {
        let effect = proptest::sample::select(&[OptionEffect::Allow, OptionEffect::Deny][..]);
        proptest::collection::vec(effect.prop_map(|effect| vote(effect.as_str(), effect)), 0..8)
    }

    proptest! {
        #[test]
        fn consensus_allows_only_with_a_whole_quorum(
            votes in votes(), number in 1u8..6, veto: bool, left in 0usize..4
        ) {
            let result = count_votes(Mediation::Consensus { quorum: quorum(number), veto }, &votes, left);
            let allows = votes.iter().filter(|vote| vote.effect == OptionEffect::Allow).count();
            if let VoteResult::Chosen { option, by } = &result && option == "allow" {
                prop_assert!(allows >= usize::from(number) && by.len() == allows);
                prop_assert!(!veto || allows == votes.len());
            }
            // One more voter never makes an open question unreachable.
            if result == VoteResult::Open {
                let more = count_votes(Mediation::Consensus { quorum: quorum(number), veto }, &votes, left + 1);
                prop_assert_eq!(more, VoteResult::Open);
            }
        }

        #[test]
        fn first_answer_wins_in_other_modes(votes in votes(), left in 0usize..4) {
            for mediation in [Mediation::FirstResponder, Mediation::LocalOnly] {
                let expected = votes.first().map_or(VoteResult::Open, |first| VoteResult::Chosen {
                    option: first.option.clone(),
                    by: vec![first.principal],
                });
                prop_assert_eq!(count_votes(mediation, &votes, left), expected);
            }
        }
    }
}
