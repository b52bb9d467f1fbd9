//! The key under which a device stores its private keys.

use aws_lc_rs::hmac;
use secrecy::SecretString;

use super::agreement::{AgreementError, IdentityKey};
use crate::pki::P256PublicKey;
use crate::seal::Kek;

/// Must never change: keys that one release stores must be read by the next.
const PURPOSE: &[u8] = b"guildhall device keys v1";

/// Derives a key that only the owner of an identity key can derive: from what the key agrees on with itself.
pub fn storage_key(identity: &dyn IdentityKey) -> Result<Kek, AgreementError> {
    let public = P256PublicKey::from_point(identity.public_point()).map_err(|_| AgreementError)?;
    let shared = identity.agree(&public)?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, shared.as_ref());
    let digits = SecretString::from(hex::encode(hmac::sign(&key, PURPOSE)));
    Kek::from_hex(&digits).map_err(|_| AgreementError)
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;
    use crate::pki::{Curve, EcKey};
    use crate::seal::{SealError, open, seal};

    #[test]
    fn what_is_stored_opens_with_the_same_identity_key_alone() {
        let [alice, bobby] = [0, 1].map(|_| EcKey::generate(Curve::P256).expect("generated"));
        let copy = EcKey::from_pem(Curve::P256, &alice.to_pem()).expect("a key");
        let sealed = seal(&storage_key(&alice).expect("a key"), b"name", b"secret").expect("sealed");
        let open = |key: &EcKey| open(&storage_key(key).expect("a key"), b"name", &sealed);
        assert_eq!(open(&copy).expect("opened").expose_secret(), b"secret");
        assert_eq!(open(&bobby).err(), Some(SealError::Open));
    }
}
