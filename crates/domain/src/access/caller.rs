//! The authenticated caller and their permissions.
//!
//! Every object is loaded through a caller. An object that the caller may not see is reported as not found, with the
//! same message as an id that does not exist.

use jiff::Timestamp;

use crate::access::principal::TokenKind;
use crate::access::role::{Permission, Role};
use crate::ids::{LoginId, PrincipalId, ServiceKeyId, TenantId};

/// The caller's role in a tenant. Loaded from the database for each request, never taken from a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TenantRole {
    pub tenant: TenantId,
    pub role: Role,
}

impl TenantRole {
    /// Requires a permission in this tenant.
    pub fn require(self, permission: Permission) -> Result<(), AccessDenied> {
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
    /// Returns the caller's role in a tenant, if it is the tenant of this request.
    pub fn in_tenant(&self, tenant: TenantId) -> Result<TenantRole, AccessDenied> {
        self.effective_role().filter(|role| role.tenant == tenant).ok_or(AccessDenied::NotFound)
    }

    /// Requires a permission in the tenant of this request.
    pub fn require(&self, permission: Permission) -> Result<(), AccessDenied> {
        self.effective_role().ok_or(AccessDenied::NotFound)?.require(permission)
    }

    /// Requires an operator of the installation. For everyone else the object does not exist.
    pub fn require_operator(&self) -> Result<(), AccessDenied> {
        if self.is_operator && can_hold_permissions(self.kind) { Ok(()) } else { Err(AccessDenied::NotFound) }
    }

    /// Requires a service key of the tenant with a permission, and returns the key.
    pub fn require_key(
        &self,
        tenant: TenantId,
        permission: Permission,
    ) -> Result<ServiceKeyId, AccessDenied> {
        let role = self.in_tenant(tenant)?;
        let key =
            self.key.filter(|_| self.kind == TokenKind::Service).ok_or(AccessDenied::ServiceKeyRequired)?;
        role.require(permission)?;
        Ok(key)
    }

    /// Returns whether the caller's token has expired. Its open streams end with it.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now >= self.expires_at
    }

    fn effective_role(&self) -> Option<TenantRole> {
        self.tenant.filter(|_| can_hold_permissions(self.kind))
    }
}

