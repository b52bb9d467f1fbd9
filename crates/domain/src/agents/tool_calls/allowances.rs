//! What a person has allowed a short time ago.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::agents::manifest::document::ManifestHash;
use crate::identity::Aid;

/// How long an allowance lasts after its last use.
pub const ALLOWANCE_TIME: SignedDuration = SignedDuration::from_hours(24);

/// Allowances of one device. Beyond that the oldest ones are asked about again.
const MAX_ALLOWANCES: usize = 10_000;

/// What was allowed: a scope, to one agent, in one conversation, in the words that were shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AllowanceKey {
    pub agent: Aid,
    pub conversation: String,
    pub scope: String,
    pub manifest: ManifestHash,
}

/// The allowances of one device, each with its last use.
#[derive(Debug, Clone, Default)]
pub struct Allowances(BTreeMap<AllowanceKey, Timestamp>);

impl Allowances {
    /// Records that a person has allowed this now.
    pub fn allow(&mut self, key: AllowanceKey, now: Timestamp) {
        if self.0.len() >= MAX_ALLOWANCES {
            self.make_room(now);
        }
        self.0.insert(key, now);
    }

    fn make_room(&mut self, now: Timestamp) {
        self.0.retain(|_, used_at| is_fresh(*used_at, now));
        while self.0.len() >= MAX_ALLOWANCES {
            let oldest = self.0.iter().min_by_key(|(_, used_at)| **used_at).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { return };
            self.0.remove(&oldest);
        }
    }

    /// Returns whether this is allowed still. A use makes it last longer.
    pub fn renew(&mut self, key: &AllowanceKey, now: Timestamp) -> bool {
        match self.0.get_mut(key).filter(|used_at| is_fresh(**used_at, now)) {
            Some(used_at) => {
                *used_at = now;
                true
            }
            None => false,
        }
    }

    /// Forgets what was allowed to an agent.
    pub fn revoke(&mut self, agent: &Aid) {
        self.0.retain(|key, _| key.agent != *agent);
    }
}

/// A use in the future is none: the clock was set back, by whom is not known.
fn is_fresh(used_at: Timestamp, now: Timestamp) -> bool {
    let age = now.duration_since(used_at);
    !age.is_negative() && age < ALLOWANCE_TIME
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(agent: &str, conversation: &str, scope: &str, manifest: &str) -> AllowanceKey {
        AllowanceKey {
            agent: agent.parse().expect("an AID"),
            conversation: conversation.to_owned(),
            scope: scope.to_owned(),
            manifest: ManifestHash::of_canonical(manifest),
        }
    }

    fn after(hours: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(1_000 + hours)
    }

    #[test]
    fn allowance_lasts_24_hours_after_its_last_use() {
        let allowed = key("helper.guild.example", "c-1", "filesystem:read", "{}");
        let mut allowances = Allowances::default();
        assert!(!allowances.renew(&allowed, after(0)), "nothing is allowed yet");
        allowances.allow(allowed.clone(), after(0));
        let almost = SignedDuration::from_hours(24) - SignedDuration::from_nanos(1);
        assert!(allowances.renew(&allowed, after(0) + almost));
        assert!(allowances.renew(&allowed, after(24 + 23)), "the use counts, not the prompt");
        assert!(!allowances.renew(&allowed, after(24 + 23 + 24)));
    }

    #[test]
    fn allowance_is_for_one_agent_conversation_scope_and_manifest() {
        let mut allowances = Allowances::default();
        allowances.allow(key("helper.guild.example", "c-1", "filesystem:read", "{}"), after(0));
        for other in [
            key("other.guild.example", "c-1", "filesystem:read", "{}"),
            key("helper.guild.example", "c-2", "filesystem:read", "{}"),
            key("helper.guild.example", "c-1", "clipboard:read", "{}"),
            key("helper.guild.example", "c-1", "filesystem:read", "[]"),
        ] {
            assert!(!allowances.renew(&other, after(0)), "{other:?}");
        }
    }

    #[test]
    fn revoked_agent_and_a_clock_that_goes_back_have_no_allowance() {
        let allowed = key("helper.guild.example", "c-1", "filesystem:read", "{}");
        let mut allowances = Allowances::default();
        allowances.allow(allowed.clone(), after(0));
        assert!(!allowances.renew(&allowed, after(-1)));
        allowances.revoke(&allowed.agent);
        assert!(!allowances.renew(&allowed, after(0)));
    }

    #[test]
    fn oldest_allowance_makes_room_for_a_new_one() {
        let mut allowances = Allowances::default();
        let numbered =
            |number: usize| key("helper.guild.example", &number.to_string(), "filesystem:read", "{}");
        let at = |number: usize| {
            let millis = i64::try_from(number).expect("a small number");
            after(0) + SignedDuration::from_millis(millis)
        };
        for number in 0..=MAX_ALLOWANCES {
            allowances.allow(numbered(number), at(number));
        }
        assert_eq!(allowances.0.len(), MAX_ALLOWANCES);
        assert!(!allowances.renew(&numbered(0), at(MAX_ALLOWANCES)));
        assert!(allowances.renew(&numbered(1), at(MAX_ALLOWANCES)));
    }
}
