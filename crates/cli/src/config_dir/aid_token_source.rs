//! Access tokens for the socket: read from the file of logins, refreshed before they expire.

use std::error::Error;
use std::sync::Arc;

use anyhow::Result;
use guildhall_domain::identity::Aid;
use guildhall_runtime::Clock;
use guildhall_sdk::socket::{
    AccessToken, AccessTokenFuture, AidTokens, SocketEndpoint, SocketError, SocketTokenSource, next_tokens,
};
use secrecy::{ExposeSecret, SecretString};

use super::aid_logins::{AidLogin, AidLogins, AidNotLoggedIn};
use super::dir::ConfigDir;

/// The stored tokens of one AID.
#[derive(Debug, Clone)]
pub(crate) struct StoredAidTokens {
    pub(crate) dir: ConfigDir,
    pub(crate) aid: Aid,
    pub(crate) endpoint: SocketEndpoint,
    pub(crate) clock: Clock,
}

impl StoredAidTokens {
    async fn access_token(&self, refused: Option<&SecretString>) -> Result<AccessToken, SocketError> {
        if let Some(tokens) = self.usable_tokens(refused)? {
            return Ok(tokens.access_token());
        }
        // A refresh token can be used once; a second use ends the login. So one process at a time refreshes, and
        // the next one finds the new tokens in the file.
        let lock = self.dir.lock().await.map_err(no_token)?;
        if let Some(tokens) = self.usable_tokens(refused)? {
            return Ok(tokens.access_token());
        }
        let mut logins = AidLogins::load(&self.dir).map_err(no_token)?;
        let (aid, login) = logins.find(Some(&self.aid)).map_err(no_token)?;
        let credentials = login.settings.credentials(aid).map_err(no_token)?;
        let (mut settings, tokens, now) = (login.settings.clone(), login.tokens(), self.clock.now());
        let next = next_tokens(&self.endpoint, &credentials, Some(&tokens), refused, now).await?;
        settings.certificate = next.newer_certificate.unwrap_or(settings.certificate);
        logins.logins.insert(self.aid.to_string(), AidLogin::new(settings, &next.tokens));
        logins.save(&self.dir, &lock).map_err(no_token)?;
        Ok(next.tokens.access_token())
    }

    /// Returns the stored tokens, unless the access token expires soon or is the refused one.
    fn usable_tokens(&self, refused: Option<&SecretString>) -> Result<Option<AidTokens>, SocketError> {
        let logins = AidLogins::load(&self.dir).map_err(no_token)?;
        let tokens = logins.find(Some(&self.aid)).map_err(no_token)?.1.tokens();
        let is_refused =
            refused.is_some_and(|refused| refused.expose_secret() == tokens.access.expose_secret());
        Ok((!is_refused && !tokens.expires_soon(self.clock.now())).then_some(tokens))
    }
}

impl SocketTokenSource for StoredAidTokens {
    fn token<'a>(&'a self, refused: Option<&'a SecretString>) -> AccessTokenFuture<'a> {
        Box::pin(self.access_token(refused))
    }
}

fn no_token(cause: anyhow::Error) -> SocketError {
    match cause.downcast::<AidNotLoggedIn>() {
        Ok(cause) => SocketError::NoToken(Arc::new(cause)),
        Err(cause) => SocketError::NoToken(Arc::from(Box::<dyn Error + Send + Sync>::from(cause))),
    }
}
