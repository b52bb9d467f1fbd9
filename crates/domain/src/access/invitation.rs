//! Invitations: a role in a tenant, offered once to whoever holds the secret.

use jiff::{SignedDuration, Timestamp};

use crate::access::role::{Role, add_member};

/// How long an invitation may lie before it is accepted: a week of holidays, not a forgotten mailbox.
pub const LIFETIME: SignedDuration = SignedDuration::from_hours(7 * 24);

/// What is offered, and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invitation {
    pub role: Role,
    pub expires_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
    pub accepted_at: Option<Timestamp>,
}

/// Why an invitation is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvitationRefusal {
    /// The same words for each reason: whoever holds it need not know what became of it.
    #[error("this invitation is not valid, or no longer: ask for a new one")]
    Invalid,
    #[error("you are a member already, with the role {0}: there is nothing to accept")]
    AlreadyMember(Role),
}

/// Decides whether an invitation is accepted, and returns the role that it gives. `inviter` is what the one who invited
/// is in the tenant now: an invitation gives no more than they could give themselves. `current` is what the one who
/// accepts is there already; an invitation raises a role and never lowers one.
pub fn accept(
    invitation: &Invitation,
    inviter: Option<Role>,
    current: Option<Role>,
    now: Timestamp,
) -> Result<Role, InvitationRefusal> {
    let open = invitation.revoked_at.is_none() && invitation.accepted_at.is_none();
    let may_still_invite = inviter.is_some_and(|inviter| add_member(inviter, invitation.role).is_ok());
    if !open || !may_still_invite || now >= invitation.expires_at {
        return Err(InvitationRefusal::Invalid);
    }
    match current {
        Some(current) if current >= invitation.role => Err(InvitationRefusal::AlreadyMember(current)),
        Some(_) | None => Ok(invitation.role),
    }
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
    fn an_open_invitation_gives_its_role_until_the_instant_it_expires() {
        let invitation = open(Role::Developer);
        assert_eq!(accept(&invitation, Some(Role::Operator), None, at(99)), Ok(Role::Developer));
        let late = accept(&invitation, Some(Role::Operator), None, at(100));
        assert_eq!(late, Err(InvitationRefusal::Invalid));
    }

    #[test]
    fn one_that_was_used_or_revoked_gives_nothing() {
        let used = Invitation { accepted_at: Some(at(1)), ..open(Role::Viewer) };
        let revoked = Invitation { revoked_at: Some(at(1)), ..open(Role::Viewer) };
        for invitation in [used, revoked] {
            let refused = accept(&invitation, Some(Role::Owner), None, at(2));
            assert_eq!(refused, Err(InvitationRefusal::Invalid));
        }
    }

    fn any_role() -> impl Strategy<Value = Role> {
        proptest::sample::select(Role::ALL)
    }

    proptest! {
        #[test]
        fn nobody_gets_what_the_inviter_cannot_give_now_and_nobody_is_lowered(
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
                Err(InvitationRefusal::AlreadyMember(now)) => prop_assert!(current == Some(now) && now >= offered),
                Err(InvitationRefusal::Invalid) => {
                    prop_assert!(!inviter.is_some_and(|inviter| inviter.may_grant(offered)));
                }
            }
        }
    }
}
