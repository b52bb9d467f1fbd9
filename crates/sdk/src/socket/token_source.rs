//! Where a socket client gets its access tokens.

use std::fmt;

use futures::future::BoxFuture;
use guildhall_runtime::Clock;
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;

use super::SocketError;
use super::endpoint::SocketEndpoint;
use super::login::{AidCredentials, AidTokens, CompletedLogin};

/// An access token.
#[derive(Debug, Clone)]
pub struct AccessToken {
    pub value: SecretString,
    pub expires_at: Timestamp,
}

/// The future of an access token.
pub type AccessTokenFuture<'a> = BoxFuture<'a, Result<AccessToken, SocketError>>;

/// Provides the access tokens of one AID. An implementation refreshes them or logs in where it has to.
pub trait SocketTokenSource: fmt::Debug + Send + Sync {
    /// Returns a token that does not expire soon. It is another one than `refused`, which the server has just refused.
    fn token<'a>(&'a self, refused: Option<&'a SecretString>) -> AccessTokenFuture<'a>;
}

/// Logs an AID in with its key, and keeps the tokens in memory.
#[derive(Debug)]
pub struct AidLogin {
    endpoint: SocketEndpoint,
    clock: Clock,
    state: Mutex<LoginState>,
}

#[derive(Debug)]
struct LoginState {
    credentials: AidCredentials,
    tokens: Option<AidTokens>,
}

impl AidLogin {
    /// Has no tokens yet: it logs in when the first one is needed.
    #[must_use]
    pub fn new(endpoint: SocketEndpoint, credentials: AidCredentials, clock: Clock) -> Self {
        Self { endpoint, clock, state: Mutex::new(LoginState { credentials, tokens: None }) }
    }

    /// Starts with the tokens of an earlier login.
    #[must_use]
    pub fn with_tokens(mut self, tokens: AidTokens) -> Self {
        self.state.get_mut().tokens = Some(tokens);
        self
    }
}

impl SocketTokenSource for AidLogin {
    fn token<'a>(&'a self, refused: Option<&'a SecretString>) -> AccessTokenFuture<'a> {
        Box::pin(async move {
            let mut state = self.state.lock().await;
            let LoginState { credentials, tokens } = &*state;
            let now = self.clock.now();
            let next = next_tokens(&self.endpoint, credentials, tokens.as_ref(), refused, now).await?;
            if let Some(newer) = next.newer_certificate {
                state.credentials.certificate = newer;
            }
            Ok(state.tokens.insert(next.tokens).access_token())
        })
    }
}

impl AidTokens {
    /// Returns the access token.
    #[must_use]
    pub fn access_token(&self) -> AccessToken {
        AccessToken { value: self.access.clone(), expires_at: self.access_expires_at }
    }
}

/// Returns the tokens to use after `current`: the same ones, refreshed ones, or those of a new login.
///
/// A login whose access token is refused before it expires has ended, so it is not refreshed.
pub async fn next_tokens(
    endpoint: &SocketEndpoint,
    credentials: &AidCredentials,
    current: Option<&AidTokens>,
    refused: Option<&SecretString>,
    now: Timestamp,
) -> Result<CompletedLogin, SocketError> {
    let kept = |tokens| CompletedLogin { tokens, newer_certificate: None };
    let is_refused = |tokens: &&AidTokens| {
        refused.is_some_and(|refused| refused.expose_secret() == tokens.access.expose_secret())
    };
    if let Some(current) = current.filter(|tokens| !is_refused(tokens)) {
        if !current.expires_soon(now) {
            return Ok(kept(current.clone()));
        }
        if let Some(refreshed) = endpoint.refresh(&credentials.aid, &current.refresh, now).await? {
            return Ok(kept(refreshed));
        }
    }
    endpoint.log_in(credentials, now).await
}
