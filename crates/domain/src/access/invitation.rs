//! Invitations: a role in a tenant for whoever presents the secret first.

use crate::ids::{InviteId, PrincipalId};
use jiff::{SignedDuration, Timestamp};

use crate::access::role::{Role, add_member};

/// Lifetime of an invitation: long enough for a holiday, too short for a forgotten mailbox.
pub const LIFETIME: SignedDuration = SignedDuration::from_hours(7 * 24);

/// An invitation and its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invitation {
    pub role: Role,
    pub expires_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
    pub accepted_at: Option<Timestamp>,
}

/// Why an invitation is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvitationError {
    /// One message for all reasons: the bearer must not learn the state of the invitation.
    #[error("invalid or expired invitation: ask for a new one")]
    Invalid,
    #[error("you are already a member with the role {0}: no need to accept")]
    AlreadyMember(Role),
}

/// Decides whether an invitation can be accepted, and returns the role that it grants. `inviter` is the inviter's
/// current role in the tenant: they must still be allowed to grant the offered role. `current` is the current role of
/// the accepting user: an invitation can raise a role, but never lowers it.
pub fn accept(
    invitation: &Invitation,
    inviter: Option<Role>,
    current: Option<Role>,
    now: Timestamp,
) -> Result<Role, InvitationError> {
    let is_open = invitation.revoked_at.is_none() && invitation.accepted_at.is_none();
    let may_still_invite = inviter.is_some_and(|inviter| add_member(inviter, invitation.role).is_ok());
    if !is_open || !may_still_invite || now >= invitation.expires_at {
        return Err(InvitationError::Invalid);
    }
    match current {
        Some(current) if current >= invitation.role => Err(InvitationError::AlreadyMember(current)),
        Some(_) | None => Ok(invitation.role),
    }
}

/// An invitation in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitationSummary {
    pub id: InviteId,
    pub role: String,
    pub note: Option<String>,
    pub invited_by: PrincipalId,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
    pub accepted_at: Option<Timestamp>,
    pub accepted_by: Option<PrincipalId>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("in range")
    }

    fn open(role: Role) -> Invitation {
        Invitation { role, expires_at: at(100), revoked_at: None, accepted_at: None }
    }

    #[test]
    fn open_invitation_grants_its_role_until_it_expires() {
        let invitation = open(Role::Developer);
        assert_eq!(accept(&invitation, Some(Role::Operator), None, at(99)), Ok(Role::Developer));
        let late = accept(&invitation, Some(Role::Operator), None, at(100));
        assert_eq!(late, Err(InvitationError::Invalid));
    }

    #[test]
    fn accepted_or_revoked_invitation_is_rejected() {
        let used = Invitation { accepted_at: Some(at(1)), ..open(Role::Viewer) };
        let revoked = Invitation { revoked_at: Some(at(1)), ..open(Role::Viewer) };
        for invitation in [used, revoked] {
            let result = accept(&invitation, Some(Role::Owner), None, at(2));
            assert_eq!(result, Err(InvitationError::Invalid));
        }
    }

    fn any_role() -> impl Strategy<Value = Role> {
        proptest::sample::select(Role::ALL)
    }

    proptest! {
        #[test]
        fn granted_role_is_within_the_inviters_and_never_lowers_a_role(
            offered in any_role(),
            inviter in proptest::option::of(any_role()),
            current in proptest::option::of(any_role()),
        ) {
            match accept(&open(offered), inviter, current, at(0)) {
                Ok(given) => {
                    prop_assert!(inviter.is_some_and(|inviter| inviter.may_grant(given)));
                    prop_assert!(current.is_none_or(|current| current < given));
                    prop_assert_eq!(given, offered);
                }
                Err(InvitationError::AlreadyMember(now)) => prop_assert!(current == Some(now) && now >= offered),
                Err(InvitationError::Invalid) => {
                    prop_assert!(!inviter.is_some_and(|inviter| inviter.may_grant(offered)));
                }
            }
        }
    }
}
