//! The calls that a device has taken on: none runs twice.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use guildhall_domain::agents::tool_calls::CallId;
use guildhall_domain::identity::Aid;
use jiff::Timestamp;

use super::agent_shares::{AgentShares, ShareLimits};
use super::audit_entry::{AuditStatus, ToolAuditEntry, is_kept};

/// Whether a call was taken on before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    New,
    /// By this process, which answers it.
    Repeated,
    /// By an earlier process. Nobody knows whether it has answered; `has_ended` is whether it recorded an end.
    Interrupted {
        has_ended: bool,
    },
}

/// A call that was taken on.
#[derive(Debug, Clone, Copy)]
struct HandledCall {
    at: Timestamp,
    is_of_this_process: bool,
    has_ended: bool,
}

#[derive(Debug)]
pub(super) struct HandledCalls {
    calls: BTreeMap<(Aid, CallId), HandledCall>,
    shares: AgentShares<Aid>,
}

impl HandledCalls {
    /// Takes the calls of earlier processes from the entries of the log. The last entry of a call counts.
    pub(super) fn from_entries(entries: &[ToolAuditEntry], limits: ShareLimits) -> Self {
        let calls: BTreeMap<_, _> = entries.iter().filter_map(handled_call).collect();
        let mut shares = AgentShares::new(limits);
        shares.recount(calls.keys().map(|(agent, _)| agent));
        Self { calls, shares }
    }

    /// Takes a call on, unless it was taken on before.
    pub(super) fn claim(&mut self, agent: &Aid, call: &CallId, at: Timestamp) -> Claim {
        match self.calls.entry((agent.clone(), call.clone())) {
            Entry::Occupied(mut known) => return known.get_mut().claim_again(),
            Entry::Vacant(vacant) => {
                vacant.insert(HandledCall { at, is_of_this_process: true, has_ended: false });
            }
        }
        if self.shares.add(agent) {
            self.prune(at);
        }
        Claim::New
    }

    /// Forgets calls after their time, and the oldest ones of agents that have too many.
    pub(super) fn prune(&mut self, now: Timestamp) {
        self.calls.retain(|_, call| is_kept(call.at, now));
        self.shares.recount(self.calls.keys().map(|(agent, _)| agent));
        let mut surplus = self.shares.take_surplus();
        let mut by_age: Vec<_> = self.calls.iter().map(|(key, call)| (call.at, key.clone())).collect();
        by_age.sort_unstable();
        for (_, key) in by_age {
            if surplus.takes(&key.0) {
                self.calls.remove(&key);
            }
        }
    }
}

impl HandledCall {
    fn claim_again(&mut self) -> Claim {
        if std::mem::replace(&mut self.is_of_this_process, true) {
            return Claim::Repeated;
        }
        Claim::Interrupted { has_ended: std::mem::replace(&mut self.has_ended, true) }
    }
}

/// Returns the call of an entry.
fn handled_call(entry: &ToolAuditEntry) -> Option<((Aid, CallId), HandledCall)> {
    let has_ended = match entry.status {
        AuditStatus::Started => false,
        AuditStatus::Ok | AuditStatus::Error | AuditStatus::Denied => true,
    };
    let handled = HandledCall { at: entry.timestamp, is_of_this_process: false, has_ended };
    Some(((entry.agent_id.parse().ok()?, entry.call_id.parse().ok()?), handled))
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    #[test]
    fn agent_with_too_many_calls_makes_forget_its_own_oldest_ones() {
        let limits = ShareLimits { of_agent: 10, of_all: 100, agents: 3 };
        let mut handled = HandledCalls::from_entries(&[], limits);
        let [quiet, noisy] =
            ["quiet.guild.example", "noisy.guild.example"].map(|agent| agent.parse::<Aid>().expect("an AID"));
        let id = |number: i64| format!("call-{number}").parse::<CallId>().expect("an id");
        let at = |number: i64| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(number);
        assert_eq!(handled.claim(&quiet, &id(0), at(0)), Claim::New);
        for number in 0..25 {
            assert_eq!(handled.claim(&noisy, &id(number), at(number)), Claim::New);
        }
        assert!(handled.calls.len() <= limits.of_agent + 1, "{handled:?}");
        assert_eq!(handled.claim(&quiet, &id(0), at(25)), Claim::Repeated);
        assert_eq!(handled.claim(&noisy, &id(24), at(25)), Claim::Repeated);
        assert_eq!(handled.claim(&noisy, &id(0), at(25)), Claim::New);
    }
}
