//! The login of an AID: the server gives a nonce, and the client signs it once.

use std::time::Duration;

use jiff::Timestamp;

use super::aid::Aid;
use super::certificate::Serial;

/// How long a nonce can be signed.
pub const LOGIN_CHALLENGE_LIFETIME: Duration = Duration::from_secs(60);

/// A nonce that was given to one AID and one of its certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginChallenge {
    pub aid: Aid,
    pub serial: Serial,
    pub nonce: String,
    pub expires_at: Timestamp,
}

/// The challenge does not fit the login.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LoginChallengeError {
    #[error("the login has expired: start it again")]
    Expired,
    #[error("the login was started by another AID")]
    OtherAid,
    #[error("the nonce is not the one of this login")]
    OtherNonce,
}

impl LoginChallenge {
    /// Checks the second step of a login against the first one. The signature over the nonce is checked apart.
    pub fn check(&self, aid: &Aid, nonce: &str, now: Timestamp) -> Result<(), LoginChallengeError> {
        if now >= self.expires_at {
            Err(LoginChallengeError::Expired)
        } else if *aid != self.aid {
            Err(LoginChallengeError::OtherAid)
        } else if nonce != self.nonce {
            Err(LoginChallengeError::OtherNonce)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenge_fits_its_own_aid_and_nonce_until_it_expires() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let aid = |text: &str| text.parse::<Aid>().expect("an AID");
        let challenge = LoginChallenge {
            aid: aid("alice.guild.example"),
            serial: "1".parse().expect("a serial number"),
            nonce: "one".to_owned(),
            expires_at: at(60),
        };
        let alice = aid("alice.guild.example");
        assert_eq!(challenge.check(&alice, "one", at(59)), Ok(()));
        assert_eq!(challenge.check(&alice, "one", at(60)), Err(LoginChallengeError::Expired));
        assert_eq!(
            challenge.check(&aid("bobby.guild.example"), "one", at(0)),
            Err(LoginChallengeError::OtherAid)
        );
        assert_eq!(challenge.check(&alice, "two", at(0)), Err(LoginChallengeError::OtherNonce));
    }
}
