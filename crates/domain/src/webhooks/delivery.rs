//! What the response of a receiver means.

/// The meaning of a status code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiverAnswer {
    Accepted,
    /// The endpoint does not exist any more and wants no further events.
    Gone,
    /// Anything else. A redirect is not followed: only the tenant changes where events go.
    Failed,
}

impl ReceiverAnswer {
    #[must_use]
    pub const fn of_status(status: u16) -> Self {
        match status {
            200..=299 => Self::Accepted,
            410 => Self::Gone,
            _ => Self::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_2xx_is_accepted_and_only_410_is_gone() {
        for status in [200, 204, 299] {
            assert_eq!(ReceiverAnswer::of_status(status), ReceiverAnswer::Accepted, "{status}");
        }
        for status in [100, 199, 300, 302, 308, 400, 404, 409, 411, 429, 500, 503, 999] {
            assert_eq!(ReceiverAnswer::of_status(status), ReceiverAnswer::Failed, "{status}");
        }
        assert_eq!(ReceiverAnswer::of_status(410), ReceiverAnswer::Gone);
    }
}
