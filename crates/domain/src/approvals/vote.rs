//! How answers are counted.

use super::digest::ContentDigest;
use super::policy::Mediation;
use super::question::OptionEffect;
use crate::ids::PrincipalId;

/// A counted answer. Each principal has at most one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vote {
    pub principal: PrincipalId,
    pub option: String,
    pub effect: OptionEffect,
    /// Of the values, for an option that answers.
    pub content: Option<ContentDigest>,
}

impl Vote {
    /// Returns whether both say the same: the same option, and the same values.
    #[must_use]
    pub fn is_same_answer(&self, other: &Self) -> bool {
        self.option == other.option && self.content == other.content
    }
}

/// The result of a count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VoteResult {
    /// More answers are needed.
    Open,
    /// These people have chosen this option, with the same values.
    Chosen { option: String, by: Vec<PrincipalId> },
    /// The people who are left cannot reach the quorum: it is denied at once.
    Unreachable,
}

/// Counts the answers, in the order of their time. `voters_left` is the number of people who may answer and have not.
#[must_use]
pub fn count_votes(mediation: Mediation, votes: &[Vote], voters_left: usize) -> VoteResult {
    let equal = |vote: &Vote| -> Vec<PrincipalId> {
        votes.iter().filter(|other| other.is_same_answer(vote)).map(|other| other.principal).collect()
    };
    let Mediation::Consensus { quorum, veto } = mediation else {
        return votes.first().map_or(VoteResult::Open, |first| VoteResult::Chosen {
            option: first.option.clone(),
            by: vec![first.principal],
        });
    };
    if let Some(denial) = votes.iter().find(|vote| veto && vote.effect == OptionEffect::Deny) {
        return VoteResult::Chosen { option: denial.option.clone(), by: vec![denial.principal] };
    }
    let quorum = usize::from(quorum.get());
    if let Some(winner) = votes.iter().find(|vote| equal(vote).len() >= quorum) {
        return VoteResult::Chosen { option: winner.option.clone(), by: equal(winner) };
    }
    let most = votes.iter().map(|vote| equal(vote).len()).max().unwrap_or(0);
    if most + voters_left < quorum { VoteResult::Unreachable } else { VoteResult::Open }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU8;

    use proptest::prelude::*;

    use super::*;

    fn quorum(number: u8) -> NonZeroU8 {
        NonZeroU8::new(number).expect("not zero")
    }

    fn vote(option: &str, effect: OptionEffect) -> Vote {
        Vote { principal: PrincipalId::generate(), option: option.to_owned(), effect, content: None }
    }

    #[test]
    fn quorum_that_cannot_be_reached_ends_at_once() {
        let two = Mediation::Consensus { quorum: quorum(2), veto: false };
        let votes = [vote("yes", OptionEffect::Allow), vote("no", OptionEffect::Deny)];
        assert_eq!(count_votes(two, &votes, 1), VoteResult::Open);
        assert_eq!(count_votes(two, &votes, 0), VoteResult::Unreachable);
        let veto = Mediation::Consensus { quorum: quorum(2), veto: true };
        let denied = VoteResult::Chosen { option: "no".to_owned(), by: vec![votes[1].principal] };
        assert_eq!(count_votes(veto, &votes, 5), denied);
    }

    #[test]
    fn answers_count_together_only_with_the_same_values() {
        let two = Mediation::Consensus { quorum: quorum(2), veto: false };
        let answer = |digest: u8| Vote {
            content: Some(ContentDigest::from_bytes([digest; 32])),
            ..vote("answer", OptionEffect::Answer)
        };
        let votes = [answer(1), answer(2), answer(1)];
        assert_eq!(count_votes(two, &votes[..2], 1), VoteResult::Open);
        assert_eq!(count_votes(two, &votes[..2], 0), VoteResult::Unreachable);
        let by = vec![votes[0].principal, votes[2].principal];
        assert_eq!(count_votes(two, &votes, 0), VoteResult::Chosen { option: "answer".to_owned(), by });
    }

    fn votes() -> impl Strategy<Value = Vec<Vote>> {
        let effect = proptest::sample::select(&[OptionEffect::Allow, OptionEffect::Deny][..]);
        proptest::collection::vec(effect.prop_map(|effect| vote(effect.as_str(), effect)), 0..8)
    }

    proptest! {
        #[test]
        fn consensus_allows_only_with_a_whole_quorum(
            votes in votes(), number in 1u8..6, veto: bool, left in 0usize..4
        ) {
            let result = count_votes(Mediation::Consensus { quorum: quorum(number), veto }, &votes, left);
            let allows = votes.iter().filter(|vote| vote.effect == OptionEffect::Allow).count();
            if let VoteResult::Chosen { option, by } = &result && option == "allow" {
                prop_assert!(allows >= usize::from(number) && by.len() == allows);
                prop_assert!(!veto || allows == votes.len());
            }
            // One more voter never makes an open question unreachable.
            if result == VoteResult::Open {
                let more = count_votes(Mediation::Consensus { quorum: quorum(number), veto }, &votes, left + 1);
                prop_assert_eq!(more, VoteResult::Open);
            }
        }

        #[test]
        fn first_answer_wins_in_other_modes(votes in votes(), left in 0usize..4) {
            for mediation in [Mediation::FirstResponder, Mediation::LocalOnly] {
                let expected = votes.first().map_or(VoteResult::Open, |first| VoteResult::Chosen {
                    option: first.option.clone(),
                    by: vec![first.principal],
                });
                prop_assert_eq!(count_votes(mediation, &votes, left), expected);
            }
        }
    }
}
