//! Refresh token rotation: each token is used once, and reuse revokes the login.
//!
//! A login is a family of tokens, one of which is current. Exchanging it yields the next one. If an earlier token is
//! presented, two parties hold tokens of the family and either may be the attacker, so the whole family is revoked. The
//! previous token is accepted again for a short grace period, because a response can be lost.
//!
//! A token contains its login id. A secret that matches neither of the two stored hashes counts as an earlier token.
//! Anyone who knows a login id can therefore revoke that login, but gains nothing else: show a login id only to its own
//! principal.

use jiff::{SignedDuration, Timestamp};

/// How long the previous token is accepted: longer than a client's retry after a broken connection, too short to use a
/// stolen token unnoticed.
pub const REUSE_GRACE: SignedDuration = SignedDuration::from_secs(10);

/// How long a login can be unused: long enough for a holiday, too short for a forgotten machine.
pub const IDLE_LIMIT: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The previous token and the time of its exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreviousToken<H> {
    pub hash: H,
    pub rotated_at: Timestamp,
}

/// The stored tokens of a login. `H` is the hash of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenFamily<H> {
    pub current: H,
    pub previous: Option<PreviousToken<H>>,
    /// When the last token was issued.
    pub last_rotated_at: Timestamp,
    /// The absolute end of the login.
    pub expires_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

/// Decision on a presented token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshDecision {
    /// The current token: issue the next one.
    Rotate,
    /// The previous token within the grace period: the response may be lost, so issue a replacement.
    Retry,
    /// An earlier token: reject it and revoke the family.
    Reused,
    Expired,
    Revoked,
    /// There is no such login.
    Unknown,
}

impl RefreshDecision {
    /// Returns whether the bearer gets a new token.
    #[must_use]
    pub fn is_accepted(self) -> bool {
        match self {
            Self::Rotate | Self::Retry => true,
            Self::Reused | Self::Expired | Self::Revoked | Self::Unknown => false,
        }
    }
}

/// Decides on a presented token. `is_presented` compares a stored hash with the presented one, in constant time.
pub fn decide<H>(
    family: Option<&TokenFamily<H>>,
    is_presented: impl Fn(&H) -> bool,
    now: Timestamp,
) -> RefreshDecision {
    let Some(family) = family else { return RefreshDecision::Unknown };
    let is_current = is_presented(&family.current);
    let previous = family.previous.as_ref().filter(|previous| is_presented(&previous.hash));
    if family.revoked_at.is_some() {
        RefreshDecision::Revoked
    } else if family.is_expired(now) {
        RefreshDecision::Expired
    } else if is_current {
        RefreshDecision::Rotate
    } else if previous.is_some_and(|previous| now.duration_since(previous.rotated_at) <= REUSE_GRACE) {
        RefreshDecision::Retry
    } else {
        RefreshDecision::Reused
    }
}

impl<H> TokenFamily<H> {
    /// Creates the family of a new login.
    #[must_use]
    pub fn new(first: H, now: Timestamp, expires_at: Timestamp) -> Self {
        Self { current: first, previous: None, last_rotated_at: now, expires_at, revoked_at: None }
    }

    /// Returns the family after a decision. `next` is the hash of the new token; it is ignored if the decision issues
    /// none.
    #[must_use]
    pub fn apply(self, decision: RefreshDecision, next: H, now: Timestamp) -> Self {
        match decision {
            RefreshDecision::Rotate => Self {
                previous: Some(PreviousToken { hash: self.current, rotated_at: now }),
                current: next,
                last_rotated_at: now,
                ..self
            },
            // The grace period is not extended: it starts at the first exchange.
            RefreshDecision::Retry => Self { current: next, last_rotated_at: now, ..self },
            RefreshDecision::Reused => Self { revoked_at: Some(now), ..self },
            RefreshDecision::Expired | RefreshDecision::Revoked | RefreshDecision::Unknown => self,
        }
    }

    fn is_expired(&self, now: Timestamp) -> bool {
        now >= self.expires_at || now.duration_since(self.last_rotated_at) >= IDLE_LIMIT
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("in range")
    }

    const LIFETIME: i64 = 90 * 24 * 3600;

    /// An in-memory login. Tokens are consecutive numbers.
    #[derive(Debug)]
    struct Login {
        family: TokenFamily<u32>,
        issued: u32,
    }

    impl Login {
        fn new() -> Self {
            Self { family: TokenFamily::new(0, at(0), at(LIFETIME)), issued: 1 }
        }

        fn present(&mut self, token: u32, now: Timestamp) -> RefreshDecision {
            let decision = decide(Some(&self.family), |stored| *stored == token, now);
            self.family = self.family.apply(decision, self.issued, now);
            self.issued += u32::from(decision.is_accepted());
            decision
        }
    }

