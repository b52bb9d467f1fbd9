//! Passwords: argon2id, slow on purpose.
//!
//! One check takes tens of milliseconds and 19 MiB. Callers run it off the async threads and bound how many run at once.
//! A password is compared as it was typed, byte for byte.

use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use secrecy::{ExposeSecret, SecretString};

/// The shortest password, in characters: below it guessing from a stolen hash is too cheap, whatever the hash.
pub const MIN_LENGTH: usize = 12;

/// The longest password, in bytes: no phrase is longer, and nobody gets to have a book hashed.
pub const MAX_BYTES: usize = 1024;

// OWASP's first choice of parameters for argon2id: 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// A hash under the parameters above. Its password was random and is not kept.
const NOBODYS_HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$5h7DL9pic5rWqgcWOnbpTg$F09FmVzNBknTgDghvwnIoESef9q3mvD81ZUjEYw9Muw";

/// Why a password cannot be set.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    #[error(
        "the password is too short: use at least {MIN_LENGTH} characters, a sentence is easy to remember"
    )]
    TooShort,
    #[error("the password is too long: use at most {MAX_BYTES} bytes")]
    TooLong,
    #[error("cannot hash the password")]
    Hash(#[source] argon2::password_hash::Error),
}

/// Hashes a password for storage, with a salt of its own. Refuses one that is too short or too long.
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

/// Returns whether a stored hash is of this password. A hash that cannot be read is of none, and costs the same.
#[must_use]
pub fn verify(password: &SecretString, stored: &str) -> bool {
    let stored = PasswordHash::new(stored).ok().filter(is_argon2id);
    let Some(stored) = stored else {
        dummy_verify(password);
        return false;
    };
    matches(password, &stored)
}

/// Spends what [`verify`] would, for a name that nobody has: the time of an answer must not tell whether it exists.
pub fn dummy_verify(password: &SecretString) {
    if let Ok(nobodys) = PasswordHash::new(NOBODYS_HASH) {
        std::hint::black_box(matches(password, &nobodys));
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
    fn only_the_password_that_was_hashed_fits() {
        let password = secret("correct horse battery staple");
        let stored = hash(&password).expect("long enough");
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert!(verify(&password, &stored));
        assert!(!verify(&secret("correct horse battery stapl"), &stored));
        assert_ne!(hash(&password).expect("long enough"), stored, "each hash has a salt of its own");
    }

    #[test]
    fn a_short_password_is_refused_with_the_rule() {
        let error = hash(&secret("elevenchars")).expect_err("eleven characters");
        assert_eq!(
            error.to_string(),
            "the password is too short: use at least 12 characters, a sentence is easy to remember"
        );
        assert!(
            matches!(hash(&secret("äöüäöüäöüäö")), Err(PasswordError::TooShort)),
            "characters, not bytes"
        );
    }

    #[test]
    fn a_password_as_long_as_a_book_is_refused_unhashed() {
        let book = secret(&"a".repeat(MAX_BYTES + 1));
        assert!(matches!(hash(&book), Err(PasswordError::TooLong)));
        assert!(!verify(&book, NOBODYS_HASH));
    }

    #[test]
    fn what_is_no_argon2id_hash_fits_nothing() {
        for stored in [
            "",
            "secret",
            "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0",
            "$argon2d$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$AAAA",
        ] {
            assert!(!verify(&secret(stored), stored), "{stored}");
        }
    }

    /// Same algorithm, version, parameters and length: so checking costs the same.
    #[test]
    fn a_name_that_nobody_has_costs_what_a_real_one_costs() {
        let cost = |stored: &str| {
            let stored = PasswordHash::new(stored).expect("a hash");
            let length = stored.hash.expect("with an output").as_bytes().len();
            (stored.algorithm, stored.version, stored.params, length)
        };
        let real = hash(&secret("correct horse battery staple")).expect("long enough");
        assert_eq!(cost(NOBODYS_HASH), cost(&real));
        dummy_verify(&secret("anything"));
    }
}
