//! Who may answer a question, and how answers are counted.

use std::num::NonZeroU8;

use jiff::SignedDuration;

use super::digest::ContentDigest;
use super::question::OptionEffect;
use crate::access::principal::{PrincipalKind, TokenKind};
use crate::access::role::{Permission, Role};
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
    /// Whether an external subject may answer the questions of its own session.
    pub external_subjects_answer: bool,
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
            external_subjects_answer: false,
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
    /// In the tenant; an external subject has none.
    pub role: Option<Role>,
    pub relation: VoterRelation,
    pub peer: Peer,
}

/// What a voter has to do with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VoterRelation {
    /// Created the run, or owns the session of an external subject.
    pub is_creator: bool,
    /// Sent the turn that asks.
    pub is_sender: bool,
    /// The question was escalated to the owners of the tenant.
    pub is_escalated: bool,
}

impl Voter {
    /// Returns a person who has answered before, as they may answer now. Where they were connected is known no more.
    #[must_use]
    pub const fn earlier(principal: PrincipalId, role: Role, relation: VoterRelation) -> Self {
        let (kind, token) = (PrincipalKind::Person, TokenKind::User);
        Self { principal, kind, token, role: Some(role), relation, peer: Peer::DirectLoopback }
    }
}

/// Why a caller may not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VoterError {
    #[error("agents and runners cannot answer questions")]
    NotAPerson,
    #[error("a quorum counts people: a service key cannot answer")]
    ServiceInQuorum,
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
    let is_allowed = |permission| voter.role.is_some_and(|role| role.allows(permission));
    let (may_decide, relation) = (is_allowed(Permission::ApprovalsDecide), voter.relation);
    match voter.kind {
        PrincipalKind::Agent => return Err(VoterError::NotAPerson),
        PrincipalKind::External if !(policy.external_subjects_answer && relation.is_creator) => {
            return Err(VoterError::ExternalSubject);
        }
        // Whoever manages keys could reach a quorum alone.
        PrincipalKind::Service if matches!(policy.mediation, Mediation::Consensus { .. }) => {
            return Err(VoterError::ServiceInQuorum);
        }
        // A service answers for people only with the permission.
        PrincipalKind::Service if !may_decide => return Err(VoterError::NoPermission),
        PrincipalKind::Person | PrincipalKind::Service | PrincipalKind::External => {}
    }
    if voter.kind != PrincipalKind::External && !is_allowed(Permission::RunsWrite) {
        return Err(VoterError::NoPermission);
    }
    let is_escalated_to = relation.is_escalated && voter.role == Some(Role::Owner);
    match policy.mediation {
        Mediation::LocalOnly if voter.peer != Peer::DirectLoopback => return Err(VoterError::NotLocal),
        _ if is_escalated_to => return Ok(()),
        // Being designated is the permission.
        Mediation::Designated { approver: Some(approver) } if approver == voter.principal => return Ok(()),
        Mediation::Designated { approver: None } if relation.is_sender => return Ok(()),
        Mediation::Designated { .. } => return Err(VoterError::NotDesignated),
        Mediation::FirstResponder | Mediation::Consensus { .. } | Mediation::LocalOnly => {}
    }
    if may_decide || relation.is_creator { Ok(()) } else { Err(VoterError::NoPermission) }
}

/// Decides whether a caller may withdraw a question. A withdrawal allows nothing, so the mode of the policy does not matter.
pub fn check_withdrawal(caller: &Voter) -> Result<(), WithdrawalError> {
    match (caller.token, caller.kind) {
        (TokenKind::Agent | TokenKind::Enrolment | TokenKind::Run, _) | (_, PrincipalKind::Agent) => {
            return Err(WithdrawalError::NotAPerson);
        }
        (
            TokenKind::User | TokenKind::Service | TokenKind::External,
            PrincipalKind::Person | PrincipalKind::Service | PrincipalKind::External,
        ) => {}
    }
    let is_allowed = |permission| caller.role.is_some_and(|role| role.allows(permission));
    let is_creator = caller.relation.is_creator && is_allowed(Permission::RunsWrite);
    if is_creator || is_allowed(Permission::ApprovalsDecide) {
        Ok(())
    } else {
        Err(WithdrawalError::NoPermission)
    }
}

