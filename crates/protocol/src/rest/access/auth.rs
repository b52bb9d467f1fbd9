//! Sign-in.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// User name and password. It has no `Debug`, so that it is never logged.
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

/// Tokens of a sign-in.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokensView {
    /// The signed-in principal.
    #[schema(example = "prn_01920000000070008000000000000000")]
    pub principal: String,
    /// Send it as `Authorization: Bearer …`.
    pub access_token: String,
    pub access_expires_at: Timestamp,
    /// Exchange it once at /api/v1/auth/refresh. Using it twice revokes the login.
    pub refresh_token: String,
}

/// A browser session. Its cookie is set with `Set-Cookie` and is not accessible to scripts.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrowserSessionView {
    /// The signed-in principal.
    #[schema(example = "prn_01920000000070008000000000000000")]
    pub principal: String,
    /// Send it as `X-Guildhall-CSRF` with every request that changes state.
    pub csrf_token: String,
    pub expires_at: Timestamp,
}

/// The signed-in caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhoamiView {
    pub principal: String,
    /// user, service or external.
    pub kind: String,
    /// Whether the caller operates the installation.
    pub operator: bool,
    /// The caller's tenants and roles.
    pub tenants: Vec<super::tenants::MembershipView>,
}

/// Query parameters that start a sign-in through the identity provider.
#[derive(Clone, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
pub struct StartOidcQuery {
    /// Redirect target after the sign-in: a path on this server.
    #[param(
        example = "/",
        max_length = 1024,
        pattern = r"^/([\x21\x22\x24-\x2e\x30-\x5b\x5d-\x7e][\x21\x22\x24-\x5b\x5d-\x7e]*)?$"
    )]
    pub return_to: Option<String>,
    /// An invitation, for users without an account.
    #[param(format = Password)]
    pub invitation: Option<String>,
    /// For sign-in from a CLI: the local port that it listens on, a dot, and its PKCE challenge (S256).
    #[param(
        example = "4321.E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        pattern = r"^([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])\.[A-Za-z0-9_-]{43}$"
    )]
    pub cli: Option<String>,
}

/// Query parameters of the redirect from the identity provider. Others are ignored.
#[derive(Clone, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct OidcCallbackQuery {
    #[param(format = Password)]
    pub state: Option<String>,
    #[param(format = Password)]
    pub code: Option<String>,
    pub iss: Option<String>,
    pub error: Option<String>,
}

/// A handoff code from the browser redirect, and the verifier that proves its owner.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExchangeHandoff {
    #[schema(format = Password)]
    pub code: String,
    /// The PKCE verifier of the challenge that started the sign-in.
    #[schema(format = Password)]
    pub verifier: String,
}

/// Confirms a sign-out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignedOutView {
    /// Always true.
    pub signed_out: bool,
}
