//! Principals and their authority.

use std::collections::BTreeMap;

use guildhall_domain::access::lockout::{SignInAttempts, SignInDecision};
use guildhall_domain::access::principal::PrincipalKind;
use guildhall_domain::access::role::Role;
use guildhall_domain::access::user::{User, UserFilter};
use guildhall_domain::front::time_zone::TimeZoneName;
use guildhall_domain::ids::{LoginId, PrincipalId, ServiceKeyId, TenantId};
use jiff_sqlx::Timestamp;
use uuid::Uuid;

use crate::{Store, StoreError, Tx};

/// Values of a new principal.
#[derive(Debug, Clone)]
pub struct NewPrincipal<'a> {
    pub id: PrincipalId,
    pub kind: PrincipalKind,
    pub name: &'a str,
    pub is_operator: bool,
}

/// The current permissions of a principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    pub name: String,
    pub is_operator: bool,
    pub role: Option<(TenantId, Role)>,
}

/// A caller that was authenticated before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallerIdentity {
    pub principal: PrincipalId,
    pub login: Option<LoginId>,
    /// A key of `tenant`.
    pub service_key: Option<ServiceKeyId>,
    /// The tenant whose role is read.
    pub tenant: Option<TenantId>,
}

/// The current permissions of a known caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallerAuthority {
    pub is_operator: bool,
    /// The role in the tenant of the caller.
    pub role: Option<Role>,
}

pub async fn insert(tx: &mut Tx, new: &NewPrincipal<'_>) -> Result<(), StoreError> {
    sqlx::query_file!(
        "queries/principals/insert.sql",
        new.id.as_uuid(),
        new.kind.as_str(),
        new.name,
        new.is_operator
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Locks the operators of the installation until the end of the transaction: two concurrent callers must not both
/// create the first, or disable the last two. Read them in a later statement, which sees what was committed meanwhile.
pub async fn lock_operators(tx: &mut Tx) -> Result<(), StoreError> {
    sqlx::query_file!("queries/principals/lock_operators.sql").execute(tx.connection()).await?;
    Ok(())
}

/// Counts the operators of the installation who are not disabled.
pub async fn count_operators(tx: &mut Tx) -> Result<usize, StoreError> {
    let row = sqlx::query_file!("queries/principals/count_operators.sql").fetch_one(tx.connection()).await?;
    Ok(usize::try_from(row.count).unwrap_or_default())
}

/// Returns whether a principal is an operator of the installation who is not disabled.
pub async fn is_operator(tx: &mut Tx, id: PrincipalId) -> Result<bool, StoreError> {
    let row = sqlx::query_file!("queries/principals/is_operator.sql", id.as_uuid())
        .fetch_one(tx.connection())
        .await?;
    Ok(row.exists)
}

/// Returns the time zone that a principal has set.
pub async fn find_time_zone(store: &Store, id: PrincipalId) -> Result<Option<String>, StoreError> {
    let row = sqlx::query_file!("queries/principals/find_time_zone.sql", id.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.and_then(|row| row.time_zone))
}

/// Sets the time zone of a principal, or removes it.
pub async fn set_time_zone(
    store: &Store,
    id: PrincipalId,
    zone: Option<&TimeZoneName>,
) -> Result<(), StoreError> {
    sqlx::query_file!("queries/principals/set_time_zone.sql", id.as_uuid(), zone.map(TimeZoneName::as_str))
        .execute(&store.pool)
        .await?;
    Ok(())
}

/// Finds the kind of a principal that is not disabled.
pub async fn find_kind(tx: &mut Tx, id: PrincipalId) -> Result<Option<PrincipalKind>, StoreError> {
    let row = sqlx::query_file!("queries/principals/find_kind.sql", id.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.and_then(|row| PrincipalKind::from_name(&row.kind).ok()))
}

/// Returns the names of principals, also of disabled ones.
pub async fn load_names(
    tx: &mut Tx,
    ids: &[PrincipalId],
) -> Result<BTreeMap<PrincipalId, String>, StoreError> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.as_uuid()).collect();
    let rows =
        sqlx::query_file!("queries/principals/list_names.sql", &ids).fetch_all(tx.connection()).await?;
    Ok(rows.into_iter().map(|row| (PrincipalId::from_uuid(row.id), row.name)).collect())
}

struct UserRow {
    id: Uuid,
    name: String,
    is_operator: bool,
    created_at: Timestamp,
    disabled_at: Option<Timestamp>,
    failures: Option<Vec<Timestamp>>,
}

