//! Shares of agents in what a device keeps about calls: no agent pushes out what is kept about others.

use std::collections::BTreeMap;

/// How many items are kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShareLimits {
    pub(super) of_agent: usize,
    pub(super) of_all: usize,
    /// Agents that are counted apart. Those beyond have one share together.
    pub(super) agents: usize,
}

/// How many items each agent has.
#[derive(Debug)]
pub(super) struct AgentShares<A> {
    limits: ShareLimits,
    counts: AgentCounts<A>,
}

#[derive(Debug, Clone)]
struct AgentCounts<A> {
    apart: BTreeMap<A, usize>,
    /// Of all other agents.
    others: usize,
}

/// How many of its oldest items each agent loses.
#[derive(Debug)]
pub(super) struct Surplus<A>(AgentCounts<A>);

impl<A: Ord + Clone> AgentShares<A> {
    pub(super) fn new(limits: ShareLimits) -> Self {
        Self { limits, counts: AgentCounts { apart: BTreeMap::new(), others: 0 } }
    }

    /// Counts an item. Returns whether there are too many now.
    pub(super) fn add(&mut self, agent: &A) -> bool {
        let apart = &mut self.counts.apart;
        if apart.len() < self.limits.agents && !apart.contains_key(agent) {
            apart.insert(agent.clone(), 0);
        }
        let count = self.counts.of_mut(agent);
        *count += 1;
        *count > self.limits.of_agent || self.counts.total() > self.limits.of_all
    }

    /// Counts everything again: one agent for each item, the oldest first.
    pub(super) fn recount<'a>(&mut self, agents: impl Iterator<Item = &'a A>)
    where
        A: 'a,
    {
        *self = Self::new(self.limits);
        for agent in agents {
            self.add(agent);
        }
    }

    /// Subtracts what is too much, and returns it. An agent over its limit loses its own items; where all have too many, those
    /// with the most lose theirs.
    pub(super) fn take_surplus(&mut self) -> Surplus<A> {
        let ShareLimits { of_agent, of_all, agents: _ } = self.limits;
        let mut surplus = self.counts.clone();
        for count in self.counts.values_mut().filter(|count| **count > of_agent) {
            *count = with_room(of_agent);
        }
        if self.counts.total() > of_all {
            let level = self.counts.level(with_room(of_all));
            for count in self.counts.values_mut() {
                *count = level.min(*count);
            }
        }
        for (lost, kept) in surplus.values_mut().zip(self.counts.values()) {
            *lost -= kept;
        }
        Surplus(surplus)
    }
}

impl<A: Ord> AgentCounts<A> {
    /// Returns the count of the share that an agent has.
    fn of_mut(&mut self, agent: &A) -> &mut usize {
        self.apart.get_mut(agent).unwrap_or(&mut self.others)
    }

    fn values(&self) -> impl Iterator<Item = usize> {
        self.apart.values().copied().chain(std::iter::once(self.others))
    }

    fn values_mut(&mut self) -> impl Iterator<Item = &mut usize> {
        self.apart.values_mut().chain(std::iter::once(&mut self.others))
    }

    fn total(&self) -> usize {
        self.values().sum()
    }

    /// Returns how many items each share may have, so that all together have no more than a limit.
    fn level(&self, limit: usize) -> usize {
        let mut counts: Vec<usize> = self.values().collect();
        counts.sort_unstable();
        let (mut left, mut shares) = (limit, counts.len());
        for count in counts {
            let level = left / shares;
            if count > level {
                return level;
            }
            left -= count;
            shares -= 1;
        }
        limit
    }
}

impl<A: Ord> Surplus<A> {
    /// Returns whether an item has to go. Items are asked about from the oldest on.
    pub(super) fn takes(&mut self, agent: &A) -> bool {
        let left = self.0.of_mut(agent);
        let is_taken = *left > 0;
        *left -= usize::from(is_taken);
        is_taken
    }
}

/// Returns what is kept where a limit is exceeded: a tenth goes at once, because the file is written anew each time.
fn with_room(limit: usize) -> usize {
    limit - limit / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the items that are left, each as the agent and a number. They are added in turn, one of each agent after the other.
    fn left_of(limits: ShareLimits, counts: &[(&'static str, usize)]) -> BTreeMap<&'static str, Vec<usize>> {
        let longest = counts.iter().map(|(_, count)| *count).max().unwrap_or_default();
        let mut items: Vec<(&'static str, usize)> = Vec::new();
        for number in 0..longest {
            let having = counts.iter().filter(|(_, count)| number < *count);
            items.extend(having.map(|(agent, _)| (*agent, number)));
        }
        let mut shares = AgentShares::new(limits);
        shares.recount(items.iter().map(|(agent, _)| agent));
        let mut surplus = shares.take_surplus();
        items.retain(|(agent, _)| !surplus.takes(agent));
        assert_eq!(shares.counts.total(), items.len());
        let mut left: BTreeMap<&'static str, Vec<usize>> = BTreeMap::new();
        for (agent, number) in items {
            left.entry(agent).or_default().push(number);
        }
        left
    }

    #[test]
    fn agent_over_its_limit_loses_its_own_oldest_items() {
        let limits = ShareLimits { of_agent: 10, of_all: 100, agents: 5 };
        let left = left_of(limits, &[("noisy", 30), ("quiet", 10)]);
        let expected = [("noisy", (21..30).collect::<Vec<usize>>()), ("quiet", (0..10).collect())];
        assert_eq!(left, BTreeMap::from(expected));
    }

    #[test]
    fn full_log_takes_from_the_agents_with_the_most_items() {
        let limits = ShareLimits { of_agent: 10, of_all: 20, agents: 5 };
        let left = left_of(limits, &[("a", 10), ("b", 8), ("c", 3)]);
        let expected =
            [("a", (3..10).collect::<Vec<usize>>()), ("b", (1..8).collect()), ("c", (0..3).collect())];
        assert_eq!(left, BTreeMap::from(expected));
    }

    #[test]
    fn agents_that_are_not_counted_apart_share_one_limit() {
        let limits = ShareLimits { of_agent: 10, of_all: 100, agents: 2 };
        let left = left_of(limits, &[("a", 10), ("b", 10), ("c", 6), ("d", 5)]);
        let expected = [
            ("a", (0..10).collect::<Vec<usize>>()),
            ("b", (0..10).collect()),
            ("c", (1..6).collect()),
            ("d", (1..5).collect()),
        ];
        assert_eq!(left, BTreeMap::from(expected));
    }

    #[test]
    fn adding_tells_when_an_agent_or_all_have_too_many() {
        let mut shares = AgentShares::new(ShareLimits { of_agent: 2, of_all: 3, agents: 5 });
        assert_eq!(["a", "a", "a"].map(|agent| shares.add(&agent)), [false, false, true]);
        let mut shares = AgentShares::new(ShareLimits { of_agent: 2, of_all: 3, agents: 5 });
        assert_eq!(["a", "b", "c", "d"].map(|agent| shares.add(&agent)), [false, false, false, true]);
    }
}
