//! The runners that wait for a run on this replica. An offer wakes one of those that could take it, and a poll for all of
//! them finds the offers that were lost.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use guildhall_domain::ids::TenantId;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How long it is known that there is no run for a group. The poll renews it every second.
const NOTHING_FOR: Duration = Duration::from_secs(2);

/// Runners that can claim the same runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct RunnerGroup {
    /// `None` for runners of the shared pool.
    pub(crate) tenant: Option<TenantId>,
    pub(crate) profiles: BTreeSet<String>,
}

impl RunnerGroup {
    fn can_take(&self, tenant: TenantId, profile: &str) -> bool {
        self.tenant.is_none_or(|own| own == tenant) && self.profiles.contains(profile)
    }
}

/// The waiting runners of one replica. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunnerQueues(Arc<Mutex<QueuesByGroup>>);

#[derive(Debug, Default)]
struct QueuesByGroup {
    groups: HashMap<RunnerGroup, GroupQueue>,
    next_ticket: u64,
}

#[derive(Debug, Default)]
struct GroupQueue {
    /// In the order in which they are woken.
    waiting: BTreeMap<u64, oneshot::Sender<()>>,
    offered_at: Option<Instant>,
    /// When there was no run for this group, if no offer came since.
    nothing_at: Option<Instant>,
}

/// The place of a runner in the queue of its group.
#[derive(Debug)]
pub(crate) struct QueueTicket {
    runners: RunnerQueues,
    group: RunnerGroup,
    ticket: u64,
    woken: oneshot::Receiver<()>,
    /// Whether it was woken and looks for a run.
    is_looking: bool,
}

impl RunnerQueues {
    /// QueuesByGroup a runner. Returns `None` if there may be a run for it: it must look first.
    pub(crate) fn enter(&self, group: &RunnerGroup) -> Option<QueueTicket> {
        let mut groups = self.lock();
        groups.next_ticket += 1;
        let ticket = groups.next_ticket;
        let state = groups.groups.entry(group.clone()).or_default();
        state.nothing_at.filter(|at| at.elapsed() < NOTHING_FOR)?;
        let (sender, woken) = oneshot::channel();
        state.waiting.insert(ticket, sender);
        Some(QueueTicket { runners: self.clone(), group: group.clone(), ticket, woken, is_looking: false })
    }

    /// Wakes one runner of each group that could take a run of this tenant and profile.
    pub(crate) fn offer(&self, tenant: TenantId, profile: &str) {
        let mut groups = self.lock();
        for (_, state) in groups.groups.iter_mut().filter(|(group, _)| group.can_take(tenant, profile)) {
            state.offer();
        }
    }

    /// Wakes the next runner of a group, because there may be another run.
    pub(crate) fn offer_to(&self, group: &RunnerGroup) {
        if let Some(state) = self.lock().groups.get_mut(group) {
            state.offer();
        }
    }

    /// Records that a look which began at `looked_at` found no run for a group.
    pub(crate) fn found_nothing(&self, group: &RunnerGroup, looked_at: Instant) {
        if let Some(state) = self.lock().groups.get_mut(group) {
            state.found_nothing(looked_at);
        }
    }

    /// Returns whether nobody waits. Forgets the groups that nobody has used for some time.
    pub(crate) fn is_empty(&self) -> bool {
        let groups = &mut self.lock().groups;
        let is_used = |state: &GroupQueue| {
            state.nothing_at.is_some_and(|at| at.elapsed() < NOTHING_FOR) || !state.waiting.is_empty()
        };
        groups.retain(|_, state| is_used(state));
        groups.values().all(|state| state.waiting.is_empty())
    }

