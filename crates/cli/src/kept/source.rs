//! Tokens for calls: from the file, refreshed when they are about to expire.

use std::sync::Arc;

use anyhow::Result;
use guildhall_domain::FailureKind;
use guildhall_runtime::Clock;
use guildhall_sdk::{Client, ClientError, TokenFuture, TokenSource, Tokens};
use secrecy::SecretString;

use super::folder::Locked;
use super::{Folder, tokens};

/// There is nobody to act as.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotSignedIn {
    #[error("you are not signed in")]
    Never,
    #[error("you are not signed in to {0}")]
    Here(String),
    #[error("your login to {0} has ended")]
    Ended(String),
}

/// The tokens of one context.
#[derive(Debug, Clone)]
pub(crate) struct KeptTokens {
    folder: Folder,
    context: String,
    /// Without tokens: it refreshes them.
    client: Client,
    clock: Clock,
}

impl KeptTokens {
    pub(crate) fn new(folder: Folder, context: String, client: Client) -> Self {
        Self { folder, context, client, clock: Clock::system() }
    }

    /// Returns a client that acts with these tokens.
    pub(crate) fn client(&self) -> Client {
        self.client.clone().with_tokens(Arc::new(self.clone()))
    }

    pub(crate) async fn keep(&self, new: &Tokens) -> Result<()> {
        let lock = self.folder.lock().await?;
        tokens::keep(&self.folder, self.of(), new, &lock)
    }

    /// Forgets the tokens. Returns whether there were any.
    pub(crate) async fn forget(&self) -> Result<bool> {
        let lock = self.folder.lock().await?;
        tokens::forget(&self.folder, &self.context, &lock)
    }

    fn of(&self) -> tokens::Of<'_> {
        tokens::Of { context: &self.context, url: self.client.base_url() }
    }

    async fn fresh(&self) -> Result<SecretString, ClientError> {
        if let Some(token) = self.fresh_one()? {
            return Ok(token);
        }
        // A refresh token is good for one use, and a second use ends the login: one process at a time, and whoever
        // comes second finds what the first brought.
        let lock = self.folder.lock().await.map_err(no_token)?;
        if let Some(token) = self.fresh_one()? {
            return Ok(token);
        }
        self.exchange_locked(&lock).await
    }

    /// Exchanges the refresh token now, however fresh the access token is.
    pub(crate) async fn exchange(&self) -> Result<(), ClientError> {
        let lock = self.folder.lock().await.map_err(no_token)?;
        self.exchange_locked(&lock).await.map(drop)
    }

    async fn exchange_locked(&self, lock: &Locked) -> Result<SecretString, ClientError> {
        let kept = tokens::find(&self.folder, self.of()).map_err(no_token)?;
        let kept = kept.ok_or_else(|| not_signed_in(NotSignedIn::Here(self.context.clone())))?;
        match self.client.refresh(&kept.refresh).await {
            Ok(new) => {
                tokens::keep(&self.folder, self.of(), &new, lock).map_err(no_token)?;
                Ok(new.access)
            }
            Err(error) if error.kind() == Some(FailureKind::Unauthenticated) => {
                Err(not_signed_in(NotSignedIn::Ended(self.context.clone())))
            }
            Err(error) => Err(error),
        }
    }

    fn fresh_one(&self) -> Result<Option<SecretString>, ClientError> {
        let kept = tokens::find(&self.folder, self.of()).map_err(no_token)?;
        let kept = kept.ok_or_else(|| not_signed_in(NotSignedIn::Here(self.context.clone())))?;
        Ok(kept.is_fresh(self.clock.now()).then_some(kept.access))
    }
}

impl TokenSource for KeptTokens {
    fn token(&self) -> TokenFuture<'_> {
        Box::pin(self.fresh())
    }
}

fn not_signed_in(cause: NotSignedIn) -> ClientError {
    ClientError::NoToken(Box::new(cause))
}

fn no_token(cause: anyhow::Error) -> ClientError {
    ClientError::NoToken(cause.into())
}
