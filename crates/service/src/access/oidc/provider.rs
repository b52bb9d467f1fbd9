//! The identity provider: what it says of itself, its keys, and the exchange of a code.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_egress::{Egress, EgressError, Request};
use guildhall_identity::id_token::{self, Expected, IdTokenError, ProviderKeys, Subject};
use guildhall_runtime::Clock;
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::{Url, form_urlencoded};

use super::Refusal;
use crate::ServiceError;

/// What the provider says of itself is read again after this long.
const KEEP_FOR: SignedDuration = SignedDuration::from_mins(10);

/// A key that is not known may be new: then it is read again, but not more often than this.
const LOOK_AGAIN_AFTER: SignedDuration = SignedDuration::from_secs(10);

const DISCOVERY_PATH: &str = "/.well-known/openid-configuration";

/// Which provider, and as whom we come to it.
#[derive(Debug, Clone)]
pub struct ProviderOptions {
    pub issuer: String,
    pub client_id: String,
    /// Empty for a client without a secret: PKCE alone protects the code then.
    pub client_secret: SecretString,
}

/// Why the provider is of no use now. Callers are told that it is; the log is told why.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    #[error("cannot call the identity provider")]
    Egress(#[from] EgressError),
    #[error("the identity provider answered {what} with status {status}")]
    Status { what: &'static str, status: u16 },
    #[error("the identity provider's {what} is not of the expected form")]
    Form { what: &'static str },
    #[error("the identity provider calls itself by another name than oidc.issuer")]
    OtherIssuer,
    #[error("the identity provider's {what} is not a safe address")]
    UnsafeAddress { what: &'static str },
}

/// What a provider says of itself, as far as it is used.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Metadata {
    issuer: String,
    pub(super) authorization_endpoint: Url,
    token_endpoint: Url,
    jwks_uri: Url,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

/// What was read, and when.
#[derive(Debug)]
pub(super) struct Loaded {
    read_at: Timestamp,
    pub(super) metadata: Metadata,
    keys: ProviderKeys,
}

#[derive(Deserialize)]
struct TokenAnswer {
    id_token: String,
}

/// One provider. Cheap to clone; clones share what was read.
#[derive(Debug, Clone)]
pub struct Provider {
    egress: Egress,
    clock: Clock,
    options: ProviderOptions,
    loaded: Arc<Mutex<Option<Arc<Loaded>>>>,
}

impl Provider {
    pub(super) fn new(egress: Egress, clock: Clock, options: ProviderOptions) -> Self {
        Self { egress, clock, options, loaded: Arc::default() }
    }

    pub(super) fn issuer(&self) -> &str {
        &self.options.issuer
    }

    pub(super) fn client_id(&self) -> &str {
        &self.options.client_id
    }

    /// Returns what the provider says of itself, and its keys.
    pub(super) async fn load(&self) -> Result<Arc<Loaded>, ProviderError> {
        self.load_if_older(KEEP_FOR).await
    }

    async fn load_if_older(&self, than: SignedDuration) -> Result<Arc<Loaded>, ProviderError> {
        let now = self.clock.now();
        let kept = self.loaded.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(kept) = kept.filter(|kept| now.duration_since(kept.read_at) < than) {
            return Ok(kept);
        }
        let address = format!("{}{DISCOVERY_PATH}", self.options.issuer.trim_end_matches('/'));
        let metadata: Metadata = self.get(&address, "discovery document").await?;
        self.check(&metadata)?;
        let set: serde_json::Value = self.get(metadata.jwks_uri.as_str(), "key set").await?;
        let loaded = Arc::new(Loaded { read_at: now, metadata, keys: ProviderKeys::from_set(&set) });
        *self.loaded.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&loaded));
        Ok(loaded)
    }

    /// A provider speaks for itself alone, and every part of it is as safe as its name.
    fn check(&self, metadata: &Metadata) -> Result<(), ProviderError> {
        if metadata.issuer != self.options.issuer {
            return Err(ProviderError::OtherIssuer);
        }
        let plain = self.options.issuer.starts_with("http://");
        for (what, address) in [
            ("authorization endpoint", &metadata.authorization_endpoint),
            ("token endpoint", &metadata.token_endpoint),
            ("key set address", &metadata.jwks_uri),
        ] {
            let safe = address.scheme() == "https" || (plain && address.scheme() == "http");
            if !safe || address.fragment().is_some() {
                return Err(ProviderError::UnsafeAddress { what });
            }
        }
        Ok(())
    }

    async fn get<T: serde::de::DeserializeOwned>(
        &self,
        address: &str,
        what: &'static str,
    ) -> Result<T, ProviderError> {
        let request = Request::get(address)?.header("accept", "application/json")?;
        let answer = self.egress.send(request).await?;
        if !answer.status.is_success() {
            return Err(ProviderError::Status { what, status: answer.status.as_u16() });
        }
        serde_json::from_slice(&answer.body).map_err(|_| ProviderError::Form { what })
    }

    /// Exchanges a code for an ID token. The access token that comes along is not kept: nothing here calls the provider
    /// on somebody's behalf.
    pub(super) async fn exchange(
        &self,
        code: &str,
        verifier: &SecretString,
        redirect_uri: &str,
    ) -> Result<SecretString, ServiceError> {
        let loaded = self.load().await?;
        let request = self.token_request(&loaded.metadata, code, verifier, redirect_uri);
        let answer =
            self.egress.send(request.map_err(ProviderError::from)?).await.map_err(ProviderError::from)?;
        // A code that is not taken is the caller's fault; anything else is the provider's.
        if answer.status.is_client_error() {
            return Err(Refusal::Code.into());
        }
        if !answer.status.is_success() {
            let (what, status) = ("token request", answer.status.as_u16());
            return Err(ProviderError::Status { what, status }.into());
        }
        let tokens: TokenAnswer =
            serde_json::from_slice(&answer.body).map_err(|_| ProviderError::Form { what: "token answer" })?;
        Ok(tokens.id_token.into())
    }

    fn token_request(
        &self,
        metadata: &Metadata,
        code: &str,
        verifier: &SecretString,
        redirect_uri: &str,
    ) -> Result<Request, EgressError> {
        let (id, secret) = (&self.options.client_id, self.options.client_secret.expose_secret());
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("code_verifier", verifier.expose_secret());
        let methods = &metadata.token_endpoint_auth_methods_supported;
        // Without a list, the standard says `client_secret_basic`.
        let basic = methods.is_empty() || methods.iter().any(|method| method == "client_secret_basic");
        if secret.is_empty() || !basic {
            form.append_pair("client_id", id);
        }
        if !secret.is_empty() && !basic {
            form.append_pair("client_secret", secret);
        }
        let request = Request::post(metadata.token_endpoint.as_str(), form.finish())?
            .header("content-type", "application/x-www-form-urlencoded")?
            .header("accept", "application/json")?;
        if secret.is_empty() || !basic {
            return Ok(request);
        }
        let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pair = STANDARD.encode(format!("{}:{}", encode(id), encode(secret)));
        request.header("authorization", &format!("Basic {pair}"))
    }

    /// Checks an ID token. A key that is not known may have been published since they were read.
    pub(super) async fn verify(&self, token: &SecretString, nonce: &str) -> Result<Subject, ServiceError> {
        let expected = Expected {
            issuer: &self.options.issuer,
            client_id: &self.options.client_id,
            nonce,
            now: self.clock.now(),
        };
        let token = token.expose_secret();
        match id_token::verify(token, &self.load().await?.keys, &expected) {
            Err(IdTokenError::UnknownKey) => {
                let loaded = self.load_if_older(LOOK_AGAIN_AFTER).await?;
                Ok(id_token::verify(token, &loaded.keys, &expected).map_err(Refusal::from)?)
            }
            verified => Ok(verified.map_err(Refusal::from)?),
        }
    }
}
