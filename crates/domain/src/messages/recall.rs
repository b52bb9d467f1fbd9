//! Which messages a sender can recall.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::delivery::DeliveryMode;
use crate::named_enum::named_enum;

/// How long after its sending a message can be recalled.
pub const RECALL_WINDOW: Duration = Duration::from_secs(120);

/// The largest number of messages in one recall.
pub const MAX_RECALLED: usize = 100;

named_enum! {
    /// Why a message is not recalled. The names are those of the protocol.
    RecallError, "recall error";
    /// There is no such message, or it was not durable.
    NotFound = "not_found",
    NotSender = "not_sender",
    AlreadyRecalled = "already_recalled",
    Expired = "expired",
}

/// What a recall has to know about a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentMessageState {
    pub is_from_caller: bool,
    pub mode: DeliveryMode,
    pub sent_at: Timestamp,
    pub is_recalled: bool,
}

/// Decides whether a message can be recalled.
pub fn check_recall(message: Option<&SentMessageState>, now: Timestamp) -> Result<(), RecallError> {
    let Some(message) = message.filter(|message| message.mode == DeliveryMode::Fanout) else {
        return Err(RecallError::NotFound);
    };
    if !message.is_from_caller {
        return Err(RecallError::NotSender);
    }
    if message.is_recalled {
        return Err(RecallError::AlreadyRecalled);
    }
    let age = now.duration_since(message.sent_at);
    if age > SignedDuration::try_from(RECALL_WINDOW).unwrap_or(SignedDuration::MAX) {
        return Err(RecallError::Expired);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: Timestamp = Timestamp::UNIX_EPOCH;

    fn own() -> SentMessageState {
        SentMessageState {
            is_from_caller: true,
            mode: DeliveryMode::Fanout,
            sent_at: SENT,
            is_recalled: false,
        }
    }

    fn after(millis: i64) -> Timestamp {
        SENT + SignedDuration::from_millis(millis)
    }

    #[test]
    fn window_ends_after_two_minutes_to_the_millisecond() {
        for (millis, expected) in
            [(0, Ok(())), (119_999, Ok(())), (120_000, Ok(())), (120_001, Err(RecallError::Expired))]
        {
            assert_eq!(check_recall(Some(&own()), after(millis)), expected, "{millis} ms");
        }
    }

    #[test]
    fn clock_behind_the_sending_does_not_expire_a_message() {
        assert_eq!(check_recall(Some(&own()), after(-5_000)), Ok(()));
    }

    #[test]
    fn each_error_has_its_condition() {
        let late = after(600_000);
        let cases = [
            (None, RecallError::NotFound),
            (Some(SentMessageState { mode: DeliveryMode::Queue, ..own() }), RecallError::NotFound),
            (Some(SentMessageState { is_from_caller: false, ..own() }), RecallError::NotSender),
            (Some(SentMessageState { is_recalled: true, ..own() }), RecallError::AlreadyRecalled),
            (Some(own()), RecallError::Expired),
        ];
        for (message, expected) in cases {
            assert_eq!(check_recall(message.as_ref(), late), Err(expected));
        }
    }
}
