//! Certificates of AIDs as they are issued, found and revoked.

use std::fmt;
use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};

use super::aid::Aid;
use crate::ids::PrincipalId;
use crate::named_enum::named_enum;

const SHORT_HEX: usize = 16;
const FULL_HEX: usize = 64;
const MAX_SERIAL_BYTES: usize = 20;

/// Every certificate stays in the database, and in the revocation list if its key is revoked.
const MIN_RENEWAL_INTERVAL: SignedDuration = SignedDuration::from_hours(1);

named_enum! {
    /// Why a certificate was revoked. The numbers of RFC 5280 are in the `identity` crate.
    RevocationReason, "revocation reason";
    Unspecified = "unspecified",
    KeyCompromise = "key_compromise",
    /// Something else took its place.
    Superseded = "superseded",
    /// The agent is no longer in use.
    CessationOfOperation = "cessation_of_operation",
}

named_enum! {
    /// What a certificate can be used for at a time.
    CertificateStatus, "certificate status";
    /// It signs in.
    Active = "active",
    /// A newer one of the same AID signs in. It still verifies what it signed.
    VerifyOnly = "verify_only",
    Expired = "expired",
    Revoked = "revoked",
}

/// The SHA-256 hash of a certificate or of its public key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CertificateFingerprint([u8; 32]);

impl CertificateFingerprint {
    #[must_use]
    pub const fn new(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for CertificateFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for CertificateFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for CertificateFingerprint {
    type Err = InvalidCertificateFingerprint;

    /// Parses 64 hexadecimal digits, also with colons as OpenSSL prints them.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits: String = text.trim().chars().filter(|c| *c != ':').collect();
        let bytes = hex::decode(digits).map_err(|_| InvalidCertificateFingerprint)?;
        Ok(Self(bytes.try_into().map_err(|_| InvalidCertificateFingerprint)?))
    }
}

/// The text is not the fingerprint of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid fingerprint: expected the SHA-256 of a certificate, {FULL_HEX} hexadecimal digits")]
pub struct InvalidCertificateFingerprint;

/// The text is not a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid fingerprint: expected {SHORT_HEX} or {FULL_HEX} hexadecimal digits, optionally after `sha256:`"
)]
pub struct InvalidFingerprint;

/// A fingerprint as clients ask for one: the whole hash, or its first eight bytes; of the certificate or of its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FingerprintQuery(Vec<u8>);

impl FingerprintQuery {
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl FromStr for FingerprintQuery {
    type Err = InvalidFingerprint;

    fn from_str(text: &str) -> Result<Self, InvalidFingerprint> {
        let digits = text.strip_prefix("sha256:").unwrap_or(text);
        if digits.len() != SHORT_HEX && digits.len() != FULL_HEX {
            return Err(InvalidFingerprint);
        }
        hex::decode(digits).map(Self).map_err(|_| InvalidFingerprint)
    }
}

/// The text is not a serial number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid serial number: expected up to {} hexadecimal digits", MAX_SERIAL_BYTES * 2)]
pub struct InvalidSerial;

/// The serial number of a certificate: a positive integer without leading zero bytes, as DER has it.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Serial(Vec<u8>);

impl Serial {
    /// Reads the bytes of a positive integer. Leading zeros are dropped.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidSerial> {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let bytes = bytes.get(zeros..).unwrap_or_default();
        // DER writes one byte more where the highest bit is set.
        let encoded = bytes.len() + usize::from(bytes.first().is_some_and(|first| *first >= 0x80));
        if bytes.is_empty() || encoded > MAX_SERIAL_BYTES {
            return Err(InvalidSerial);
        }
        Ok(Self(bytes.to_vec()))
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl FromStr for Serial {
    type Err = InvalidSerial;

    /// Parses hexadecimal digits. Clients write an integer, so the number of digits may be odd.
    fn from_str(text: &str) -> Result<Self, InvalidSerial> {
        if text.is_empty() || text.len() > MAX_SERIAL_BYTES * 2 {
            return Err(InvalidSerial);
        }
        let padded = if text.len() % 2 == 1 { format!("0{text}") } else { text.to_owned() };
        Self::from_bytes(&hex::decode(padded).map_err(|_| InvalidSerial)?)
    }
}

/// The digits of an integer: no leading zero, as the official clients ask for it.
impl fmt::Display for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(hex::encode(&self.0).trim_start_matches('0'))
    }
}

impl fmt::Debug for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A certificate that this issuer has signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedCertificate {
    pub serial: Serial,
    pub aid: Aid,
    pub der: Vec<u8>,
    pub fingerprint: CertificateFingerprint,
    pub key_fingerprint: CertificateFingerprint,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
    pub revoked: Option<(Timestamp, RevocationReason)>,
    /// Another certificate of the same AID was issued later.
    pub replaced: bool,
}

