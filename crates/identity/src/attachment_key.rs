//! The key that signs links to attachments. It is derived from the operator's key-encryption key, so that every replica
//! has the same one and the database has none.

use std::fmt;
use std::time::Duration;

use aws_lc_rs::hmac;
use guildhall_domain::front::attachment::AttachmentOwner;
use guildhall_domain::front::attachment_link::{AttachmentLink, LinkClaims, SIGNATURE_BYTES};
use guildhall_domain::ids::AttachmentId;
use jiff::Timestamp;

use crate::seal::Kek;

/// Must never change: links of one release must be valid in the next.
const PURPOSE: &[u8] = b"guildhall attachment link v1";

/// Signs and verifies links to attachments.
pub struct AttachmentKey(hmac::Key);

impl AttachmentKey {
    #[must_use]
    pub fn new(kek: &Kek) -> Self {
        Self(kek.derive(PURPOSE))
    }

    /// Returns a link to an attachment of an owner.
    #[must_use]
    pub fn sign(
        &self,
        owner: AttachmentOwner,
        id: AttachmentId,
        now: Timestamp,
        lifetime: Duration,
    ) -> AttachmentLink {
        let claims = LinkClaims::new(id, now, lifetime);
        let mut signature = [0; SIGNATURE_BYTES];
        signature.copy_from_slice(hmac::sign(&self.0, &claims.signed_bytes(owner)).as_ref());
        AttachmentLink { claims, signature }
    }

    /// Returns whether a link was signed for an attachment of this owner and has not expired. The signature is compared
    /// in constant time.
    #[must_use]
    pub fn verify(&self, link: &AttachmentLink, owner: AttachmentOwner, now: Timestamp) -> bool {
        let is_signed = hmac::verify(&self.0, &link.claims.signed_bytes(owner), &link.signature).is_ok();
        is_signed && !link.claims.is_expired(now)
    }
}

impl fmt::Debug for AttachmentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AttachmentKey([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use guildhall_domain::ids::{PrincipalId, TenantId};
    use proptest::prelude::*;
    use secrecy::SecretString;
    use uuid::Uuid;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn key(digit: char) -> AttachmentKey {
        let text = SecretString::from(digit.to_string().repeat(64));
        AttachmentKey::new(&Kek::from_hex(&text).expect("a key"))
    }

    fn owner(tenant: u128, principal: u128) -> AttachmentOwner {
        AttachmentOwner {
            tenant: TenantId::from_uuid(Uuid::from_u128(tenant)),
            principal: PrincipalId::from_uuid(Uuid::from_u128(principal)),
        }
    }

    fn id(number: u128) -> AttachmentId {
        AttachmentId::from_uuid(Uuid::from_u128(number))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    /// Computed with another program: HMAC-SHA256(HMAC-SHA256(key, purpose), id + tenant + principal + expiry).
    #[test]
    fn signature_matches_an_independent_computation() {
        let link = key('0').sign(owner(1, 2), id(3), at(1_000_000), HOUR);
        assert_eq!(
            link.to_string(),
            "/api/v1/agent/attachments/att_00000000000000000000000000000003/content?expires=1003600&signature=182b1e2760ad4dae6b61aefc7591437d385cc578fbd3984633a7a7d88d78a167"
        );
    }

    proptest! {
        #[test]
        fn link_is_valid_for_its_owner_and_key_until_it_expires(
            tenant in 0u128..2, principal in 0u128..2, digit in "[ab]", passed in 0i64..7200,
        ) {
            let link = key('a').sign(owner(0, 0), id(7), at(1_000_000), HOUR);
            let other = key(digit.chars().next().expect("a digit"));
            let expected = (tenant, principal, digit.as_str()) == (0, 0, "a") && passed < 3600;
            prop_assert_eq!(other.verify(&link, owner(tenant, principal), at(1_000_000 + passed)), expected);
        }

        #[test]
        fn changed_link_is_refused(bit in 0usize..8 * SIGNATURE_BYTES, number in 0u128..9, later in 1i64..9) {
            let link = key('a').sign(owner(1, 2), id(0), at(1_000_000), HOUR);
            let verify = |link: &AttachmentLink| key('a').verify(link, owner(1, 2), at(1_000_000));
            prop_assert!(verify(&link));
            let mut forged = link;
            forged.signature[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!verify(&forged));
            let claims = LinkClaims { id: id(number), ..link.claims };
            prop_assert_eq!(verify(&AttachmentLink { claims, ..link }), number == 0);
            let claims = LinkClaims { expires_at: at(1_003_600 + later), ..link.claims };
            let extended = AttachmentLink { claims, ..link };
            prop_assert!(!verify(&extended));
        }
    }
}
