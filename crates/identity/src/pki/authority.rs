//! The root of an installation: it signs the issuer, and is then kept offline.

use std::time::Duration;

use guildhall_domain::identity::IssuerName;
use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyUsagePurpose,
    SerialNumber,
};
use time::OffsetDateTime;

use super::error::IssuerError;
use super::signer::{CertificateSigner, Signer};
use crate::random;

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
const ROOT_LIFETIME: Duration = Duration::from_secs(20 * YEAR.as_secs());
/// Also of the issuer's own services: their certificates come with the one of the issuer.
pub(super) const ISSUER_LIFETIME: Duration = Duration::from_secs(5 * YEAR.as_secs());

/// Clocks of clients may be behind the one of the server by this much.
pub(crate) const CLOCK_SKEW: Duration = Duration::from_secs(300);

const SERIAL_BYTES: usize = 16;

/// A root certificate and its key.
#[derive(Debug, Clone, Copy)]
pub struct RootAuthority<'a> {
    pub certificate: &'a [u8],
    pub key: &'a dyn Signer,
}

/// Signs the certificate of a new root. It may sign a registry, which may sign an issuer.
pub fn self_signed_root(name: &str, key: &dyn Signer, now: Timestamp) -> Result<Vec<u8>, IssuerError> {
    let params = ca_params(name, now, ROOT_LIFETIME, 2)?;
    let certificate = params.self_signed(&CertificateSigner(key)).map_err(IssuerError::sign)?;
    Ok(certificate.der().to_vec())
}

/// Signs the certificate of an authority that signs lists of roots. It signs no certificates.
pub fn self_signed_authority(name: &str, key: &dyn Signer, now: Timestamp) -> Result<Vec<u8>, IssuerError> {
    let mut params = params(name, now, ROOT_LIFETIME)?;
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    let certificate = params.self_signed(&CertificateSigner(key)).map_err(IssuerError::sign)?;
    Ok(certificate.der().to_vec())
}

impl RootAuthority<'_> {
    /// Signs the certificate of an issuer, which may sign AIDs and nothing below them.
    pub fn sign_issuer(
        &self,
        name: &IssuerName,
        key: &dyn Signer,
        now: Timestamp,
    ) -> Result<Vec<u8>, IssuerError> {
        let signer = CertificateSigner(self.key);
        let root = Issuer::from_ca_cert_der(&self.certificate.into(), signer).map_err(IssuerError::sign)?;
        let params = ca_params(name.as_str(), now, ISSUER_LIFETIME, 0)?;
        let certificate = params.signed_by(&CertificateSigner(key), &root).map_err(IssuerError::sign)?;
        Ok(certificate.der().to_vec())
    }
}

pub(super) fn ca_params(
    name: &str,
    now: Timestamp,
    life: Duration,
    depth: u8,
) -> Result<CertificateParams, IssuerError> {
    let mut params = params(name, now, life)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(depth));
    params.key_usages =
        vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    Ok(params)
}

/// Returns what all certificates have: a common name, a random serial number and a time of validity.
pub(super) fn params(name: &str, now: Timestamp, life: Duration) -> Result<CertificateParams, IssuerError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.serial_number = Some(SerialNumber::from_slice(&random_serial()));
    params.not_before = date(now.checked_sub(CLOCK_SKEW).map_err(|_| IssuerError::Time)?)?;
    params.not_after = date(now.checked_add(life).map_err(|_| IssuerError::Time)?)?;
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

/// Returns a positive number of 126 random bits: the highest bit is clear, the next one is set.
fn random_serial() -> [u8; SERIAL_BYTES] {
    let mut bytes = *random::bytes::<SERIAL_BYTES>();
    bytes[0] = bytes[0] & 0x7f | 0x40;
    bytes
}

/// Converts a time. Certificates have whole seconds.
pub(super) fn date(at: Timestamp) -> Result<OffsetDateTime, IssuerError> {
    OffsetDateTime::from_unix_timestamp(at.as_second()).map_err(|_| IssuerError::Time)
}
