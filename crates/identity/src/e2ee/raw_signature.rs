//! ECDSA signatures as two numbers, as V2 has them.

use x509_cert::der::Decode;
use x509_cert::der::asn1::UintRef;

use crate::pki::{SignError, Signer};

const NUMBER_BYTES: usize = 32;

/// The length of a signature.
pub(super) const RAW_SIGNATURE_BYTES: usize = 2 * NUMBER_BYTES;

/// Signs a message with a P-256 key. The official clients derive the nonce from the message (RFC 6979), and ours is random: no
/// reader can tell.
pub(super) fn sign_raw(key: &dyn Signer, message: &[u8]) -> Result<[u8; RAW_SIGNATURE_BYTES], SignError> {
    raw_signature(&key.sign(message)?).ok_or(SignError)
}

/// Returns the two numbers of a signature in DER.
fn raw_signature(der: &[u8]) -> Option<[u8; RAW_SIGNATURE_BYTES]> {
    let numbers = <[UintRef<'_>; 2]>::from_der(der).ok()?;
    let mut raw = [0; RAW_SIGNATURE_BYTES];
    for (number, place) in numbers.iter().zip(raw.chunks_mut(NUMBER_BYTES)) {
        // Zeros in front are left out in DER.
        let start = NUMBER_BYTES.checked_sub(number.as_bytes().len())?;
        place.get_mut(start..)?.copy_from_slice(number.as_bytes());
    }
    Some(raw)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pki::{Curve, EcKey, P256PublicKey};

    #[test]
    fn short_numbers_are_filled_with_zeros() {
        let mut expected = [0; 64];
        (expected[31], expected[62], expected[63]) = (5, 0x80, 1);
        assert_eq!(raw_signature(&[0x30, 8, 2, 1, 5, 2, 3, 0, 0x80, 1]), Some(expected));
    }

    proptest! {
        #[test]
        fn signature_is_verified_by_its_public_key(message in any::<Vec<u8>>()) {
            let key = EcKey::generate(Curve::P256).expect("generated");
            let signature = sign_raw(&key, &message).expect("signed");
            let public = P256PublicKey::of(&key).expect("a public key");
            prop_assert!(public.verify_raw(&message, &signature).is_ok());
        }

        #[test]
        fn other_bytes_are_no_signature(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _no_panic = raw_signature(&bytes);
        }
    }
}
