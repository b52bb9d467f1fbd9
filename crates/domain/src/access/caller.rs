//! The caller: whom the edge found behind a token, and what they may do.
//!
//! Every object is loaded through a caller. What a caller may not know of is reported as not found, with the same words
//! as for an id that never existed.

use jiff::Timestamp;

use crate::access::principal::TokenKind;
use crate::access::role::{Right, Role};
use crate::ids::{LoginId, PrincipalId, ServiceKeyId, TenantId};

/// A tenant and the role that the caller has in it. Loaded with each request, never read from a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acting {
    pub tenant: TenantId,
    pub role: Role,
}

impl Acting {
    /// Asks for a right in this tenant.
    pub fn require(self, right: Right) -> Result<(), Denied> {
        if self.role.allows(right) { Ok(()) } else { Err(Denied::Forbidden(right)) }
    }
}

/// Who asks, and on whose behalf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub principal: PrincipalId,
    pub kind: TokenKind,
    pub login: Option<LoginId>,
    /// The service key that asks, or that vouches for the external subject who asks.
    pub key: Option<ServiceKeyId>,
    pub tenant: Option<Acting>,
    /// The tenant whose application an external subject belongs to. They have no role there.
    pub subject_of: Option<TenantId>,
    pub expires_at: Timestamp,
    /// Whether they operate the whole installation. That alone opens no tenant.
    pub is_operator: bool,
}

/// Why a caller does not get what they ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The caller may not know whether the object exists.
    #[error("no such object, or it is not yours to know of")]
    NotFound,
    /// The caller is a member, so may know, but their role lacks the right.
    #[error("your role lacks the right {0}: ask an owner or operator of the tenant for a role that has it")]
    Forbidden(Right),
    /// The caller may know, but only a program of the tenant may do this.
    #[error("only a service key of the tenant may do this: use one in place of your own token")]
    NotAKey,
}

impl Caller {
    /// Returns the caller's standing in a tenant, if it is the one they act in.
    pub fn acting(&self, tenant: TenantId) -> Result<Acting, Denied> {
        self.standing().filter(|acting| acting.tenant == tenant).ok_or(Denied::NotFound)
    }

    /// Asks for a right in the tenant that the caller acts in.
    pub fn require(&self, right: Right) -> Result<(), Denied> {
        self.standing().ok_or(Denied::NotFound)?.require(right)
    }

    /// Asks that the caller operates the installation. Who does not, learns of nothing there.
    pub fn require_operator(&self) -> Result<(), Denied> {
        if self.is_operator && holds_rights(self.kind) { Ok(()) } else { Err(Denied::NotFound) }
    }

    /// Asks for a right in a tenant as one of its service keys, and returns the key.
    pub fn require_key(&self, tenant: TenantId, right: Right) -> Result<ServiceKeyId, Denied> {
        let acting = self.acting(tenant)?;
        let key = self.key.filter(|_| self.kind == TokenKind::Service).ok_or(Denied::NotAKey)?;
        acting.require(right)?;
        Ok(key)
    }

    /// Returns whether the caller's authority is over, and with it every stream opened under it.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now >= self.expires_at
    }

    fn standing(&self) -> Option<Acting> {
        self.tenant.filter(|_| holds_rights(self.kind))
    }
}

