//! A problem that a check found, with the command that fixes it.

use guildhall_server::config::ConfigError;

/// What is wrong, and one command that fixes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) detail: String,
    pub(super) fix: String,
    /// Whether the server works nevertheless.
    pub(super) is_warning: bool,
}

impl Problem {
    pub(super) fn new(detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { detail: detail.into(), fix: fix.into(), is_warning: false }
    }

    /// A weakness that does not fail the check.
    pub(super) fn warning(detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { is_warning: true, ..Self::new(detail, fix) }
    }

    /// Describes an error and its direct cause.
    pub(super) fn with_cause(error: &dyn std::error::Error, fix: impl Into<String>) -> Self {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        Self::new(format!("{error}{cause}"), fix)
    }

    /// An earlier check did not leave the value that this check needs. Should not happen: the check is skipped then.
    pub(super) fn missing_input() -> Self {
        Self::new("an earlier check left no data for this one", "guildhall doctor")
    }

    /// Describes an invalid configuration on one line, without a value: it may be a secret.
    pub(super) fn invalid_config(error: &ConfigError) -> Self {
        let text = error.to_string();
        let first_line = text.lines().next().unwrap_or_default();
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Self::new(
            format!("{first_line}{cause}"),
            "guildhall config example   # lists every key; then correct it",
        )
    }
}
