//! The identity provider: its metadata, its keys, and the exchange of a code.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_egress::{Egress, EgressError, Request};
use guildhall_identity::id_token::{self, ExpectedClaims, IdTokenError, IdTokenSubject, ProviderKeys};
use guildhall_runtime::Clock;
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::{Url, form_urlencoded};

use crate::ServiceError;
use crate::access::error::{OidcError, ProviderError};

/// How long metadata and keys are cached.
const METADATA_TTL: SignedDuration = SignedDuration::from_mins(10);

/// An unknown key may be new: it refreshes the cache, but at most this often.
const MIN_REFRESH_INTERVAL: SignedDuration = SignedDuration::from_secs(10);

const DISCOVERY_PATH: &str = "/.well-known/openid-configuration";

/// The provider, and our client registration there.
#[derive(Debug, Clone)]
pub struct ProviderOptions {
    pub issuer: String,
    pub client_id: String,
    /// Empty for a public client: then only PKCE protects the code.
    pub client_secret: SecretString,
}

/// The fields of the discovery document that are used.
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

/// Cached metadata and keys.
#[derive(Debug)]
pub(super) struct CachedProvider {
    loaded_at: Timestamp,
    pub(super) metadata: Metadata,
    keys: ProviderKeys,
}

#[derive(Deserialize)]
struct TokenResponse {
    id_token: String,
}

/// One provider. Cheap to clone; clones share the cache.
#[derive(Debug, Clone)]
pub struct Provider {
    egress: Egress,
    clock: Clock,
    options: ProviderOptions,
    loaded: Arc<Mutex<Option<Arc<CachedProvider>>>>,
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

    /// Returns the metadata and keys, from the cache while it is fresh.
    pub(super) async fn load(&self) -> Result<Arc<CachedProvider>, ProviderError> {
        self.load_if_older(METADATA_TTL).await
    }

    async fn load_if_older(&self, max_age: SignedDuration) -> Result<Arc<CachedProvider>, ProviderError> {
        let now = self.clock.now();
        let cached = self.loaded.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(cached) = cached.filter(|cached| now.duration_since(cached.loaded_at) < max_age) {
            return Ok(cached);
        }
        let address = format!("{}{DISCOVERY_PATH}", self.options.issuer.trim_end_matches('/'));
        let metadata: Metadata = self.fetch_json(&address, "discovery document").await?;
        self.check_metadata(&metadata)?;
        let set: serde_json::Value = self.fetch_json(metadata.jwks_uri.as_str(), "key set").await?;
        let loaded =
            Arc::new(CachedProvider { loaded_at: now, metadata, keys: ProviderKeys::from_set(&set) });
        *self.loaded.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&loaded));
        Ok(loaded)
    }

    /// Checks that the document is from the configured issuer, and that its URLs are as safe as the issuer.
    fn check_metadata(&self, metadata: &Metadata) -> Result<(), ProviderError> {
        if metadata.issuer != self.options.issuer {
            return Err(ProviderError::OtherIssuer);
        }
        let allows_http = self.options.issuer.starts_with("http://");
        for (what, address) in [
            ("authorization endpoint", &metadata.authorization_endpoint),
            ("token endpoint", &metadata.token_endpoint),
            ("key set address", &metadata.jwks_uri),
        ] {
            let is_safe = address.scheme() == "https" || (allows_http && address.scheme() == "http");
            if !is_safe || address.fragment().is_some() {
                return Err(ProviderError::UnsafeAddress { what });
            }
        }
        Ok(())
    }

    async fn fetch_json<T: serde::de::DeserializeOwned>(
        &self,
        address: &str,
        what: &'static str,
    ) -> Result<T, ProviderError> {
        let request = Request::get(address)?.header("accept", "application/json")?;
        let response = self.egress.send(request).await?;
        if !response.status.is_success() {
            return Err(ProviderError::Status { what, status: response.status.as_u16() });
        }
        serde_json::from_slice(&response.body).map_err(|_| ProviderError::Form { what })
    }

    /// Exchanges a code for an ID token. The access token is discarded: the server never calls the provider on behalf
    /// of a user.
    pub(super) async fn exchange(
        &self,
        code: &str,
        verifier: &SecretString,
        redirect_uri: &str,
    ) -> Result<SecretString, ServiceError> {
        let loaded = self.load().await?;
        let request = self.token_request(&loaded.metadata, code, verifier, redirect_uri);
        let response =
            self.egress.send(request.map_err(ProviderError::from)?).await.map_err(ProviderError::from)?;
        // A rejected code is the caller's error; any other failure is the provider's.
        if response.status.is_client_error() {
            return Err(OidcError::Code.into());
        }
        if !response.status.is_success() {
            let (what, status) = ("token request", response.status.as_u16());
            return Err(ProviderError::Status { what, status }.into());
        }
        let tokens: TokenResponse = serde_json::from_slice(&response.body)
            .map_err(|_| ProviderError::Form { what: "token response" })?;
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
        // The default of the specification is `client_secret_basic`.
        let uses_basic = methods.is_empty() || methods.iter().any(|method| method == "client_secret_basic");
        if secret.is_empty() || !uses_basic {
            form.append_pair("client_id", id);
        }
        if !secret.is_empty() && !uses_basic {
            form.append_pair("client_secret", secret);
        }
        let request = Request::post(metadata.token_endpoint.as_str(), form.finish())?
            .header("content-type", "application/x-www-form-urlencoded")?
            .header("accept", "application/json")?;
        if secret.is_empty() || !uses_basic {
            return Ok(request);
        }
        let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let pair = STANDARD.encode(format!("{}:{}", encode(id), encode(secret)));
        request.header("authorization", &format!("Basic {pair}"))
    }

    /// Verifies an ID token. An unknown key refreshes the cached keys.
    pub(super) async fn verify(
        &self,
        token: &SecretString,
        nonce: &str,
    ) -> Result<IdTokenSubject, ServiceError> {
        let expected = ExpectedClaims {
            issuer: &self.options.issuer,
            client_id: &self.options.client_id,
            nonce,
            now: self.clock.now(),
        };
        let token = token.expose_secret();
        match id_token::verify(token, &self.load().await?.keys, &expected) {
            Err(IdTokenError::UnknownKey) => {
                let loaded = self.load_if_older(MIN_REFRESH_INTERVAL).await?;
                Ok(id_token::verify(token, &loaded.keys, &expected).map_err(OidcError::from)?)
            }
            verified => Ok(verified.map_err(OidcError::from)?),
        }
    }
}
