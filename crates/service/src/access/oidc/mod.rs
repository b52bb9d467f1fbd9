//! Signing in through an identity provider (OpenID Connect, authorization code with PKCE).
//!
//! A sign-in begins with a secret that stays in one browser, in a cookie. State, nonce and PKCE verifier follow from it,
//! so none of them is stored, and an answer of the provider fits the browser that asked and no other. What the sign-in
//! is for stands in a row that is taken once, on whichever replica the browser comes back to.

mod finish;
mod handoff;
mod provider;

use guildhall_domain::access::return_path::ReturnPath;
use guildhall_egress::Egress;
use guildhall_identity::derived::{self, Purpose};
use guildhall_identity::id_token::IdTokenError;
use guildhall_identity::opaque::{Opaque, OpaqueKind};
use guildhall_runtime::Clock;
use guildhall_store::oidc_flows::{self, Flow};
use jiff::SignedDuration;
use secrecy::{ExposeSecret, SecretString};
use url::Url;
use uuid::Uuid;

pub use finish::{Answer, Finished};
pub use guildhall_identity::derived::is_challenge;
pub use guildhall_store::oidc_flows::CliWait;
pub use provider::{Provider, ProviderError, ProviderOptions};

use crate::ServiceError;
use crate::access::auth::{Auth, add};
use crate::access::invitations::Presented;

/// How long a person may take at the provider.
pub const LIFETIME: SignedDuration = SignedDuration::from_mins(10);

/// Below the server's public address; registered with the provider.
pub const CALLBACK_PATH: &str = "/api/v1/auth/oidc/callback";

/// Why a sign-in is refused. The log and the audit log read the words; the caller is told which kind of step to take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the answer came without the cookie of the browser that began the sign-in")]
    NoCookie,
    #[error("the answer is of a sign-in that another browser began (state)")]
    State,
    #[error("the sign-in has expired, or was completed before")]
    NotOpen,
    #[error("the answer names another issuer")]
    Issuer,
    #[error("the provider refused: {0}")]
    Denied(String),
    #[error("the provider did not take the code")]
    Code,
    #[error(transparent)]
    IdToken(#[from] IdTokenError),
    #[error("nobody here is subject {subject} of {issuer}, and no invitation came along")]
    UnknownSubject { issuer: String, subject: String },
    #[error("the invitation is not valid, or no longer")]
    Invitation,
    #[error("the account is disabled")]
    Disabled,
    #[error("the hand-off code is not valid, was used, or came without its proof")]
    Handoff,
}

/// What a sign-in is for.
#[derive(Debug, Clone, Default)]
pub struct Purposes {
    pub return_to: ReturnPath,
    pub invitation: Option<SecretString>,
    /// A command on the user's machine waits for the outcome.
    pub cli: Option<CliWait>,
}

/// A sign-in that was begun: the browser keeps the cookie and goes to the address.
#[derive(Debug, Clone)]
pub struct Begun {
    pub cookie: SecretString,
    pub authorize: Url,
}

/// Signs people in through one provider.
#[derive(Debug, Clone)]
pub struct Oidc {
    auth: Auth,
    clock: Clock,
    provider: Provider,
    redirect_uri: String,
}

impl Oidc {
    /// Prepares signing in. `public_origin` is the address under which browsers know this server.
    #[must_use]
    pub fn new(
        auth: Auth,
        clock: Clock,
        egress: Egress,
        options: ProviderOptions,
        public_origin: &str,
    ) -> Self {
        let provider = Provider::new(egress, clock.clone(), options);
        Self { auth, clock, provider, redirect_uri: format!("{public_origin}{CALLBACK_PATH}") }
    }

    /// Begins a sign-in.
    pub async fn begin(&self, purposes: &Purposes) -> Result<Begun, ServiceError> {
        let loaded = self.provider.load().await?;
        let invitation = purposes.invitation.as_ref().map(Presented::parse).transpose()?;
        let id = Uuid::now_v7();
        let (cookie, hash) = Opaque::generate(OpaqueKind::SignIn, id);
        let flow = Flow {
            return_to: purposes.return_to.to_string(),
            invitation: invitation.map(|invitation| (invitation.id, invitation.hash.as_bytes().to_vec())),
            cli: purposes.cli.clone(),
            expires_at: add(self.clock.now(), LIFETIME),
        };
        if !oidc_flows::insert(&self.auth.store, id, hash.as_bytes(), &flow).await? {
            return Err(ServiceError::Overloaded);
        }
        let authorize = self.authorize(loaded.metadata.authorization_endpoint.clone(), &cookie);
        Ok(Begun { cookie, authorize })
    }

    fn authorize(&self, mut endpoint: Url, cookie: &SecretString) -> Url {
        let state = derived::derive(cookie, Purpose::State);
        let nonce = derived::derive(cookie, Purpose::Nonce);
        let verifier = derived::derive(cookie, Purpose::PkceVerifier);
        endpoint
            .query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", self.provider.client_id())
            .append_pair("redirect_uri", &self.redirect_uri)
            // Who it is, and a name to show. No address of mail: accounts are not linked by it.
            .append_pair("scope", "openid profile")
            .append_pair("state", state.expose_secret())
            .append_pair("nonce", nonce.expose_secret())
            .append_pair("code_challenge", &derived::challenge(&verifier))
            .append_pair("code_challenge_method", "S256");
        endpoint
    }
}
