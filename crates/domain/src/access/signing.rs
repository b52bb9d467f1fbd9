//! Rotation of the keys that sign access tokens.
//!
//! A key is published before it signs, so that every replica and cache knows it when its first token arrives. It stays
//! published until its last token has expired:
//!
//! ```text
//!           created          signs                 the next key signs          deleted
//!  this key   |--- overlap ---|----- rotate_every ----|-- token_lifetime, overlap --|
//!  next key                         created |-- overlap --|---- …
//! ```
//!
//! The times of a key are planned times. If rotation does not run for a while, the last key continues to sign and to be
//! published until the next key starts signing. There is always one signing key.

use jiff::{SignedDuration, Timestamp};

use crate::ids::SigningKeyId;

/// Times of the key rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RotationPolicy {
    rotate_every: SignedDuration,
    overlap: SignedDuration,
    token_lifetime: SignedDuration,
}

/// Why a rotation policy is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRotationPolicy {
    #[error("key rotation times must be greater than zero")]
    NotPositive,
    #[error(
        "the rotation time must be longer than the overlap: increase the rotation time or reduce the overlap"
    )]
    OverlapTooLong,
}

impl RotationPolicy {
    /// Creates a policy. `overlap` must be longer than the time that replicas and clients cache the key list, and
    /// longer than the clock skew. `token_lifetime` is the longest lifetime of a token.
    pub fn new(
        rotate_every: SignedDuration,
        overlap: SignedDuration,
        token_lifetime: SignedDuration,
    ) -> Result<Self, InvalidRotationPolicy> {
        if [rotate_every, overlap, token_lifetime].iter().any(|time| !time.is_positive()) {
            return Err(InvalidRotationPolicy::NotPositive);
        }
        if rotate_every <= overlap {
            return Err(InvalidRotationPolicy::OverlapTooLong);
        }
        Ok(Self { rotate_every, overlap, token_lifetime })
    }

    fn schedule(self, created_at: Timestamp, signs_from: Timestamp) -> KeySchedule {
        let signs_until = add(signs_from, self.rotate_every);
        KeySchedule { created_at, signs_from, signs_until, verifies_until: self.last_use(signs_until) }
    }

    /// Returns the time until which a key that stops signing at `stops_at` must be published.
    fn last_use(self, stops_at: Timestamp) -> Timestamp {
        add(add(stops_at, self.token_lifetime), self.overlap)
    }
}

/// The planned times of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySchedule {
    pub created_at: Timestamp,
    pub signs_from: Timestamp,
    pub signs_until: Timestamp,
    pub verifies_until: Timestamp,
}

/// The id and the schedule of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SigningKey {
    pub id: SigningKeyId,
    pub schedule: KeySchedule,
}

/// Actions of one rotation step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RotationPlan {
    /// Create and publish a key with this schedule.
    pub create: Option<KeySchedule>,
    /// Keys whose tokens have all expired.
    pub delete: Vec<SigningKeyId>,
}

/// All keys, in signing order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyRing {
    keys: Vec<SigningKey>,
}

impl KeyRing {
    #[must_use]
    pub fn new(keys: impl IntoIterator<Item = SigningKey>) -> Self {
        let mut keys: Vec<SigningKey> = keys.into_iter().collect();
        // Two replicas may create keys at the same instant; the id decides which of them signs.
        keys.sort_unstable_by_key(|key| (key.schedule.signs_from, key.id));
        Self { keys }
    }

    /// Returns the current signing key. There is one unless the ring is empty.
    #[must_use]
    pub fn signing_key(&self, now: Timestamp) -> Option<&SigningKey> {
        let started = self.keys.iter().rfind(|key| key.schedule.signs_from <= now);
        started.or_else(|| self.keys.first())
    }

    /// Returns the published keys, including those that do not sign yet.
    pub fn published_keys(
        &self,
        policy: RotationPolicy,
        now: Timestamp,
    ) -> impl Iterator<Item = &SigningKey> {
        self.keys
            .iter()
            .enumerate()
            .filter(move |(at, _)| !self.is_expired(*at, policy, now))
            .map(|(_, key)| key)
    }

