//! The exit codes of the command, each with one meaning.

use std::process;

use guildhall_domain::agents::diff::Outcome;
use guildhall_domain::runs::TerminalStatus;

/// Why the command ended. `docs/reference/exit-codes.md` describes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitCode {
    Success,
    Failure,
    UsageError,
    Cancelled,
    NotFound,
    NotSignedIn,
    UsersNotified,
    UsersAskedAgain,
    ContractBroken,
    Interrupted,
}

impl ExitCode {
    const ALL: [Self; 10] = [
        Self::Success,
        Self::Failure,
        Self::UsageError,
        Self::Cancelled,
        Self::NotFound,
        Self::NotSignedIn,
        Self::UsersNotified,
        Self::UsersAskedAgain,
        Self::ContractBroken,
        Self::Interrupted,
    ];

    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::UsageError => 2,
            Self::Cancelled => 3,
            Self::NotFound => 4,
            Self::NotSignedIn => 5,
            Self::UsersNotified => 10,
            Self::UsersAskedAgain => 20,
            Self::ContractBroken => 30,
            // 128 + SIGINT, as shells report it.
            Self::Interrupted => 130,
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::UsageError => "usage error",
            Self::Cancelled => "cancelled",
            Self::NotFound => "not found or not allowed",
            Self::NotSignedIn => "not signed in",
            Self::UsersNotified => "users are notified",
            Self::UsersAskedAgain => "users are asked again",
            Self::ContractBroken => "contract broken",
            Self::Interrupted => "interrupted (Ctrl-C)",
        }
    }

    /// Returns the code for the outcome of a followed run or command.
    pub(crate) fn of_outcome(status: TerminalStatus) -> Self {
        match status {
            TerminalStatus::Completed => Self::Success,
            TerminalStatus::Failed | TerminalStatus::Blocked => Self::Failure,
            TerminalStatus::Cancelled => Self::Cancelled,
        }
    }

    /// Returns the code for the changes of a manifest.
    pub(crate) fn of_manifest_changes(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Same => Self::Success,
            Outcome::Notify => Self::UsersNotified,
            Outcome::ReConsent => Self::UsersAskedAgain,
            Outcome::ContractBreak => Self::ContractBroken,
        }
    }

    /// Returns the line of the help text that lists all codes.
    pub(crate) fn help() -> String {
        let codes = Self::ALL.map(|code| format!("{} {}", code.number(), code.meaning()));
        format!("Exit codes: {}.", codes.join(", "))
    }
}

impl From<ExitCode> for process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_exit_code_has_one_number_and_is_documented() {
        let page = include_str!("../../../docs/reference/exit-codes.md");
        let rows: Vec<String> =
            page.lines().filter(|line| line.starts_with("| `")).map(str::to_owned).collect();
        let expected = ExitCode::ALL.map(|code| format!("| `{}` | {} |", code.number(), code.meaning()));
        assert_eq!(rows.len(), expected.len(), "docs/reference/exit-codes.md: {rows:?}");
        for (row, expected) in rows.iter().zip(expected) {
            assert!(row.starts_with(&expected), "{row} does not start with {expected}");
        }
        let numbers: BTreeSet<u8> = ExitCode::ALL.iter().map(|code| code.number()).collect();
        assert_eq!(numbers.len(), ExitCode::ALL.len());
    }
}
