//! Approvals as a caller sees them.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::role::rights::RunsRead;
use guildhall_domain::approvals::approval::Approval;
use guildhall_domain::approvals::filter::ApprovalFilter;
use guildhall_domain::approvals::policy::{ApprovalPolicy, Mediation};
use guildhall_domain::approvals::state::ApprovalStatus;
use guildhall_domain::approvals::voter::ClientConnection;
use guildhall_domain::ids::{ApprovalId, CommandId};
use guildhall_store::approvals::{self as rows, TurnOrigin};
use guildhall_store::{approval_policies, approval_votes, external_subjects};

use super::Approvals;
use super::voters::VoterRules;
use crate::ServiceError;

/// Approvals in one list.
const MAX_LISTED: u32 = 100;

/// An approval, and whether the caller who reads it may answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedApproval {
    pub approval: Approval,
    /// Now, over the connection that the caller uses.
    pub can_answer: bool,
    /// How the policy that it was asked under finds an answer.
    pub mediation: Mediation,
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalPage {
    pub approvals: Vec<ListedApproval>,
    /// The next page starts before this one; none on the last page.
    pub next: Option<ApprovalId>,
}

/// Which page of a list to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    pub filter: ApprovalFilter,
    /// Leaves out what the caller may not answer.
    pub only_answerable: bool,
    pub before: Option<ApprovalId>,
    pub limit: u32,
}

impl Approvals {
    /// Returns an approval of the caller's tenant.
    pub async fn read(
        &self,
        caller: &Authorized<RunsRead>,
        id: ApprovalId,
    ) -> Result<Approval, ServiceError> {
        Ok(caller.load(self.find(id).await?)?)
    }

    /// Returns an approval with whether the caller may answer it.
    pub async fn get(
        &self,
        caller: &Authorized<RunsRead>,
        peer: ClientConnection,
        id: ApprovalId,
    ) -> Result<ListedApproval, ServiceError> {
        let approval = self.read(caller, id).await?;
        let mut listed = self.check_answerable(caller, peer, vec![approval]).await?;
        listed.pop().ok_or(ServiceError::NOT_FOUND)
    }

    /// Lists approvals of a tenant, newest first.
    pub async fn list(
        &self,
        caller: &Authorized<RunsRead>,
        peer: ClientConnection,
        page: PageRequest,
    ) -> Result<ApprovalPage, ServiceError> {
        let limit = page.limit.clamp(1, MAX_LISTED);
        let found = rows::list(&self.deps.store, caller.tenant(), page.filter, page.before, limit).await?;
        let is_full = found.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
        let next = found.last().filter(|_| is_full).map(|last| last.id);
        let found: Result<Vec<Approval>, _> =
            found.into_iter().map(|stored| self.open_question(stored)).collect();
        let mut approvals = self.check_answerable(caller, peer, found?).await?;
        approvals.retain(|listed| listed.can_answer || !page.only_answerable);
        Ok(ApprovalPage { approvals, next })
    }

    /// Finds out which questions the caller may answer.
    async fn check_answerable(
        &self,
        caller: &Authorized<RunsRead>,
        peer: ClientConnection,
        found: Vec<Approval>,
    ) -> Result<Vec<ListedApproval>, ServiceError> {
        let is_pending = |approval: &Approval| approval.state.status() == ApprovalStatus::Pending;
        let pending = found.iter().filter(|approval| is_pending(approval));
        let (turns, ids): (Vec<CommandId>, Vec<ApprovalId>) =
            pending.map(|approval| (approval.command, approval.id)).unzip();
        let origins = match turns.as_slice() {
            [] => BTreeMap::new(),
            turns => rows::find_origins(&self.deps.store, turns).await?,
        };
        let answered = match ids.as_slice() {
            [] => BTreeSet::new(),
            ids => approval_votes::list_answered(&self.deps.store, ids, caller.principal).await?,
        };
        let (mut policies, mut listed) = (BTreeMap::new(), Vec::with_capacity(found.len()));
        for approval in found {
            // Only a subject needs it, and a subject reads one question at a time.
            let end_user = match caller.role() {
                Some(_) => None,
                None => external_subjects::find_answering(&self.deps.store, approval.run).await?,
            };
            let policy = self.policy_of(&approval, &mut policies).await?;
            let origin = origins.get(&approval.command).filter(|_| is_pending(&approval));
            let origin = origin.filter(|_| !answered.contains(&approval.id));
            let can_answer = origin.is_some_and(|origin| {
                let TurnOrigin { creator, sender } = *origin;
                let rules = VoterRules::new(policy, creator, sender, approval.is_escalated);
                rules.with_end_user(end_user).check(caller, caller.role(), peer).is_ok()
            });
            listed.push(ListedApproval { mediation: policy.mediation, approval, can_answer });
        }
        Ok(listed)
    }

    /// Returns the policy that a question was asked under. Each version is read once.
    async fn policy_of<'a>(
        &self,
        approval: &Approval,
        read: &'a mut BTreeMap<u32, ApprovalPolicy>,
    ) -> Result<&'a ApprovalPolicy, ServiceError> {
        let version = approval.policy_version;
        match read.entry(version) {
            Entry::Occupied(found) => Ok(found.into_mut()),
            Entry::Vacant(empty) => {
                let store = &self.deps.store;
                Ok(empty.insert(approval_policies::find_version(store, approval.tenant, version).await?))
            }
        }
    }
}
