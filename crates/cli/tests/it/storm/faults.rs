//! The kinds of faults.

use super::runners::Moment;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FaultKind {
    KillServer,
    StopServer,
    ReplaceProgram,
    KillWorker,
    StopWorker,
    KillGuard,
    StopGuard,
    KillAtClaim,
    KillAtAcknowledge,
    KillAtFirstAppend,
    KillAtFinish,
    KillNats,
    StopNats,
    KillPostgres,
    StopPostgres,
    KillTwo,
    FailOver,
    FailOverSilently,
    RestoreBackup,
    DropTraffic,
    ExhaustPools,
    RetryStorm,
    SlowSync,
    FullDatabaseDisk,
    FullRunnerDisk,
    FullSecretsDisk,
    ClockJump,
}

impl FaultKind {
    pub(super) const ALL: [Self; 27] = [
        Self::KillServer,
        Self::StopServer,
        Self::ReplaceProgram,
        Self::KillWorker,
        Self::StopWorker,
        Self::KillGuard,
        Self::StopGuard,
        Self::KillAtClaim,
        Self::KillAtAcknowledge,
        Self::KillAtFirstAppend,
        Self::KillAtFinish,
        Self::KillNats,
        Self::StopNats,
        Self::KillPostgres,
        Self::StopPostgres,
        Self::KillTwo,
        Self::FailOver,
        Self::FailOverSilently,
        Self::RestoreBackup,
        Self::DropTraffic,
        Self::ExhaustPools,
        Self::RetryStorm,
        Self::SlowSync,
        Self::FullDatabaseDisk,
        Self::FullRunnerDisk,
        Self::FullSecretsDisk,
        Self::ClockJump,
    ];

    /// Those of the short form: a few seconds each, and no program besides the engines.
    pub(super) const SHORT: [Self; 19] = [
        Self::KillServer,
        Self::StopServer,
        Self::ReplaceProgram,
        Self::KillWorker,
        Self::StopWorker,
        Self::KillGuard,
        Self::KillAtClaim,
        Self::KillAtAcknowledge,
        Self::KillAtFirstAppend,
        Self::KillAtFinish,
        Self::KillNats,
        Self::StopNats,
        Self::KillPostgres,
        Self::StopPostgres,
        Self::KillTwo,
        Self::FailOver,
        Self::RestoreBackup,
        Self::DropTraffic,
        Self::FullSecretsDisk,
    ];

    pub(super) fn description(self) -> &'static str {
        match self {
            Self::KillServer => "SIGKILL of a server",
            Self::StopServer => "SIGSTOP of a server",
            Self::ReplaceProgram => "server restarted with another binary",
            Self::KillWorker => "SIGKILL of a runner",
            Self::StopWorker => "SIGSTOP of a runner",
            Self::KillGuard => "SIGKILL of a guard",
            Self::StopGuard => "SIGSTOP of a guard",
            Self::KillAtClaim => "SIGKILL of a runner at its claim",
            Self::KillAtAcknowledge => "SIGKILL of a runner at its acknowledgement",
            Self::KillAtFirstAppend => "SIGKILL of a runner at its first append",
            Self::KillAtFinish => "SIGKILL of a runner at its finish",
            Self::KillNats => "SIGKILL of NATS",
            Self::StopNats => "SIGSTOP of NATS",
            Self::KillPostgres => "SIGKILL of PostgreSQL",
            Self::StopPostgres => "SIGSTOP of PostgreSQL",
            Self::KillTwo => "SIGKILL of two at once",
            Self::FailOver => "failover to the synchronous standby",
            Self::FailOverSilently => "failover, earlier connections left open without response",
            Self::RestoreBackup => "restore of PostgreSQL from a base backup and its log",
            Self::DropTraffic => "traffic to PostgreSQL dropped",
            Self::ExhaustPools => "locked table: all connections of the pools in use",
            Self::RetryStorm => "outage of PostgreSQL with clients that retry without a pause",
            Self::SlowSync => "fsync of PostgreSQL delayed",
            Self::FullDatabaseDisk => "disk of PostgreSQL full",
            Self::FullRunnerDisk => "disk of the runners full: spools and workspaces",
            Self::FullSecretsDisk => "disk of the secrets full",
            Self::ClockJump => "clock of a server jumps",
        }
    }

    /// Returns whether it can stop all requests, so that its time does not count against a run.
    pub(super) fn is_outage(self) -> bool {
        match self {
            Self::KillPostgres
            | Self::StopPostgres
            | Self::KillTwo
            | Self::FailOver
            | Self::FailOverSilently
            | Self::RestoreBackup
            | Self::DropTraffic
            | Self::ExhaustPools
            | Self::RetryStorm
            | Self::SlowSync
            | Self::FullDatabaseDisk => true,
            Self::KillServer
            | Self::StopServer
            | Self::ReplaceProgram
            | Self::KillWorker
            | Self::StopWorker
            | Self::KillGuard
            | Self::StopGuard
            | Self::KillAtClaim
            | Self::KillAtAcknowledge
            | Self::KillAtFirstAppend
            | Self::KillAtFinish
            | Self::KillNats
            | Self::StopNats
            | Self::FullRunnerDisk
            | Self::FullSecretsDisk
            | Self::ClockJump => false,
        }
    }

    /// Returns the moment at which a runner is killed.
    pub(super) fn moment(self) -> Option<Moment> {
        match self {
            Self::KillAtClaim => Some(Moment::Claim),
            Self::KillAtAcknowledge => Some(Moment::Acknowledge),
            Self::KillAtFirstAppend => Some(Moment::FirstAppend),
            Self::KillAtFinish => Some(Moment::Finish),
            Self::KillServer
            | Self::StopServer
            | Self::ReplaceProgram
            | Self::KillWorker
            | Self::StopWorker
            | Self::KillGuard
            | Self::StopGuard
            | Self::KillNats
            | Self::StopNats
            | Self::KillPostgres
            | Self::StopPostgres
            | Self::KillTwo
            | Self::FailOver
            | Self::FailOverSilently
            | Self::RestoreBackup
            | Self::DropTraffic
            | Self::ExhaustPools
            | Self::RetryStorm
            | Self::SlowSync
            | Self::FullDatabaseDisk
            | Self::FullRunnerDisk
            | Self::FullSecretsDisk
            | Self::ClockJump => None,
        }
    }
}
