//! CSRF tokens of browser sessions.

/// Where a client sends its CSRF token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CsrfTokenPlace {
    Header,
    /// A form of a page of this server.
    Form,
    /// The socket: scripts can set no headers on it.
    Subprotocol,
}

impl CsrfTokenPlace {
    /// Returns what to do about a token that is missing or wrong.
    pub(crate) const fn advice(self) -> &'static str {
        match self {
            Self::Header => {
                "send the session's csrfToken as `X-Guildhall-CSRF`; GET /api/v1/auth/browser-session shows it"
            }
            Self::Form => "the form has no valid CSRF token: load the page again",
            Self::Subprotocol => {
                "send the session's csrfToken as the subprotocol `guildhall.csrf.TOKEN`; GET /api/v1/auth/browser-session \
                 shows it"
            }
        }
    }
}
