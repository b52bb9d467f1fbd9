//! The authenticated caller and their permissions.
//!
//! An object that the caller may not see is reported as not found, with the same message as an id that does not exist.

use jiff::Timestamp;

use crate::access::principal::TokenKind;
use crate::access::role::{Permission, Right, Role};
use crate::access::subject::SubjectScope;
use crate::ids::{LoginId, PrincipalId, ServiceKeyId, TenantId};

/// The caller's role in a tenant. Loaded from the database for each request, never taken from a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TenantRole {
    pub tenant: TenantId,
    pub role: Role,
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
    /// Only of an external subject.
    pub subject: Option<SubjectScope>,
    pub expires_at: Timestamp,
    /// Whether the caller operates the installation. This alone gives no access to tenants.
    pub is_operator: bool,
}

/// The tenants that a list over several tenants may show to a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisibleTenants {
    /// Those that the principal is a member of.
    OfMemberships,
    /// The tenant of a service key, even if its principal is a member of others.
    Only(TenantId),
    Nothing,
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
    /// The caller is a member, but only a person may do this.
    #[error("only a person can do this, not a program: sign in and use your own token")]
    UserTokenRequired,
}

impl Caller {
    /// Checks a right in a tenant. Returns the caller's role there. A service key has a role in its own tenant, whichever
    /// tenant the request names.
    pub fn check<R: Right>(&self, tenant: TenantId) -> Result<TenantRole, AccessDenied> {
        let found = self.tenant.filter(|found| found.tenant == tenant && self.can_hold_permissions());
        let found = found.ok_or(AccessDenied::NotFound)?;
        match R::PERMISSION {
            Some(permission) if !found.role.allows(permission) => Err(AccessDenied::Forbidden(permission)),
            Some(_) | None => Ok(found),
        }
    }

    /// Returns the tenants that a list over several tenants may show.
    #[must_use]
    pub fn visible_tenants(&self) -> VisibleTenants {
        match (self.kind, self.tenant) {
            (TokenKind::User | TokenKind::Agent, _) => VisibleTenants::OfMemberships,
            (TokenKind::Service, Some(own)) => VisibleTenants::Only(own.tenant),
            (TokenKind::Service, None) | (TokenKind::External | TokenKind::Enrolment | TokenKind::Run, _) => {
                VisibleTenants::Nothing
            }
        }
    }

    /// Returns the person who asks, for what no program may do in their place.
    pub fn person(&self) -> Result<PrincipalId, AccessDenied> {
        match self.kind {
            TokenKind::User => Ok(self.principal),
            TokenKind::Agent
            | TokenKind::Service
            | TokenKind::External
            | TokenKind::Enrolment
            | TokenKind::Run => Err(AccessDenied::UserTokenRequired),
        }
    }

    /// Returns whether tokens of this kind can hold permissions. Tokens of external subjects, enrolments and runs give
    /// access to the object they name and to nothing else, even if a membership was loaded.
    #[must_use]
    pub fn can_hold_permissions(&self) -> bool {
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
            subject: None,
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
    use crate::access::role::rights::{Membership, RunsRead, RunsWrite, TenantManage};

    fn check<R: Right>(caller: &Caller, number: u128) -> Result<(), AccessDenied> {
        caller.check::<R>(tenant(number)).map(|_| ())
    }

    #[test]
    fn forbidden_error_names_the_missing_permission() {
        let viewer = caller(TokenKind::User, Some((7, Role::Viewer)));
        let denied = check::<RunsWrite>(&viewer, 7).expect_err("a viewer cannot write");
        assert_eq!(denied, AccessDenied::Forbidden(Permission::RunsWrite));
        assert_eq!(
            denied.to_string(),
            "your role lacks the permission runs:write: ask an owner or operator of the tenant for a role that has it"
        );
        assert_eq!(check::<RunsRead>(&viewer, 7), Ok(()));
        assert_eq!(check::<Membership>(&viewer, 7), Ok(()));
    }

    #[test]
    fn role_in_another_tenant_gives_no_right() {
        for kind in [TokenKind::User, TokenKind::Service] {
            let owner = caller(kind, Some((8, Role::Owner)));
            assert_eq!(check::<RunsRead>(&owner, 7), Err(AccessDenied::NotFound), "{kind}");
            assert_eq!(check::<Membership>(&owner, 7), Err(AccessDenied::NotFound), "{kind}");
        }
    }

    #[test]
    fn only_people_and_agents_list_the_tenants_of_their_memberships() {
        let member = |kind| caller(kind, Some((7, Role::Owner))).visible_tenants();
        assert_eq!(member(TokenKind::User), VisibleTenants::OfMemberships);
        assert_eq!(member(TokenKind::Agent), VisibleTenants::OfMemberships);
        assert_eq!(member(TokenKind::Service), VisibleTenants::Only(tenant(7)));
        for kind in [TokenKind::External, TokenKind::Enrolment, TokenKind::Run] {
            assert_eq!(member(kind), VisibleTenants::Nothing, "{kind}");
        }
    }

    proptest! {
        #[test]
        fn right_requires_the_role_in_the_tenant_of_the_request(caller in any_caller(), number in 6u128..9) {
            let expected = |permission| {
                let found = caller.tenant.filter(|found| found.tenant == tenant(number));
                match found.filter(|_| caller.can_hold_permissions()) {
                    Some(found) if found.role.allows(permission) => Ok(()),
                    Some(_) => Err(AccessDenied::Forbidden(permission)),
                    None => Err(AccessDenied::NotFound),
                }
            };
            prop_assert_eq!(check::<RunsRead>(&caller, number), expected(Permission::RunsRead));
            prop_assert_eq!(check::<RunsWrite>(&caller, number), expected(Permission::RunsWrite));
            prop_assert_eq!(check::<TenantManage>(&caller, number), expected(Permission::TenantManage));
        }
    }
}