    /// Plans the next rotation step. Executing a plan twice or concurrently is harmless.
    #[must_use]
    pub fn plan(&self, policy: RotationPolicy, now: Timestamp) -> RotationPlan {
        let expired = self.keys.iter().enumerate().filter(|(at, _)| self.is_expired(*at, policy, now));
        RotationPlan { create: self.next_key(policy, now), delete: expired.map(|(_, key)| key.id).collect() }
    }

    fn next_key(&self, policy: RotationPolicy, now: Timestamp) -> Option<KeySchedule> {
        let Some(last) = self.keys.last() else {
            // There is no earlier key to bridge the overlap: the first key signs immediately.
            return Some(policy.schedule(now, now));
        };
        let earliest = add(now, policy.overlap);
        let due = earliest >= last.schedule.signs_until;
        due.then(|| policy.schedule(now, earliest.max(last.schedule.signs_until)))
    }

    /// Returns whether all tokens of the key have expired. The last key never expires.
    fn is_expired(&self, at: usize, policy: RotationPolicy, now: Timestamp) -> bool {
        let Some(next) = self.keys.get(at + 1) else { return false };
        // A key signs until the next one starts, which may be later than planned.
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
        RotationPolicy::new(rotate_every, overlap, token_lifetime).expect("a valid policy")
    }

    /// Rotation every 30 days, one day of overlap, tokens of ten minutes.
    fn default_policy() -> RotationPolicy {
        policy(30 * 86_400, 86_400, 600)
    }

    /// The keys of an installation, and the number of keys created so far.
    #[derive(Debug, Default)]
    struct Installation {
        keys: Vec<SigningKey>,
        created: u128,
    }

    impl Installation {
        fn ring(&self) -> KeyRing {
            KeyRing::new(self.keys.iter().copied())
        }

        fn tick(&mut self, policy: RotationPolicy, now: Timestamp) {
            let plan = self.ring().plan(policy, now);
            self.execute(plan);
        }

        fn execute(&mut self, plan: RotationPlan) {
            self.keys.retain(|key| !plan.delete.contains(&key.id));
            if let Some(schedule) = plan.create {
                self.created += 1;
                self.keys.push(SigningKey {
                    id: SigningKeyId::from_uuid(Uuid::from_u128(self.created)),
                    schedule,
                });
            }
        }
    }

    #[test]
    fn first_key_signs_immediately() {
        let mut all = Installation::default();
        assert_eq!(all.ring().signing_key(at(0)), None);
        all.tick(default_policy(), at(0));
        assert_eq!(all.ring().signing_key(at(0)), Some(&all.keys[0]));
        assert_eq!(all.ring().plan(default_policy(), at(1)), RotationPlan::default());
    }

    #[test]
    fn replica_with_a_slow_clock_signs_with_the_first_key() {
        let mut all = Installation::default();
        all.tick(default_policy(), at(0));
        assert_eq!(all.ring().signing_key(at(-3)), Some(&all.keys[0]));
    }

    #[test]
    fn next_key_is_published_one_overlap_before_it_signs() {
        let mut all = Installation::default();
        all.tick(default_policy(), at(0));
        all.tick(default_policy(), at(29 * 86_400 - 1));
        assert_eq!(all.keys.len(), 1);
        all.tick(default_policy(), at(29 * 86_400));
        let (first, second) = (all.keys[0], all.keys[1]);
        let ring = all.ring();
        let handover = at(30 * 86_400);
        assert_eq!(second.schedule.signs_from, handover);
        assert_eq!(
            ring.published_keys(default_policy(), at(29 * 86_400)).collect::<Vec<_>>(),
            [&first, &second]
        );
        assert_eq!(ring.signing_key(at(30 * 86_400 - 1)), Some(&first));
        assert_eq!(ring.signing_key(handover), Some(&second));
    }

