//! Certificates as they are parsed, and their PEM form.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_domain::identity::{CertificateFingerprint, Serial};
use jiff::Timestamp;
use x509_cert::Certificate;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::der::asn1::{PrintableStringRef, Utf8StringRef};
use x509_cert::der::{Decode, Encode};
use x509_cert::name::Name;
use x509_cert::spki::ObjectIdentifier;
use x509_cert::time::Time;

use super::fingerprint::sha256;
use super::signature::P256PublicKey;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

/// A certificate of an AID has about 500 bytes. Larger input is not parsed.
const MAX_PEM: usize = 16 * 1024;
const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// A certificate was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    #[error("invalid certificate: expected one X.509 certificate with a P-256 key in PEM")]
    Malformed,
    #[error("the certificate was issued by another authority")]
    UnknownIssuer,
    #[error("the signature of the certificate is invalid")]
    Forged,
    #[error("the certificate has expired")]
    Expired,
    #[error("the certificate is not valid yet")]
    NotYetValid,
    #[error("the certificate is not one of an AID")]
    NotAnAid,
    #[error("the certificate belongs to another AID")]
    OtherAid,
    #[error("the certificate is not one of this server")]
    OtherServer,
    #[error("the certificate was revoked")]
    Revoked,
}

/// The parts of a certificate that are compared with what the issuer has stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedCertificate {
    pub common_name: String,
    pub serial: Serial,
    pub public_key: P256PublicKey,
    pub fingerprint: CertificateFingerprint,
    pub not_after: Timestamp,
}

impl ParsedCertificate {
    pub fn from_der(der: &[u8]) -> Result<Self, CertificateError> {
        let certificate = Certificate::from_der(der).map_err(|_| CertificateError::Malformed)?;
        let tbs = &certificate.tbs_certificate;
        let spki = tbs.subject_public_key_info.to_der().map_err(|_| CertificateError::Malformed)?;
        Ok(Self {
            common_name: common_name(&tbs.subject).ok_or(CertificateError::NotAnAid)?,
            serial: Serial::from_bytes(tbs.serial_number.as_bytes())
                .map_err(|_| CertificateError::Malformed)?,
            public_key: P256PublicKey::from_spki(&spki).map_err(|_| CertificateError::Malformed)?,
            fingerprint: sha256(der),
            not_after: not_after(tbs.validity.not_after)?,
        })
    }
}

fn not_after(time: Time) -> Result<Timestamp, CertificateError> {
    let seconds =
        i64::try_from(time.to_unix_duration().as_secs()).map_err(|_| CertificateError::Malformed)?;
    Timestamp::from_second(seconds).map_err(|_| CertificateError::Malformed)
}

/// Returns the common name of a subject that has exactly one attribute.
fn common_name(subject: &Name) -> Option<String> {
    let attributes: Vec<&AttributeTypeAndValue> = subject.0.iter().flat_map(|part| part.0.iter()).collect();
    let [attribute] = attributes.as_slice() else { return None };
    if attribute.oid != COMMON_NAME {
        return None;
    }
    let utf8 = attribute.value.decode_as::<Utf8StringRef<'_>>().map(|text| text.as_str().to_owned());
    let printable =
        || attribute.value.decode_as::<PrintableStringRef<'_>>().map(|text| text.as_str().to_owned());
    utf8.or_else(|_| printable()).ok()
}

/// Reads the one certificate of a PEM text.
pub fn pem_to_der(pem: &str) -> Result<Vec<u8>, CertificateError> {
    if pem.len() > MAX_PEM {
        return Err(CertificateError::Malformed);
    }
    let body = pem.trim().strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
    let digits: String = body.ok_or(CertificateError::Malformed)?.split_ascii_whitespace().collect();
    STANDARD.decode(digits).map_err(|_| CertificateError::Malformed)
}

/// Returns a certificate in PEM, with a line break at the end.
#[must_use]
pub fn der_to_pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("{BEGIN}\n{}\n{END}\n", lines.join("\n"))
}
