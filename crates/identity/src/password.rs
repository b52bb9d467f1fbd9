//! Password hashing with argon2id.
//!
//! One verification takes tens of milliseconds and 19 MiB. Callers run it outside the async threads and limit
//! concurrency. Passwords are compared byte for byte, without normalization.

use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use secrecy::{ExposeSecret, SecretString};

/// Minimum length in characters: shorter passwords are too cheap to guess from a stolen hash.
pub const MIN_LENGTH: usize = 12;

/// Maximum length in bytes, so that nobody can make the server hash large texts.
pub const MAX_BYTES: usize = 1024;

// OWASP's recommended parameters for argon2id: 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// A hash with the parameters above, of a random password that was discarded.
const DUMMY_HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$5h7DL9pic5rWqgcWOnbpTg$F09FmVzNBknTgDghvwnIoESef9q3mvD81ZUjEYw9Muw";

/// The password cannot be set.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    #[error(
        "the password is too short: use at least {MIN_LENGTH} characters; a sentence is easy to remember"
    )]
    TooShort,
    #[error("the password is too long: use at most {MAX_BYTES} bytes")]
    TooLong,
    #[error("cannot hash the password")]
    Hash(#[source] argon2::password_hash::Error),
}

/// Hashes a password with a random salt. Rejects passwords that are too short or too long.
pub fn hash(password: &SecretString) -> Result<String, PasswordError> {
    let password = password.expose_secret();
    if password.len() > MAX_BYTES {
        return Err(PasswordError::TooLong);
    }
    if password.chars().count() < MIN_LENGTH {
        return Err(PasswordError::TooShort);
    }
    let hashed = argon2().hash_password(password.as_bytes()).map_err(PasswordError::Hash)?;
    Ok(hashed.to_string())
}

/// Returns whether a password matches a stored hash. An invalid hash matches nothing, and takes the same time.
#[must_use]
pub fn verify(password: &SecretString, stored: &str) -> bool {
    let stored = PasswordHash::new(stored).ok().filter(is_argon2id);
    let Some(stored) = stored else {
        dummy_verify(password);
        return false;
    };
    matches(password, &stored)
}

/// Takes the same time as [`verify`], for an unknown user name: the response time must not reveal whether it exists.
pub fn dummy_verify(password: &SecretString) {
    if let Ok(dummy) = PasswordHash::new(DUMMY_HASH) {
        std::hint::black_box(matches(password, &dummy));
    }
}

fn matches(password: &SecretString, stored: &PasswordHash) -> bool {
    let password = password.expose_secret().as_bytes();
    password.len() <= MAX_BYTES && argon2().verify_password(password, stored).is_ok()
}

fn is_argon2id(stored: &PasswordHash) -> bool {
    stored.algorithm.as_str() == Algorithm::Argon2id.as_str() && stored.hash.is_some()
}

#[expect(clippy::expect_used, reason = "the parameters are constants, and a test uses them")]
fn argon2() -> Argon2<'static> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).expect("the parameters are in range");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> SecretString {
        SecretString::from(text)
    }

    #[test]
    fn only_the_hashed_password_is_verified() {
        let password = secret("correct horse battery staple");
        let stored = hash(&password).expect("long enough");
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert!(verify(&password, &stored));
        assert!(!verify(&secret("correct horse battery stapl"), &stored));
        assert_ne!(hash(&password).expect("long enough"), stored, "each hash has its own salt");
    }

    #[test]
    fn short_password_is_rejected_with_the_minimum_length() {
        let error = hash(&secret("elevenchars")).expect_err("eleven characters");
        assert_eq!(
            error.to_string(),
            "the password is too short: use at least 12 characters; a sentence is easy to remember"
        );
        assert!(
            matches!(hash(&secret("äöüäöüäöüäö")), Err(PasswordError::TooShort)),
            "characters, not bytes"
        );
    }

    #[test]
    fn oversized_password_is_rejected_without_hashing() {
        let oversized = secret(&"a".repeat(MAX_BYTES + 1));
        assert!(matches!(hash(&oversized), Err(PasswordError::TooLong)));
        assert!(!verify(&oversized, DUMMY_HASH));
    }

    #[test]
    fn invalid_hash_verifies_nothing() {
        for stored in [
            "",
            "secret",
            "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0",
            "$argon2d$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$AAAA",
        ] {
            assert!(!verify(&secret(stored), stored), "{stored}");
        }
    }

    /// Same algorithm, version, parameters and length, so verification takes the same time.
    #[test]
    fn dummy_hash_has_the_same_cost_as_a_real_one() {
        let cost = |stored: &str| {
            let stored = PasswordHash::new(stored).expect("a hash");
            let length = stored.hash.expect("with an output").as_bytes().len();
            (stored.algorithm, stored.version, stored.params, length)
        };
        let real = hash(&secret("correct horse battery staple")).expect("long enough");
        assert_eq!(cost(DUMMY_HASH), cost(&real));
        dummy_verify(&secret("anything"));
    }
}
