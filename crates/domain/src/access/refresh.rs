//! Refresh tokens: each is used once, and a second use ends the login.
//!
//! A login is a family of tokens of which one is current. Presenting it yields the next. Whoever presents an earlier one
//! shows that two parties hold tokens of this family, and nobody can tell which of them is the thief: all of it ends.
//! The one exception is the token just before the current one, for a moment, because an answer can be lost on the way.
//!
//! A token names its login, so a secret that fits neither of the two kept hashes counts as an earlier one. Whoever knows
//! a login's id can thereby end that login, and gain nothing else: show login ids to their own principal only.

use jiff::{SignedDuration, Timestamp};

/// How long the token before the current one is still taken: longer than a client's retry after a broken connection,
/// shorter than it takes to carry a stolen token away unseen.
pub const GRACE: SignedDuration = SignedDuration::from_secs(10);

/// How long a login may lie unused: a holiday, not a forgotten machine.
pub const IDLE_LIMIT: SignedDuration = SignedDuration::from_hours(30 * 24);

/// A token that was current before, and when it was exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Previous<H> {
    pub hash: H,
    pub rotated_at: Timestamp,
}

/// A login's tokens, as far as they are remembered. `H` is the hash of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family<H> {
    pub current: H,
    pub previous: Option<Previous<H>>,
    /// When a token was last handed out.
    pub last_rotated_at: Timestamp,
    /// The end of the login, however often it is used.
    pub expires_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
}

/// What to do with a presented token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It is the current one: hand out the next.
    Rotate,
    /// It was just exchanged and the answer may be lost: hand out another in place of the lost one.
    Retry,
    /// It was exchanged before: refuse, and revoke the whole family.
    Reused,
    Expired,
    Revoked,
    /// There is no such login.
    Unknown,
}

impl Decision {
    /// Returns whether the bearer gets a new token.
    #[must_use]
    pub fn is_accepted(self) -> bool {
        match self {
            Self::Rotate | Self::Retry => true,
            Self::Reused | Self::Expired | Self::Revoked | Self::Unknown => false,
        }
    }
}

/// Decides on a presented token. `is_presented` compares a kept hash with the presented one, in constant time.
pub fn decide<H>(family: Option<&Family<H>>, is_presented: impl Fn(&H) -> bool, now: Timestamp) -> Decision {
    let Some(family) = family else { return Decision::Unknown };
    let is_current = is_presented(&family.current);
    let previous = family.previous.as_ref().filter(|previous| is_presented(&previous.hash));
    if family.revoked_at.is_some() {
        Decision::Revoked
    } else if family.is_expired(now) {
        Decision::Expired
    } else if is_current {
        Decision::Rotate
    } else if previous.is_some_and(|previous| now.duration_since(previous.rotated_at) <= GRACE) {
        Decision::Retry
    } else {
        Decision::Reused
    }
}

impl<H> Family<H> {
    /// Begins a login with its first token.
    #[must_use]
    pub fn begin(first: H, now: Timestamp, expires_at: Timestamp) -> Self {
        Self { current: first, previous: None, last_rotated_at: now, expires_at, revoked_at: None }
    }

