//! What the end users of an application may do with an agent, and how much.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The limits of each end user with an agent. They do not apply to members of the tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndUserSettings {
    /// Whether an end user answers the questions of the agent in their own conversations.
    pub answer_approvals: bool,
    pub turns_per_minute: u32,
    /// Conversations with a turn that has not ended.
    pub open_threads: u32,
    /// Tokens of models, in and out, of one day of UTC.
    pub tokens_per_day: u64,
}

impl Default for EndUserSettings {
    fn default() -> Self {
        Self { answer_approvals: false, turns_per_minute: 10, open_threads: 5, tokens_per_day: 2_000_000 }
    }
}

/// A change of the settings. Omitted values stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EndUserSettingsChange {
    pub answer_approvals: Option<bool>,
    pub turns_per_minute: Option<u32>,
    pub open_threads: Option<u32>,
    pub tokens_per_day: Option<u64>,
}

impl EndUserSettingsChange {
    #[must_use]
    pub fn apply(self, settings: EndUserSettings) -> EndUserSettings {
        EndUserSettings {
            answer_approvals: self.answer_approvals.unwrap_or(settings.answer_approvals),
            turns_per_minute: self.turns_per_minute.unwrap_or(settings.turns_per_minute),
            open_threads: self.open_threads.unwrap_or(settings.open_threads),
            tokens_per_day: self.tokens_per_day.unwrap_or(settings.tokens_per_day),
        }
    }
}

/// What an end user has used of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EndUserUsage {
    /// In this minute.
    pub turns: u32,
    /// Other conversations with a turn that has not ended.
    pub open_threads: u32,
    /// Of this day. A turn counts when it has ended.
    pub tokens: u64,
}

/// Why a turn of an end user is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EndUserLimitError {
    #[error("you have sent {0} messages in this minute, which is the limit: try again in the next one")]
    Turns(u32),
    #[error("{0} of your conversations wait for the agent, which is the limit: wait for one, or stop it")]
    OpenThreads(u32),
    #[error("you have used the tokens of this day: try again tomorrow")]
    Tokens,
}

impl EndUserLimitError {
    /// Returns the time after which the limit is no longer reached; none if that depends on something else.
    #[must_use]
    pub const fn retry_after(self) -> Option<Duration> {
        match self {
            Self::Turns(_) => Some(Duration::from_secs(60)),
            Self::OpenThreads(_) | Self::Tokens => None,
        }
    }
}

/// A limit is outside its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "endUsers: use 1 to {} turns a minute, 1 to {} open threads and 1 to {} tokens a day",
    EndUserSettings::MAX_TURNS,
    EndUserSettings::MAX_OPEN_THREADS,
    EndUserSettings::MAX_TOKENS
)]
pub struct InvalidEndUserLimit;

impl EndUserSettings {
    pub const MAX_TURNS: u32 = 600;
    pub const MAX_OPEN_THREADS: u32 = 100;
    pub const MAX_TOKENS: u64 = 1_000_000_000_000;

    /// Returns whether all values are those of an agent that sets none.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    pub fn validate(&self) -> Result<(), InvalidEndUserLimit> {
        let is_valid = (1..=Self::MAX_TURNS).contains(&self.turns_per_minute)
            && (1..=Self::MAX_OPEN_THREADS).contains(&self.open_threads)
            && (1..=Self::MAX_TOKENS).contains(&self.tokens_per_day);
        if is_valid { Ok(()) } else { Err(InvalidEndUserLimit) }
    }

    /// Decides whether an end user may send one more turn.
    pub fn check_turn(&self, usage: EndUserUsage) -> Result<(), EndUserLimitError> {
        if usage.tokens >= self.tokens_per_day {
            return Err(EndUserLimitError::Tokens);
        }
        if usage.open_threads >= self.open_threads {
            return Err(EndUserLimitError::OpenThreads(self.open_threads));
        }
        if usage.turns >= self.turns_per_minute {
            return Err(EndUserLimitError::Turns(self.turns_per_minute));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_settings() -> impl Strategy<Value = EndUserSettings> {
        (any::<bool>(), 0u32..5, 0u32..5, 0u64..5).prop_map(|(answer_approvals, turns, threads, tokens)| {
            EndUserSettings {
                answer_approvals,
                turns_per_minute: turns,
                open_threads: threads,
                tokens_per_day: tokens,
            }
        })
    }

    proptest! {
        #[test]
        fn turn_is_refused_exactly_when_a_limit_is_reached(
            settings in any_settings(), turns in 0u32..6, open_threads in 0u32..6, tokens in 0u64..6,
        ) {
            let usage = EndUserUsage { turns, open_threads, tokens };
            let is_allowed = turns < settings.turns_per_minute
                && open_threads < settings.open_threads
                && tokens < settings.tokens_per_day;
            prop_assert_eq!(settings.check_turn(usage).is_ok(), is_allowed);
        }

        #[test]
        fn omitted_values_stay_as_they_are(settings in any_settings(), turns in proptest::option::of(0u32..9)) {
            let change = EndUserSettingsChange { turns_per_minute: turns, ..Default::default() };
            let turns_per_minute = turns.unwrap_or(settings.turns_per_minute);
            prop_assert_eq!(change.apply(settings), EndUserSettings { turns_per_minute, ..settings });
        }
    }

    #[test]
    fn limits_outside_their_bounds_are_refused() {
        let valid = EndUserSettings::default();
        assert_eq!(valid.validate(), Ok(()));
        for invalid in [
            EndUserSettings { turns_per_minute: 0, ..valid },
            EndUserSettings { turns_per_minute: 601, ..valid },
            EndUserSettings { open_threads: 0, ..valid },
            EndUserSettings { open_threads: 101, ..valid },
            EndUserSettings { tokens_per_day: 0, ..valid },
            EndUserSettings { tokens_per_day: EndUserSettings::MAX_TOKENS + 1, ..valid },
        ] {
            assert_eq!(invalid.validate(), Err(InvalidEndUserLimit), "{invalid:?}");
        }
    }
}
