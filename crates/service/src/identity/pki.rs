//! What everybody may read: certificates of AIDs, the chain of the issuer, the trusted roots, and which certificates are revoked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use guildhall_domain::identity::{Aid, FingerprintQuery, IssuedCertificate, Serial};
use guildhall_identity::pki::{OcspStatus, ParsedCertificate, der_to_pem, pem_to_der};
use guildhall_identity::trust::{content_hash, sign_list};
use guildhall_runtime::Clock;
use guildhall_store::{Store, aid_certificates, aids, trust_list};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use super::error::IdentityError;
use super::issuer::Issuer;
use crate::ServiceError;

/// Certificates in a revocation list. A longer one is not signed: it would hide some.
const MAX_REVOKED: i64 = 100_000;

/// How long a replica gives out a signed list. Clients keep one for an hour.
const LIST_AGE: Duration = Duration::from_secs(10);

/// Returns a certificate in PEM.
#[must_use]
pub fn certificate_pem(certificate: &IssuedCertificate) -> String {
    der_to_pem(&certificate.der)
}

/// A signed answer about one certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OcspAnswer {
    pub status: OcspStatus,
    pub response: Vec<u8>,
}

/// A revocation list in PEM, and when it was signed.
#[derive(Debug, Clone)]
struct SignedList {
    signed_at: Instant,
    pem: Arc<str>,
}

/// How long a replica gives out a signed list of roots, which is valid for a day.
const TRUST_LIST_AGE: Duration = Duration::from_secs(3600);

/// A signed list of roots, and when it was signed.
#[derive(Debug, Clone)]
struct SignedRoots {
    signed_at: Instant,
    version: u64,
    list: Arc<Value>,
}

/// Reads certificates and their states.
#[derive(Debug, Clone)]
pub struct Pki {
    store: Store,
    clock: Clock,
    issuer: Arc<Issuer>,
    revocation_list: Arc<Mutex<Option<SignedList>>>,
    trusted_roots: Arc<Mutex<Option<SignedRoots>>>,
}

impl Pki {
    #[must_use]
    pub fn new(store: Store, clock: Clock, issuer: Arc<Issuer>) -> Self {
        Self { store, clock, issuer, revocation_list: Arc::default(), trusted_roots: Arc::default() }
    }

    /// Finds the newest certificate of an AID, or the newest one with a fingerprint.
    pub async fn certificate(
        &self,
        aid: &Aid,
        fingerprint: Option<&FingerprintQuery>,
    ) -> Result<Option<IssuedCertificate>, ServiceError> {
        Ok(match fingerprint {
            Some(fingerprint) => aid_certificates::find_by_fingerprint(&self.store, aid, fingerprint).await?,
            None => aids::find(&self.store, aid).await?.map(|found| found.certificate),
        })
    }

    /// Returns the chain of the issuer in PEM: the issuer first, the root last.
    #[must_use]
    pub fn chain(&self) -> String {
        self.issuer.authority.chain_pem()
    }

    /// Returns the certificate of the root in PEM.
    #[must_use]
    pub fn root(&self) -> String {
        self.issuer.authority.root_pem()
    }

    /// Returns the certificate of the authority that signs the list of roots, in PEM. Clients pin it.
    pub fn trust_authority(&self) -> Result<String, ServiceError> {
        Ok(self.issuer.trust()?.certificate.clone())
    }

    /// Returns the signed list of trusted roots. Its version is the same on every replica.
    pub async fn trust_roots(&self) -> Result<Arc<Value>, ServiceError> {
        let (authority, roots) = (self.issuer.trust()?, self.issuer.trusted_roots());
        let version = trust_list::find_version(&self.store, content_hash(&roots)).await?;
        let version = version.ok_or(IdentityError::OtherRoots)?;
        let mut cached = self.trusted_roots.lock().await;
        let is_current =
            |signed: &&SignedRoots| signed.version == version && signed.signed_at.elapsed() < TRUST_LIST_AGE;
        if let Some(signed) = cached.as_ref().filter(is_current) {
            return Ok(Arc::clone(&signed.list));
        }
        let list =
            sign_list(version, &roots, self.clock.now(), &*authority.key).map_err(IdentityError::from)?;
        let signed = SignedRoots { signed_at: Instant::now(), version, list: Arc::new(list) };
        Ok(Arc::clone(&cached.insert(signed).list))
    }

    /// Returns the signed list of revoked certificates in PEM, at most some seconds old. One caller at a time signs a new one.
    pub async fn revocation_list(&self) -> Result<Arc<str>, ServiceError> {
        let mut cached = self.revocation_list.lock().await;
        if let Some(list) = cached.as_ref().filter(|list| list.signed_at.elapsed() < LIST_AGE) {
            return Ok(Arc::clone(&list.pem));
        }
        let (signed_at, now) = (Instant::now(), self.clock.now());
        let revoked = aid_certificates::list_revoked(&self.store, now, MAX_REVOKED + 1).await?;
        if i64::try_from(revoked.len()).is_ok_and(|count| count > MAX_REVOKED) {
            return Err(IdentityError::ListFull.into());
        }
        let issuer = Arc::clone(&self.issuer);
        // A long list takes a while to encode.
        let signed = spawn_blocking(move || issuer.authority.revocation_list(&revoked, now)).await;
        let signed = signed.map_err(|_| ServiceError::Overloaded)?.map_err(IdentityError::from)?;
        let list = cached.insert(SignedList { signed_at, pem: signed.into() });
        Ok(Arc::clone(&list.pem))
    }

    /// Signs the state of a certificate.
    pub async fn ocsp(&self, serial: &Serial) -> Result<OcspAnswer, ServiceError> {
        let found = aid_certificates::find_by_serial(&self.store, serial).await?;
        let status = match found.map(|found| found.revoked) {
            Some(Some((at, reason))) => OcspStatus::Revoked { at, reason },
            Some(None) => OcspStatus::Good,
            None if self.is_auth_certificate(serial) => OcspStatus::Good,
            None => OcspStatus::Unknown,
        };
        let response = self.issuer.authority.ocsp_response(serial, status, self.clock.now());
        Ok(OcspAnswer { status, response: response.map_err(IdentityError::from)? })
    }

    fn is_auth_certificate(&self, serial: &Serial) -> bool {
        let der = pem_to_der(self.issuer.auth_certificate());
        der.and_then(|der| ParsedCertificate::from_der(&der)).is_ok_and(|parsed| parsed.serial == *serial)
    }
}