/// Returns whether tokens of this kind can hold tenant permissions. Tokens of external subjects, enrolments and runs
/// give access to the object they name and to nothing else, even if a membership was loaded.
fn can_hold_permissions(kind: TokenKind) -> bool {
    match kind {
        TokenKind::User | TokenKind::Agent | TokenKind::Service => true,
        TokenKind::External | TokenKind::Enrolment | TokenKind::Run => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    fn tenant(number: u128) -> TenantId {
        TenantId::from_uuid(Uuid::from_u128(number))
    }

    fn caller(kind: TokenKind, role: Option<(u128, Role)>) -> Caller {
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

    #[test]
    fn member_without_the_permission_gets_its_name() {
        let viewer = caller(TokenKind::User, Some((7, Role::Viewer)));
        let denied = viewer.require(Permission::RunsWrite).expect_err("a viewer cannot write");
        assert_eq!(denied, AccessDenied::Forbidden(Permission::RunsWrite));
        assert_eq!(
            denied.to_string(),
            "your role lacks the permission runs:write: ask an owner or operator of the tenant for a role that has it"
        );
        assert_eq!(viewer.require(Permission::RunsRead), Ok(()));
    }

    #[test]
    fn other_tenant_is_not_found() {
        let owner = caller(TokenKind::User, Some((7, Role::Owner)));
        assert_eq!(owner.in_tenant(tenant(7)), Ok(TenantRole { tenant: tenant(7), role: Role::Owner }));
        assert_eq!(owner.in_tenant(tenant(8)), Err(AccessDenied::NotFound));
        assert_eq!(caller(TokenKind::User, None).in_tenant(tenant(7)), Err(AccessDenied::NotFound));
    }

    #[test]
    fn installation_operator_has_no_tenant_permissions() {
        let operator = Caller { is_operator: true, ..caller(TokenKind::User, None) };
        assert_eq!(operator.require_operator(), Ok(()));
        for permission in Permission::ALL {
            assert_eq!(operator.require(*permission), Err(AccessDenied::NotFound), "{permission}");
        }
        assert_eq!(caller(TokenKind::User, None).require_operator(), Err(AccessDenied::NotFound));
    }

    /// Even for an owner of the tenant who also operates the installation.
    #[test]
    fn external_enrolment_and_run_tokens_have_no_tenant_permissions() {
        for kind in [TokenKind::External, TokenKind::Enrolment, TokenKind::Run] {
            let caller = Caller { is_operator: true, ..caller(kind, Some((7, Role::Owner))) };
            for permission in Permission::ALL {
                assert_eq!(caller.require(*permission), Err(AccessDenied::NotFound), "{kind} {permission}");
            }
            assert_eq!(caller.in_tenant(tenant(7)), Err(AccessDenied::NotFound), "{kind}");
            assert_eq!(caller.require_operator(), Err(AccessDenied::NotFound), "{kind}");
        }
    }

    #[test]
    fn require_key_accepts_only_service_keys_of_the_tenant() {
        let key = ServiceKeyId::from_uuid(Uuid::from_u128(9));
        let holder = |kind, role| Caller { key: Some(key), ..caller(kind, Some((7, role))) };
        let require_key =
            |caller: &Caller, number| caller.require_key(tenant(number), Permission::SubjectsVouch);
        let service = holder(TokenKind::Service, Role::Developer);
        assert_eq!(require_key(&service, 7), Ok(key));
        assert_eq!(require_key(&service, 8), Err(AccessDenied::NotFound));
        let viewer = holder(TokenKind::Service, Role::Viewer);
        assert_eq!(require_key(&viewer, 7), Err(AccessDenied::Forbidden(Permission::SubjectsVouch)));
        assert_eq!(
            require_key(&caller(TokenKind::User, Some((7, Role::Owner))), 7),
            Err(AccessDenied::ServiceKeyRequired)
        );
        for kind in [TokenKind::External, TokenKind::Enrolment, TokenKind::Run] {
            assert_eq!(require_key(&holder(kind, Role::Owner), 7), Err(AccessDenied::NotFound), "{kind}");
        }
    }

    #[test]
    fn caller_is_expired_from_the_expiry_time_on() {
        let caller = caller(TokenKind::User, None);
        let second_before = Timestamp::from_second(1_799_999_999).expect("in range");
        assert!(!caller.is_expired(second_before));
        assert!(caller.is_expired(caller.expires_at));
    }

    fn any_caller() -> impl Strategy<Value = Caller> {
        let kind = proptest::sample::select(TokenKind::ALL);
        let role = proptest::option::of((0u128..3, proptest::sample::select(Role::ALL)));
        (kind, role, any::<bool>())
            .prop_map(|(kind, role, is_operator)| Caller { is_operator, ..caller(kind, role) })
    }

    proptest! {
        #[test]
        fn permission_requires_the_role_in_the_tenant_of_the_request(
            caller in any_caller(),
            number in 0u128..3,
            permission in proptest::sample::select(Permission::ALL),
        ) {
            let allowed = caller.in_tenant(tenant(number)).and_then(|role| role.require(permission));
            let expected = match caller.tenant.filter(|role| role.tenant == tenant(number)) {
                Some(found) if can_hold_permissions(caller.kind) && found.role.allows(permission) => Ok(()),
                Some(_) if can_hold_permissions(caller.kind) => Err(AccessDenied::Forbidden(permission)),
                Some(_) | None => Err(AccessDenied::NotFound),
            };
            prop_assert_eq!(allowed, expected);
        }
    }
}
