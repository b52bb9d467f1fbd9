//! Signing a command in through a browser.

use guildhall_protocol::rest::access::auth::{ExchangeHandoff, TokensView};
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::{Client, ClientError, Tokens};

/// A command that waits for a browser.
#[derive(Debug, Clone)]
pub struct Waiting<'a> {
    /// The port of this machine on which it listens.
    pub port: u16,
    /// The PKCE challenge (S256) of a secret that it keeps.
    pub challenge: &'a str,
    /// For who has no account yet.
    pub invitation: Option<&'a SecretString>,
}

impl Client {
    /// Returns the address at which a browser begins a sign-in for a command. With an invitation it holds a secret.
    #[must_use]
    pub fn oidc_address(&self, waiting: &Waiting<'_>) -> Url {
        let mut address = self.address(&["auth", "oidc", "start"]);
        let mut query = address.query_pairs_mut();
        query.append_pair("cli", &format!("{}.{}", waiting.port, waiting.challenge));
        if let Some(invitation) = waiting.invitation {
            query.append_pair("invitation", invitation.expose_secret());
        }
        drop(query);
        address
    }

    /// Exchanges the code that a browser brought for tokens, together with the secret behind the challenge.
    pub async fn exchange_handoff(
        &self,
        code: &SecretString,
        verifier: &SecretString,
    ) -> Result<Tokens, ClientError> {
        let body = ExchangeHandoff {
            code: code.expose_secret().to_owned(),
            verifier: verifier.expose_secret().to_owned(),
        };
        let request = self.request(Method::POST, &["auth", "handoff"]).json(&body);
        self.call_openly::<TokensView>(request).await.map(Tokens::from)
    }
}
