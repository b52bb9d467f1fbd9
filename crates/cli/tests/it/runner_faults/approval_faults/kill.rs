//! What is killed, and when.

use std::sync::Arc;

use guildhall_domain::approvals::state::ApprovalStatus;

use super::super::agent::Agent;
use crate::support::proxy::{Gate, ProxyAction, ProxyRequest};

/// One kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kill {
    pub(super) process: KilledProcess,
    pub(super) moment: Moment,
    pub(super) agent: Agent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KilledProcess {
    Runner,
    Server,
    Postgres,
}

/// Where the question stands at the kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Moment {
    Pending,
    Decided,
    /// The server hands out the answer, and the runner has not got it.
    Delivering,
    /// The agent acts, and the server does not know it.
    Unconfirmed,
    /// The agent acts, and its turn has not ended.
    Delivered,
    Settled,
}

const PROCESSES: [KilledProcess; 3] = [KilledProcess::Runner, KilledProcess::Server, KilledProcess::Postgres];
const MOMENTS: [Moment; 6] = [
    Moment::Pending,
    Moment::Decided,
    Moment::Delivering,
    Moment::Unconfirmed,
    Moment::Delivered,
    Moment::Settled,
];

/// CI has time for these only.
const FIRST_KILLS: [Kill; 5] = [
    Kill { process: KilledProcess::Runner, moment: Moment::Unconfirmed, agent: Agent::Codex },
    Kill { process: KilledProcess::Runner, moment: Moment::Decided, agent: Agent::Qwen },
    Kill { process: KilledProcess::Server, moment: Moment::Delivering, agent: Agent::Codex },
    Kill { process: KilledProcess::Postgres, moment: Moment::Decided, agent: Agent::Qwen },
    Kill { process: KilledProcess::Server, moment: Moment::Pending, agent: Agent::Codex },
];

impl Kill {
    /// Returns the first kills of an endless list in which each combination is repeated.
    pub(super) fn list(count: u32) -> Vec<Self> {
        let combinations = PROCESSES.into_iter().flat_map(|process| {
            MOMENTS.into_iter().flat_map(move |moment| {
                [Agent::Codex, Agent::Qwen].map(|agent| Self { process, moment, agent })
            })
        });
        let others = combinations.filter(|kill| !FIRST_KILLS.contains(kill)).collect::<Vec<_>>();
        let all = FIRST_KILLS.into_iter().chain(others).collect::<Vec<_>>();
        all.into_iter().cycle().zip(0..count).map(|(kill, _)| kill).collect()
    }

    /// Returns the states in which the question may end. The tests of the history say why.
    pub(super) fn question_ends(self) -> Vec<ApprovalStatus> {
        match (self.process, self.moment) {
            (KilledProcess::Runner, Moment::Pending) => vec![ApprovalStatus::Withdrawn],
            (KilledProcess::Runner, Moment::Decided) => vec![ApprovalStatus::Reused],
            (KilledProcess::Runner, Moment::Delivering | Moment::Unconfirmed) => {
                vec![ApprovalStatus::Uncertain]
            }
            // A runner confirms for 10 s: a slow restart may take longer.
            (KilledProcess::Server | KilledProcess::Postgres, Moment::Unconfirmed) => {
                vec![ApprovalStatus::Settled, ApprovalStatus::Uncertain]
            }
            (KilledProcess::Runner, Moment::Delivered | Moment::Settled)
            | (
                KilledProcess::Server | KilledProcess::Postgres,
                Moment::Pending | Moment::Decided | Moment::Delivering | Moment::Delivered | Moment::Settled,
            ) => vec![ApprovalStatus::Settled],
        }
    }

    /// Returns whether a second turn asks for the same action again.
    pub(super) fn needs_second_turn(self) -> bool {
        self.process == KilledProcess::Runner || self.moment == Moment::Settled
    }
}

impl Moment {
    pub(super) fn status(self) -> ApprovalStatus {
        match self {
            Self::Pending => ApprovalStatus::Pending,
            Self::Decided => ApprovalStatus::Decided,
            Self::Delivering | Self::Unconfirmed => ApprovalStatus::Delivering,
            Self::Delivered => ApprovalStatus::Delivered,
            Self::Settled => ApprovalStatus::Settled,
        }
    }

    /// Returns what to do with a request of the runner, so that the question stays where it is until the gate opens.
    pub(super) fn action(self, request: &ProxyRequest, gate: &Arc<Gate>) -> ProxyAction {
        let line = &request.line;
        if gate.is_open() {
            return ProxyAction::Forward;
        }
        match self {
            Self::Decided if line.contains("/take ") => ProxyAction::HoldRequest(Arc::clone(gate)),
            Self::Delivering if line.contains("/take ") => {
                ProxyAction::HoldResponse(Arc::clone(gate), "\"delivering\"")
            }
            Self::Unconfirmed if line.contains("/confirm ") => ProxyAction::HoldRequest(Arc::clone(gate)),
            // The request that ends the turn.
            Self::Delivered if line.contains("/commands/") && line.contains("/status ") => {
                ProxyAction::HoldRequest(Arc::clone(gate))
            }
            Self::Pending
            | Self::Decided
            | Self::Delivering
            | Self::Unconfirmed
            | Self::Delivered
            | Self::Settled => ProxyAction::Forward,
        }
    }
}
