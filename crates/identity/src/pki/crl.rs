//! Revocation lists.

use std::time::Duration;

use guildhall_domain::identity::{RevocationReason, Serial};
use jiff::Timestamp;
use rcgen::{CertificateRevocationListParams, KeyIdMethod, RevokedCertParams, SerialNumber};

use super::authority::{CLOCK_SKEW, date};
use super::error::IssuerError;
use super::issuer::IssuerAuthority;

/// How long a list or a response is valid. Clients keep it for up to an hour.
pub(super) const LIFETIME: Duration = Duration::from_secs(3600);

impl IssuerAuthority {
    /// Signs the list of revoked certificates, in PEM. The number of a later list is higher.
    pub fn revocation_list(
        &self,
        revoked: &[(Serial, Timestamp, RevocationReason)],
        now: Timestamp,
    ) -> Result<String, IssuerError> {
        let entries = revoked.iter().map(|(serial, at, reason)| {
            Ok(RevokedCertParams {
                serial_number: SerialNumber::from_slice(serial.as_bytes()),
                revocation_time: date(*at)?,
                reason_code: reason_code(*reason),
                invalidity_date: None,
            })
        });
        let params = CertificateRevocationListParams {
            this_update: date(now.checked_sub(CLOCK_SKEW).map_err(|_| IssuerError::Time)?)?,
            next_update: date(now.checked_add(LIFETIME).map_err(|_| IssuerError::Time)?)?,
            crl_number: SerialNumber::from_slice(&now.as_microsecond().to_be_bytes()),
            issuing_distribution_point: None,
            revoked_certs: entries.collect::<Result<_, IssuerError>>()?,
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let list = params.signed_by(&self.signing_issuer()?).map_err(IssuerError::sign)?;
        list.pem().map_err(IssuerError::sign)
    }
}

fn reason_code(reason: RevocationReason) -> Option<rcgen::RevocationReason> {
    match reason {
        // RFC 5280 leaves the extension out for an unspecified reason.
        RevocationReason::Unspecified => None,
        RevocationReason::KeyCompromise => Some(rcgen::RevocationReason::KeyCompromise),
        RevocationReason::Superseded => Some(rcgen::RevocationReason::Superseded),
        RevocationReason::CessationOfOperation => Some(rcgen::RevocationReason::CessationOfOperation),
    }
}
