//! Access tokens for API calls: read from the token file, refreshed before they expire.

use std::sync::Arc;

use anyhow::Result;
use guildhall_domain::FailureKind;
use guildhall_runtime::Clock;
use guildhall_sdk::{Client, ClientError, TokenFuture, TokenSource, Tokens};
use secrecy::SecretString;

use super::dir::{ConfigDir, ConfigDirLock};
use super::token_store::{self, TokenKey};

/// There are no tokens to call a server with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotSignedIn {
    #[error("you are not signed in")]
    NoContext,
    #[error("you are not signed in to {0}")]
    NoTokens(String),
    #[error("your login to {0} has ended")]
    Ended(String),
}

/// The stored tokens of one context.
#[derive(Debug, Clone)]
pub(crate) struct StoredTokenSource {
    dir: ConfigDir,
    context: String,
    /// Has no token source: it only refreshes tokens.
    client: Client,
    clock: Clock,
}

impl StoredTokenSource {
    pub(crate) fn new(dir: ConfigDir, context: String, client: Client) -> Self {
        Self { dir, context, client, clock: Clock::system() }
    }

    /// Returns a client that authenticates with these tokens.
    pub(crate) fn client(&self) -> Client {
        self.client.clone().with_tokens(Arc::new(self.clone()))
    }

    pub(crate) async fn save(&self, tokens: &Tokens) -> Result<()> {
        let lock = self.dir.lock().await?;
        token_store::save(&self.dir, self.key(), tokens, &lock)
    }

    /// Deletes the tokens. Returns whether there were any.
    pub(crate) async fn delete(&self) -> Result<bool> {
        let lock = self.dir.lock().await?;
        token_store::delete(&self.dir, &self.context, &lock)
    }

    fn key(&self) -> TokenKey<'_> {
        TokenKey { context: &self.context, url: self.client.base_url() }
    }

    async fn access_token(&self) -> Result<SecretString, ClientError> {
        if let Some(token) = self.stored_access_token()? {
            return Ok(token);
        }
        // A refresh token can be used once; a second use ends the login. So one process at a time refreshes, and
        // the next one finds the new tokens in the file.
        let lock = self.dir.lock().await.map_err(no_token)?;
        if let Some(token) = self.stored_access_token()? {
            return Ok(token);
        }
        self.refresh_locked(&lock).await
    }

    /// Refreshes the tokens now, even if the access token is still valid.
    pub(crate) async fn refresh(&self) -> Result<(), ClientError> {
        let lock = self.dir.lock().await.map_err(no_token)?;
        self.refresh_locked(&lock).await.map(drop)
    }

    async fn refresh_locked(&self, lock: &ConfigDirLock) -> Result<SecretString, ClientError> {
        let stored = token_store::load(&self.dir, self.key()).map_err(no_token)?;
        let stored = stored.ok_or_else(|| not_signed_in(NotSignedIn::NoTokens(self.context.clone())))?;
        match self.client.refresh(&stored.refresh).await {
            Ok(tokens) => {
                token_store::save(&self.dir, self.key(), &tokens, lock).map_err(no_token)?;
                Ok(tokens.access)
            }
            Err(error) if error.kind() == Some(FailureKind::Unauthenticated) => {
                Err(not_signed_in(NotSignedIn::Ended(self.context.clone())))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the stored access token, unless it expires soon.
    fn stored_access_token(&self) -> Result<Option<SecretString>, ClientError> {
        let stored = token_store::load(&self.dir, self.key()).map_err(no_token)?;
        let stored = stored.ok_or_else(|| not_signed_in(NotSignedIn::NoTokens(self.context.clone())))?;
        Ok((!stored.expires_soon(self.clock.now())).then_some(stored.access))
    }
}

impl TokenSource for StoredTokenSource {
    fn token(&self) -> TokenFuture<'_> {
        Box::pin(self.access_token())
    }
}

fn not_signed_in(cause: NotSignedIn) -> ClientError {
    ClientError::NoToken(Box::new(cause))
}

fn no_token(cause: anyhow::Error) -> ClientError {
    ClientError::NoToken(cause.into())
}