    /// Applies what a look at waiting runs found. Unless it was complete, it says nothing about the other groups.
    pub(crate) fn apply(&self, waiting: &[(TenantId, String)], is_complete: bool, looked_at: Instant) {
        for (group, state) in &mut self.lock().groups {
            if waiting.iter().any(|(tenant, profile)| group.can_take(*tenant, profile)) {
                state.offer();
            } else if is_complete {
                state.found_nothing(looked_at);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueuesByGroup> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GroupQueue {
    fn offer(&mut self) {
        self.offered_at = Some(Instant::now());
        while let Some((_, next)) = self.waiting.pop_first() {
            // One that has just given up cannot be woken.
            if next.send(()).is_ok() {
                return;
            }
        }
        self.nothing_at = None;
    }

    fn found_nothing(&mut self, looked_at: Instant) {
        if self.offered_at.is_none_or(|offered_at| offered_at < looked_at) {
            self.nothing_at = Some(looked_at);
        }
    }
}

impl QueueTicket {
    /// Waits until this runner should look for a run.
    pub(crate) async fn woken(&mut self) {
        if (&mut self.woken).await.is_ok() {
            self.is_looking = true;
        } else {
            std::future::pending().await
        }
    }

    /// Ends the wait of a woken runner that has looked for a run itself.
    pub(crate) fn has_looked(mut self) {
        self.is_looking = false;
    }
}

impl Drop for QueueTicket {
    fn drop(&mut self) {
        let was_queued = self
            .runners
            .lock()
            .groups
            .get_mut(&self.group)
            .and_then(|state| state.waiting.remove(&self.ticket));
        // It was woken, or is just being woken, and did not look: the next one does.
        if self.is_looking || (was_queued.is_none() && self.woken.try_recv().is_ok()) {
            self.runners.offer_to(&self.group);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn group(tenant: Option<TenantId>, profile: &str) -> RunnerGroup {
        RunnerGroup { tenant, profiles: BTreeSet::from([profile.to_owned()]) }
    }

    fn queue(runners: &RunnerQueues, group: &RunnerGroup) -> QueueTicket {
        assert!(runners.enter(group).is_none(), "the first must look");
        runners.found_nothing(group, Instant::now());
        runners.enter(group).expect("there is nothing")
    }

    fn is_woken(runner: &mut QueueTicket) -> bool {
        runner.woken().now_or_never().is_some()
    }

    #[tokio::test]
    async fn offer_wakes_one_runner_of_each_matching_group() {
        let runners = RunnerQueues::default();
        let (tenant, other) = (TenantId::generate(), TenantId::generate());
        let groups = [
            group(Some(tenant), "demo"),
            group(None, "demo"),
            group(Some(other), "demo"),
            group(Some(tenant), "codex"),
        ];
        let mut first: Vec<QueueTicket> = groups.iter().map(|group| queue(&runners, group)).collect();
        let mut second: Vec<QueueTicket> =
            groups.iter().map(|group| runners.enter(group).expect("there is nothing")).collect();
        runners.offer(tenant, "demo");
        let woken: Vec<bool> = first.iter_mut().map(is_woken).collect();
        assert_eq!(woken, [true, true, false, false]);
        assert!(second.iter_mut().all(|runner| !is_woken(runner)), "one of each group is enough");
    }

    #[tokio::test]
    async fn runner_that_gives_up_after_it_was_woken_wakes_the_next() {
        let (runners, group) = (RunnerQueues::default(), group(None, "demo"));
        let mut first = queue(&runners, &group);
        let mut second = runners.enter(&group).expect("there is nothing");
        let mut third = runners.enter(&group).expect("there is nothing");
        runners.offer_to(&group);
        drop(first);
        assert!(is_woken(&mut second), "the first did not look");
        second.has_looked();
        assert!(!is_woken(&mut third), "the second has looked");
        first = runners.enter(&group).expect("there is nothing");
        drop(first);
        assert!(!is_woken(&mut third), "who was not woken wakes nobody");
    }

    #[tokio::test]
    async fn incomplete_look_does_not_keep_runners_from_looking() {
        let (runners, group) = (RunnerQueues::default(), group(Some(TenantId::generate()), "demo"));
        assert!(runners.enter(&group).is_none());
        runners.apply(&[], false, Instant::now());
        assert!(runners.enter(&group).is_none(), "its run may be among those that were not listed");
        runners.apply(&[], true, Instant::now());
        assert!(runners.enter(&group).is_some());
    }

    #[tokio::test]
    async fn offer_without_a_waiting_runner_makes_the_next_one_look() {
        let (runners, group) = (RunnerQueues::default(), group(None, "demo"));
        drop(queue(&runners, &group));
        let looked_at = Instant::now();
        runners.offer_to(&group);
        assert!(runners.enter(&group).is_none());
        runners.found_nothing(&group, looked_at);
        assert!(runners.enter(&group).is_none(), "the look began before the offer");
    }

    #[tokio::test]
    async fn poll_wakes_one_runner_of_a_group_with_a_waiting_run() {
        let (runners, tenant) = (RunnerQueues::default(), TenantId::generate());
        let groups = [group(Some(tenant), "demo"), group(Some(tenant), "codex")];
        let mut waiting: Vec<QueueTicket> = groups.iter().map(|group| queue(&runners, group)).collect();
        assert!(!runners.is_empty());
        runners.apply(&[(tenant, "demo".to_owned())], true, Instant::now());
        assert_eq!(waiting.iter_mut().map(is_woken).collect::<Vec<_>>(), [true, false]);
        assert!(runners.enter(&groups[1]).is_some(), "the poll found nothing for this group");
        waiting.into_iter().for_each(QueueTicket::has_looked);
        assert!(runners.is_empty());
    }
}
