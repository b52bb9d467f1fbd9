//! Which certificates of an AID sign in.

use jiff::{SignedDuration, Timestamp};

use super::certificate::{CertificateStatus, IssuedCertificate};

/// The lifetime of an access token of an AID. The clients of AUN refresh a token 1800 s before its end, in a loop without
/// a pause where it lives for less.
pub const AID_TOKEN_LIFETIME: SignedDuration = SignedDuration::from_secs(3600);

/// The certificate does not sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LoginCertificateError {
    #[error("the certificate was revoked")]
    Revoked,
    #[error("the certificate has expired: an operator creates another AID")]
    Expired,
    #[error("the AID has another key now: log in with its newest certificate")]
    ReplacedKey,
}

/// Checks that a certificate signs in: its key is the one of the newest certificate of the AID, and that one is active. An
/// older certificate of the same key does, because a client may have lost the response with the newer one.
pub fn check_login_certificate(
    presented: &IssuedCertificate,
    newest: &IssuedCertificate,
    now: Timestamp,
) -> Result<(), LoginCertificateError> {
    match (presented.status(now), newest.status(now)) {
        (CertificateStatus::Revoked, _) => Err(LoginCertificateError::Revoked),
        (CertificateStatus::Expired, _) => Err(LoginCertificateError::Expired),
        (CertificateStatus::Active | CertificateStatus::VerifyOnly, _)
            if presented.key_fingerprint != newest.key_fingerprint =>
        {
            Err(LoginCertificateError::ReplacedKey)
        }
        (CertificateStatus::Active | CertificateStatus::VerifyOnly, CertificateStatus::Revoked) => {
            Err(LoginCertificateError::Revoked)
        }
        (CertificateStatus::Active | CertificateStatus::VerifyOnly, CertificateStatus::Expired) => {
            Err(LoginCertificateError::Expired)
        }
        (
            CertificateStatus::Active | CertificateStatus::VerifyOnly,
            CertificateStatus::Active | CertificateStatus::VerifyOnly,
        ) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::certificate::{CertificateFingerprint, RevocationReason};
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    fn certificate(key: u8, not_after: i64) -> IssuedCertificate {
        IssuedCertificate {
            serial: "1".parse().expect("a serial number"),
            aid: "alice.guild.example".parse().expect("an AID"),
            der: Vec::new(),
            fingerprint: CertificateFingerprint::new([0; 32]),
            key_fingerprint: CertificateFingerprint::new([key; 32]),
            not_before: at(0),
            not_after: at(not_after),
            revoked: None,
            replaced: false,
        }
    }

    #[test]
    fn newest_certificate_and_older_ones_of_its_key_sign_in() {
        let (newest, old) = (certificate(1, 100), IssuedCertificate { replaced: true, ..certificate(1, 50) });
        assert_eq!(check_login_certificate(&newest, &newest, at(99)), Ok(()));
        assert_eq!(check_login_certificate(&old, &newest, at(49)), Ok(()));
        let expired = Err(LoginCertificateError::Expired);
        assert_eq!(check_login_certificate(&old, &newest, at(50)), expired);
        assert_eq!(check_login_certificate(&newest, &newest, at(100)), expired);
    }

    #[test]
    fn replaced_and_revoked_keys_do_not_sign_in() {
        let newest = certificate(2, 100);
        let replaced = IssuedCertificate { replaced: true, ..certificate(1, 100) };
        assert_eq!(
            check_login_certificate(&replaced, &newest, at(1)),
            Err(LoginCertificateError::ReplacedKey)
        );
        let revoked = |certificate: &IssuedCertificate| IssuedCertificate {
            revoked: Some((at(1), RevocationReason::KeyCompromise)),
            ..certificate.clone()
        };
        let denied = Err(LoginCertificateError::Revoked);
        assert_eq!(check_login_certificate(&revoked(&newest), &revoked(&newest), at(1)), denied);
        assert_eq!(check_login_certificate(&newest, &revoked(&newest), at(1)), denied);
    }
}
