//! Initializes a new installation without serving.

use guildhall_runtime::Clock;
use guildhall_service::ServiceError;
use guildhall_service::access::users::Users;
use secrecy::SecretString;

use crate::Config;
use crate::audit::create_signing_key;
use crate::start_error::StartError;
use crate::stores::{Stores, prepare_stores};

/// Why an installation could not be initialized.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("{}", .0.failure().message)]
    User(#[source] ServiceError),
}

/// Migrates the database, and creates the key that signs audit logs and the first user, who is the operator. Returns
/// false where a user exists already.
pub async fn init(config: &Config, name: &str, password: &SecretString) -> Result<bool, InitError> {
    let Stores { store, owner } = prepare_stores(config).await?;
    create_signing_key(&config.audit).map_err(StartError::from)?;
    let users = Users::new(store.clone(), Clock::system());
    let created = users.create_first(name, password).await.map_err(InitError::User)?;
    store.close().await;
    owner.close().await;
    Ok(created.is_some())
}
