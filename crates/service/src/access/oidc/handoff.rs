//! Hand-off of a sign-in from the browser to the CLI.
//!
//! After the user has confirmed, the browser is redirected to a port of the user's machine with a code. The code is
//! valid for one exchange within a minute, and only with a verifier that never leaves the CLI: the browser's history
//! does not reveal it.

use guildhall_domain::access::oidc::CliCallback;
use guildhall_domain::ids::PrincipalId;
use guildhall_identity::derived;
use guildhall_identity::opaque::{OpaqueSecret, OpaqueSecretKind};
use guildhall_store::Tx;
use guildhall_store::handoffs::{self, Handoff};
use jiff::SignedDuration;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use url::Url;
use uuid::Uuid;

use super::Oidc;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::access::auth::{SignInMethod, Tokens};
use crate::access::error::{OidcError, ProviderError};
use crate::access::timestamps::saturating_add;

/// The lifetime of a code. Short, because the CLI is waiting for it.
const LIFETIME: SignedDuration = SignedDuration::from_secs(60);

impl Oidc {
    /// Creates a code for the CLI. Returns the address on the user's machine to redirect the browser to.
    pub(super) async fn create_handoff(
        &self,
        tx: &mut Tx,
        principal: PrincipalId,
        cli: CliCallback,
    ) -> Result<Url, ServiceError> {
        let id = Uuid::now_v7();
        let (code, hash) = OpaqueSecret::generate(OpaqueSecretKind::Handoff, id);
        let mut address = Url::parse(&format!("http://127.0.0.1:{}/callback", cli.port))
            .map_err(|_| ProviderError::UnsafeAddress { what: "command" })?;
        // With the challenge the CLI can tell its own callback from a stray request.
        address
            .query_pairs_mut()
            .append_pair("code", code.expose_secret())
            .append_pair("challenge", &cli.challenge);
        let expires_at = saturating_add(self.clock.now(), LIFETIME);
        let handoff = Handoff { principal, challenge: cli.challenge, expires_at };
        handoffs::insert(tx, id, hash.as_bytes(), &handoff).await?;
        let event = AuditEvent {
            log: AuditLog::Installation,
            action: "login.handed_off",
            actor: Some(principal),
            object: principal.to_string(),
            detail: json!({ "method": SignInMethod::Oidc.as_str() }),
        };
        audit::record(tx, &event).await?;
        Ok(address)
    }

    /// Exchanges a code and its verifier for tokens. A wrong verifier also uses up the code: it was stolen then.
    pub async fn exchange(
        &self,
        code: &SecretString,
        verifier: &SecretString,
    ) -> Result<Tokens, ServiceError> {
        let opaque = OpaqueSecret::parse(code.expose_secret()).map_err(|_| OidcError::Handoff)?;
        if opaque.kind != OpaqueSecretKind::Handoff {
            return Err(OidcError::Handoff.into());
        }
        let mut tx = self.auth.store.begin().await?;
        let Some(handoff) = handoffs::consume(&mut tx, opaque.id, opaque.hash.as_bytes()).await? else {
            return Err(OidcError::Handoff.into());
        };
        if !derived::matches_challenge(verifier, &handoff.challenge) || self.clock.now() >= handoff.expires_at
        {
            tx.commit().await?;
            return Err(OidcError::Handoff.into());
        }
        self.auth.create_login(tx, handoff.principal, SignInMethod::Handoff).await
    }
}