/// Returns whether a token of this kind can carry rights over a tenant at all. External subjects, enrolling runners and
/// runs reach what their token names and nothing else, even where a membership was loaded beside it.
fn holds_rights(kind: TokenKind) -> bool {
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

    fn caller(kind: TokenKind, acting: Option<(u128, Role)>) -> Caller {
        Caller {
            principal: PrincipalId::from_uuid(Uuid::from_u128(1)),
            kind,
            login: None,
            key: None,
            subject_of: None,
            tenant: acting.map(|(number, role)| Acting { tenant: tenant(number), role }),
            expires_at: Timestamp::from_second(1_800_000_000).expect("in range"),
            is_operator: false,
        }
    }

    #[test]
    fn a_member_without_the_right_is_told_which_one_is_missing() {
        let viewer = caller(TokenKind::User, Some((7, Role::Viewer)));
        let denied = viewer.require(Right::RunsWrite).expect_err("a viewer only sees");
        assert_eq!(denied, Denied::Forbidden(Right::RunsWrite));
        assert_eq!(
            denied.to_string(),
            "your role lacks the right runs:write: ask an owner or operator of the tenant for a role that has it"
        );
        assert_eq!(viewer.require(Right::RunsRead), Ok(()));
    }

    #[test]
    fn another_tenant_does_not_exist_for_the_caller() {
        let owner = caller(TokenKind::User, Some((7, Role::Owner)));
        assert_eq!(owner.acting(tenant(7)), Ok(Acting { tenant: tenant(7), role: Role::Owner }));
        assert_eq!(owner.acting(tenant(8)), Err(Denied::NotFound));
        assert_eq!(caller(TokenKind::User, None).acting(tenant(7)), Err(Denied::NotFound));
    }

    #[test]
    fn to_operate_the_installation_opens_no_tenant() {
        let operator = Caller { is_operator: true, ..caller(TokenKind::User, None) };
        assert_eq!(operator.require_operator(), Ok(()));
        for right in Right::ALL {
            assert_eq!(operator.require(*right), Err(Denied::NotFound), "{right}");
        }
        assert_eq!(caller(TokenKind::User, None).require_operator(), Err(Denied::NotFound));
    }

    /// Even a token whose bearer is an owner, and operator besides.
    #[test]
    fn external_enrolment_and_run_tokens_have_no_right_over_any_tenant() {
        for kind in [TokenKind::External, TokenKind::Enrolment, TokenKind::Run] {
            let caller = Caller { is_operator: true, ..caller(kind, Some((7, Role::Owner))) };
            for right in Right::ALL {
                assert_eq!(caller.require(*right), Err(Denied::NotFound), "{kind} {right}");
            }
            assert_eq!(caller.acting(tenant(7)), Err(Denied::NotFound), "{kind}");
            assert_eq!(caller.require_operator(), Err(Denied::NotFound), "{kind}");
        }
    }

    #[test]
    fn what_is_for_service_keys_is_refused_to_everybody_else() {
        let key = ServiceKeyId::from_uuid(Uuid::from_u128(9));
        let holder = |kind, role| Caller { key: Some(key), ..caller(kind, Some((7, role))) };
        let asks = |caller: &Caller, number| caller.require_key(tenant(number), Right::SubjectsVouch);
        let service = holder(TokenKind::Service, Role::Developer);
        assert_eq!(asks(&service, 7), Ok(key));
        assert_eq!(asks(&service, 8), Err(Denied::NotFound));
        let viewer = holder(TokenKind::Service, Role::Viewer);
        assert_eq!(asks(&viewer, 7), Err(Denied::Forbidden(Right::SubjectsVouch)));
        assert_eq!(asks(&caller(TokenKind::User, Some((7, Role::Owner))), 7), Err(Denied::NotAKey));
        for kind in [TokenKind::External, TokenKind::Enrolment, TokenKind::Run] {
            assert_eq!(asks(&holder(kind, Role::Owner), 7), Err(Denied::NotFound), "{kind}");
        }
    }

    #[test]
    fn authority_ends_at_the_instant_it_expires() {
        let caller = caller(TokenKind::User, None);
        let second_before = Timestamp::from_second(1_799_999_999).expect("in range");
        assert!(!caller.is_expired(second_before));
        assert!(caller.is_expired(caller.expires_at));
    }

    fn any_caller() -> impl Strategy<Value = Caller> {
        let kind = proptest::sample::select(TokenKind::ALL);
        let acting = proptest::option::of((0u128..3, proptest::sample::select(Role::ALL)));
        (kind, acting, any::<bool>())
            .prop_map(|(kind, acting, is_operator)| Caller { is_operator, ..caller(kind, acting) })
    }

    proptest! {
        #[test]
        fn a_right_is_had_only_in_the_tenant_acted_in_and_only_by_its_role(
            caller in any_caller(),
            number in 0u128..3,
            right in proptest::sample::select(Right::ALL),
        ) {
            let allowed = caller.acting(tenant(number)).and_then(|acting| acting.require(right));
            let expected = match caller.tenant.filter(|acting| acting.tenant == tenant(number)) {
                Some(acting) if holds_rights(caller.kind) && acting.role.allows(right) => Ok(()),
                Some(_) if holds_rights(caller.kind) => Err(Denied::Forbidden(right)),
                Some(_) | None => Err(Denied::NotFound),
            };
            prop_assert_eq!(allowed, expected);
        }
    }
}
