//! Why the server closes a connection, and the code that clients see.

use guildhall_domain::FailureKind;
use guildhall_protocol::rpc::Notification;
use guildhall_protocol::rpc::auth::Disconnect;

/// Why the server closes a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CloseReason {
    /// The server shuts down: the client reconnects, to another replica.
    Draining,
    /// `auth.connect` did not succeed in time, or was refused too often.
    AuthTimeout,
    /// The authority of the client ended, or cannot be read.
    Authority(FailureKind),
    /// The time of a short connection is over.
    ShortEnded,
    /// Nothing came for too long, not even the answer to a ping.
    Idle,
    /// The client does not read.
    SlowReader,
    TooLarge,
    Binary,
    VersionMismatch,
    /// The user has too many connections.
    TooManyConnections,
}

impl CloseReason {
    /// Returns the close code. The clients of AUN come back within a second or two after 1000, after about 16 s with most
    /// other codes, and never with 4001 and 4003.
    pub(super) const fn code(self) -> u16 {
        match self {
            Self::Draining | Self::Idle | Self::ShortEnded => 1000,
            Self::Authority(FailureKind::InfraFailed) | Self::SlowReader | Self::TooManyConnections => 1013,
            Self::Authority(_) => 4001,
            Self::VersionMismatch => 4003,
            Self::AuthTimeout => 1008,
            Self::TooLarge => 1009,
            Self::Binary => 1003,
        }
    }

    /// Returns the text of the close frame, of at most 123 bytes.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::Draining => "the server shuts down: connect again",
            Self::AuthTimeout => "auth.connect did not succeed in time",
            Self::Authority(FailureKind::InfraFailed) => {
                "the authority of the client cannot be read: try again"
            }
            Self::Authority(_) => "the login has ended: log in again",
            Self::ShortEnded => "the time of the short connection is over",
            Self::Idle => "no frame and no answer to a ping in time",
            Self::SlowReader => "the client reads too slowly",
            Self::TooLarge => "the frame is too large",
            Self::Binary => "expected a text frame",
            Self::VersionMismatch => "no protocol version in common",
            Self::TooManyConnections => "too many connections of this user: close one",
        }
    }

    /// Returns the last frame, which tells the client not to connect again with the same login.
    pub(super) fn disconnect_notification(self) -> Option<String> {
        let Self::Authority(kind) = self else { return None };
        if kind == FailureKind::InfraFailed {
            return None;
        }
        let disconnect =
            Disconnect { code: self.code(), reason: kind.to_string(), detail: self.text().to_owned() };
        Some(Notification::new("event/gateway.disconnect", disconnect).to_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ended_authority_forbids_reconnecting() {
        let ended = CloseReason::Authority(FailureKind::Unauthenticated);
        assert_eq!((ended.code(), ended.disconnect_notification().is_some()), (4001, true));
        let unknown = CloseReason::Authority(FailureKind::InfraFailed);
        for reason in [unknown, CloseReason::Draining, CloseReason::Idle, CloseReason::SlowReader] {
            assert!(reason.disconnect_notification().is_none() && reason.code() < 4000, "{reason:?}");
        }
    }
}
