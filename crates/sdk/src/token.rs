//! Token sources.

use std::fmt;

use futures::future::{BoxFuture, ready};
use secrecy::SecretString;

use crate::ClientError;

/// The future of a token.
pub type TokenFuture<'a> = BoxFuture<'a, Result<SecretString, ClientError>>;

/// Provides the token for the next call. An implementation may refresh it here.
pub trait TokenSource: fmt::Debug + Send + Sync {
    fn token(&self) -> TokenFuture<'_>;
}

/// A constant token, such as a service key.
impl TokenSource for SecretString {
    fn token(&self) -> TokenFuture<'_> {
        Box::pin(ready(Ok(self.clone())))
    }
}
