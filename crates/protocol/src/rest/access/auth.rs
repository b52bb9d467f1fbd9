//! Signing in.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// A name and a password. Never logged: it has no `Debug`.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignIn {
    pub name: String,
    #[schema(format = Password)]
    pub password: String,
}

/// A refresh token to exchange.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Refresh {
    #[schema(format = Password)]
    pub refresh_token: String,
}

/// What a sign-in hands out.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokensView {
    /// Who signed in.
    #[schema(example = "prn_01920000000070008000000000000000")]
    pub principal: String,
    /// Send it as `Authorization: Bearer …`.
    pub access_token: String,
    pub access_expires_at: Timestamp,
    /// Exchange it once at /api/v1/auth/refresh; using it twice ends the login.
    pub refresh_token: String,
}

/// A browser session. Its cookie is in the answer's `Set-Cookie`, out of reach of scripts.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrowserSessionView {
    /// Who signed in.
    #[schema(example = "prn_01920000000070008000000000000000")]
    pub principal: String,
    /// Send it as `X-Guildhall-CSRF` with every request that changes something.
    pub csrf_token: String,
    pub expires_at: Timestamp,
}

/// Who the server takes the caller for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhoamiView {
    pub principal: String,
    /// user, service or external.
    pub kind: String,
    /// Whether they operate the installation.
    pub operator: bool,
    /// The tenants they belong to, with their role in each.
    pub tenants: Vec<super::tenants::MembershipView>,
}

/// What a sign-in through the identity provider is for.
#[derive(Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
pub struct BeginOidc {
    /// Where the browser goes afterwards: a path on this server.
    #[param(
        example = "/",
        max_length = 1024,
        pattern = r"^/([\x21\x22\x24-\x2e\x30-\x5b\x5d-\x7e][\x21\x22\x24-\x5b\x5d-\x7e]*)?$"
    )]
    pub return_to: Option<String>,
    /// An invitation, for who has no account here yet.
    #[param(format = Password)]
    pub invitation: Option<String>,
    /// For a command that waits for the outcome: the port of the browser's own machine on which it listens, a dot, and the
    /// PKCE challenge (S256) of the secret that it keeps.
    #[param(
        example = "4321.E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        pattern = r"^([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])\.[A-Za-z0-9_-]{43}$"
    )]
    pub cli: Option<String>,
}

/// What an identity provider sends a browser back with; others are ignored.
#[derive(Clone, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct OidcAnswer {
    #[param(format = Password)]
    pub state: Option<String>,
    #[param(format = Password)]
    pub code: Option<String>,
    pub iss: Option<String>,
    pub error: Option<String>,
}

/// A hand-off code that a browser brought, and the secret that proves whose it is.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExchangeHandoff {
    #[schema(format = Password)]
    pub code: String,
    /// The PKCE verifier of the challenge that the sign-in began with.
    #[schema(format = Password)]
    pub verifier: String,
}
