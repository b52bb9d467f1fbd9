//! Where tokens come from.

use std::fmt;

use futures::future::{BoxFuture, ready};
use secrecy::SecretString;

use crate::ClientError;

/// A token that is on its way.
pub type TokenFuture<'a> = BoxFuture<'a, Result<SecretString, ClientError>>;

/// Hands out the token for the next call. One that keeps tokens refreshes them here.
pub trait TokenSource: fmt::Debug + Send + Sync {
    fn token(&self) -> TokenFuture<'_>;
}

/// A token that stays the same, such as a service key.
impl TokenSource for SecretString {
    fn token(&self) -> TokenFuture<'_> {
        Box::pin(ready(Ok(self.clone())))
    }
}
