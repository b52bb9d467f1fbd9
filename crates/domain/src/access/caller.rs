//! The authenticated caller and their permissions.
//!
//! Every object is loaded through a caller. An object that the caller may not see is reported as not found, with the
//! same message as an id that does not exist.

use jiff::Timestamp;

use crate::access::principal::TokenKind;
use crate::access::role::{Permission, Right, Role};
use crate::ids::{LoginId, PrincipalId, ServiceKeyId, TenantId};

/// The caller's role in a tenant. Loaded from the database for each request, never taken from a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TenantRole {
    pub tenant: TenantId,
    pub role: Role,
}

impl TenantRole {
    /// Requires a permission in this tenant.
    pub(super) fn require(self, permission: Permission) -> Result<(), AccessDenied> {
        if self.role.allows(permission) { Ok(()) } else { Err(AccessDenied::Forbidden(permission)) }
    }
}

/// An authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub principal: PrincipalId,
    pub kind: TokenKind,
    pub login: Option<LoginId>,
    /// The service key of the caller, or the one that issued the token of an external subject.
    pub key: Option<ServiceKeyId>,
    pub tenant: Option<TenantRole>,
    /// The tenant whose application an external subject belongs to. The subject has no role in it.
    pub subject_of: Option<TenantId>,
    pub expires_at: Timestamp,
    /// Whether the caller operates the installation. This alone gives no access to tenants.
    pub is_operator: bool,
}

/// Why access is denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AccessDenied {
    /// The caller must not learn whether the object exists.
    #[error("no such object, or you have no access to it")]
    NotFound,
    /// The caller is a member, but their role lacks the permission.
    #[error(
        "your role lacks the permission {0}: ask an owner or operator of the tenant for a role that has it"
    )]
    Forbidden(Permission),
    /// The caller is a member, but only a service key may do this.
    #[error("only a service key of the tenant can do this: use one instead of your own token")]
    ServiceKeyRequired,
}

impl Caller {
    /// Returns whether the caller has a right in a tenant now. Open streams ask this again and again.
    #[must_use]
    pub fn has<R: Right>(&self, tenant: TenantId) -> bool {
        let role = self.role().filter(|role| role.tenant == tenant);
        role.is_some_and(|role| R::PERMISSION.is_none_or(|permission| role.role.allows(permission)))
    }

    /// Returns whether the caller's token has expired. Its open streams end with it.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now >= self.expires_at
    }

    /// Returns the caller's role in the tenant of this request.
    pub(super) fn role(&self) -> Option<TenantRole> {
        self.tenant.filter(|_| self.can_hold_permissions())
    }

    /// Returns whether tokens of this kind can hold permissions. Tokens of external subjects, enrolments and runs give
    /// access to the object they name and to nothing else, even if a membership was loaded.
    pub(super) fn can_hold_permissions(&self) -> bool {
        match self.kind {
            TokenKind::User | TokenKind::Agent | TokenKind::Service => true,
            TokenKind::External | TokenKind::Enrolment | TokenKind::Run => false,
        }
    }
}

#[cfg(test)]
pub(super) mod test_caller {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    pub(crate) fn tenant(number: u128) -> TenantId {
        TenantId::from_uuid(Uuid::from_u128(number))
    }

    pub(crate) fn caller(kind: TokenKind, role: Option<(u128, Role)>) -> Caller {
        Caller {
            principal: PrincipalId::from_uuid(Uuid::from_u128(1)),
            kind,
            login: None,
            key: None,
            subject_of: None,
            tenant: role.map(|(number, role)| TenantRole { tenant: tenant(number), role }),
            expires_at: Timestamp::from_second(1_800_000_000).expect("in range"),
            is_operator: false,
        }
    }

    pub(crate) fn any_caller() -> impl Strategy<Value = Caller> {
        let kind = proptest::sample::select(TokenKind::ALL);
        let role = proptest::option::of((6u128..9, proptest::sample::select(Role::ALL)));
        (kind, role, any::<bool>())
            .prop_map(|(kind, role, is_operator)| Caller { is_operator, ..caller(kind, role) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::test_caller::{any_caller, caller, tenant};
    use super::*;
    use crate::access::authorized::Authorized;
    use crate::access::role::rights::{Membership, RunsErase, RunsRead};

    #[test]
    fn caller_is_expired_from_the_expiry_time_on() {
        let caller = caller(TokenKind::User, None);
        let second_before = Timestamp::from_second(1_799_999_999).expect("in range");
        assert!(!caller.is_expired(second_before));
        assert!(caller.is_expired(caller.expires_at));
    }

    proptest! {
        #[test]
        fn caller_has_a_right_only_where_they_are_authorized(caller in any_caller(), number in 6u128..9) {
            fn is_authorized<R: Right>(caller: &Caller, tenant: TenantId) -> bool {
                Authorized::<R>::new(caller.clone(), tenant).is_ok()
            }
            let tenant = tenant(number);
            prop_assert_eq!(caller.has::<RunsRead>(tenant), is_authorized::<RunsRead>(&caller, tenant));
            prop_assert_eq!(caller.has::<RunsErase>(tenant), is_authorized::<RunsErase>(&caller, tenant));
            prop_assert_eq!(caller.has::<Membership>(tenant), is_authorized::<Membership>(&caller, tenant));
        }
    }
}
