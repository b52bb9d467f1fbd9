//! Who may answer a question, and what their answers come to.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::principal::{PrincipalKind, TokenKind};
use guildhall_domain::access::role::{Permission, Right, Role};
use guildhall_domain::approvals::policy::{ApprovalPolicy, Mediation};
use guildhall_domain::approvals::question::Question;
use guildhall_domain::approvals::state::{DecidedBy, Decision};
use guildhall_domain::approvals::vote::{Vote, VoteResult, count_votes};
use guildhall_domain::approvals::voter::{ClientConnection, Voter, VoterError, VoterRelation, check_voter};
use guildhall_domain::ids::{ApprovalId, CommandId, PrincipalId};
use guildhall_store::{approval_votes, commands, external_subjects, memberships};

use super::error::ApprovalError;
use crate::ServiceError;
use crate::run_steps::LockedRun;

/// What decides who may answer a question.
#[derive(Debug, Clone, Copy)]
pub(super) struct VoterRules<'a> {
    pub(super) policy: &'a ApprovalPolicy,
    /// Who created the run.
    creator: PrincipalId,
    /// Who sent the turn that asks.
    sender: PrincipalId,
    /// The external subject that may answer.
    end_user: Option<PrincipalId>,
    is_escalated: bool,
}

impl<'a> VoterRules<'a> {
    pub(super) async fn load(
        locked: &mut LockedRun,
        policy: &'a ApprovalPolicy,
        command: CommandId,
        is_escalated: bool,
    ) -> Result<Self, ServiceError> {
        let turn = commands::load(&mut locked.tx, command).await?.ok_or(ServiceError::NOT_FOUND)?;
        let end_user = external_subjects::load_answering(&mut locked.tx, locked.run.id).await?;
        Ok(Self::new(policy, locked.run.created_by, turn.created_by, is_escalated).with_end_user(end_user))
    }

    pub(super) const fn new(
        policy: &'a ApprovalPolicy,
        creator: PrincipalId,
        sender: PrincipalId,
        is_escalated: bool,
    ) -> Self {
        Self { policy, creator, sender, end_user: None, is_escalated }
    }

    /// The same rules with an external subject that may answer.
    pub(super) const fn with_end_user(self, end_user: Option<PrincipalId>) -> Self {
        Self { end_user, ..self }
    }

    /// The same rules for a question that was escalated to the owners, or was not.
    pub(super) const fn escalated(self, is_escalated: bool) -> Self {
        Self { is_escalated, ..self }
    }

    /// Returns what a caller with this role has to do with the question, without its connection.
    pub(super) fn voter<R: Right>(&self, caller: &Authorized<R>, role: Option<Role>) -> Voter {
        Voter {
            principal: caller.principal,
            kind: principal_kind(caller.kind),
            token: caller.kind,
            role,
            relation: self.relation(caller.principal),
            peer: ClientConnection::Other,
        }
    }

    /// Checks whether a caller with this role may answer.
    pub(super) fn check<R: Right>(
        &self,
        caller: &Authorized<R>,
        role: Option<Role>,
        peer: ClientConnection,
    ) -> Result<(), VoterError> {
        check_voter(self.policy, &Voter { peer, ..self.voter(caller, role) })
    }

    fn relation(&self, principal: PrincipalId) -> VoterRelation {
        VoterRelation {
            is_creator: self.creator == principal,
            is_sender: self.sender == principal,
            is_escalated: self.is_escalated,
            is_end_user: self.end_user == Some(principal),
        }
    }

    /// Returns whether someone with this role in the tenant may answer now.
    pub(super) fn allows(&self, principal: PrincipalId, role: Option<Role>) -> bool {
        check_voter(self.policy, &Voter::earlier(principal, role, self.relation(principal))).is_ok()
    }

    /// Returns the answers of those who may still answer.
    pub(super) fn valid_votes(&self, found: Vec<(Vote, Option<Role>)>) -> Vec<Vote> {
        let is_valid = |(vote, role): &(Vote, Option<Role>)| self.allows(vote.principal, *role);
        found.into_iter().filter(is_valid).map(|(vote, _)| vote).collect()
    }

    /// Counts the answers of those who may still answer.
    pub(super) async fn count(
        &self,
        locked: &mut LockedRun,
        approval: ApprovalId,
    ) -> Result<(VoteResult, usize), ServiceError> {
        let tenant = locked.run.tenant;
        let votes = self.valid_votes(approval_votes::load(&mut locked.tx, approval, tenant).await?);
        let left = match self.policy.mediation {
            Mediation::Consensus { .. } => self.count_voters_left(locked, &votes).await?,
            Mediation::FirstResponder | Mediation::Designated { .. } | Mediation::LocalOnly => 0,
        };
        Ok((count_votes(self.policy.mediation, &votes, left), votes.len()))
    }

    async fn count_voters_left(&self, locked: &mut LockedRun, votes: &[Vote]) -> Result<usize, ServiceError> {
        let roles: Vec<Role> =
            Role::ALL.iter().copied().filter(|role| role.allows(Permission::ApprovalsDecide)).collect();
        let others = [self.creator, self.sender];
        let tenant = locked.run.tenant;
        let members = memberships::load_with_roles(&mut locked.tx, tenant, &roles, &others).await?;
        let has_voted = |member| votes.iter().any(|vote| vote.principal == member);
        Ok(members
            .iter()
            .filter(|(member, role)| self.allows(*member, Some(*role)) && !has_voted(*member))
            .count())
    }
}

/// Returns the decision of a count; none while it is open. A quorum that cannot be reached denies.
pub(super) fn decision(
    question: &Question,
    result: VoteResult,
    now: jiff::Timestamp,
) -> Result<Option<Decision>, ServiceError> {
    let (option, by) = match result {
        VoteResult::Open => return Ok(None),
        VoteResult::Chosen { option, by } => {
            (question.option(&option).ok_or(ApprovalError::UnknownOption)?, DecidedBy::People(by))
        }
        VoteResult::Unreachable => {
            (question.denial().ok_or(ApprovalError::UnreadableQuestion)?, DecidedBy::UnreachableQuorum)
        }
    };
    Ok(Some(Decision::new(option, by, now).map_err(ApprovalError::from)?))
}

fn principal_kind(token: TokenKind) -> PrincipalKind {
    match token {
        TokenKind::User => PrincipalKind::Person,
        TokenKind::Service => PrincipalKind::Service,
        TokenKind::External => PrincipalKind::External,
        TokenKind::Agent | TokenKind::Enrolment | TokenKind::Run => PrincipalKind::Agent,
    }
}