/// A key gets no new certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RenewalDenied {
    #[error("the key of the AID was revoked, so it gets no new certificate")]
    Revoked,
    #[error("the certificate is less than an hour old")]
    TooEarly,
}

/// An AID with its owner and its newest certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedAid {
    pub owner: PrincipalId,
    pub created_at: Timestamp,
    pub certificate: IssuedCertificate,
}

impl IssuedCertificate {
    #[must_use]
    pub fn status(&self, now: Timestamp) -> CertificateStatus {
        if self.revoked.is_some() {
            CertificateStatus::Revoked
        } else if now >= self.not_after {
            CertificateStatus::Expired
        } else if self.replaced {
            CertificateStatus::VerifyOnly
        } else {
            CertificateStatus::Active
        }
    }

    /// Checks that the key may get a new certificate.
    pub fn check_renewal(&self, now: Timestamp) -> Result<(), RenewalDenied> {
        if self.revoked.is_some() {
            return Err(RenewalDenied::Revoked);
        }
        if now.duration_since(self.not_before) < MIN_RENEWAL_INTERVAL {
            return Err(RenewalDenied::TooEarly);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    #[test]
    fn fingerprint_is_parsed_as_we_and_as_openssl_print_it() {
        let fingerprint = CertificateFingerprint::new([0xab; 32]);
        for text in [fingerprint.to_string(), ["AB"; 32].join(":"), format!(" {fingerprint}\n")] {
            assert_eq!(text.parse(), Ok(fingerprint), "{text}");
        }
        for text in ["", "ab", "zz", &"ab".repeat(33)] {
            assert_eq!(text.parse::<CertificateFingerprint>(), Err(InvalidCertificateFingerprint), "{text}");
        }
    }

    fn certificate() -> IssuedCertificate {
        IssuedCertificate {
            serial: "a1".parse().expect("a serial number"),
            aid: "alice.guild.example".parse().expect("an AID"),
            der: Vec::new(),
            fingerprint: CertificateFingerprint::new([1; 32]),
            key_fingerprint: CertificateFingerprint::new([2; 32]),
            not_before: at(0),
            not_after: at(100),
            revoked: None,
            replaced: false,
        }
    }

    #[test]
    fn status_names_what_a_certificate_can_be_used_for() {
        let replaced = IssuedCertificate { replaced: true, ..certificate() };
        let revoked = Some((at(10), RevocationReason::KeyCompromise));
        let revoked = IssuedCertificate { revoked, ..replaced.clone() };
        let statuses = |second| [&certificate(), &replaced, &revoked].map(|one| one.status(at(second)));
        use CertificateStatus::{Active, Expired, Revoked, VerifyOnly};
        assert_eq!(statuses(99), [Active, VerifyOnly, Revoked]);
        assert_eq!(statuses(100), [Expired, Expired, Revoked]);
    }

    #[test]
    fn valid_and_expired_certificates_are_renewed_once_an_hour() {
        let certificate = IssuedCertificate { not_after: at(7200), ..certificate() };
        assert_eq!(certificate.check_renewal(at(3599)), Err(RenewalDenied::TooEarly));
        assert_eq!(certificate.check_renewal(at(3600)), Ok(()));
        assert_eq!(certificate.check_renewal(at(9999)), Ok(()), "an expired one too");
        let revoked = Some((at(10), RevocationReason::Unspecified));
        let revoked = IssuedCertificate { revoked, ..certificate };
        assert_eq!(revoked.check_renewal(at(9999)), Err(RenewalDenied::Revoked));
    }

    #[test]
    fn fingerprint_is_asked_for_by_16_or_64_digits() {
        for (text, bytes) in [
            ("ab".repeat(8), 8),
            ("AB".repeat(8), 8),
            ("ab".repeat(32), 32),
            (format!("sha256:{}", "ab".repeat(8)), 8),
        ] {
            let query: FingerprintQuery = text.parse().expect("a fingerprint");
            assert_eq!(query.as_bytes(), vec![0xab; bytes], "{text}");
        }
        for text in ["", "sha256:", "ab", &"ab".repeat(9), &"xy".repeat(8), &"ab".repeat(33)] {
            assert_eq!(text.parse::<FingerprintQuery>(), Err(InvalidFingerprint), "{text}");
        }
    }

    #[test]
    fn invalid_serial_numbers_are_rejected() {
        for text in ["", "0", "00", "xyz", &"f".repeat(40), &"f".repeat(41)] {
            assert_eq!(text.parse::<Serial>(), Err(InvalidSerial), "{text}");
        }
    }

    proptest! {
        #[test]
        fn serial_is_parsed_from_its_own_text(bytes in proptest::collection::vec(any::<u8>(), 1..=20)) {
            if let Ok(serial) = Serial::from_bytes(&bytes) {
                prop_assert!(!serial.to_string().starts_with('0'));
                prop_assert_eq!(serial.to_string().parse(), Ok(serial));
            }
        }
    }
}
