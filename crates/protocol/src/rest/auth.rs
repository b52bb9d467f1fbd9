//! Signing in.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
    /// user or service.
    pub kind: String,
    /// Whether they operate the installation.
    pub operator: bool,
    /// The tenants they belong to, with their role in each.
    pub tenants: Vec<super::tenants::MembershipView>,
}
