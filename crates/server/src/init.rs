//! Initializes a new installation without serving.

use guildhall_runtime::Clock;
use guildhall_service::ServiceError;
use guildhall_service::access::users::Users;
use secrecy::SecretString;

use crate::Config;
use crate::audit::create_signing_key;
use crate::issuer::create_issuer;
use crate::start_error::StartError;
use crate::stores::{Stores, prepare_stores};

/// What was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Created {
    /// The first user. False where a user exists already.
    pub first_user: bool,
    /// Keys of the AUN issuer. False where all exist already, or none is configured.
    pub issuer: bool,
}

/// Why an installation could not be initialized.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("{}", .0.failure().message)]
    User(#[source] ServiceError),
}

/// Migrates the database, and creates the key that signs audit logs, the keys of the AUN issuer and the first user, who
/// is the operator.
pub async fn init(config: &Config, name: &str, password: &SecretString) -> Result<Created, InitError> {
    let Stores { store, owner } = prepare_stores(config).await?;
    create_signing_key(&config.audit).map_err(StartError::from)?;
    let issuer = create_issuer(config).map_err(StartError::from)?;
    let users = Users::new(store.clone(), Clock::system());
    let first_user = users.create_first(name, password).await.map_err(InitError::User)?;
    store.close().await;
    owner.close().await;
    Ok(Created { first_user: first_user.is_some(), issuer })
}
