//! Who a messenger is.

use std::fmt;
use std::sync::Arc;

use guildhall_domain::identity::Aid;
use guildhall_identity::e2ee::IdentityKey;
use guildhall_identity::pki::{CertificateError, ParsedCertificate, pem_to_der};

use crate::socket::{AidCredentials, ServerTrust};

/// An AID with its key, as a device uses it. Cheap to clone.
#[derive(Clone)]
pub struct MessengerIdentity {
    pub(super) aid: Aid,
    /// A certificate of the AID. Another one of the same key will do.
    pub(super) certificate: ParsedCertificate,
    pub(super) key: Arc<dyn IdentityKey>,
    pub(super) server: ServerTrust,
}

impl MessengerIdentity {
    /// Takes an AID with a certificate in PEM and its key.
    ///
    /// With [`ServerTrust::Roots`], the certificates of others must be below one of these roots. With [`ServerTrust::Connection`],
    /// they must be below the root that the server names.
    pub fn new(
        aid: Aid,
        certificate_pem: &str,
        key: Arc<dyn IdentityKey>,
        server: ServerTrust,
    ) -> Result<Self, CertificateError> {
        let certificate = ParsedCertificate::from_der(&pem_to_der(certificate_pem)?)?;
        if certificate.common_name != aid.to_string() {
            return Err(CertificateError::OtherAid);
        }
        if certificate.public_key.point() != key.public_point() {
            return Err(CertificateError::Malformed);
        }
        Ok(Self { aid, certificate, key, server })
    }

    #[must_use]
    pub fn aid(&self) -> &Aid {
        &self.aid
    }

    /// Returns what the socket logs in with.
    #[must_use]
    pub fn credentials(&self, certificate_pem: impl Into<String>) -> AidCredentials {
        AidCredentials {
            aid: self.aid.clone(),
            certificate: certificate_pem.into(),
            key: Arc::<dyn IdentityKey>::clone(&self.key),
            server: self.server.clone(),
        }
    }
}

impl fmt::Debug for MessengerIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessengerIdentity")
            .field("aid", &self.aid)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}
