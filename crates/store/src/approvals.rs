//! Approvals. Every writer holds the lock of the run's journal head.

use std::collections::BTreeMap;

use guildhall_domain::approvals::digest::{ActionDigest, ShownDigest};
use guildhall_domain::approvals::question::{AnswerOption, OptionEffect};
use guildhall_domain::approvals::state::{ApprovalState, ApprovalStatus, DecidedBy, Decision, EndReason};
use guildhall_domain::ids::{ApprovalId, ApprovalRuleId, CommandId, PrincipalId, RunId, SessionId, TenantId};
use guildhall_domain::journal::{Journal, Stream};
use jiff::SignedDuration;
use jiff_sqlx::{Timestamp, ToSqlx};
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::{Store, StoreError, Tx, approval_votes};

/// Returns the stream of the questions of a tenant.
#[must_use]
pub fn stream(tenant: TenantId) -> Stream {
    Stream { journal: Journal::Approvals, owner: tenant.as_uuid() }
}

/// Values of a new approval.
#[derive(Debug, Clone, Copy)]
pub struct NewApproval<'a> {
    pub id: ApprovalId,
    pub tenant: TenantId,
    pub session: SessionId,
    pub run: RunId,
    pub command: CommandId,
    pub process: &'a str,
    pub request: &'a str,
    pub sealed_question: &'a [u8],
    pub shown: ShownDigest,
    pub action: Option<ActionDigest>,
    pub policy_version: u32,
    pub expires_at: jiff::Timestamp,
}

/// An approval as it is stored.
#[derive(Debug, Clone)]
pub struct StoredApproval {
    pub id: ApprovalId,
    pub tenant: TenantId,
    pub session: SessionId,
    pub run: RunId,
    pub command: CommandId,
    /// The agent's process that asks.
    pub process: String,
    pub sealed_question: Vec<u8>,
    pub shown: ShownDigest,
    /// None if it is not known what would be executed.
    pub action: Option<ActionDigest>,
    pub policy_version: u32,
    pub state: ApprovalState,
    pub created_at: jiff::Timestamp,
    pub expires_at: jiff::Timestamp,
    /// Whether the owners of the tenant are asked, because nobody answered in time.
    pub is_escalated: bool,
}

/// The columns that every query selects.
struct Row {
    id: Uuid,
    tenant: Uuid,
    session: Uuid,
    run: Uuid,
    command: Uuid,
    process: String,
    sealed_question: Vec<u8>,
    shown_digest: Vec<u8>,
    action_digest: Option<Vec<u8>>,
    policy_version: i32,
    status: String,
    parked: bool,
    end_reason: Option<String>,
    option_id: Option<String>,
    effect: Option<String>,
    decided_by_kind: Option<String>,
    decided_by: Vec<Uuid>,
    decided_at: Option<Timestamp>,
    created_at: Timestamp,
    expires_at: Timestamp,
    is_escalated: bool,
}

impl Row {
    fn into_approval(self) -> Result<StoredApproval, StoreError> {
        let unreadable = || StoreError::Unreadable {
            column: "approvals",
            source: "the columns of an approval contradict each other".into(),
        };
        let bytes = |digest: &[u8]| <[u8; 32]>::try_from(digest).map_err(|_| unreadable());
        Ok(StoredApproval {
            id: ApprovalId::from_uuid(self.id),
            tenant: TenantId::from_uuid(self.tenant),
            session: SessionId::from_uuid(self.session),
            run: RunId::from_uuid(self.run),
            command: CommandId::from_uuid(self.command),
            shown: ShownDigest::from_bytes(bytes(&self.shown_digest)?),
            action: match &self.action_digest {
                Some(digest) => Some(ActionDigest::from_bytes(bytes(digest)?)),
                None => None,
            },
            policy_version: u32::try_from(self.policy_version).map_err(|_| unreadable())?,
            state: self.state().ok_or_else(unreadable)?,
            process: self.process,
            sealed_question: self.sealed_question,
            created_at: self.created_at.to_jiff(),
            expires_at: self.expires_at.to_jiff(),
            is_escalated: self.is_escalated,
        })
    }

