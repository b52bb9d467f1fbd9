//! The way back from the provider.

use guildhall_domain::access::invitation::InvitationRefusal;
use guildhall_domain::access::principal::PrincipalKind;
use guildhall_domain::ids::PrincipalId;
use guildhall_identity::derived::{self, Purpose};
use guildhall_identity::id_token::Subject;
use guildhall_identity::opaque::{Opaque, OpaqueKind, SecretHash};
use guildhall_store::oidc_flows::{self, Flow};
use guildhall_store::principals::{self, NewPrincipal};
use guildhall_store::{Tx, login_methods};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use url::Url;

use super::{Oidc, Refusal};
use crate::ServiceError;
use crate::access::audit::{self, Event, Of};
use crate::access::auth::Method;
use crate::access::browser::BrowserSession;
use crate::access::invitations::{Presented, join};

/// The longest name that is taken from a provider.
const NAME_AT_MOST: usize = 100;

/// What the provider sent the browser back with.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub state: Option<SecretString>,
    pub code: Option<SecretString>,
    pub issuer: Option<String>,
    pub error: Option<String>,
}

/// Where a sign-in ends.
#[derive(Debug, Clone)]
pub enum Finished {
    /// In the browser: a session, and a path to go on at.
    Browser { session: BrowserSession, return_to: String },
    /// At a command on the user's machine: the browser carries a code there, which is of no use by itself.
    Cli { address: Url },
}

impl Oidc {
    /// Completes a sign-in, once, for the browser that began it. Nothing is changed by one that is refused.
    pub async fn finish(
        &self,
        cookie: Option<SecretString>,
        answer: Answer,
    ) -> Result<Finished, ServiceError> {
        let cookie = cookie.ok_or(Refusal::NoCookie)?;
        let flow = self.take(&cookie, &answer).await?;
        let subject = self.ask_provider(&cookie, answer).await?;
        let mut tx = self.auth.store.begin().await?;
        let principal = self.admit(&mut tx, &flow, &subject).await?;
        let finished = match flow.cli {
            Some(cli) => Finished::Cli { address: self.hand_off(&mut tx, principal, cli).await? },
            None => {
                let session = self.auth.begin_browser(&mut tx, principal, Method::Oidc).await?;
                Finished::Browser { session, return_to: flow.return_to }
            }
        };
        tx.commit().await?;
        Ok(finished)
    }

    /// Takes the row of a sign-in, before anything is asked of the provider: of two answers one is late. An answer that
    /// belongs to another browser takes nothing.
    async fn take(&self, cookie: &SecretString, answer: &Answer) -> Result<Flow, ServiceError> {
        let opaque = Opaque::parse(cookie.expose_secret()).map_err(|_| Refusal::NoCookie)?;
        if opaque.kind != OpaqueKind::SignIn {
            return Err(Refusal::NoCookie.into());
        }
        let state = answer.state.as_ref().ok_or(Refusal::State)?;
        if !derived::is_derived(state.expose_secret(), cookie, Purpose::State) {
            return Err(Refusal::State.into());
        }
        let mut tx = self.auth.store.begin().await?;
        let flow = oidc_flows::take(&mut tx, opaque.id, opaque.hash.as_bytes()).await?;
        tx.commit().await?;
        let flow = flow.filter(|flow| self.clock.now() < flow.expires_at);
        Ok(flow.ok_or(Refusal::NotOpen)?)
    }

    async fn ask_provider(&self, cookie: &SecretString, answer: Answer) -> Result<Subject, ServiceError> {
        let loaded = self.provider.load().await?;
        // RFC 9207: an answer that names its issuer must be of the one that was asked.
        let named = match &answer.issuer {
            Some(issuer) => issuer == self.provider.issuer(),
            None => !loaded.metadata.authorization_response_iss_parameter_supported,
        };
        if !named {
            return Err(Refusal::Issuer.into());
        }
        if let Some(error) = answer.error {
            return Err(Refusal::Denied(clean(&error)).into());
        }
        let code = answer.code.ok_or(Refusal::Code)?;
        let verifier = derived::derive(cookie, Purpose::PkceVerifier);
        let token = self.provider.exchange(code.expose_secret(), &verifier, &self.redirect_uri).await?;
        let nonce = derived::derive(cookie, Purpose::Nonce);
        self.provider.verify(&token, nonce.expose_secret()).await
    }

    /// Finds whose subject this is, or makes somebody who was invited.
    async fn admit(&self, tx: &mut Tx, flow: &Flow, subject: &Subject) -> Result<PrincipalId, ServiceError> {
        let invitation = flow.invitation.as_ref().map(|(id, hash)| {
            let hash = <[u8; 32]>::try_from(hash.as_slice()).map_err(|_| Refusal::Invitation)?;
            Ok::<_, Refusal>(Presented { id: *id, hash: SecretHash::from_bytes(hash) })
        });
        let invitation = invitation.transpose()?;
        let linked = login_methods::find(tx, &subject.issuer, &subject.subject).await?;
        let (principal, is_new) = match (linked, invitation) {
            (Some(linked), _) if linked.is_disabled => return Err(Refusal::Disabled.into()),
            (Some(linked), _) => (linked.principal, false),
            (None, Some(_)) => (make(tx, subject).await?, true),
            (None, None) => {
                let Subject { issuer, subject, .. } = subject.clone();
                return Err(Refusal::UnknownSubject { issuer, subject: clean(&subject) }.into());
            }
        };
        let Some(presented) = invitation else { return Ok(principal) };
        match join(tx, presented, principal, self.clock.now()).await {
            Ok(_) => Ok(principal),
            // Who is a member already signs in all the same.
            Err(ServiceError::Invitation(InvitationRefusal::AlreadyMember(_))) if !is_new => Ok(principal),
            Err(ServiceError::Invitation(_)) => Err(Refusal::Invitation.into()),
            Err(error) => Err(error),
        }
    }
}

/// Makes the person behind a subject.
async fn make(tx: &mut Tx, subject: &Subject) -> Result<PrincipalId, ServiceError> {
    let id = PrincipalId::generate();
    let name = clean(subject.name.as_deref().unwrap_or(&subject.subject));
    let name = if name.is_empty() { "unnamed" } else { &name };
    let new = NewPrincipal { id, kind: PrincipalKind::Person, name, is_operator: false };
    principals::insert(tx, &new).await?;
    if !login_methods::insert(tx, &subject.issuer, &subject.subject, id).await? {
        // Somebody with the same subject was a moment earlier: the next attempt finds them.
        return Err(Refusal::NotOpen.into());
    }
    let event = Event {
        of: Of::Installation,
        action: "user.created",
        actor: None,
        object: id.to_string(),
        detail: json!({ "name": name, "operator": false, "issuer": subject.issuer, "subject": subject.subject }),
    };
    audit::record(tx, &event).await?;
    Ok(id)
}

/// Takes out of a stranger's text what cannot be seen, and all that is too much.
fn clean(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).take(NAME_AT_MOST).collect();
    text.trim().to_owned()
}
