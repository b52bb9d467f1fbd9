//! Challenges of AIDs that log in. The client brings the challenge back, so the server stores none: a request that proves
//! nothing writes nothing.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use guildhall_domain::identity::{Aid, LOGIN_CHALLENGE_LIFETIME, LoginChallenge, Serial};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::random;
use crate::seal::Kek;

/// Must never change: a login may begin at a replica of one release and end at one of the next.
const PURPOSE: &[u8] = b"guildhall aid login challenge v1";

/// A challenge has about 400 characters.
const MAX_LENGTH: usize = 2048;

/// The text is no challenge of this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the request_id is not one of this server: start the login again")]
pub struct UnknownChallenge;

/// Issues and verifies challenges. All replicas have the same key.
pub struct LoginChallengeKey(hmac::Key);

#[derive(Serialize, Deserialize)]
struct WireChallenge {
    aid: String,
    serial: String,
    nonce: String,
    exp: i64,
}

impl LoginChallengeKey {
    #[must_use]
    pub fn new(kek: &Kek) -> Self {
        Self(kek.derive(PURPOSE))
    }

    /// Returns a new challenge for a certificate, and its text for the client.
    #[must_use]
    pub fn issue(&self, aid: &Aid, serial: &Serial, now: Timestamp) -> (LoginChallenge, String) {
        let lifetime = SignedDuration::try_from(LOGIN_CHALLENGE_LIFETIME).unwrap_or_default();
        let challenge = LoginChallenge {
            aid: aid.clone(),
            serial: serial.clone(),
            nonce: generate_nonce(),
            expires_at: now.checked_add(lifetime).unwrap_or(Timestamp::MAX),
        };
        let wire = WireChallenge {
            aid: aid.to_string(),
            serial: serial.to_string(),
            nonce: challenge.nonce.clone(),
            exp: challenge.expires_at.as_second(),
        };
        let body = serde_json::json!(wire).to_string();
        let tag = hmac::sign(&self.0, body.as_bytes());
        let text = format!("{}.{}", URL_SAFE_NO_PAD.encode(&body), URL_SAFE_NO_PAD.encode(tag));
        (challenge, text)
    }

    /// Reads a challenge that this server has issued. Whether it fits the login is not checked.
    pub fn verify(&self, text: &str) -> Result<LoginChallenge, UnknownChallenge> {
        let (body, tag) =
            text.split_once('.').filter(|_| text.len() <= MAX_LENGTH).ok_or(UnknownChallenge)?;
        let body = URL_SAFE_NO_PAD.decode(body).map_err(|_| UnknownChallenge)?;
        let tag = URL_SAFE_NO_PAD.decode(tag).map_err(|_| UnknownChallenge)?;
        hmac::verify(&self.0, &body, &tag).map_err(|_| UnknownChallenge)?;
        let wire: WireChallenge = serde_json::from_slice(&body).map_err(|_| UnknownChallenge)?;
        Ok(LoginChallenge {
            aid: wire.aid.parse().map_err(|_| UnknownChallenge)?,
            serial: wire.serial.parse().map_err(|_| UnknownChallenge)?,
            nonce: wire.nonce,
            expires_at: Timestamp::from_second(wire.exp).map_err(|_| UnknownChallenge)?,
        })
    }
}

/// Returns the hash under which a used nonce is stored.
#[must_use]
pub fn nonce_hash(nonce: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, nonce.as_bytes()).as_ref());
    hash
}

/// Returns an unpredictable text that is used once.
#[must_use]
pub fn generate_nonce() -> String {
    URL_SAFE_NO_PAD.encode(random::bytes::<24>().as_slice())
}

impl fmt::Debug for LoginChallengeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LoginChallengeKey([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use secrecy::SecretString;

    use super::*;

    fn key(digit: char) -> LoginChallengeKey {
        let text = SecretString::from(digit.to_string().repeat(64));
        LoginChallengeKey::new(&Kek::from_hex(&text).expect("a key"))
    }

    fn issue(key: &LoginChallengeKey) -> (LoginChallenge, String) {
        let aid = "alice.guild.example".parse().expect("an AID");
        let now = Timestamp::from_second(1_800_000_000).expect("a time");
        key.issue(&aid, &"a1".parse().expect("a serial number"), now)
    }

    #[test]
    fn challenge_is_read_by_replicas_with_the_same_key_only() {
        let (challenge, text) = issue(&key('1'));
        assert_eq!(key('1').verify(&text), Ok(challenge));
        assert_eq!(key('2').verify(&text), Err(UnknownChallenge));
        assert_ne!(issue(&key('1')).0.nonce, issue(&key('1')).0.nonce);
    }

    proptest! {
        #[test]
        fn changed_challenge_is_unknown(at in any::<prop::sample::Index>(), other in "[A-Za-z0-9_.-]") {
            let (_, text) = issue(&key('1'));
            let at = at.index(text.len());
            let changed = format!("{}{other}{}", &text[..at], &text[at + 1..]);
            // The last character of a part has bits that do not count.
            if let Ok(read) = key('1').verify(&changed) {
                prop_assert_eq!(Ok(read), key('1').verify(&text));
            }
        }
    }
}
