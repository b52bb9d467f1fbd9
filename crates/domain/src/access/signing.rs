//! Keys that sign access tokens: when one is made, when it signs, how long it is published.
//!
//! A key is published before it signs, so that every replica and every cache knows it when the first token arrives, and
//! stays published until the last token it signed is over:
//!
//! ```text
//!            made            signs                 the next one signs          deleted
//!  this key   |--- overlap ---|----- rotate_every ----|-- token_lifetime, overlap --|
//!  next key                            made |-- overlap --|---- …
//! ```
//!
//! The times in a key are the plan. If nobody ticks for long, the last key goes on signing past its time and stays
//! published with it, until a next one has begun: there is always one key that signs.

use jiff::{SignedDuration, Timestamp};

use crate::ids::SigningKeyId;

/// How keys follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RotationPolicy {
    rotate_every: SignedDuration,
    overlap: SignedDuration,
    token_lifetime: SignedDuration,
}

/// A policy under which keys could not follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPolicy {
    #[error("the times of key rotation must be longer than zero")]
    NotPositive,
    #[error("keys must sign for longer than they overlap: raise the rotation time or lower the overlap")]
    OverlapTooLong,
}

impl RotationPolicy {
    /// Makes a policy. `overlap` must be longer than any replica or client keeps a list of keys without asking again,
    /// and longer than clocks differ; `token_lifetime` is the longest of any token.
    pub fn new(
        rotate_every: SignedDuration,
        overlap: SignedDuration,
        token_lifetime: SignedDuration,
    ) -> Result<Self, InvalidPolicy> {
        if [rotate_every, overlap, token_lifetime].iter().any(|time| !time.is_positive()) {
            return Err(InvalidPolicy::NotPositive);
        }
        if rotate_every <= overlap {
            return Err(InvalidPolicy::OverlapTooLong);
        }
        Ok(Self { rotate_every, overlap, token_lifetime })
    }

    fn schedule(self, created_at: Timestamp, signs_from: Timestamp) -> Schedule {
        let signs_until = add(signs_from, self.rotate_every);
        Schedule { created_at, signs_from, signs_until, verifies_until: self.last_use(signs_until) }
    }

    /// Returns until when a key is needed that stops signing at `stops`.
    fn last_use(self, stops: Timestamp) -> Timestamp {
        add(add(stops, self.token_lifetime), self.overlap)
    }
}

/// The times of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    pub created_at: Timestamp,
    pub signs_from: Timestamp,
    pub signs_until: Timestamp,
    pub verifies_until: Timestamp,
}

/// A key, as far as rotation looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SigningKey {
    pub id: SigningKeyId,
    pub schedule: Schedule,
}

/// What a tick has to do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// A key to make and publish now, with these times.
    pub make: Option<Schedule>,
    /// Keys whose last token is over.
    pub delete: Vec<SigningKeyId>,
}

/// All keys there are, in the order in which they sign.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyRing {
    keys: Vec<SigningKey>,
}

impl KeyRing {
    #[must_use]
    pub fn new(keys: impl IntoIterator<Item = SigningKey>) -> Self {
        let mut keys: Vec<SigningKey> = keys.into_iter().collect();
        // Two replicas may make a key in the same instant; the id decides which of the two signs.
        keys.sort_unstable_by_key(|key| (key.schedule.signs_from, key.id));
        Self { keys }
    }

    /// Returns the key that signs now. There is one as soon as there is any key.
    #[must_use]
    pub fn signing(&self, now: Timestamp) -> Option<&SigningKey> {
        let begun = self.keys.iter().rfind(|key| key.schedule.signs_from <= now);
        begun.or_else(|| self.keys.first())
    }

    /// Returns the keys that verify now. All of them are published, also those that do not sign yet.
    pub fn published(&self, policy: RotationPolicy, now: Timestamp) -> impl Iterator<Item = &SigningKey> {
        self.keys
            .iter()
            .enumerate()
            .filter(move |(at, _)| !self.is_over(*at, policy, now))
            .map(|(_, key)| key)
    }

    /// Decides what has to be done now. Carrying it out twice, or in two places at once, does no harm.
    #[must_use]
    pub fn plan(&self, policy: RotationPolicy, now: Timestamp) -> Plan {
        let over = self.keys.iter().enumerate().filter(|(at, _)| self.is_over(*at, policy, now));
        Plan { make: self.next(policy, now), delete: over.map(|(_, key)| key.id).collect() }
    }

