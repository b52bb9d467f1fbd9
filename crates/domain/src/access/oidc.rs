//! OpenID Connect sign-in.

/// The local port on which the CLI waits, and its PKCE challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliCallback {
    pub port: u16,
    pub challenge: String,
}
