//! Which calls are handled now, and which ones wait. No agent takes all of the room.

use std::collections::{BTreeMap, VecDeque};

use guildhall_domain::identity::Aid;

/// Calls that are handled beside each other.
const MAX_RUNNING: usize = 32;

/// What calls that wait may take: a message has at most 440 KB.
const MAX_WAITING_BYTES: usize = 32 * 1024 * 1024;

/// What a call takes beside its arguments.
const CALL_BYTES: usize = 1024;

/// A call that waits.
struct WaitingCall<C> {
    call: C,
    bytes: usize,
}

/// Calls of agents, in the order of each.
pub(super) struct CallQueue<C> {
    running: SharedRoom,
    waiting: BTreeMap<Aid, VecDeque<WaitingCall<C>>>,
    waiting_bytes: SharedRoom,
}

impl<C> Default for CallQueue<C> {
    fn default() -> Self {
        Self {
            running: SharedRoom::new(MAX_RUNNING),
            waiting: BTreeMap::new(),
            waiting_bytes: SharedRoom::new(MAX_WAITING_BYTES),
        }
    }
}

impl<C> CallQueue<C> {
    /// Adds a call. Returns it where too many calls of its agent wait.
    pub(super) fn push(&mut self, agent: &Aid, argument_bytes: usize, call: C) -> Option<C> {
        let bytes = CALL_BYTES + argument_bytes;
        if !self.waiting_bytes.take(agent, bytes) {
            return Some(call);
        }
        self.waiting.entry(agent.clone()).or_default().push_back(WaitingCall { call, bytes });
        None
    }

    /// Takes the call that is handled next, if there is room for it: one of the agent that has the fewest.
    pub(super) fn start(&mut self) -> Option<C> {
        let has_room = |agent: &&Aid| self.running.has_room(agent, 1);
        let agent =
            self.waiting.keys().filter(has_room).min_by_key(|agent| self.running.of(agent)).cloned()?;
        let calls = self.waiting.get_mut(&agent)?;
        let WaitingCall { call, bytes } = calls.pop_front()?;
        if calls.is_empty() {
            self.waiting.remove(&agent);
        }
        self.waiting_bytes.release(&agent, bytes);
        self.running.take(&agent, 1).then_some(call)
    }

    /// Ends a call that was started.
    pub(super) fn end(&mut self, agent: &Aid) {
        self.running.release(agent, 1);
    }
}

/// Room that agents share. Each may have as much as is free, so that something is left for the next one: alone a half, two of them
/// a third each.
struct SharedRoom {
    size: usize,
    taken: BTreeMap<Aid, usize>,
}

impl SharedRoom {
    fn new(size: usize) -> Self {
        Self { size, taken: BTreeMap::new() }
    }

    fn of(&self, agent: &Aid) -> usize {
        self.taken.get(agent).copied().unwrap_or_default()
    }

    fn has_room(&self, agent: &Aid, amount: usize) -> bool {
        let free = self.size - self.taken.values().sum::<usize>();
        self.of(agent) + amount <= free
    }

    /// Takes some room, if there is enough.
    fn take(&mut self, agent: &Aid, amount: usize) -> bool {
        let has_room = self.has_room(agent, amount);
        if has_room {
            *self.taken.entry(agent.clone()).or_default() += amount;
        }
        has_room
    }

    fn release(&mut self, agent: &Aid, amount: usize) {
        let Some(taken) = self.taken.get_mut(agent) else { return };
        *taken -= amount;
        if *taken == 0 {
            self.taken.remove(agent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str) -> Aid {
        format!("{name}.guild.example").parse().expect("an AID")
    }

    /// Starts what there is room for. Returns how many calls of each agent.
    fn start_all(queue: &mut CallQueue<&'static str>) -> BTreeMap<&'static str, usize> {
        let mut started = BTreeMap::new();
        while let Some(name) = queue.start() {
            *started.entry(name).or_default() += 1;
        }
        started
    }

    #[test]
    fn agent_with_many_calls_leaves_room_for_others() {
        let mut queue = CallQueue::default();
        let [noisy, quiet] = [agent("noisy"), agent("quiet")];
        for _ in 0..1_000 {
            assert_eq!(queue.push(&noisy, 0, "noisy"), None);
        }
        assert_eq!(start_all(&mut queue), BTreeMap::from([("noisy", 16)]));
        assert_eq!(queue.push(&quiet, 0, "quiet"), None);
        assert_eq!(start_all(&mut queue), BTreeMap::from([("quiet", 1)]));
        queue.end(&quiet);
        queue.end(&noisy);
        assert_eq!(start_all(&mut queue), BTreeMap::from([("noisy", 1)]));
    }

    #[test]
    fn agents_have_equal_shares_in_the_end() {
        let mut queue = CallQueue::default();
        let agents = [agent("agent-a"), agent("agent-b"), agent("agent-c")];
        for (aid, name) in agents.iter().zip(["a", "b", "c"]) {
            for _ in 0..100 {
                assert_eq!(queue.push(aid, 0, name), None);
            }
        }
        assert_eq!(start_all(&mut queue), BTreeMap::from([("a", 8), ("b", 8), ("c", 8)]));
    }

    #[test]
    fn calls_of_an_agent_keep_their_order_and_are_bounded_by_their_size() {
        let mut queue = CallQueue::default();
        let (large, other) = (agent("large"), agent("other"));
        let fits = (0..1_000).take_while(|number| queue.push(&large, 400_000, *number).is_none()).count();
        assert_eq!(fits, (MAX_WAITING_BYTES / (400_000 + CALL_BYTES)).div_ceil(2));
        assert_eq!(queue.push(&large, 400_000, 2_000), Some(2_000));
        assert_eq!(queue.push(&other, 400_000, 3_000), None, "there is room for another one");
        let started: Vec<usize> = std::iter::from_fn(|| queue.start()).filter(|call| *call < 3_000).collect();
        assert_eq!(started, (0..started.len()).collect::<Vec<_>>());
        assert_eq!(queue.push(&large, 400_000, 2_000), None);
    }
}
