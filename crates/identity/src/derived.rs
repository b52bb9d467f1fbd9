//! Values that follow from a secret: whoever holds the secret can compute them, nobody can go back.
//!
//! A browser session's CSRF token follows from its cookie, and so do the state, the nonce and the PKCE verifier of a
//! sign-in. Hence none of them is stored, and each fits the one browser that has the cookie.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use crate::random;

/// The length of every derived value and of every PKCE challenge, in characters.
pub const LENGTH: usize = 43;

/// What a derived value is for. Values for different purposes tell nothing about each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Proves that a page could read an answer of this server.
    Csrf,
    /// The `state` of an authorization request.
    State,
    /// The `nonce` of an authorization request.
    Nonce,
    /// The PKCE code verifier of an authorization request.
    PkceVerifier,
}

impl Purpose {
    pub const ALL: &'static [Self] = &[Self::Csrf, Self::State, Self::Nonce, Self::PkceVerifier];

    /// Never changed: a value of one release must fit in the next.
    const fn label(self) -> &'static [u8] {
        match self {
            Self::Csrf => b"guildhall csrf v1",
            Self::State => b"guildhall oidc state v1",
            Self::Nonce => b"guildhall oidc nonce v1",
            Self::PkceVerifier => b"guildhall pkce verifier v1",
        }
    }
}

/// Derives a value from a secret.
#[must_use]
pub fn derive(secret: &SecretString, purpose: Purpose) -> SecretString {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose_secret().as_bytes());
    URL_SAFE_NO_PAD.encode(hmac::sign(&key, purpose.label())).into()
}

/// Returns whether a presented value is the one that follows from the secret; in the same time whatever differs.
#[must_use]
pub fn is_derived(presented: &str, secret: &SecretString, purpose: Purpose) -> bool {
    is_same(presented, derive(secret, purpose).expose_secret())
}

/// Makes a PKCE code verifier (RFC 7636) that follows from nothing.
#[must_use]
pub fn verifier() -> SecretString {
    URL_SAFE_NO_PAD.encode(random::bytes::<32>()).into()
}

/// Returns the PKCE challenge of a verifier, by the method S256.
#[must_use]
pub fn challenge(verifier: &SecretString) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.expose_secret().as_bytes()))
}

/// Returns whether a verifier is the one that a challenge was made of.
#[must_use]
pub fn answers(verifier: &SecretString, to: &str) -> bool {
    is_same(&challenge(verifier), to)
}

/// Returns whether a text has the form of a challenge.
#[must_use]
pub fn is_challenge(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

fn is_same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    /// The example of RFC 7636, appendix B.
    #[test]
    fn the_challenge_is_that_of_the_standard() {
        let verifier = SecretString::from("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge(&verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert!(answers(&verifier, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"));
        assert!(
            is_challenge(&challenge(&verifier)) && !is_challenge("short") && !is_challenge(&"=".repeat(43))
        );
    }

    #[test]
    fn a_new_verifier_is_another_each_time() {
        assert_ne!(verifier().expose_secret(), verifier().expose_secret());
        assert_eq!(verifier().expose_secret().len(), LENGTH);
    }

    proptest! {
        #[test]
        fn each_purpose_has_a_value_of_its_own_that_fits_its_secret_alone(one in "[a-z]{1,40}", other in "[a-z]{1,40}") {
            prop_assume!(one != other);
            let (one, other) = (SecretString::from(one), SecretString::from(other));
            let values: HashSet<String> =
                Purpose::ALL.iter().map(|purpose| derive(&one, *purpose).expose_secret().to_owned()).collect();
            prop_assert_eq!(values.len(), Purpose::ALL.len());
            for purpose in Purpose::ALL {
                let value = derive(&one, *purpose);
                prop_assert_eq!(value.expose_secret().len(), LENGTH);
                prop_assert!(is_derived(value.expose_secret(), &one, *purpose));
                prop_assert!(!is_derived(value.expose_secret(), &other, *purpose));
            }
        }
    }
}
