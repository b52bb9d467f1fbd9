//! Confirmation of a sign-in for the CLI by the user in the browser.
//!
//! Anybody can send a link that starts a sign-in for their own program. The user therefore compares a short code with
//! the one in their terminal and confirms, before a code for the program exists. ADR 032 has the reasons.

use guildhall_domain::access::oidc::CliCallback;
use guildhall_domain::ids::PrincipalId;
use guildhall_identity::derived::{self, Purpose};
use guildhall_identity::opaque::{OpaqueSecret, OpaqueSecretKind};
use guildhall_store::Tx;
use guildhall_store::handoff_confirmations::{self, HandoffConfirmation};
use jiff::SignedDuration;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use url::Url;
use uuid::Uuid;

use super::Oidc;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::access::error::OidcError;
use crate::access::timestamps::saturating_add;

/// The time a person has to compare the codes.
pub const CONFIRMATION_LIFETIME: SignedDuration = SignedDuration::from_mins(5);

/// The path of the confirmation page under the server's public address.
pub const CONFIRMATION_PATH: &str = "/sign-in/confirm";

/// What the confirmation page shows.
#[derive(Debug, Clone)]
pub struct ConfirmationPrompt {
    /// The name of the user who signed in at the provider.
    pub user_name: String,
    /// The code that the CLI shows too.
    pub code: String,
    /// The local port on which the CLI waits.
    pub port: u16,
    /// The token that the form must send.
    pub csrf_token: SecretString,
}

/// What the user chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfirmationChoice {
    Confirm,
    Decline,
}

impl Oidc {
    /// Stores a sign-in until the user confirms it. Returns the cookie of the browser that may do so.
    pub(super) async fn request_confirmation(
        &self,
        tx: &mut Tx,
        principal: PrincipalId,
        cli: CliCallback,
    ) -> Result<SecretString, ServiceError> {
        let id = Uuid::now_v7();
        let (cookie, hash) = OpaqueSecret::generate(OpaqueSecretKind::SignIn, id);
        let expires_at = saturating_add(self.clock.now(), CONFIRMATION_LIFETIME);
        let waiting = HandoffConfirmation { principal, cli, expires_at };
        handoff_confirmations::insert(tx, id, hash.as_bytes(), &waiting).await?;
        Ok(cookie)
    }

    /// Returns what the confirmation page shows to a browser.
    pub async fn confirmation_prompt(
        &self,
        cookie: Option<SecretString>,
    ) -> Result<ConfirmationPrompt, ServiceError> {
        let cookie = cookie.ok_or(OidcError::NoCookie)?;
        let mut tx = self.auth.store.begin().await?;
        let (user_name, waiting) = self.find_waiting(&mut tx, &parse(&cookie)?).await?;
        tx.rollback().await?;
        Ok(ConfirmationPrompt {
            user_name,
            code: derived::confirmation_code(&waiting.cli.challenge),
            port: waiting.cli.port,
            csrf_token: derived::derive(&cookie, Purpose::Csrf),
        })
    }

    /// Completes a sign-in as the user chose, once. Returns the address of the CLI with its code, or none after a
    /// decline. The CSRF token proves that the choice was made on our page.
    pub async fn complete_confirmation(
        &self,
        cookie: Option<SecretString>,
        csrf_token: &str,
        choice: ConfirmationChoice,
    ) -> Result<Option<Url>, ServiceError> {
        let cookie = cookie.ok_or(OidcError::NoCookie)?;
        if !derived::is_derived(csrf_token, &cookie, Purpose::Csrf) {
            return Err(OidcError::ConfirmationToken.into());
        }
        let opaque = parse(&cookie)?;
        let mut tx = self.auth.store.begin().await?;
        let (_, waiting) = self.find_waiting(&mut tx, &opaque).await?;
        if !handoff_confirmations::delete(&mut tx, opaque.id, opaque.hash.as_bytes()).await? {
            return Err(OidcError::NotOpen.into());
        }
        let address = match choice {
            ConfirmationChoice::Confirm => {
                Some(self.create_handoff(&mut tx, waiting.principal, waiting.cli).await?)
            }
            ConfirmationChoice::Decline => {
                audit::record(&mut tx, &declined_event(waiting.principal)).await?;
                None
            }
        };
        tx.commit().await?;
        Ok(address)
    }

    async fn find_waiting(
        &self,
        tx: &mut Tx,
        opaque: &OpaqueSecret,
    ) -> Result<(String, HandoffConfirmation), ServiceError> {
        let found = handoff_confirmations::find(tx, opaque.id, opaque.hash.as_bytes()).await?;
        let found = found.filter(|(_, waiting)| self.clock.now() < waiting.expires_at);
        Ok(found.ok_or(OidcError::NotOpen)?)
    }
}

fn parse(cookie: &SecretString) -> Result<OpaqueSecret, OidcError> {
    let opaque = OpaqueSecret::parse(cookie.expose_secret()).map_err(|_| OidcError::NoCookie)?;
    if opaque.kind == OpaqueSecretKind::SignIn { Ok(opaque) } else { Err(OidcError::NoCookie) }
}

fn declined_event(principal: PrincipalId) -> AuditEvent {
    AuditEvent {
        log: AuditLog::Installation,
        action: "login.refused",
        actor: Some(principal),
        object: principal.to_string(),
        detail: json!({ "from": "the user declined to sign in the command line program" }),
    }
}