/// Why a caller may not withdraw a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WithdrawalError {
    #[error("agents and runners cannot withdraw questions")]
    NotAPerson,
    #[error(
        "only who created the run, and members with the permission approvals:decide, can withdraw the question"
    )]
    NoPermission,
}

/// A counted answer. Each principal has at most one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vote {
    pub principal: PrincipalId,
    pub option: String,
    pub effect: OptionEffect,
    /// Of the values, for an option that answers.
    pub content: Option<ContentDigest>,
}

impl Vote {
    /// Returns whether both say the same: the same option, and the same values.
    #[must_use]
    pub fn is_same_answer(&self, other: &Self) -> bool {
        self.option == other.option && self.content == other.content
    }
}

/// The result of a count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VoteResult {
    /// More answers are needed.
    Open,
    /// These people have chosen this option, with the same values.
    Chosen { option: String, by: Vec<PrincipalId> },
    /// The people who are left cannot reach the quorum: it is denied at once.
    Unreachable,
}

/// Counts the answers, in the order of their time. `voters_left` is the number of people who may answer and have not.
#[must_use]
pub fn count_votes(mediation: Mediation, votes: &[Vote], voters_left: usize) -> VoteResult {
    let equal = |vote: &Vote| -> Vec<PrincipalId> {
        votes.iter().filter(|other| other.is_same_answer(vote)).map(|other| other.principal).collect()
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
    if let Some(winner) = votes.iter().find(|vote| equal(vote).len() >= quorum) {
        return VoteResult::Chosen { option: winner.option.clone(), by: equal(winner) };
    }
    let most = votes.iter().map(|vote| equal(vote).len()).max().unwrap_or(0);
    if most + voters_left < quorum { VoteResult::Unreachable } else { VoteResult::Open }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OPERATOR: Option<Role> = Some(Role::Operator);

    const CREATOR: VoterRelation = VoterRelation { is_creator: true, is_sender: false, is_escalated: false };

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
        let role = (kind != PrincipalKind::External).then_some(Role::Developer);
        Voter { principal, kind, token, role, relation: VoterRelation::default(), peer: Peer::Other }
    }

    fn quorum(number: u8) -> NonZeroU8 {
        NonZeroU8::new(number).expect("not zero")
    }

    fn vote(option: &str, effect: OptionEffect) -> Vote {
        Vote { principal: PrincipalId::generate(), option: option.to_owned(), effect, content: None }
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
            (asker.role, asker.peer) = (Some(Role::Owner), Peer::DirectLoopback);
            asker.relation = VoterRelation { is_creator: true, is_sender: true, is_escalated: true };
            for mediation in [
                Mediation::FirstResponder,
                Mediation::Designated { approver: Some(asker.principal) },
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
        assert_eq!(check_voter(&policy, &Voter { role: OPERATOR, ..person }), Ok(()));
        assert_eq!(check_voter(&policy, &Voter { relation: CREATOR, ..person }), Ok(()));
        let viewer = Voter { role: Some(Role::Viewer), relation: CREATOR, ..person };
        assert_eq!(check_voter(&policy, &viewer), Err(VoterError::NoPermission), "no longer a developer");
        let service = Voter { relation: CREATOR, ..voter(PrincipalKind::Service, TokenKind::Service) };
        assert_eq!(check_voter(&policy, &service), Err(VoterError::NoPermission));
        assert_eq!(check_voter(&policy, &Voter { role: OPERATOR, ..service }), Ok(()));
    }

    #[test]
    fn creator_and_members_with_the_permission_withdraw_and_no_agent_does() {
        let person = voter(PrincipalKind::Person, TokenKind::User);
        assert_eq!(check_withdrawal(&person), Err(WithdrawalError::NoPermission));
        assert_eq!(check_withdrawal(&Voter { role: OPERATOR, ..person }), Ok(()));
        assert_eq!(check_withdrawal(&Voter { relation: CREATOR, ..person }), Ok(()));
        let viewer = Voter { role: Some(Role::Viewer), relation: CREATOR, ..person };
        assert_eq!(check_withdrawal(&viewer), Err(WithdrawalError::NoPermission));
        let subject = Voter { relation: CREATOR, ..voter(PrincipalKind::External, TokenKind::External) };
        assert_eq!(check_withdrawal(&subject), Err(WithdrawalError::NoPermission));
        for (kind, token) in [
            (PrincipalKind::Agent, TokenKind::Agent),
            (PrincipalKind::Agent, TokenKind::User),
            (PrincipalKind::Person, TokenKind::Run),
            (PrincipalKind::Service, TokenKind::Enrolment),
        ] {
            let agent = Voter { role: Some(Role::Owner), relation: CREATOR, ..voter(kind, token) };
            assert_eq!(check_withdrawal(&agent), Err(WithdrawalError::NotAPerson), "{kind} {token}");
        }
    }

    #[test]
    fn external_subject_answers_only_its_own_session_if_the_policy_says_so() {
        let mut policy = policy(Mediation::FirstResponder);
        let subject = Voter { relation: CREATOR, ..voter(PrincipalKind::External, TokenKind::External) };
        assert_eq!(check_voter(&policy, &subject), Err(VoterError::ExternalSubject));
        policy.external_subjects_answer = true;
        assert_eq!(check_voter(&policy, &subject), Ok(()));
        let other = Voter { relation: VoterRelation::default(), ..subject };
        assert_eq!(check_voter(&policy, &other), Err(VoterError::ExternalSubject));
    }

    #[test]
    fn designated_and_local_modes_refuse_everyone_else() {
        let person = Voter { role: OPERATOR, ..voter(PrincipalKind::Person, TokenKind::User) };
        let other = policy(Mediation::Designated { approver: Some(PrincipalId::generate()) });
        assert_eq!(check_voter(&other, &person), Err(VoterError::NotDesignated));
        let designated = policy(Mediation::Designated { approver: Some(person.principal) });
        assert_eq!(check_voter(&designated, &Voter { role: Some(Role::Developer), ..person }), Ok(()));
        let local = policy(Mediation::LocalOnly);
        assert_eq!(check_voter(&local, &person), Err(VoterError::NotLocal));
        assert_eq!(check_voter(&local, &Voter { peer: Peer::DirectLoopback, ..person }), Ok(()));
    }

    #[test]
    fn sender_of_the_turn_is_designated_by_default() {
        let policy = policy(Mediation::Designated { approver: None });
        let person = voter(PrincipalKind::Person, TokenKind::User);
        let creator = Voter { role: OPERATOR, relation: CREATOR, ..person };
        assert_eq!(check_voter(&policy, &creator), Err(VoterError::NotDesignated));
        let sender = VoterRelation { is_sender: true, ..VoterRelation::default() };
        assert_eq!(check_voter(&policy, &Voter { relation: sender, ..person }), Ok(()));
    }

    #[test]
    fn owner_answers_an_escalated_question_of_another_person() {
        let designated = policy(Mediation::Designated { approver: Some(PrincipalId::generate()) });
        let escalated = VoterRelation { is_escalated: true, ..VoterRelation::default() };
        let person = voter(PrincipalKind::Person, TokenKind::User);
        let owner = Voter { role: Some(Role::Owner), relation: escalated, ..person };
        assert_eq!(check_voter(&designated, &owner), Ok(()));
        let early = Voter { relation: VoterRelation::default(), ..owner };
        assert_eq!(check_voter(&designated, &early), Err(VoterError::NotDesignated));
        let operator = Voter { role: OPERATOR, ..owner };
        assert_eq!(check_voter(&designated, &operator), Err(VoterError::NotDesignated));
        assert_eq!(check_voter(&policy(Mediation::LocalOnly), &owner), Err(VoterError::NotLocal));
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

    #[test]
    fn answers_count_together_only_with_the_same_values() {
        let two = Mediation::Consensus { quorum: quorum(2), veto: false };
        let answer = |digest: u8| Vote {
            content: Some(ContentDigest::from_bytes([digest; 32])),
            ..vote("answer", OptionEffect::Answer)
        };
        let votes = [answer(1), answer(2), answer(1)];
        assert_eq!(count_votes(two, &votes[..2], 1), VoteResult::Open);
        assert_eq!(count_votes(two, &votes[..2], 0), VoteResult::Unreachable);
        let by = vec![votes[0].principal, votes[2].principal];
        assert_eq!(count_votes(two, &votes, 0), VoteResult::Chosen { option: "answer".to_owned(), by });
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
