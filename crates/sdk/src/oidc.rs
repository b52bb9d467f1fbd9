//! Browser sign-in for the CLI.

use guildhall_domain::FailureKind;
use guildhall_protocol::rest::access::auth::{ExchangeHandoff, TokensView};
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde::de::IgnoredAny;
use url::Url;

use crate::{Client, ClientError, Tokens};

/// Parameters of a browser sign-in.
#[derive(Debug, Clone)]
pub struct BrowserSignIn<'a> {
    /// The local port on which the CLI listens for the callback.
    pub port: u16,
    /// The PKCE challenge (S256) of a secret that the CLI keeps.
    pub challenge: &'a str,
    /// For a user without an account.
    pub invitation: Option<&'a SecretString>,
}

impl Client {
    /// Returns whether the server has an identity provider. Starts no sign-in: the request has no valid callback.
    pub async fn has_identity_provider(&self) -> Result<bool, ClientError> {
        let request = self.query(&["auth", "oidc", "start"], &[("cli", "none")]);
        match self.call_without_token::<IgnoredAny>(request).await {
            Err(error) if error.kind() == Some(FailureKind::NotFound) => Ok(false),
            Err(error) if error.kind() == Some(FailureKind::SchemaInvalid) => Ok(true),
            Err(error) => Err(error),
            Ok(IgnoredAny) => Ok(true),
        }
    }

    /// Returns the URL at which the browser starts the sign-in. With an invitation it contains a secret.
    #[must_use]
    pub fn oidc_start_url(&self, sign_in: &BrowserSignIn<'_>) -> Url {
        let mut url = self.api_url(&["auth", "oidc", "start"]);
        let mut query = url.query_pairs_mut();
        query.append_pair("cli", &format!("{}.{}", sign_in.port, sign_in.challenge));
        if let Some(invitation) = sign_in.invitation {
            query.append_pair("invitation", invitation.expose_secret());
        }
        drop(query);
        url
    }

    /// Exchanges the code from the browser and the PKCE verifier for tokens.
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
        self.call_without_token::<TokensView>(request).await.map(Tokens::from)
    }
}
