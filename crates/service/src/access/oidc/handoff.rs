//! From a browser that signed in to the command that asked for it.
//!
//! The browser carries a code to a port of the user's own machine. The code is good for one exchange, for a minute, and
//! only together with a secret that never left the command: what stands in the browser's history is of no use.

use guildhall_domain::ids::PrincipalId;
use guildhall_identity::derived;
use guildhall_identity::opaque::{Opaque, OpaqueKind};
use guildhall_store::Tx;
use guildhall_store::handoffs::{self, Handoff};
use guildhall_store::oidc_flows::CliWait;
use jiff::SignedDuration;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use url::Url;
use uuid::Uuid;

use super::{Oidc, ProviderError, Refusal};
use crate::ServiceError;
use crate::access::audit::{self, Event, Of};
use crate::access::auth::{Method, Tokens, add};

/// How long a code is good: the command waits for it.
const LIFETIME: SignedDuration = SignedDuration::from_secs(60);

impl Oidc {
    /// Makes a code for a command, and the address on the user's machine that the browser carries it to.
    pub(super) async fn hand_off(
        &self,
        tx: &mut Tx,
        principal: PrincipalId,
        cli: CliWait,
    ) -> Result<Url, ServiceError> {
        let id = Uuid::now_v7();
        let (code, hash) = Opaque::generate(OpaqueKind::Handoff, id);
        let mut address = Url::parse(&format!("http://127.0.0.1:{}/callback", cli.port))
            .map_err(|_| ProviderError::UnsafeAddress { what: "command" })?;
        // The challenge goes along, so that the command knows its own answer from a stray request.
        address
            .query_pairs_mut()
            .append_pair("code", code.expose_secret())
            .append_pair("challenge", &cli.challenge);
        let expires_at = add(self.clock.now(), LIFETIME);
        let handoff = Handoff { principal, challenge: cli.challenge, expires_at };
        handoffs::insert(tx, id, hash.as_bytes(), &handoff).await?;
        let event = Event {
            of: Of::Installation,
            action: "login.handed_off",
            actor: Some(principal),
            object: principal.to_string(),
            detail: json!({ "method": Method::Oidc.as_str() }),
        };
        audit::record(tx, &event).await?;
        Ok(address)
    }

    /// Exchanges a code and its proof for tokens. A code that is shown is used up, also with a wrong proof: then it was
    /// stolen.
    pub async fn exchange(
        &self,
        code: &SecretString,
        verifier: &SecretString,
    ) -> Result<Tokens, ServiceError> {
        let opaque = Opaque::parse(code.expose_secret()).map_err(|_| Refusal::Handoff)?;
        if opaque.kind != OpaqueKind::Handoff {
            return Err(Refusal::Handoff.into());
        }
        let mut tx = self.auth.store.begin().await?;
        let Some(handoff) = handoffs::take(&mut tx, opaque.id, opaque.hash.as_bytes()).await? else {
            return Err(Refusal::Handoff.into());
        };
        if !derived::answers(verifier, &handoff.challenge) || self.clock.now() >= handoff.expires_at {
            tx.commit().await?;
            return Err(Refusal::Handoff.into());
        }
        self.auth.begin(tx, handoff.principal, Method::Handoff).await
    }
}