impl UserRow {
    fn into_user(self, now: jiff::Timestamp) -> User {
        let failures = self.failures.as_deref().unwrap_or_default().iter().map(|at| at.to_jiff());
        let locked_until = match SignInAttempts::from_failures(failures).check(now) {
            SignInDecision::Locked { until } => Some(until),
            SignInDecision::Allowed => None,
        };
        User {
            id: PrincipalId::from_uuid(self.id),
            name: self.name,
            is_operator: self.is_operator,
            created_at: self.created_at.to_jiff(),
            disabled_at: self.disabled_at.map(Timestamp::to_jiff),
            has_password: self.failures.is_some(),
            locked_until,
        }
    }
}

pub async fn find_user(
    store: &Store,
    id: PrincipalId,
    now: jiff::Timestamp,
) -> Result<Option<User>, StoreError> {
    let row = sqlx::query_file_as!(UserRow, "queries/principals/find_user.sql", id.as_uuid())
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| row.into_user(now)))
}

/// Finds and locks a user. No login of the user is created until the transaction ends.
pub async fn lock_user(
    tx: &mut Tx,
    id: PrincipalId,
    now: jiff::Timestamp,
) -> Result<Option<User>, StoreError> {
    let row = sqlx::query_file_as!(UserRow, "queries/principals/lock_user.sql", id.as_uuid())
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| row.into_user(now)))
}

/// Lists users, newest first, optionally only those created before a user.
pub async fn list_users(
    store: &Store,
    filter: UserFilter<'_>,
    before: Option<PrincipalId>,
    limit: u32,
    now: jiff::Timestamp,
) -> Result<Vec<User>, StoreError> {
    let (name, prefix) = match filter {
        UserFilter::All => (None, None),
        UserFilter::Name(name) => (Some(name), None),
        UserFilter::NamePrefix(prefix) => (None, Some(prefix)),
    };
    let before = before.map_or(Uuid::max(), PrincipalId::as_uuid);
    let query = sqlx::query_file_as!(
        UserRow,
        "queries/principals/list_users.sql",
        before,
        name,
        prefix,
        i64::from(limit)
    );
    let rows = query.fetch_all(&store.pool).await?;
    Ok(rows.into_iter().map(|row| row.into_user(now)).collect())
}

pub async fn disable(tx: &mut Tx, id: PrincipalId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/principals/disable.sql", id.as_uuid()).execute(tx.connection()).await?;
    Ok(())
}

pub async fn enable(tx: &mut Tx, id: PrincipalId) -> Result<(), StoreError> {
    sqlx::query_file!("queries/principals/enable.sql", id.as_uuid()).execute(tx.connection()).await?;
    Ok(())
}

/// Reads the authority of many callers with one statement, in their order. `None` for those without any.
pub async fn list_authorities(
    store: &Store,
    callers: &[CallerIdentity],
) -> Result<Vec<Option<CallerAuthority>>, StoreError> {
    let principals: Vec<Uuid> = callers.iter().map(|caller| caller.principal.as_uuid()).collect();
    let logins: Vec<_> = callers.iter().map(|caller| caller.login.map(LoginId::as_uuid)).collect();
    let keys: Vec<_> = callers.iter().map(|caller| caller.service_key.map(ServiceKeyId::as_uuid)).collect();
    let tenants: Vec<_> = callers.iter().map(|caller| caller.tenant.map(TenantId::as_uuid)).collect();
    let rows = sqlx::query_file!(
        "queries/principals/list_authorities.sql",
        &principals,
        &logins as &[Option<Uuid>],
        &keys as &[Option<Uuid>],
        &tenants as &[Option<Uuid>],
    )
    .fetch_all(&store.pool)
    .await?;
    let mut found = vec![None; callers.len()];
    for row in rows {
        let index = usize::try_from(row.position - 1).ok();
        if let Some(caller) = index.and_then(|index| found.get_mut(index)) {
            // An unknown role, written by a newer binary, grants nothing.
            let role = row.role.and_then(|role| Role::from_name(&role).ok());
            *caller = Some(CallerAuthority { is_operator: row.is_operator, role });
        }
    }
    Ok(found)
}

/// Finds the authority of a principal, with its role in `tenant`. Returns `None` if the principal is disabled or the
/// login is no longer valid.
pub async fn find_authority(
    store: &Store,
    id: PrincipalId,
    login: Option<LoginId>,
    tenant: Option<TenantId>,
) -> Result<Option<Authority>, StoreError> {
    let (login, tenant) = (login.map(LoginId::as_uuid), tenant.map(TenantId::as_uuid));
    let row = sqlx::query_file!("queries/principals/find_authority.sql", id.as_uuid(), login, tenant)
        .fetch_optional(&store.pool)
        .await?;
    Ok(row.map(|row| Authority {
        name: row.name,
        is_operator: row.is_operator,
        // An unknown role, written by a newer binary, grants nothing.
        role: row
            .tenant
            .zip(row.role)
            .and_then(|(tenant, role)| Some((TenantId::from_uuid(tenant), Role::from_name(&role).ok()?))),
    }))
}
