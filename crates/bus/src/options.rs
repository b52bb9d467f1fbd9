//! Connection options and errors.

use async_nats::{ConnectOptions, ServerAddr};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

/// Connection options for NATS.
#[derive(Debug, Clone)]
pub struct BusOptions {
    pub url: SecretString,
    /// The first token of every subject. It separates installations that share a NATS server.
    pub subject_prefix: String,
}

impl BusOptions {
    /// Checks the URL and the prefix. Does not connect.
    pub fn check(&self) -> Result<(), BusError> {
        check_prefix(&self.subject_prefix)?;
        without_credentials(&self.parse_url()?).map(drop)
    }

    pub(crate) fn parse_url(&self) -> Result<Url, BusError> {
        Url::parse(self.url.expose_secret()).map_err(|_| BusError::InvalidUrl)
    }
}

/// A failed bus operation.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// The URL does not parse. It is not included in the message because it may contain a password.
    #[error("invalid NATS URL: expected nats://user:password@host:port")]
    InvalidUrl,
    #[error("invalid subject prefix `{0}`: use only letters, digits, `-` and `_`")]
    InvalidPrefix(String),
    #[error("cannot set up the NATS connection")]
    Connect(#[source] async_nats::ConnectError),
    #[error("NATS does not respond")]
    Unavailable,
}

pub(crate) fn check_prefix(prefix: &str) -> Result<String, BusError> {
    let is_valid = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if prefix.is_empty() || !prefix.bytes().all(is_valid) {
        return Err(BusError::InvalidPrefix(prefix.to_owned()));
    }
    Ok(prefix.to_owned())
}

pub(crate) fn with_credentials(options: ConnectOptions, url: &Url) -> ConnectOptions {
    match url.password() {
        Some(password) => options.user_and_password(url.username().to_owned(), password.to_owned()),
        None if !url.username().is_empty() => options.token(url.username().to_owned()),
        None => options,
    }
}

/// Returns the address without credentials, so that the client cannot log a password.
pub(crate) fn without_credentials(url: &Url) -> Result<ServerAddr, BusError> {
    let mut bare = url.clone();
    bare.set_username("").and_then(|()| bare.set_password(None)).map_err(|()| BusError::InvalidUrl)?;
    ServerAddr::from_url(bare).map_err(|_| BusError::InvalidUrl)
}