    #[test]
    fn old_key_is_deleted_when_its_last_token_expires() {
        let mut all = Installation::default();
        for seconds in [0, 29 * 86_400] {
            all.tick(default_policy(), at(seconds));
        }
        let expired = 31 * 86_400 + 600;
        assert_eq!(all.ring().plan(default_policy(), at(expired - 1)).delete, []);
        assert_eq!(all.ring().plan(default_policy(), at(expired)).delete, [all.keys[0].id]);
    }

    #[test]
    fn after_a_long_pause_the_old_key_signs_until_the_overlap_ends() {
        let mut all = Installation::default();
        all.tick(default_policy(), at(0));
        let year = 365 * 86_400;
        assert_eq!(all.ring().signing_key(at(year)), Some(&all.keys[0]));
        all.tick(default_policy(), at(year));
        let (old, new) = (all.keys[0], all.keys[1]);
        assert_eq!(new.schedule.signs_from, at(year + 86_400));
        assert_eq!(all.ring().signing_key(at(year + 86_399)), Some(&old));
        all.tick(default_policy(), at(year + 86_400 + 600));
        assert_eq!(
            all.ring().published_keys(default_policy(), at(year + 86_400 + 600)).count(),
            2,
            "the tokens of the old key are still valid"
        );
    }

    #[test]
    fn regular_rotation_keeps_at_most_three_keys() {
        let mut all = Installation::default();
        for hour in 0..3 * 365 * 24 {
            all.tick(default_policy(), at(hour * 3600));
            assert!(all.keys.len() <= 3);
        }
        assert!((36..=38).contains(&all.created), "{} keys in three years", all.created);
    }

    #[test]
    fn invalid_policies_are_rejected() {
        let seconds = SignedDuration::from_secs;
        let policy = RotationPolicy::new(seconds(10), seconds(10), seconds(1));
        assert_eq!(policy, Err(InvalidRotationPolicy::OverlapTooLong));
        let policy = RotationPolicy::new(seconds(10), seconds(0), seconds(1));
        assert_eq!(policy, Err(InvalidRotationPolicy::NotPositive));
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Tick,
        /// Two replicas execute the same plan.
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
        fn one_key_signs_and_every_valid_token_verifies_at_any_time(
            policy in any_policy(),
            steps in steps(),
        ) {
            let (mut all, mut now) = (Installation::default(), 0);
            let mut tokens: Vec<(SigningKeyId, Timestamp)> = Vec::new();
            for (wait, step) in steps {
                now += wait;
                let plan = all.ring().plan(policy, at(now));
                match step {
                    Step::Tick => all.execute(plan),
                    Step::TwoTicks => { all.execute(plan.clone()); all.execute(plan); }
                    Step::IssueToken => {
                        let key = all.ring().signing_key(at(now)).map(|key| key.id);
                        tokens.extend(key.map(|key| (key, add(at(now), policy.token_lifetime))));
                    }
                }
                let ring = all.ring();
                let published_keys: Vec<_> = ring.published_keys(policy, at(now)).map(|key| key.id).collect();
                prop_assert_eq!(ring.signing_key(at(now)).is_some(), all.created > 0, "a non-empty ring has a signing key");
                prop_assert!(ring.signing_key(at(now)).is_none_or(|key| published_keys.contains(&key.id)));
                for (key, expires_at) in &tokens {
                    prop_assert!(at(now) >= *expires_at || published_keys.contains(key), "a valid token cannot be verified");
                }
            }
        }

        #[test]
        fn replica_with_a_key_list_within_the_overlap_signs_with_the_same_key(
            policy in any_policy(),
            waits in proptest::collection::vec(0i64..60, 2..120),
        ) {
            let (mut all, mut now) = (Installation::default(), 0);
            all.tick(policy, at(0));
            let mut lists = vec![(at(0), all.ring())];
            for wait in waits {
                now += wait;
                all.tick(policy, at(now));
                let signing_key = all.ring().signing_key(at(now)).copied();
                lists.retain(|(read_at, _)| at(now).duration_since(*read_at) <= policy.overlap);
                for (_, list) in &lists {
                    prop_assert_eq!(list.signing_key(at(now)), signing_key.as_ref());
                }
                lists.push((at(now), all.ring()));
            }
        }
    }
}