    /// Returns the family after a decision was carried out. `next` is the hash of the token that an accepted bearer
    /// gets; a refused one gets none, and it is dropped.
    #[must_use]
    pub fn after(self, decision: Decision, next: H, now: Timestamp) -> Self {
        match decision {
            Decision::Rotate => Self {
                previous: Some(Previous { hash: self.current, rotated_at: now }),
                current: next,
                last_rotated_at: now,
                ..self
            },
            // The grace is not extended: the exchange that counts is the first one.
            Decision::Retry => Self { current: next, last_rotated_at: now, ..self },
            Decision::Reused => Self { revoked_at: Some(now), ..self },
            Decision::Expired | Decision::Revoked | Decision::Unknown => self,
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

    /// A login in memory; tokens are numbers, counted up as they are handed out.
    #[derive(Debug)]
    struct Login {
        family: Family<u32>,
        handed_out: u32,
    }

    impl Login {
        fn begin() -> Self {
            Self { family: Family::begin(0, at(0), at(LIFETIME)), handed_out: 1 }
        }

        fn present(&mut self, token: u32, now: Timestamp) -> Decision {
            let decision = decide(Some(&self.family), |kept| *kept == token, now);
            self.family = self.family.after(decision, self.handed_out, now);
            self.handed_out += u32::from(decision.is_accepted());
            decision
        }
    }

    #[test]
    fn each_token_is_exchanged_for_the_next() {
        let mut login = Login::begin();
        for token in 0..5 {
            assert_eq!(login.present(token, at(600 * i64::from(token))), Decision::Rotate);
        }
    }

    #[test]
    fn a_lost_answer_is_given_again_for_a_moment_and_the_lost_token_is_not_taken_any_more() {
        let mut login = Login::begin();
        assert_eq!(login.present(0, at(600)), Decision::Rotate);
        assert_eq!(login.present(0, at(610)), Decision::Retry);
        assert_eq!(login.family.current, 2);
        assert_eq!(login.present(1, at(611)), Decision::Reused, "someone else had taken the lost answer");
    }

    #[test]
    fn retries_do_not_extend_the_moment() {
        let mut login = Login::begin();
        login.present(0, at(600));
        assert_eq!(login.present(0, at(609)), Decision::Retry);
        assert_eq!(login.present(0, at(611)), Decision::Reused);
    }

    #[test]
    fn a_thief_who_went_on_is_thrown_out_when_the_owner_comes_back() {
        let mut login = Login::begin();
        for token in 0..3 {
            assert_eq!(login.present(token, at(600)), Decision::Rotate, "the thief");
        }
        assert_eq!(login.present(0, at(601)), Decision::Reused, "the owner");
        assert_eq!(login.present(3, at(602)), Decision::Revoked, "the thief");
    }

    #[test]
    fn a_login_ends_at_its_time_or_when_it_lies_unused() {
        let mut login = Login::begin();
        let idle = IDLE_LIMIT.as_secs();
        let mut now = 0;
        while now + idle - 1 < LIFETIME {
            now += idle - 1;
            let current = login.family.current;
            assert_eq!(login.present(current, at(now)), Decision::Rotate);
        }
        let current = login.family.current;
        assert_eq!(login.present(current, at(LIFETIME)), Decision::Expired);
        assert_eq!(Login::begin().present(0, at(idle)), Decision::Expired);
        assert_eq!(decide(None, |_: &u32| true, at(0)), Decision::Unknown);
    }

    fn presentations() -> impl Strategy<Value = Vec<(u32, i64)>> {
        // Mostly the last tokens, at all distances around the grace.
        let wait = prop_oneof![4 => 0i64..5, 4 => 5i64..30, 1 => 0i64..4_000_000];
        proptest::collection::vec((0u32..6, wait), 0..60)
    }

    proptest! {
        #[test]
        fn whatever_is_presented_the_rules_hold(presentations in presentations()) {
            let mut login = Login::begin();
            let (mut now, mut ended) = (0, false);
            for (back, wait) in presentations {
                now += wait;
                let before = login.family;
                let token = (login.handed_out - 1).saturating_sub(back);
                let decision = login.present(token, at(now));
                let is_current = token == before.current;
                let previous = before.previous.filter(|previous| previous.hash == token);
                if decision.is_accepted() {
                    prop_assert!(!ended, "accepted after the end");
                    prop_assert!(is_current || previous.is_some());
                    prop_assert!(login.family.current == login.handed_out - 1, "the newest is current");
                    prop_assert!(now < LIFETIME);
                } else {
                    prop_assert_eq!(login.family.current, before.current, "a refused bearer changes no token");
                }
                if !ended && !is_current && previous.is_none() && !before.is_expired(at(now)) {
                    prop_assert_eq!(decision, Decision::Reused, "a token older than the previous one");
                }
                if let Some(previous) = previous && at(now).duration_since(previous.rotated_at) > GRACE {
                    prop_assert!(!decision.is_accepted(), "a previous token after its moment");
                }
                ended |= matches!(decision, Decision::Reused | Decision::Expired);
            }
        }

        #[test]
        fn after_a_reuse_nothing_is_ever_accepted_again(
            (rotations, reused) in (2u32..20).prop_flat_map(|rotations| (Just(rotations), 0..=rotations - 2)),
            later in proptest::collection::vec((0u32..40, 0i64..100), 1..40),
        ) {
            let mut login = Login::begin();
            for token in 0..rotations {
                prop_assert_eq!(login.present(token, at(i64::from(token))), Decision::Rotate);
            }
            let mut now = i64::from(rotations);
            prop_assert_eq!(login.present(reused, at(now)), Decision::Reused);
            for (token, wait) in later {
                now += wait;
                prop_assert_eq!(login.present(token, at(now)), Decision::Revoked);
            }
        }
    }
}
