//! Validations of provider profiles. A writer that settles one holds the lock of its run's journal head.

use guildhall_domain::profiles::validation::Validation;
use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::ids::{CommandId, PrincipalId, RunId, TenantId, ValidationId};
use guildhall_domain::profiles::validation::ValidationOutcome;
use guildhall_domain::runs::FailureReason;
use jiff_sqlx::Timestamp;
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// Values of a new validation.
#[derive(Debug, Clone)]
pub struct NewValidation<'a> {
    pub id: ValidationId,
    pub tenant: TenantId,
    pub profile: &'a str,
    pub resource_version: Option<&'a str>,
    pub run: RunId,
    pub command: CommandId,
    pub created_by: PrincipalId,
    /// Time limit for the outcome.
    pub timeout: Duration,
}

struct Row {
    id: Uuid,
    tenant: Uuid,
    profile: String,
    resource_version: Option<String>,
    run: Uuid,
    command: Uuid,
    created_by: Uuid,
    created_at: Timestamp,
    deadline_at: Timestamp,
    status: String,
    failure_kind: Option<String>,
    failure_message: Option<String>,
    settled_at: Option<Timestamp>,
}

impl Row {
    fn into_validation(self) -> Validation {
        let failure = self.failure_kind.map(|kind| FailureReason {
            // A kind written by a newer binary is still a failure.
            kind: FailureKind::from_name(&kind).unwrap_or(FailureKind::Internal),
            message: self.failure_message.unwrap_or_default(),
        });
        let outcome = match (self.status.as_str(), failure) {
            ("ok", _) => Some(ValidationOutcome::Ok),
            ("failed", Some(failure)) => Some(ValidationOutcome::Failed(failure)),
            _ => None,
        };
        Validation {
            id: ValidationId::from_uuid(self.id),
            tenant: TenantId::from_uuid(self.tenant),
            profile: self.profile,
            resource_version: self.resource_version,
            run: RunId::from_uuid(self.run),
            command: CommandId::from_uuid(self.command),
            created_by: PrincipalId::from_uuid(self.created_by),
            created_at: self.created_at.to_jiff(),
            deadline_at: self.deadline_at.to_jiff(),
            outcome,
            settled_at: self.settled_at.map(Timestamp::to_jiff),
        }
    }
}

pub async fn insert(tx: &mut Tx, new: &NewValidation<'_>) -> Result<(), StoreError> {
    let timeout_ms = new.timeout.as_secs_f64() * 1000.0;
    sqlx::query_file!(
        "queries/profile_validations/insert.sql",
        new.id.as_uuid(),
        new.tenant.as_uuid(),
        new.profile,
        new.resource_version,
        new.run.as_uuid(),
        new.command.as_uuid(),
        new.created_by.as_uuid(),
        timeout_ms
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

pub async fn find(store: &Store, id: ValidationId) -> Result<Option<Validation>, StoreError> {
    find_with(&store.pool, id).await
}

/// Finds a validation in a transaction that holds the lock of its run.
pub async fn load(tx: &mut Tx, id: ValidationId) -> Result<Option<Validation>, StoreError> {
    find_with(tx.connection(), id).await
}

async fn find_with(
    executor: impl PgExecutor<'_>,
    id: ValidationId,
) -> Result<Option<Validation>, StoreError> {
    let row = sqlx::query_file_as!(Row, "queries/profile_validations/find.sql", id.as_uuid())
        .fetch_optional(executor)
        .await?;
    Ok(row.map(Row::into_validation))
}

/// Lists the newest validation of each of these profiles of a tenant.
pub async fn list_latest(
    store: &Store,
    tenant: TenantId,
    profiles: &[String],
) -> Result<Vec<Validation>, StoreError> {
    let rows =
        sqlx::query_file_as!(Row, "queries/profile_validations/list_latest.sql", tenant.as_uuid(), profiles)
            .fetch_all(&store.pool)
            .await?;
    Ok(rows.into_iter().map(Row::into_validation).collect())
}

/// Lists pending validations whose turn has ended or whose deadline has passed.
pub async fn list_due(store: &Store, limit: u32) -> Result<Vec<ValidationId>, StoreError> {
    let rows = sqlx::query_file!("queries/profile_validations/list_due.sql", i64::from(limit))
        .fetch_all(&store.pool)
        .await?;
    Ok(rows.into_iter().map(|row| ValidationId::from_uuid(row.id)).collect())
}

/// Stores the outcome of a pending validation; a settled one is not changed.
pub async fn settle(tx: &mut Tx, id: ValidationId, outcome: &ValidationOutcome) -> Result<(), StoreError> {
    let (status, failure) = match outcome {
        ValidationOutcome::Ok => ("ok", None),
        ValidationOutcome::Failed(failure) => ("failed", Some(failure)),
    };
    sqlx::query_file!(
        "queries/profile_validations/settle.sql",
        id.as_uuid(),
        status,
        failure.map(|failure| failure.kind.as_str()),
        failure.map(|failure| failure.message.as_str())
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}
