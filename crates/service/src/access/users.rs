//! Users: created, listed and changed by operators of the installation.

use guildhall_domain::access::authorized::InstallationOperator;
use guildhall_domain::access::principal::PrincipalKind;
use guildhall_domain::access::user::{self, User, UserError, UserFilter};
use guildhall_domain::ids::{LoginId, PrincipalId};
use guildhall_identity::password;
use guildhall_runtime::Clock;
use guildhall_store::principals::NewPrincipal;
use guildhall_store::{Store, Tx, handoff_confirmations, handoffs, logins, passwords, principals};
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::access::error::AccessError;

/// Creates, lists and changes users.
#[derive(Debug, Clone)]
pub struct Users {
    store: Store,
    clock: Clock,
}

impl Users {
    #[must_use]
    pub fn new(store: Store, clock: Clock) -> Self {
        Self { store, clock }
    }

    /// Creates a user.
    pub async fn create(
        &self,
        caller: &InstallationOperator,
        name: &str,
        password: &SecretString,
    ) -> Result<User, ServiceError> {
        let hash = hash(password).await?;
        let mut tx = self.store.begin().await?;
        let id = insert(&mut tx, name, &hash, false, Some(caller.principal)).await?;
        self.commit(tx, id).await
    }

    /// Creates the first user, an operator. Returns `None` when an operator exists.
    pub async fn create_first(
        &self,
        name: &str,
        password: &SecretString,
    ) -> Result<Option<PrincipalId>, ServiceError> {
        let hash = hash(password).await?;
        let mut tx = self.store.begin().await?;
        principals::lock_operators(&mut tx).await?;
        if principals::count_operators(&mut tx).await? > 0 {
            return Ok(None);
        }
        let id = insert(&mut tx, name, &hash, true, None).await?;
        tx.commit().await?;
        Ok(Some(id))
    }

    /// Lists users, newest first, optionally only those created before a user.
    pub async fn list(
        &self,
        _: &InstallationOperator,
        filter: UserFilter<'_>,
        before: Option<PrincipalId>,
        limit: u32,
    ) -> Result<Vec<User>, ServiceError> {
        Ok(principals::list_users(&self.store, filter, before, limit, self.clock.now()).await?)
    }

    pub async fn get(&self, _: &InstallationOperator, id: PrincipalId) -> Result<User, ServiceError> {
        let found = principals::find_user(&self.store, id, self.clock.now()).await?;
        found.ok_or(ServiceError::NOT_FOUND)
    }

    /// Disables a user and ends their logins, on every replica. Disabling again changes nothing.
    pub async fn disable(
        &self,
        caller: &InstallationOperator,
        id: PrincipalId,
    ) -> Result<User, ServiceError> {
        let mut tx = self.begin_change(caller).await?;
        let found = self.lock(&mut tx, id).await?;
        user::disable(&found, principals::count_operators(&mut tx).await?)?;
        if found.disabled_at.is_none() {
            principals::disable(&mut tx, id).await?;
            let ended = end_logins(&mut tx, id, None).await?;
            record(&mut tx, caller, "user.disabled", &found, json!({ "endedLogins": ended })).await?;
        }
        self.commit(tx, id).await
    }

    /// Enables a user again. Their earlier logins stay ended.
    pub async fn enable(&self, caller: &InstallationOperator, id: PrincipalId) -> Result<User, ServiceError> {
        let mut tx = self.begin_change(caller).await?;
        let found = self.lock(&mut tx, id).await?;
        if found.disabled_at.is_some() {
            principals::enable(&mut tx, id).await?;
            record(&mut tx, caller, "user.enabled", &found, json!({})).await?;
        }
        self.commit(tx, id).await
    }

    /// Clears the failed sign-ins of a user, which ends a lock.
    pub async fn unlock(&self, caller: &InstallationOperator, id: PrincipalId) -> Result<User, ServiceError> {
        let mut tx = self.begin_change(caller).await?;
        let password = passwords::lock_by_principal(&mut tx, id).await?;
        let found = self.lock(&mut tx, id).await?;
        if let Some((name, attempts)) = password.filter(|(_, attempts)| !attempts.failures().is_empty()) {
            let failures = attempts.failures().len();
            passwords::set_attempts(&mut tx, &name, &attempts.record_success()).await?;
            record(&mut tx, caller, "user.unlocked", &found, json!({ "failures": failures })).await?;
        }
        self.commit(tx, id).await
    }

