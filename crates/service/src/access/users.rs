//! Users: people who sign in with a password.

use guildhall_domain::access::authorized::InstallationOperator;
use guildhall_domain::access::principal::PrincipalKind;
use guildhall_domain::ids::PrincipalId;
use guildhall_identity::password;
use guildhall_store::principals::NewPrincipal;
use guildhall_store::{Store, Tx, passwords, principals};
use secrecy::SecretString;
use serde_json::json;

use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::access::error::AccessError;

/// Creates users.
#[derive(Debug, Clone)]
pub struct Users {
    store: Store,
}

impl Users {
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// Creates a user.
    pub async fn create(
        &self,
        caller: &InstallationOperator,
        name: &str,
        password: &SecretString,
    ) -> Result<PrincipalId, ServiceError> {
        let hash = hash(password).await?;
        let mut tx = self.store.begin().await?;
        let id = insert(&mut tx, name, &hash, false, Some(caller.principal)).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// Creates the first user, an operator. Returns `None` when an operator exists.
    pub async fn create_first(
        &self,
        name: &str,
        password: &SecretString,
    ) -> Result<Option<PrincipalId>, ServiceError> {
        let hash = hash(password).await?;
        let mut tx = self.store.begin().await?;
        if principals::count_operators(&mut tx).await? > 0 {
            return Ok(None);
        }
        let id = insert(&mut tx, name, &hash, true, None).await?;
        tx.commit().await?;
        Ok(Some(id))
    }
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
async fn hash(password: &SecretString) -> Result<String, ServiceError> {
    let password = password.clone();
    let hashed = tokio::task::spawn_blocking(move || password::hash(&password)).await;
    hashed
        .map_err(|_| ServiceError::from(AccessError::CannotSign))?
        .map_err(|error| ServiceError::Invalid(error.to_string()))
}