    fn next(&self, policy: RotationPolicy, now: Timestamp) -> Option<Schedule> {
        let Some(last) = self.keys.last() else {
            // The first key cannot be known in advance to anyone; it signs at once.
            return Some(policy.schedule(now, now));
        };
        let earliest = add(now, policy.overlap);
        let due = earliest >= last.schedule.signs_until;
        due.then(|| policy.schedule(now, earliest.max(last.schedule.signs_until)))
    }

    /// Returns whether no token of the key can be valid any more. The last key is never over.
    fn is_over(&self, at: usize, policy: RotationPolicy, now: Timestamp) -> bool {
        let Some(next) = self.keys.get(at + 1) else { return false };
        // A key signs until the next one begins, which may be later than planned.
        let last_use = policy.last_use(next.schedule.signs_from);
        now >= self.keys[at].schedule.verifies_until.max(last_use)
    }
}

fn add(at: Timestamp, duration: SignedDuration) -> Timestamp {
    at.checked_add(duration).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).expect("in range")
    }

    fn policy(rotate_every: i64, overlap: i64, token_lifetime: i64) -> RotationPolicy {
        let [rotate_every, overlap, token_lifetime] =
            [rotate_every, overlap, token_lifetime].map(SignedDuration::from_secs);
        RotationPolicy::new(rotate_every, overlap, token_lifetime).expect("a sound policy")
    }

    /// A month, a day, ten minutes.
    fn usual() -> RotationPolicy {
        policy(30 * 86_400, 86_400, 600)
    }

    /// The keys of an installation, and how many were ever made.
    #[derive(Debug, Default)]
    struct Installation {
        keys: Vec<SigningKey>,
        made: u128,
    }

    impl Installation {
        fn ring(&self) -> KeyRing {
            KeyRing::new(self.keys.iter().copied())
        }

        fn tick(&mut self, policy: RotationPolicy, now: Timestamp) {
            let plan = self.ring().plan(policy, now);
            self.carry_out(plan);
        }

        fn carry_out(&mut self, plan: Plan) {
            self.keys.retain(|key| !plan.delete.contains(&key.id));
            if let Some(schedule) = plan.make {
                self.made += 1;
                self.keys
                    .push(SigningKey { id: SigningKeyId::from_uuid(Uuid::from_u128(self.made)), schedule });
            }
        }
    }

    #[test]
    fn the_first_key_signs_at_once() {
        let mut all = Installation::default();
        assert_eq!(all.ring().signing(at(0)), None);
        all.tick(usual(), at(0));
        assert_eq!(all.ring().signing(at(0)), Some(&all.keys[0]));
        assert_eq!(all.ring().plan(usual(), at(1)), Plan::default());
    }

    #[test]
    fn a_replica_whose_clock_is_behind_signs_with_the_first_key_too() {
        let mut all = Installation::default();
        all.tick(usual(), at(0));
        assert_eq!(all.ring().signing(at(-3)), Some(&all.keys[0]));
    }

    #[test]
    fn the_next_key_is_published_a_whole_overlap_before_it_signs() {
        let mut all = Installation::default();
        all.tick(usual(), at(0));
        all.tick(usual(), at(29 * 86_400 - 1));
        assert_eq!(all.keys.len(), 1);
        all.tick(usual(), at(29 * 86_400));
        let (first, second) = (all.keys[0], all.keys[1]);
        let ring = all.ring();
        let handover = at(30 * 86_400);
        assert_eq!(second.schedule.signs_from, handover);
        assert_eq!(ring.published(usual(), at(29 * 86_400)).collect::<Vec<_>>(), [&first, &second]);
        assert_eq!(ring.signing(at(30 * 86_400 - 1)), Some(&first));
        assert_eq!(ring.signing(handover), Some(&second));
    }

    #[test]
    fn an_old_key_goes_when_its_last_token_is_over() {
        let mut all = Installation::default();
        for seconds in [0, 29 * 86_400] {
            all.tick(usual(), at(seconds));
        }
        let over = 31 * 86_400 + 600;
        assert_eq!(all.ring().plan(usual(), at(over - 1)).delete, []);
        assert_eq!(all.ring().plan(usual(), at(over)).delete, [all.keys[0].id]);
    }

    #[test]
    fn after_a_long_sleep_the_old_key_signs_on_until_the_new_one_is_known() {
        let mut all = Installation::default();
        all.tick(usual(), at(0));
        let year = 365 * 86_400;
        assert_eq!(all.ring().signing(at(year)), Some(&all.keys[0]));
        all.tick(usual(), at(year));
        let (old, new) = (all.keys[0], all.keys[1]);
        assert_eq!(new.schedule.signs_from, at(year + 86_400));
        assert_eq!(all.ring().signing(at(year + 86_399)), Some(&old));
        all.tick(usual(), at(year + 86_400 + 600));
        assert_eq!(all.ring().published(usual(), at(year + 86_400 + 600)).count(), 2, "its tokens are valid");
    }

    #[test]
    fn with_regular_ticks_there_are_never_more_than_three_keys() {
        let mut all = Installation::default();
        for hour in 0..3 * 365 * 24 {
            all.tick(usual(), at(hour * 3600));
            assert!(all.keys.len() <= 3);
        }
        assert!((36..=38).contains(&all.made), "{} keys in three years", all.made);
    }

    #[test]
    fn a_policy_that_cannot_work_is_refused() {
        let seconds = SignedDuration::from_secs;
        let made = RotationPolicy::new(seconds(10), seconds(10), seconds(1));
        assert_eq!(made, Err(InvalidPolicy::OverlapTooLong));
        let made = RotationPolicy::new(seconds(10), seconds(0), seconds(1));
        assert_eq!(made, Err(InvalidPolicy::NotPositive));
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Tick,
        /// Two replicas decide on the same keys, and both carry it out.
        TwoTicks,
        IssueToken,
    }

    fn steps() -> impl Strategy<Value = Vec<(i64, Step)>> {
        let wait = prop_oneof![6 => 0i64..20, 3 => 0i64..200, 1 => 0i64..5000];
        let step = prop_oneof![Just(Step::Tick), Just(Step::TwoTicks), Just(Step::IssueToken)];
        proptest::collection::vec((wait, step), 1..120)
    }

    fn any_policy() -> impl Strategy<Value = RotationPolicy> {
        (1i64..100, 1i64..300, 1i64..500)
            .prop_map(|(overlap, more, lifetime)| policy(overlap + more, overlap, lifetime))
    }

    proptest! {
        #[test]
        fn whenever_it_ticks_one_key_signs_and_every_living_token_verifies(
            policy in any_policy(),
            steps in steps(),
        ) {
            let (mut all, mut now) = (Installation::default(), 0);
            let mut tokens: Vec<(SigningKeyId, Timestamp)> = Vec::new();
            for (wait, step) in steps {
                now += wait;
                let plan = all.ring().plan(policy, at(now));
                match step {
                    Step::Tick => all.carry_out(plan),
                    Step::TwoTicks => { all.carry_out(plan.clone()); all.carry_out(plan); }
                    Step::IssueToken => {
                        let key = all.ring().signing(at(now)).map(|key| key.id);
                        tokens.extend(key.map(|key| (key, add(at(now), policy.token_lifetime))));
                    }
                }
                let ring = all.ring();
                let published: Vec<_> = ring.published(policy, at(now)).map(|key| key.id).collect();
                prop_assert_eq!(ring.signing(at(now)).is_some(), all.made > 0, "once there is a key, one signs");
                prop_assert!(ring.signing(at(now)).is_none_or(|key| published.contains(&key.id)));
                for (key, expires_at) in &tokens {
                    prop_assert!(at(now) >= *expires_at || published.contains(key), "a living token is refused");
                }
            }
        }

        #[test]
        fn a_replica_whose_list_is_at_most_an_overlap_old_signs_with_the_same_key(
            policy in any_policy(),
            waits in proptest::collection::vec(0i64..60, 2..120),
        ) {
            let (mut all, mut now) = (Installation::default(), 0);
            all.tick(policy, at(0));
            let mut lists = vec![(at(0), all.ring())];
            for wait in waits {
                now += wait;
                all.tick(policy, at(now));
                let signing = all.ring().signing(at(now)).copied();
                lists.retain(|(read_at, _)| at(now).duration_since(*read_at) <= policy.overlap);
                for (_, list) in &lists {
                    prop_assert_eq!(list.signing(at(now)), signing.as_ref());
                }
                lists.push((at(now), all.ring()));
            }
        }
    }
}