    /// Returns none if the columns contradict each other: such an approval is never taken for an allowance.
    fn state(&self) -> Option<ApprovalState> {
        let reason = || EndReason::from_name(self.end_reason.as_deref()?).ok();
        Some(match ApprovalStatus::from_name(&self.status).ok()? {
            ApprovalStatus::Pending => ApprovalState::Pending { is_parked: self.parked },
            ApprovalStatus::Withdrawn => ApprovalState::Withdrawn(reason()?),
            ApprovalStatus::Decided => ApprovalState::Decided(self.decision()?),
            ApprovalStatus::Expired => ApprovalState::Expired(self.decision()?),
            ApprovalStatus::Delivering => ApprovalState::Delivering(self.decision()?),
            ApprovalStatus::Delivered => ApprovalState::Delivered(self.decision()?),
            ApprovalStatus::Settled => ApprovalState::Settled(self.decision()?),
            ApprovalStatus::Void => ApprovalState::Void(self.decision()?, reason()?),
            ApprovalStatus::Reused => ApprovalState::Reused(self.decision()?),
            ApprovalStatus::Uncertain => ApprovalState::Uncertain(self.decision()?),
        })
    }

    fn decision(&self) -> Option<Decision> {
        let first = || self.decided_by.first().copied();
        let by = match self.decided_by_kind.as_deref()? {
            "people" => {
                DecidedBy::People(self.decided_by.iter().copied().map(PrincipalId::from_uuid).collect())
            }
            "rule" => DecidedBy::Rule(ApprovalRuleId::from_uuid(first()?)),
            "earlier" => DecidedBy::EarlierApproval(ApprovalId::from_uuid(first()?)),
            "expiry" => DecidedBy::Expiry,
            "quorum" => DecidedBy::UnreachableQuorum,
            _ => return None,
        };
        let option = AnswerOption {
            id: self.option_id.clone()?,
            label: String::new(),
            effect: OptionEffect::from_name(self.effect.as_deref()?).ok()?,
            changes_mode: false,
        };
        Decision::new(&option, by, self.decided_at?.to_jiff()).ok()
    }
}

fn decided_by(by: &DecidedBy) -> (&'static str, Vec<Uuid>) {
    match by {
        DecidedBy::People(people) => ("people", people.iter().map(|person| person.as_uuid()).collect()),
        DecidedBy::Rule(rule) => ("rule", vec![rule.as_uuid()]),
        DecidedBy::EarlierApproval(approval) => ("earlier", vec![approval.as_uuid()]),
        DecidedBy::Expiry => ("expiry", Vec::new()),
        DecidedBy::UnreachableQuorum => ("quorum", Vec::new()),
    }
}

pub async fn insert(tx: &mut Tx, new: &NewApproval<'_>) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/approvals/insert.sql",
        new.id.as_uuid(),
        new.tenant.as_uuid(),
        new.session.as_uuid(),
        new.run.as_uuid(),
        new.command.as_uuid(),
        new.process,
        new.request,
        new.sealed_question,
        new.shown.as_bytes().as_slice(),
        new.action.as_ref().map(|action| action.as_bytes().as_slice()),
        i32::try_from(new.policy_version).unwrap_or(i32::MAX),
        new.expires_at.to_sqlx() as Timestamp
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

pub async fn find(store: &Store, id: ApprovalId) -> Result<Option<StoredApproval>, StoreError> {
    find_with(&store.pool, id).await
}

/// Finds an approval in a transaction that holds the lock of its run.
pub async fn load(tx: &mut Tx, id: ApprovalId) -> Result<Option<StoredApproval>, StoreError> {
    find_with(tx.connection(), id).await
}

async fn find_with(
    executor: impl PgExecutor<'_>,
    id: ApprovalId,
) -> Result<Option<StoredApproval>, StoreError> {
    let row = sqlx::query_file_as!(Row, "queries/approvals/find.sql", id.as_uuid());
    row.fetch_optional(executor).await?.map(Row::into_approval).transpose()
}

/// Finds the approval of a request of an agent's process.
pub async fn load_by_request(
    tx: &mut Tx,
    run: RunId,
    process: &str,
    request: &str,
) -> Result<Option<StoredApproval>, StoreError> {
    let row =
        sqlx::query_file_as!(Row, "queries/approvals/find_by_request.sql", run.as_uuid(), process, request);
    row.fetch_optional(tx.connection()).await?.map(Row::into_approval).transpose()
}

/// Lists the approvals of a command that its end changes.
pub async fn load_open(tx: &mut Tx, command: CommandId) -> Result<Vec<StoredApproval>, StoreError> {
    let rows = sqlx::query_file_as!(Row, "queries/approvals/list_open.sql", command.as_uuid());
    rows.fetch_all(tx.connection()).await?.into_iter().map(Row::into_approval).collect()
}

/// Lists the parked questions of a run.
pub async fn load_parked(tx: &mut Tx, run: RunId) -> Result<Vec<StoredApproval>, StoreError> {
    let rows = sqlx::query_file_as!(Row, "queries/approvals/list_parked.sql", run.as_uuid());
    rows.fetch_all(tx.connection()).await?.into_iter().map(Row::into_approval).collect()
}

/// Lists the approvals of a command whose answer no process has got.
pub async fn load_undelivered(tx: &mut Tx, command: CommandId) -> Result<Vec<StoredApproval>, StoreError> {
    let rows = sqlx::query_file_as!(Row, "queries/approvals/list_undelivered.sql", command.as_uuid());
    rows.fetch_all(tx.connection()).await?.into_iter().map(Row::into_approval).collect()
}

/// Lists the latest approvals of the same action in a session, oldest first.
pub async fn load_same_action(
    tx: &mut Tx,
    session: SessionId,
    action: ActionDigest,
    limit: u32,
) -> Result<Vec<StoredApproval>, StoreError> {
    let (session, action) = (session.as_uuid(), action.as_bytes().as_slice());
    let rows = sqlx::query_file_as!(
        Row,
        "queries/approvals/list_same_action.sql",
        session,
        action,
        i64::from(limit)
    );
    rows.fetch_all(tx.connection()).await?.into_iter().rev().map(Row::into_approval).collect()
}

/// Which approvals a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalFilter {
    pub scope: ApprovalScope,
    pub only_pending: bool,
}

