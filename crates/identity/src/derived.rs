//! Values derived from a secret: the holder of the secret can compute them, nobody can reverse them.
//!
//! The CSRF token of a browser session is derived from its cookie, and so are the state, the nonce and the PKCE
//! verifier of a sign-in. None of them is stored, and each is valid only for the browser that has the cookie.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use crate::random;

/// Length of a derived value and of a PKCE challenge, in characters.
pub const LENGTH: usize = 43;

/// The purpose of a derived value. Values for different purposes are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Proves that a page could read a response of this server.
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

    /// Must never change: values derived by one release must be valid in the next.
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

/// Returns whether a value was derived from the secret, in constant time.
#[must_use]
pub fn is_derived(presented: &str, secret: &SecretString, purpose: Purpose) -> bool {
    constant_time_eq(presented, derive(secret, purpose).expose_secret())
}

/// Generates a random PKCE code verifier (RFC 7636).
#[must_use]
pub fn generate_verifier() -> SecretString {
    URL_SAFE_NO_PAD.encode(random::bytes::<32>()).into()
}

/// Returns the PKCE challenge of a verifier (method S256).
#[must_use]
pub fn challenge(verifier: &SecretString) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.expose_secret().as_bytes()))
}

/// Returns whether a verifier matches a challenge.
#[must_use]
pub fn matches_challenge(verifier: &SecretString, expected: &str) -> bool {
    constant_time_eq(&challenge(verifier), expected)
}

/// Characters of a confirmation code (Crockford's base 32): digits and letters without those that look alike.
const CODE_CHARACTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Returns the short code of a challenge, such as `7KQ2-M4XW`: 40 bits that a person can compare. The server and the
/// CLI compute the same one.
#[must_use]
pub fn confirmation_code(challenge: &str) -> String {
    let hash = digest(&SHA256, format!("guildhall confirmation code v1 {challenge}").as_bytes());
    let mut characters =
        hash.as_ref().iter().take(8).map(|byte| char::from(CODE_CHARACTERS[usize::from(byte % 32)]));
    let first: String = characters.by_ref().take(4).collect();
    format!("{first}-{}", characters.collect::<String>())
}

/// Returns whether a text has the format of a challenge.
#[must_use]
pub fn is_challenge(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

fn constant_time_eq(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    /// The example of RFC 7636, appendix B.
    #[test]
    fn challenge_matches_the_rfc_7636_example() {
        let verifier = SecretString::from("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
        assert_eq!(challenge(&verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        assert!(matches_challenge(&verifier, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"));
        assert!(
            is_challenge(&challenge(&verifier)) && !is_challenge("short") && !is_challenge(&"=".repeat(43))
        );
    }

    /// Computed with another program.
    #[test]
    fn confirmation_code_has_two_groups_of_four_characters() {
        assert_eq!(confirmation_code("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"), "HMC8-5XC3");
        assert_ne!(confirmation_code("a"), confirmation_code("b"));
    }

    #[test]
    fn generated_verifiers_differ() {
        assert_ne!(generate_verifier().expose_secret(), generate_verifier().expose_secret());
        assert_eq!(generate_verifier().expose_secret().len(), LENGTH);
    }

    proptest! {
        #[test]
        fn derived_values_are_unique_per_purpose_and_secret(one in "[a-z]{1,40}", other in "[a-z]{1,40}") {
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
