//! Who may answer a question, and who may withdraw it.

use super::policy::{ApprovalPolicy, Mediation};
use crate::access::principal::{PrincipalKind, TokenKind};
use crate::access::role::{Permission, Role};
use crate::ids::PrincipalId;

/// How a caller is connected to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientConnection {
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
    pub peer: ClientConnection,
}

/// What a voter has to do with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VoterRelation {
    /// Created the run.
    pub is_creator: bool,
    /// Sent the turn that asks.
    pub is_sender: bool,
    /// The question was escalated to the owners of the tenant.
    pub is_escalated: bool,
    /// Is the external subject whose conversation it is, and the agent lets end users answer.
    pub is_end_user: bool,
}

impl Voter {
    /// Returns someone who has answered before, as they may answer now. Where they were connected is known no more.
    #[must_use]
    pub fn earlier(principal: PrincipalId, role: Option<Role>, relation: VoterRelation) -> Self {
        let (kind, token, role) = if relation.is_end_user {
            (PrincipalKind::External, TokenKind::External, None)
        } else {
            (PrincipalKind::Person, TokenKind::User, role)
        };
        Self { principal, kind, token, role, relation, peer: ClientConnection::DirectLoopback }
    }
}

/// Why a caller may not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VoterError {
    #[error("agents and runners cannot answer questions")]
    NotAPerson,
    #[error("a quorum counts members: a service key or an end user cannot answer")]
    NotAMember,
    #[error("the agent does not let its end users answer, or the conversation is not theirs")]
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
        PrincipalKind::External if !relation.is_end_user => return Err(VoterError::ExternalSubject),
        // Whoever manages keys could reach a quorum alone.
        PrincipalKind::Service | PrincipalKind::External
            if matches!(policy.mediation, Mediation::Consensus { .. }) =>
        {
            return Err(VoterError::NotAMember);
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
        Mediation::LocalOnly if voter.peer != ClientConnection::DirectLoopback => {
            return Err(VoterError::NotLocal);
        }
        _ if is_escalated_to => return Ok(()),
        // Being designated is the permission.
        Mediation::Designated { approver: Some(approver) } if approver == voter.principal => return Ok(()),
        Mediation::Designated { approver: None } if relation.is_sender => return Ok(()),
        Mediation::Designated { .. } => return Err(VoterError::NotDesignated),
        Mediation::FirstResponder | Mediation::Consensus { .. } | Mediation::LocalOnly => {}
    }
    if may_decide || relation.is_creator || relation.is_end_user {
        Ok(())
    } else {
        Err(VoterError::NoPermission)
    }
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

#[cfg(test)]
mod tests {
    use std::num::NonZeroU8;

    use super::*;

    const OPERATOR: Option<Role> = Some(Role::Operator);

    const CREATOR: VoterRelation =
        VoterRelation { is_creator: true, is_sender: false, is_escalated: false, is_end_user: false };

    fn policy(mediation: Mediation) -> ApprovalPolicy {
        ApprovalPolicy { mediation, ..ApprovalPolicy::default() }
    }

    fn voter(kind: PrincipalKind, token: TokenKind) -> Voter {
        let principal = PrincipalId::generate();
        let role = (kind != PrincipalKind::External).then_some(Role::Developer);
        Voter {
            principal,
            kind,
            token,
            role,
            relation: VoterRelation::default(),
            peer: ClientConnection::Other,
        }
    }

    fn quorum(number: u8) -> NonZeroU8 {
        NonZeroU8::new(number).expect("not zero")
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
            (asker.role, asker.peer) = (Some(Role::Owner), ClientConnection::DirectLoopback);
            asker.relation =
                VoterRelation { is_creator: true, is_sender: true, is_escalated: true, is_end_user: true };
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
    fn external_subject_answers_only_if_the_agent_lets_it() {
        let first = policy(Mediation::FirstResponder);
        let subject = Voter { relation: CREATOR, ..voter(PrincipalKind::External, TokenKind::External) };
        assert_eq!(check_voter(&first, &subject), Err(VoterError::ExternalSubject));
        let owner = Voter { role: Some(Role::Owner), ..subject };
        assert_eq!(check_voter(&first, &owner), Err(VoterError::ExternalSubject), "a role does not help");
        let end_user = VoterRelation { is_end_user: true, is_sender: true, ..CREATOR };
        let end_user = Voter { relation: end_user, ..subject };
        assert_eq!(check_voter(&first, &end_user), Ok(()));
        assert_eq!(check_voter(&policy(Mediation::Designated { approver: None }), &end_user), Ok(()));
        let quorum = NonZeroU8::new(2).expect("not zero");
        let consensus = policy(Mediation::Consensus { quorum, veto: false });
        assert_eq!(check_voter(&consensus, &end_user), Err(VoterError::NotAMember));
        assert_eq!(check_voter(&policy(Mediation::LocalOnly), &end_user), Err(VoterError::NotLocal));
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
        assert_eq!(check_voter(&local, &Voter { peer: ClientConnection::DirectLoopback, ..person }), Ok(()));
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
}