/// Whose approvals a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalScope {
    Tenant,
    Session(SessionId),
    Run(RunId),
}

/// Lists approvals of a tenant, newest first.
pub async fn list(
    store: &Store,
    tenant: TenantId,
    filter: ApprovalFilter,
    before: Option<ApprovalId>,
    limit: u32,
) -> Result<Vec<StoredApproval>, StoreError> {
    let ApprovalFilter { scope, only_pending } = filter;
    let (tenant, before, limit) = (tenant.as_uuid(), before.map(ApprovalId::as_uuid), i64::from(limit));
    let rows = match scope {
        ApprovalScope::Tenant if only_pending => {
            sqlx::query_file_as!(Row, "queries/approvals/list_pending.sql", tenant, before, limit)
                .fetch_all(&store.pool)
                .await?
        }
        ApprovalScope::Tenant => {
            sqlx::query_file_as!(Row, "queries/approvals/list.sql", tenant, before, limit)
                .fetch_all(&store.pool)
                .await?
        }
        ApprovalScope::Session(session) => {
            let session = session.as_uuid();
            sqlx::query_file_as!(
                Row,
                "queries/approvals/list_of_session.sql",
                tenant,
                session,
                only_pending,
                before,
                limit
            )
            .fetch_all(&store.pool)
            .await?
        }
        ApprovalScope::Run(run) => {
            let run = run.as_uuid();
            sqlx::query_file_as!(
                Row,
                "queries/approvals/list_of_run.sql",
                tenant,
                run,
                only_pending,
                before,
                limit
            )
            .fetch_all(&store.pool)
            .await?
        }
    };
    rows.into_iter().map(Row::into_approval).collect()
}

/// Who sent a turn, and who created its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnOrigin {
    pub sender: PrincipalId,
    pub creator: PrincipalId,
}

/// Finds who sent turns, and who created their runs.
pub async fn find_origins(
    store: &Store,
    turns: &[CommandId],
) -> Result<BTreeMap<CommandId, TurnOrigin>, StoreError> {
    let turns: Vec<Uuid> = turns.iter().map(|turn| turn.as_uuid()).collect();
    let rows = sqlx::query_file!("queries/approvals/find_origins.sql", &turns).fetch_all(&store.pool).await?;
    let origins = rows.into_iter().map(|row| {
        let (sender, creator) = (PrincipalId::from_uuid(row.sender), PrincipalId::from_uuid(row.creator));
        (CommandId::from_uuid(row.command), TurnOrigin { sender, creator })
    });
    Ok(origins.collect())
}

pub async fn find_tenant(store: &Store, id: ApprovalId) -> Result<Option<TenantId>, StoreError> {
    let row = sqlx::query_file!("queries/approvals/find_tenant.sql", id.as_uuid());
    Ok(row.fetch_optional(&store.pool).await?.map(|row| TenantId::from_uuid(row.tenant)))
}

