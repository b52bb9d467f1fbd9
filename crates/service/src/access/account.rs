//! What users do with their own account: change the password, end all logins, choose settings.

use std::net::IpAddr;
use std::sync::Arc;

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::user::UserError;
use guildhall_domain::front::time_zone::TimeZoneName;
use guildhall_store::{passwords, principals};
use secrecy::SecretString;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::access::auth::{Auth, PasswordAttempt};
use crate::access::error::AccessError;
use crate::access::users::{end_logins, hash};

/// Concurrent hashes of new passwords: each takes 19 MiB and a core for tens of milliseconds. More are refused.
const MAX_PASSWORD_HASHES: usize = 4;

/// A new password. Its debug output hides both passwords.
#[derive(Debug, Clone)]
pub struct PasswordChange {
    pub current: SecretString,
    pub new: SecretString,
    /// The address of the client.
    pub client: IpAddr,
}

/// What a principal has chosen for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrincipalSettings {
    /// The zone of its events, for clients that name none.
    pub time_zone: Option<TimeZoneName>,
}

/// Changes the account of the caller.
#[derive(Debug, Clone)]
pub struct Account {
    auth: Auth,
    password_hashes: Arc<Semaphore>,
}

impl Account {
    #[must_use]
    pub fn new(auth: Auth) -> Self {
        Self { auth, password_hashes: Arc::new(Semaphore::new(MAX_PASSWORD_HASHES)) }
    }

    /// Changes the caller's password and ends their other logins. Returns the number of ended logins. A wrong current
    /// password counts towards the lockout.
    pub async fn change_password(
        &self,
        caller: &Caller,
        change: PasswordChange,
    ) -> Result<u64, ServiceError> {
        let PasswordChange { current, new, client } = change;
        let name = passwords::find_name(&self.auth.store, caller.principal).await?;
        let name = name.ok_or(UserError::NoPassword)?;
        let hash = {
            let _permit = self.password_hashes.try_acquire().map_err(|_| ServiceError::Overloaded)?;
            hash(&new).await?
        };
        let attempt = PasswordAttempt { name, password: current, client };
        let (mut tx, principal) = self.auth.check_password(&attempt).await.map_err(wrong_current_password)?;
        principals::lock_user(&mut tx, principal, self.auth.clock.now()).await?;
        passwords::set_hash(&mut tx, &attempt.name, &hash).await?;
        let ended = end_logins(&mut tx, principal, caller.login).await?;
        audit::record(&mut tx, &event(caller, "user.password_changed", ended)).await?;
        tx.commit().await?;
        Ok(ended)
    }

    /// Returns the settings of the caller.
    pub async fn settings(&self, caller: &Caller) -> Result<PrincipalSettings, ServiceError> {
        let zone = principals::find_time_zone(&self.auth.store, caller.principal).await?;
        Ok(PrincipalSettings { time_zone: zone.and_then(|name| TimeZoneName::parse(&name).ok()) })
    }

    /// Replaces the settings of the caller.
    pub async fn set_settings(
        &self,
        caller: &Caller,
        settings: &PrincipalSettings,
    ) -> Result<(), ServiceError> {
        let zone = settings.time_zone.as_ref();
        Ok(principals::set_time_zone(&self.auth.store, caller.principal, zone).await?)
    }

    /// Ends all logins of the caller, including the current one. Returns their number.
    pub async fn end_logins(&self, caller: &Caller) -> Result<u64, ServiceError> {
        let mut tx = self.auth.store.begin().await?;
        let found = principals::lock_user(&mut tx, caller.principal, self.auth.clock.now()).await?;
        found.ok_or(ServiceError::NOT_FOUND)?;
        let ended = end_logins(&mut tx, caller.principal, None).await?;
        audit::record(&mut tx, &event(caller, "user.logins_ended", ended)).await?;
        tx.commit().await?;
        Ok(ended)
    }
}

fn event(caller: &Caller, action: &'static str, ended_logins: u64) -> AuditEvent {
    AuditEvent {
        log: AuditLog::Installation,
        action,
        actor: Some(caller.principal),
        object: caller.principal.to_string(),
        detail: json!({ "endedLogins": ended_logins }),
    }
}

/// The caller is known, so the error is about the password alone.
fn wrong_current_password(error: ServiceError) -> ServiceError {
    if matches!(error, ServiceError::Access(AccessError::SignInFailed)) {
        return AccessError::WrongCurrentPassword.into();
    }
    error
}
