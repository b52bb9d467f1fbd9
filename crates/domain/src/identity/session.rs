//! An AID that has logged in.

use jiff::Timestamp;

use super::aid::Aid;
use crate::access::caller::Caller;
use crate::access::principal::TokenKind;
use crate::ids::{LoginId, PrincipalId};

/// A valid login of an AID. It opens connections to the socket, and nothing else: whoever has the key of an AID does not
/// have the permissions of its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AidSession {
    pub aid: Aid,
    pub owner: PrincipalId,
    pub login: LoginId,
    /// The end of the login; also the end of the certificate that signed in, if that is earlier.
    pub expires_at: Timestamp,
    /// Whether an agent that runs elsewhere speaks with the AID. Whoever has its key is then no device of the owner.
    pub is_of_agent: bool,
}

impl AidSession {
    /// Returns the caller whose authority is watched while a connection is open. It has no role in any tenant.
    #[must_use]
    pub fn caller(&self) -> Caller {
        Caller {
            principal: self.owner,
            kind: TokenKind::Agent,
            login: Some(self.login),
            key: None,
            tenant: None,
            subject: None,
            expires_at: self.expires_at,
            is_operator: false,
        }
    }
}