    #[test]
    fn current_token_is_exchanged_for_the_next() {
        let mut login = Login::new();
        for token in 0..5 {
            assert_eq!(login.present(token, at(600 * i64::from(token))), RefreshDecision::Rotate);
        }
    }

    #[test]
    fn retry_within_grace_replaces_the_lost_token() {
        let mut login = Login::new();
        assert_eq!(login.present(0, at(600)), RefreshDecision::Rotate);
        assert_eq!(login.present(0, at(610)), RefreshDecision::Retry);
        assert_eq!(login.family.current, 2);
        assert_eq!(
            login.present(1, at(611)),
            RefreshDecision::Reused,
            "the replaced token is no longer valid"
        );
    }

    #[test]
    fn retries_do_not_extend_the_grace_period() {
        let mut login = Login::new();
        login.present(0, at(600));
        assert_eq!(login.present(0, at(609)), RefreshDecision::Retry);
        assert_eq!(login.present(0, at(611)), RefreshDecision::Reused);
    }

    #[test]
    fn stolen_token_is_revoked_when_the_owner_returns() {
        let mut login = Login::new();
        for token in 0..3 {
            assert_eq!(login.present(token, at(600)), RefreshDecision::Rotate, "the attacker");
        }
        assert_eq!(login.present(0, at(601)), RefreshDecision::Reused, "the owner");
        assert_eq!(login.present(3, at(602)), RefreshDecision::Revoked, "the attacker");
    }

    #[test]
    fn login_expires_at_its_end_or_when_idle() {
        let mut login = Login::new();
        let idle = IDLE_LIMIT.as_secs();
        let mut now = 0;
        while now + idle - 1 < LIFETIME {
            now += idle - 1;
            let current = login.family.current;
            assert_eq!(login.present(current, at(now)), RefreshDecision::Rotate);
        }
        let current = login.family.current;
        assert_eq!(login.present(current, at(LIFETIME)), RefreshDecision::Expired);
        assert_eq!(Login::new().present(0, at(idle)), RefreshDecision::Expired);
        assert_eq!(decide(None, |_: &u32| true, at(0)), RefreshDecision::Unknown);
    }

    fn refreshes() -> impl Strategy<Value = Vec<(u32, i64)>> {
        // Mostly recent tokens, at times around the grace period.
        let wait = prop_oneof![4 => 0i64..5, 4 => 5i64..30, 1 => 0i64..4_000_000];
        proptest::collection::vec((0u32..6, wait), 0..60)
    }

    proptest! {
        #[test]
        fn random_refreshes_follow_the_rotation_rules(refreshes in refreshes()) {
            let mut login = Login::new();
            let (mut now, mut ended) = (0, false);
            for (back, wait) in refreshes {
                now += wait;
                let before = login.family;
                let token = (login.issued - 1).saturating_sub(back);
                let decision = login.present(token, at(now));
                let is_current = token == before.current;
                let previous = before.previous.filter(|previous| previous.hash == token);
                if decision.is_accepted() {
                    prop_assert!(!ended, "accepted after the end");
                    prop_assert!(is_current || previous.is_some());
                    prop_assert!(login.family.current == login.issued - 1, "the newest is current");
                    prop_assert!(now < LIFETIME);
                } else {
                    prop_assert_eq!(login.family.current, before.current, "a rejected token must not change the current one");
                }
                if !ended && !is_current && previous.is_none() && !before.is_expired(at(now)) {
                    prop_assert_eq!(decision, RefreshDecision::Reused, "a token older than the previous one");
                }
                if let Some(previous) = previous && at(now).duration_since(previous.rotated_at) > REUSE_GRACE {
                    prop_assert!(!decision.is_accepted(), "a previous token after the grace period");
                }
                ended |= matches!(decision, RefreshDecision::Reused | RefreshDecision::Expired);
            }
        }

        #[test]
        fn no_token_is_accepted_after_a_reuse(
            (rotations, reused) in (2u32..20).prop_flat_map(|rotations| (Just(rotations), 0..=rotations - 2)),
            later in proptest::collection::vec((0u32..40, 0i64..100), 1..40),
        ) {
            let mut login = Login::new();
            for token in 0..rotations {
                prop_assert_eq!(login.present(token, at(i64::from(token))), RefreshDecision::Rotate);
            }
            let mut now = i64::from(rotations);
            prop_assert_eq!(login.present(reused, at(now)), RefreshDecision::Reused);
            for (token, wait) in later {
                now += wait;
                prop_assert_eq!(login.present(token, at(now)), RefreshDecision::Revoked);
            }
        }
    }
}
