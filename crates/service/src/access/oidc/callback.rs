//! The callback from the provider, which completes a sign-in.

use guildhall_domain::access::invitation::InvitationError;
use guildhall_domain::access::principal::PrincipalKind;
use guildhall_domain::ids::PrincipalId;
use guildhall_identity::derived::{self, Purpose};
use guildhall_identity::id_token::IdTokenSubject;
use guildhall_identity::opaque::{OpaqueSecret, OpaqueSecretKind, SecretHash};
use guildhall_store::oidc_flows::{self, OidcFlow};
use guildhall_store::principals::{self, NewPrincipal};
use guildhall_store::{Tx, login_methods};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::Oidc;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::access::auth::SignInMethod;
use crate::access::browser_session::BrowserSession;
use crate::access::error::{AccessError, OidcError};
use crate::access::invitations::{PresentedInvitation, accept_invitation};

/// The length limit of names and messages from a provider; the rest is cut off.
const MAX_NAME_CHARS: usize = 100;

/// The query parameters of the callback.
#[derive(Debug, Clone, Default)]
pub struct CallbackParams {
    pub state: Option<SecretString>,
    pub code: Option<SecretString>,
    pub issuer: Option<String>,
    pub error: Option<String>,
}

/// A completed sign-in.
#[derive(Debug, Clone)]
pub enum CompletedSignIn {
    /// Of a browser: its session, and the path to redirect to.
    Browser { session: BrowserSession, return_to: String },
    /// Of the CLI: the cookie with which the browser opens the confirmation page.
    Cli { confirmation: SecretString },
}

impl Oidc {
    /// Completes a sign-in, once, for the browser that started it. A refused one changes nothing.
    pub async fn complete(
        &self,
        cookie: Option<SecretString>,
        params: CallbackParams,
    ) -> Result<CompletedSignIn, ServiceError> {
        let cookie = cookie.ok_or(OidcError::NoCookie)?;
        let flow = self.consume_flow(&cookie, &params).await?;
        let subject = self.fetch_subject(&cookie, params).await?;
        let mut tx = self.auth.store.begin().await?;
        let principal = self.find_or_create_principal(&mut tx, &flow, &subject).await?;
        let completed = match flow.cli {
            Some(cli) => {
                let confirmation = self.request_confirmation(&mut tx, principal, cli).await?;
                CompletedSignIn::Cli { confirmation }
            }
            None => {
                let session =
                    self.auth.create_browser_session(&mut tx, principal, SignInMethod::Oidc).await?;
                CompletedSignIn::Browser { session, return_to: flow.return_to }
            }
        };
        tx.commit().await?;
        Ok(completed)
    }

    /// Consumes the row of a sign-in before the provider is called, so that only one of two callbacks proceeds. A
    /// callback in another browser consumes nothing.
    async fn consume_flow(
        &self,
        cookie: &SecretString,
        params: &CallbackParams,
    ) -> Result<OidcFlow, ServiceError> {
        let opaque = OpaqueSecret::parse(cookie.expose_secret()).map_err(|_| OidcError::NoCookie)?;
        if opaque.kind != OpaqueSecretKind::SignIn {
            return Err(OidcError::NoCookie.into());
        }
        let state = params.state.as_ref().ok_or(OidcError::State)?;
        if !derived::is_derived(state.expose_secret(), cookie, Purpose::State) {
            return Err(OidcError::State.into());
        }
        let mut tx = self.auth.store.begin().await?;
        let flow = oidc_flows::consume(&mut tx, opaque.id, opaque.hash.as_bytes()).await?;
        tx.commit().await?;
        let flow = flow.filter(|flow| self.clock.now() < flow.expires_at);
        Ok(flow.ok_or(OidcError::NotOpen)?)
    }

    async fn fetch_subject(
        &self,
        cookie: &SecretString,
        params: CallbackParams,
    ) -> Result<IdTokenSubject, ServiceError> {
        let loaded = self.provider.load().await?;
        // RFC 9207: the issuer in the callback must be the configured one.
        let is_our_issuer = match &params.issuer {
            Some(issuer) => issuer == self.provider.issuer(),
            None => !loaded.metadata.authorization_response_iss_parameter_supported,
        };
        if !is_our_issuer {
            return Err(OidcError::Issuer.into());
        }
        if let Some(error) = params.error {
            return Err(OidcError::Denied(sanitize(&error)).into());
        }
        let code = params.code.ok_or(OidcError::Code)?;
        let verifier = derived::derive(cookie, Purpose::PkceVerifier);
        let token = self.provider.exchange(code.expose_secret(), &verifier, &self.redirect_uri).await?;
        let nonce = derived::derive(cookie, Purpose::Nonce);
        self.provider.verify(&token, nonce.expose_secret()).await
    }

    /// Finds the principal that is linked to a subject, or creates one with an invitation.
    async fn find_or_create_principal(
        &self,
        tx: &mut Tx,
        flow: &OidcFlow,
        subject: &IdTokenSubject,
    ) -> Result<PrincipalId, ServiceError> {
        let invitation = flow.invitation.as_ref().map(|(id, hash)| {
            let hash = <[u8; 32]>::try_from(hash.as_slice()).map_err(|_| OidcError::Invitation)?;
            Ok::<_, OidcError>(PresentedInvitation { id: *id, hash: SecretHash::from_bytes(hash) })
        });
        let invitation = invitation.transpose()?;
        let linked = login_methods::find(tx, &subject.issuer, &subject.subject).await?;
        let (principal, is_new) = match (linked, invitation) {
            (Some(linked), _) if linked.is_disabled => return Err(OidcError::Disabled.into()),
            (Some(linked), _) => (linked.principal, false),
            (None, Some(_)) => (create_principal(tx, subject).await?, true),
            (None, None) => {
                let IdTokenSubject { issuer, subject, .. } = subject.clone();
                return Err(OidcError::UnknownSubject { issuer, subject: sanitize(&subject) }.into());
            }
        };
        let Some(presented) = invitation else { return Ok(principal) };
        match accept_invitation(tx, presented, principal, self.clock.now()).await {
            Ok(_) => Ok(principal),
            // An existing member can sign in with an invitation.
            Err(ServiceError::Access(AccessError::Invitation(InvitationError::AlreadyMember(_))))
                if !is_new =>
            {
                Ok(principal)
            }
            Err(ServiceError::Access(AccessError::Invitation(_))) => Err(OidcError::Invitation.into()),
            Err(error) => Err(error),
        }
    }
}

/// Creates the principal of a subject and links the subject to it.
async fn create_principal(tx: &mut Tx, subject: &IdTokenSubject) -> Result<PrincipalId, ServiceError> {
    let id = PrincipalId::generate();
    let name = sanitize(subject.name.as_deref().unwrap_or(&subject.subject));
    let name = if name.is_empty() { "unnamed" } else { &name };
    let new = NewPrincipal { id, kind: PrincipalKind::Person, name, is_operator: false };
    principals::insert(tx, &new).await?;
    if !login_methods::insert(tx, &subject.issuer, &subject.subject, id).await? {
        // A concurrent sign-in linked the same subject first: the next attempt finds it.
        return Err(OidcError::NotOpen.into());
    }
    let event = AuditEvent {
        log: AuditLog::Installation,
        action: "user.created",
        actor: None,
        object: id.to_string(),
        detail: json!({ "name": name, "operator": false, "issuer": subject.issuer, "subject": subject.subject }),
    };
    audit::record(tx, &event).await?;
    Ok(id)
}

/// Removes control characters from external text and limits its length.
fn sanitize(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect();
    text.trim().to_owned()
}
