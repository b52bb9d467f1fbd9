//! OCSP responses (RFC 6960), signed by the issuer itself, with SHA-256 hashes as the clients of AUN expect them.

use guildhall_domain::identity::{RevocationReason, Serial};
use jiff::Timestamp;
use std::time::Duration;
use x509_cert::Certificate;
use x509_cert::der::asn1::{BitString, GeneralizedTime, Null, OctetString};
use x509_cert::der::{Any, Decode, Encode};
use x509_cert::ext::pkix::CrlReason;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::{AlgorithmIdentifierOwned, ObjectIdentifier};
use x509_ocsp::{
    BasicOcspResponse, CertId, CertStatus, OcspGeneralizedTime, OcspResponse, ResponderId, ResponseData,
    RevokedInfo, SingleResponse, Version,
};

use super::authority::CLOCK_SKEW;
use super::crl::LIFETIME;
use super::error::IssuerError;
use super::fingerprint::sha256;
use super::issuer::IssuerAuthority;

const SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");
const ECDSA_WITH_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2");

/// The status of a certificate in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OcspStatus {
    Good,
    Revoked {
        at: Timestamp,
        reason: RevocationReason,
    },
    /// The issuer has not signed a certificate with this serial number.
    Unknown,
}

impl OcspStatus {
    /// Returns the name that clients compare with the signed response.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Revoked { .. } => "revoked",
            Self::Unknown => "unknown",
        }
    }
}

impl IssuerAuthority {
    /// Signs a response about one certificate, in DER.
    pub fn ocsp_response(
        &self,
        serial: &Serial,
        status: OcspStatus,
        now: Timestamp,
    ) -> Result<Vec<u8>, IssuerError> {
        let issuer = Certificate::from_der(&self.certificate).map_err(IssuerError::sign)?;
        let subject = &issuer.tbs_certificate.subject;
        let next = now.checked_add(LIFETIME).map_err(|_| IssuerError::Time)?;
        let response = SingleResponse {
            cert_id: cert_id(&issuer, serial)?,
            cert_status: cert_status(status)?,
            this_update: generalized(now.checked_sub(CLOCK_SKEW).map_err(|_| IssuerError::Time)?)?,
            next_update: Some(generalized(next)?),
            single_extensions: None,
        };
        let data = ResponseData {
            version: Version::V1,
            responder_id: ResponderId::ByName(subject.clone()),
            produced_at: generalized(now)?,
            responses: vec![response],
            response_extensions: None,
        };
        let signature =
            self.key.sign(&data.to_der().map_err(IssuerError::sign)?).map_err(IssuerError::sign)?;
        let basic = BasicOcspResponse {
            tbs_response_data: data,
            signature_algorithm: AlgorithmIdentifierOwned { oid: ECDSA_WITH_SHA256, parameters: None },
            signature: BitString::from_bytes(&signature).map_err(IssuerError::sign)?,
            certs: None,
        };
        OcspResponse::successful(basic).and_then(|response| response.to_der()).map_err(IssuerError::sign)
    }
}

/// Names a certificate by its serial number and the hashes of its issuer's name and key.
fn cert_id(issuer: &Certificate, serial: &Serial) -> Result<CertId, IssuerError> {
    let tbs = &issuer.tbs_certificate;
    let name = tbs.subject.to_der().map_err(IssuerError::sign)?;
    let key = tbs.subject_public_key_info.subject_public_key.raw_bytes();
    let hash =
        |bytes: &[u8]| OctetString::new(sha256(bytes).as_bytes().as_slice()).map_err(IssuerError::sign);
    Ok(CertId {
        hash_algorithm: AlgorithmIdentifierOwned { oid: SHA256, parameters: Some(Any::from(Null)) },
        issuer_name_hash: hash(&name)?,
        issuer_key_hash: hash(key)?,
        serial_number: SerialNumber::new(serial.as_bytes()).map_err(IssuerError::sign)?,
    })
}

fn cert_status(status: OcspStatus) -> Result<CertStatus, IssuerError> {
    Ok(match status {
        OcspStatus::Good => CertStatus::good(),
        OcspStatus::Unknown => CertStatus::unknown(),
        OcspStatus::Revoked { at, reason } => CertStatus::revoked(RevokedInfo {
            revocation_time: generalized(at)?,
            revocation_reason: reason_code(reason),
        }),
    })
}

fn reason_code(reason: RevocationReason) -> Option<CrlReason> {
    match reason {
        RevocationReason::Unspecified => None,
        RevocationReason::KeyCompromise => Some(CrlReason::KeyCompromise),
        RevocationReason::Superseded => Some(CrlReason::Superseded),
        RevocationReason::CessationOfOperation => Some(CrlReason::CessationOfOperation),
    }
}

fn generalized(at: Timestamp) -> Result<OcspGeneralizedTime, IssuerError> {
    let seconds = u64::try_from(at.as_second()).map_err(|_| IssuerError::Time)?;
    let time =
        GeneralizedTime::from_unix_duration(Duration::from_secs(seconds)).map_err(|_| IssuerError::Time)?;
    Ok(OcspGeneralizedTime(time))
}