/// Lists pending approvals that have expired, the longest first.
pub async fn list_expired(store: &Store, limit: u32) -> Result<Vec<ApprovalId>, StoreError> {
    let rows = sqlx::query_file!("queries/approvals/list_expired.sql", i64::from(limit));
    let rows = rows.fetch_all(&store.pool).await?;
    Ok(rows.into_iter().map(|row| ApprovalId::from_uuid(row.id)).collect())
}

/// Gives an expired question more time.
pub async fn escalate(tx: &mut Tx, id: ApprovalId, expires_at: jiff::Timestamp) -> Result<(), StoreError> {
    sqlx::query_file!("queries/approvals/escalate.sql", id.as_uuid(), expires_at.to_sqlx() as Timestamp)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Stores the encrypted values of an answer that another approval has got.
pub async fn set_content(tx: &mut Tx, id: ApprovalId, sealed: &[u8]) -> Result<(), StoreError> {
    let set = sqlx::query_file!("queries/approvals/set_content.sql", id.as_uuid(), sealed);
    set.execute(tx.connection()).await?;
    Ok(())
}

/// Sets for how long the values of an answer are kept that is not delivered.
pub async fn limit_content(tx: &mut Tx, id: ApprovalId, kept_for: SignedDuration) -> Result<(), StoreError> {
    sqlx::query_file!("queries/approvals/limit_content.sql", id.as_uuid(), kept_for.as_secs_f64())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Finds the encrypted values of the answer.
pub async fn find_content(store: &Store, id: ApprovalId) -> Result<Option<Vec<u8>>, StoreError> {
    let row = sqlx::query_file!("queries/approvals/find_content.sql", id.as_uuid());
    Ok(row.fetch_optional(&store.pool).await?.and_then(|row| row.sealed_content))
}

/// Finds the encrypted values of the answer, in a transaction that holds the lock of the run.
pub async fn load_content(tx: &mut Tx, id: ApprovalId) -> Result<Option<Vec<u8>>, StoreError> {
    let row = sqlx::query_file!("queries/approvals/find_content.sql", id.as_uuid());
    Ok(row.fetch_optional(tx.connection()).await?.and_then(|row| row.sealed_content))
}

/// Erases the values of answers that were not delivered, and cannot be used any more.
pub async fn erase_ended_content(store: &Store) -> Result<(), StoreError> {
    sqlx::query_file!("queries/approvals/erase_ended_content.sql").execute(&store.pool).await?;
    Ok(())
}

/// Stores a state. Values of answers that it does not need are erased.
pub async fn set_state(tx: &mut Tx, id: ApprovalId, state: &ApprovalState) -> Result<(), StoreError> {
    let (is_parked, reason) = match state {
        ApprovalState::Pending { is_parked } => (*is_parked, None),
        ApprovalState::Withdrawn(reason) | ApprovalState::Void(_, reason) => (false, Some(reason.as_str())),
        ApprovalState::Decided(_)
        | ApprovalState::Expired(_)
        | ApprovalState::Delivering(_)
        | ApprovalState::Delivered(_)
        | ApprovalState::Settled(_)
        | ApprovalState::Reused(_)
        | ApprovalState::Uncertain(_) => (false, None),
    };
    let decision = state.decision();
    let by = decision.map(|decision| decided_by(decision.by()));
    let is_answer = decision.is_some_and(|decision| decision.effect() == OptionEffect::Answer);
    let needs_content = is_answer && state.needs_content();
    sqlx::query_file!(
        "queries/approvals/set_state.sql",
        id.as_uuid(),
        state.status().as_str(),
        is_parked,
        reason,
        decision.map(Decision::option),
        decision.map(|decision| decision.effect().as_str()),
        by.as_ref().map(|(kind, _)| *kind),
        &by.as_ref().map(|(_, ids)| ids.clone()).unwrap_or_default(),
        decision.map(|decision| decision.at().to_sqlx()) as Option<Timestamp>,
        needs_content
    )
    .execute(tx.connection())
    .await?;
    match state {
        ApprovalState::Pending { .. } => Ok(()),
        ApprovalState::Decided(_)
        | ApprovalState::Expired(_)
        | ApprovalState::Delivering(_)
        | ApprovalState::Delivered(_)
        | ApprovalState::Settled(_)
        | ApprovalState::Withdrawn(_)
        | ApprovalState::Void(..)
        | ApprovalState::Reused(_)
        | ApprovalState::Uncertain(_) => approval_votes::erase_content(tx, id).await,
    }
}
