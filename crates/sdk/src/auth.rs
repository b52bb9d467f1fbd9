//! Sign-in and sign-out.

use guildhall_protocol::rest::access::auth::{TokensView, WhoamiView};
use jiff::Timestamp;
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use crate::{Client, ClientError};

/// The tokens of a sign-in.
#[derive(Debug, Clone)]
pub struct Tokens {
    pub principal: String,
    pub access: SecretString,
    pub access_expires_at: Timestamp,
    /// Can be exchanged once.
    pub refresh: SecretString,
}

#[derive(Serialize)]
struct SignInBody<'a> {
    name: &'a str,
    password: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RefreshBody<'a> {
    refresh_token: &'a str,
}

impl Client {
    /// Signs in with a name and a password.
    pub async fn sign_in(&self, name: &str, password: &SecretString) -> Result<Tokens, ClientError> {
        let body = SignInBody { name, password: password.expose_secret() };
        let request = self.request(Method::POST, &["auth", "login"]).json(&body);
        self.call_without_token::<TokensView>(request).await.map(Tokens::from)
    }

    /// Exchanges a refresh token for new tokens. Using the same refresh token twice revokes the login.
    pub async fn refresh(&self, refresh: &SecretString) -> Result<Tokens, ClientError> {
        let body = RefreshBody { refresh_token: refresh.expose_secret() };
        let request = self.request(Method::POST, &["auth", "refresh"]).json(&body);
        self.call_without_token::<TokensView>(request).await.map(Tokens::from)
    }

    /// Revokes the login of the current token, with all its tokens.
    pub async fn sign_out(&self) -> Result<(), ClientError> {
        self.command(self.request(Method::POST, &["auth", "logout"])).await
    }

    /// Returns the signed-in principal.
    pub async fn whoami(&self) -> Result<WhoamiView, ClientError> {
        self.call(self.request(Method::GET, &["whoami"])).await
    }
}

impl From<TokensView> for Tokens {
    fn from(view: TokensView) -> Self {
        Self {
            principal: view.principal,
            access: view.access_token.into(),
            access_expires_at: view.access_expires_at,
            refresh: view.refresh_token.into(),
        }
    }
}
