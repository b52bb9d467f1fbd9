//! Sign-in through an identity provider (OpenID Connect, authorization code with PKCE).
//!
//! A sign-in starts with a secret in a cookie of the browser. State, nonce and PKCE verifier are derived from it: none
//! of them is stored, and a callback is valid only in the browser that started the sign-in. The row of a sign-in is
//! consumed once, on any replica.

mod callback;
mod confirmation;
mod handoff;
mod provider;

use std::net::IpAddr;

use guildhall_domain::access::return_path::ReturnPath;
use guildhall_domain::ops::rate::RateKey;
use guildhall_egress::Egress;
use guildhall_identity::derived::{self, Purpose};
use guildhall_identity::opaque::{OpaqueSecret, OpaqueSecretKind};
use guildhall_runtime::Clock;
use guildhall_store::oidc_flows::{self, FlowInsert, OidcFlow};
use jiff::SignedDuration;
use secrecy::{ExposeSecret, SecretString};
use url::Url;
use uuid::Uuid;

pub use callback::{CallbackParams, CompletedSignIn};
pub use confirmation::{CONFIRMATION_LIFETIME, CONFIRMATION_PATH, ConfirmationChoice, ConfirmationPrompt};
use guildhall_domain::access::oidc::CliCallback;
pub use guildhall_identity::derived::is_challenge;
pub use provider::{Provider, ProviderOptions};

use crate::ServiceError;
use crate::access::auth::Auth;
use crate::access::error::AccessError;
use crate::access::invitations::PresentedInvitation;
use crate::access::timestamps::saturating_add;

/// The time a person has to sign in at the provider.
pub const LIFETIME: SignedDuration = SignedDuration::from_mins(10);

/// The redirect path under the server's public address. It must be registered with the provider.
pub const CALLBACK_PATH: &str = "/api/v1/auth/oidc/callback";

/// What to do after a sign-in.
#[derive(Debug, Clone, Default)]
pub struct SignInRequest {
    pub return_to: ReturnPath,
    pub invitation: Option<SecretString>,
    /// The CLI on the user's machine that waits for the sign-in.
    pub cli: Option<CliCallback>,
}

/// A started sign-in: the browser stores the cookie and is redirected to the URL.
#[derive(Debug, Clone)]
pub struct StartedSignIn {
    pub cookie: SecretString,
    pub authorization_url: Url,
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
    /// Prepares sign-in. `public_origin` is the public address of this server.
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

    /// Starts a sign-in for a browser at this address.
    pub async fn start(
        &self,
        request: &SignInRequest,
        client: IpAddr,
    ) -> Result<StartedSignIn, ServiceError> {
        let invitation = request.invitation.as_ref().map(PresentedInvitation::parse).transpose()?;
        let loaded = self.provider.load().await?;
        let id = Uuid::now_v7();
        let (cookie, hash) = OpaqueSecret::generate(OpaqueSecretKind::SignIn, id);
        let flow = OidcFlow {
            return_to: request.return_to.to_string(),
            invitation: invitation.map(|invitation| (invitation.id, invitation.hash.as_bytes().to_vec())),
            cli: request.cli.clone(),
            expires_at: saturating_add(self.clock.now(), LIFETIME),
        };
        let client = RateKey::from_address(client);
        match oidc_flows::insert(&self.auth.store, id, hash.as_bytes(), client, &flow).await? {
            FlowInsert::Inserted => {}
            FlowInsert::ClientFull => return Err(AccessError::TooManyOpenSignIns.into()),
            FlowInsert::Full => return Err(ServiceError::Overloaded),
        }
        let authorization_url =
            self.authorization_url(loaded.metadata.authorization_endpoint.clone(), &cookie);
        Ok(StartedSignIn { cookie, authorization_url })
    }

    fn authorization_url(&self, mut endpoint: Url, cookie: &SecretString) -> Url {
        let state = derived::derive(cookie, Purpose::State);
        let nonce = derived::derive(cookie, Purpose::Nonce);
        let verifier = derived::derive(cookie, Purpose::PkceVerifier);
        endpoint
            .query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", self.provider.client_id())
            .append_pair("redirect_uri", &self.redirect_uri)
            // The subject and a display name. No e-mail address: accounts are not linked by it.
            .append_pair("scope", "openid profile")
            .append_pair("state", state.expose_secret())
            .append_pair("nonce", nonce.expose_secret())
            .append_pair("code_challenge", &derived::challenge(&verifier))
            .append_pair("code_challenge_method", "S256");
        endpoint
    }
}
