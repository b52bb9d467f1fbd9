//! Who the keys of others belong to.

use guildhall_domain::identity::Aid;
use guildhall_identity::pki::{CertificateError, ParsedCertificate, pem_to_der};
use guildhall_identity::trust::{ServerProofError, TrustedRoot, root_of_chain, verify_aid_certificate};

use super::error::{KeyChange, PeerKeyError};
use super::shared::Shared;
use super::store::DeviceStoreError;
use crate::ClientError;
use crate::socket::ServerTrust;

/// The key of somebody is not trusted, or nobody knows yet.
#[derive(Debug)]
pub(super) enum TrustError {
    Peer(PeerKeyError),
    KeyChanged(KeyChange),
    Server(ClientError),
    Store(DeviceStoreError),
}

impl From<DeviceStoreError> for TrustError {
    fn from(error: DeviceStoreError) -> Self {
        Self::Store(error)
    }
}

impl From<ClientError> for TrustError {
    fn from(error: ClientError) -> Self {
        Self::Server(error)
    }
}

impl Shared {
    /// Returns the certificate that a message names, if it is the sender's.
    ///
    /// One with the key of the first contact is trusted, also after it has expired. At the first contact, an expired one is
    /// replaced by the present one of the same key.
    pub(super) async fn sender_certificate(
        &self,
        aid: &Aid,
        fingerprint: &str,
    ) -> Result<ParsedCertificate, TrustError> {
        if let Some(known) = self.certificates.get(aid, fingerprint) {
            return Ok(known);
        }
        let named = self.fetch_certificate(aid, Some(fingerprint)).await?;
        let certificate = parse(&named, aid)?;
        match self.trust(aid, &named).await {
            Err(TrustError::Peer(PeerKeyError::Certificate(ServerProofError::Certificate(
                CertificateError::Expired,
            )))) => {
                if self.present_certificate(aid).await?.public_key != certificate.public_key {
                    return Err(TrustError::Peer(PeerKeyError::OtherIdentityKey));
                }
            }
            trusted => drop(trusted?),
        }
        self.certificates.insert(aid, fingerprint, &certificate);
        Ok(certificate)
    }

    /// Checks that a certificate is the one of an AID: it has the key of the first contact, or this is the first contact and it is
    /// below a trusted root.
    pub(super) async fn trust(&self, aid: &Aid, pem: &str) -> Result<ParsedCertificate, TrustError> {
        let certificate = parse(pem, aid)?;
        let found = certificate.public_key.fingerprint();
        let own = &self.identity;
        let pinned = if *aid == own.aid {
            Some(own.certificate.public_key.fingerprint())
        } else {
            self.store.pinned_key(aid)?
        };
        match pinned {
            Some(pinned) if pinned == found => {}
            Some(pinned) => {
                return Err(TrustError::KeyChanged(KeyChange { aid: aid.clone(), pinned, found }));
            }
            None => {
                self.verify(aid, pem).await?;
                self.store.pin_key(aid, &found)?;
            }
        }
        Ok(certificate)
    }

    /// Returns the present certificate of an AID.
    pub(super) async fn present_certificate(&self, aid: &Aid) -> Result<ParsedCertificate, TrustError> {
        let pem = self.fetch_certificate(aid, None).await?;
        self.trust(aid, &pem).await
    }

    async fn verify(&self, aid: &Aid, pem: &str) -> Result<(), TrustError> {
        let chain = self.endpoint.client().certificate_chain().await?;
        let from_chain: Vec<TrustedRoot>;
        let roots = match &self.identity.server {
            ServerTrust::Roots(roots) => roots,
            ServerTrust::Connection => {
                from_chain = root_of_chain(&chain).into_iter().collect();
                &from_chain
            }
        };
        let verified = verify_aid_certificate(pem, &chain, aid, roots, self.clock.now());
        verified.map(drop).map_err(|error| TrustError::Peer(PeerKeyError::Certificate(error)))
    }

    async fn fetch_certificate(&self, aid: &Aid, fingerprint: Option<&str>) -> Result<String, TrustError> {
        let found = self.endpoint.client().certificate_of(aid, fingerprint).await?;
        found.ok_or(TrustError::Peer(PeerKeyError::NoCertificate))
    }
}

fn parse(pem: &str, aid: &Aid) -> Result<ParsedCertificate, TrustError> {
    let untrusted = |error| TrustError::Peer(PeerKeyError::Certificate(ServerProofError::Certificate(error)));
    let certificate = pem_to_der(pem).and_then(|der| ParsedCertificate::from_der(&der)).map_err(untrusted)?;
    if certificate.common_name == aid.to_string() {
        Ok(certificate)
    } else {
        Err(untrusted(CertificateError::OtherAid))
    }
}
