//! Verifies a list of roots before one of them is imported.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use guildhall_domain::identity::CertificateFingerprint;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::BasicConstraints;

use super::authority_key::AuthorityKey;
use super::list::{ACTIVE, ROOTS, SIGNATURE, signed_text};
use crate::pki::{CLOCK_SKEW, pem_to_der, sha256};

/// Roots of a list. Some browsers trust 150.
const MAX_ROOTS: usize = 1000;

const BASE64_PREFIX: &str = "base64:";
const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

/// A list, or a root of it, is not trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustListError {
    #[error("invalid list of roots: {0} is missing or has another type")]
    Malformed(&'static str),
    #[error("the list of roots is not signed by the pinned authority")]
    Signature,
    #[error("the list of roots has version {found}, and version {stored} was imported before")]
    Rollback { found: u64, stored: u64 },
    #[error("the list of roots is dated in the future: check the clock")]
    NotYetValid,
    #[error("the list of roots has expired: fetch a new one")]
    Expired,
    #[error("root {0}: the fingerprint is not the one of the certificate")]
    Fingerprint(String),
    #[error("root {0}: the certificate cannot be read, or is not one of an authority")]
    NotAnAuthority(String),
    #[error("root {0}: the certificate is not valid at this time")]
    RootDates(String),
    #[error("the root is not an active one of the list")]
    UnknownRoot,
}

/// What a client knows before it reads a list.
#[derive(Debug, Clone, Copy)]
pub struct TrustListRules<'a> {
    /// The key that the client got from elsewhere.
    pub authority: &'a AuthorityKey,
    /// The version of the last list that it imported; 0 if none.
    pub stored_version: u64,
    pub now: Timestamp,
}

/// A root that may be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedRoot {
    pub id: String,
    pub fingerprint: CertificateFingerprint,
    pub der: Vec<u8>,
}

/// The active roots of a verified list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedRoots {
    /// To be stored: a later list must not have a lower one.
    pub version: u64,
    pub roots: Vec<TrustedRoot>,
}

impl TrustListRules<'_> {
    /// Verifies a list, and returns its active roots. One bad root rejects the list.
    pub fn verify(&self, list: &Value) -> Result<TrustedRoots, TrustListError> {
        let list = list.as_object().ok_or(TrustListError::Malformed("the object"))?;
        // Before anything else is looked at.
        self.verify_signature(list)?;
        let version =
            list.get("version").and_then(Value::as_u64).ok_or(TrustListError::Malformed("version"))?;
        if version < self.stored_version {
            return Err(TrustListError::Rollback { found: version, stored: self.stored_version });
        }
        self.verify_dates(list)?;
        let roots = list.get(ROOTS).and_then(Value::as_array).filter(|roots| roots.len() <= MAX_ROOTS);
        let roots = roots.ok_or(TrustListError::Malformed(ROOTS))?;
        let roots = roots.iter().filter_map(|root| self.verify_root(root).transpose());
        Ok(TrustedRoots { version, roots: roots.collect::<Result<_, _>>()? })
    }

    fn verify_signature(&self, list: &Map<String, Value>) -> Result<(), TrustListError> {
        let text = text(list, SIGNATURE)?;
        let digits = text.strip_prefix(BASE64_PREFIX).unwrap_or(text);
        let alphabet = if digits.contains(['-', '_']) { &alphabet::URL_SAFE } else { &alphabet::STANDARD };
        let signature = GeneralPurpose::new(alphabet, LENIENT).decode(digits);
        let signature = signature.map_err(|_| TrustListError::Malformed(SIGNATURE))?;
        let verified = self.authority.verify(signed_text(list).as_bytes(), &signature);
        verified.map_err(|_| TrustListError::Signature)
    }

    fn verify_dates(&self, list: &Map<String, Value>) -> Result<(), TrustListError> {
        let date = |name| text(list, name)?.parse::<Timestamp>().map_err(|_| TrustListError::Malformed(name));
        match self.is_within(date("issued_at")?, date("next_update")?) {
            Validity::Early => Err(TrustListError::NotYetValid),
            Validity::Late => Err(TrustListError::Expired),
            Validity::Now => Ok(()),
        }
    }

    /// Returns none for a root that is retired or revoked.
    fn verify_root(&self, root: &Value) -> Result<Option<TrustedRoot>, TrustListError> {
        let root = root.as_object().ok_or(TrustListError::Malformed(ROOTS))?;
        if text(root, "status")? != ACTIVE {
            return Ok(None);
        }
        let id = text(root, "id")?.to_owned();
        let der = pem_to_der(text(root, "certificate")?.trim());
        let der = der.map_err(|_| TrustListError::NotAnAuthority(id.clone()))?;
        let fingerprint = sha256(&der);
        if !text(root, "fingerprint_sha256")?.eq_ignore_ascii_case(&fingerprint.to_string()) {
            return Err(TrustListError::Fingerprint(id));
        }
        let certificate = Certificate::from_der(&der).ok().filter(is_authority);
        let certificate = certificate.ok_or_else(|| TrustListError::NotAnAuthority(id.clone()))?;
        let validity = certificate.tbs_certificate.validity;
        let date = |time: x509_cert::time::Time| {
            let seconds = i64::try_from(time.to_unix_duration().as_secs()).ok();
            let date = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
            date.ok_or_else(|| TrustListError::RootDates(id.clone()))
        };
        match self.is_within(date(validity.not_before)?, date(validity.not_after)?) {
            Validity::Now => Ok(Some(TrustedRoot { id, fingerprint, der })),
            Validity::Early | Validity::Late => Err(TrustListError::RootDates(id)),
        }
    }

    fn is_within(&self, start: Timestamp, end: Timestamp) -> Validity {
        let skew = SignedDuration::try_from(CLOCK_SKEW).unwrap_or_default();
        if self.now.duration_since(start) < -skew {
            Validity::Early
        } else if self.now.duration_since(end) > skew {
            Validity::Late
        } else {
            Validity::Now
        }
    }
}

enum Validity {
    Early,
    Now,
    Late,
}

impl TrustedRoots {
    /// Returns the root of a PEM file, such as `root.crt`, if it is one of the list.
    pub fn find_pem(&self, pem: &str) -> Result<&TrustedRoot, TrustListError> {
        let der = pem_to_der(pem).map_err(|_| TrustListError::UnknownRoot)?;
        let fingerprint = sha256(&der);
        self.roots.iter().find(|root| root.fingerprint == fingerprint).ok_or(TrustListError::UnknownRoot)
    }
}

fn is_authority(certificate: &Certificate) -> bool {
    let constraints = certificate.tbs_certificate.get::<BasicConstraints>();
    matches!(constraints, Ok(Some((_, BasicConstraints { ca: true, .. }))))
}

fn text<'a>(object: &'a Map<String, Value>, name: &'static str) -> Result<&'a str, TrustListError> {
    object.get(name).and_then(Value::as_str).ok_or(TrustListError::Malformed(name))
}