    /// Sets a new password for another user, ends a lock, and ends their logins.
    pub async fn reset_password(
        &self,
        caller: &InstallationOperator,
        id: PrincipalId,
        password: &SecretString,
    ) -> Result<User, ServiceError> {
        let hash = hash(password).await?;
        let mut tx = self.begin_change(caller).await?;
        // Before the principal, as a sign-in locks them: the other order could deadlock.
        let stored = passwords::lock_by_principal(&mut tx, id).await?;
        let found = self.lock(&mut tx, id).await?;
        user::reset_password(caller.principal, &found)?;
        let (name, _) = stored.ok_or(UserError::NoPassword)?;
        passwords::set_hash(&mut tx, &name, &hash).await?;
        let ended = end_logins(&mut tx, id, None).await?;
        record(&mut tx, caller, "user.password_reset", &found, json!({ "endedLogins": ended })).await?;
        self.commit(tx, id).await
    }

    /// Ends all logins of a user, on every replica. Returns their number.
    pub async fn end_logins(
        &self,
        caller: &InstallationOperator,
        id: PrincipalId,
    ) -> Result<u64, ServiceError> {
        let mut tx = self.begin_change(caller).await?;
        let found = self.lock(&mut tx, id).await?;
        let ended = end_logins(&mut tx, id, None).await?;
        record(&mut tx, caller, "user.logins_ended", &found, json!({ "endedLogins": ended })).await?;
        tx.commit().await?;
        Ok(ended)
    }

    /// Begins a change. Only one is made at a time, so that two operators cannot disable each other. The caller may have
    /// been disabled while the request waited.
    async fn begin_change(&self, caller: &InstallationOperator) -> Result<Tx, ServiceError> {
        let mut tx = self.store.begin().await?;
        principals::lock_operators(&mut tx).await?;
        if !principals::is_operator(&mut tx, caller.principal).await? {
            return Err(ServiceError::Unauthenticated);
        }
        Ok(tx)
    }

    async fn lock(&self, tx: &mut Tx, id: PrincipalId) -> Result<User, ServiceError> {
        principals::lock_user(tx, id, self.clock.now()).await?.ok_or(ServiceError::NOT_FOUND)
    }

    /// Commits and returns the changed user.
    async fn commit(&self, mut tx: Tx, id: PrincipalId) -> Result<User, ServiceError> {
        let changed = self.lock(&mut tx, id).await?;
        tx.commit().await?;
        Ok(changed)
    }
}

/// Ends the logins of a locked user, except one, and the sign-ins for a CLI that are not confirmed or not collected.
/// Returns the number of logins.
pub(crate) async fn end_logins(
    tx: &mut Tx,
    id: PrincipalId,
    except: Option<LoginId>,
) -> Result<u64, ServiceError> {
    handoff_confirmations::delete_by_principal(tx, id).await?;
    handoffs::delete_by_principal(tx, id).await?;
    Ok(logins::revoke_by_principal(tx, id, except).await?)
}

async fn record(
    tx: &mut Tx,
    caller: &InstallationOperator,
    action: &'static str,
    user: &User,
    mut detail: Value,
) -> Result<(), ServiceError> {
    detail["name"] = json!(user.name);
    let (actor, object) = (Some(caller.principal), user.id.to_string());
    audit::record(tx, &AuditEvent { log: AuditLog::Installation, action, actor, object, detail }).await
}

async fn insert(
    tx: &mut Tx,
    name: &str,
    hash: &str,
    is_operator: bool,
    actor: Option<PrincipalId>,
) -> Result<PrincipalId, ServiceError> {
    let id = PrincipalId::generate();
    principals::insert(tx, &NewPrincipal { id, kind: PrincipalKind::Person, name, is_operator }).await?;
    if !passwords::insert(tx, name, id, hash).await? {
        return Err(ServiceError::NameTaken(name.to_owned()));
    }
    let event = AuditEvent {
        log: AuditLog::Installation,
        action: "user.created",
        actor,
        object: id.to_string(),
        detail: json!({ "name": name, "operator": is_operator }),
    };
    audit::record(tx, &event).await?;
    Ok(id)
}

/// Hashes on a blocking thread: it takes tens of milliseconds by design.
pub(crate) async fn hash(password: &SecretString) -> Result<String, ServiceError> {
    let password = password.clone();
    let hashed = tokio::task::spawn_blocking(move || password::hash(&password)).await;
    hashed
        .map_err(|_| ServiceError::from(AccessError::CannotSign))?
        .map_err(|error| ServiceError::Invalid(error.to_string()))
}
