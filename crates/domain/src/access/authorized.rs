//! Proofs of authority. A service method names in its signature what the caller must be allowed to do, and a value of
//! these types exists only after the check, so that no method can forget it.

use std::marker::PhantomData;
use std::ops::Deref;

use crate::access::caller::{AccessDenied, Caller, TenantRole};
use crate::access::principal::TokenKind;
use crate::access::role::{Right, Role};
use crate::access::subject::SubjectScope;
use crate::ids::{ServiceKeyId, TenantId};

/// An object that belongs to a tenant.
pub trait TenantObject {
    fn tenant(&self) -> TenantId;
}

/// A caller who has the right `R` in one tenant.
#[derive(Debug)]
pub struct Authorized<R> {
    caller: Caller,
    tenant: TenantId,
    /// None for an external subject.
    role: Option<Role>,
    right: PhantomData<fn() -> R>,
}

impl<R: Right> Authorized<R> {
    /// Checks that the caller has the right in the tenant that the request is about.
    pub fn new(caller: Caller, tenant: TenantId) -> Result<Self, AccessDenied> {
        let TenantRole { tenant, role } = caller.check::<R>(tenant)?;
        Ok(Self { caller, tenant, role: Some(role), right: PhantomData })
    }

    /// Returns the proof of an external subject. It is the caller of this function that keeps it to the subject's own
    /// objects.
    pub(super) fn of_subject(caller: Caller, scope: SubjectScope) -> Self {
        Self { caller, tenant: scope.tenant, role: None, right: PhantomData }
    }

    #[must_use]
    pub fn tenant(&self) -> TenantId {
        self.tenant
    }

    /// Returns the role of a member; none for an external subject.
    #[must_use]
    pub fn role(&self) -> Option<Role> {
        self.role
    }

    /// Returns the caller without the right.
    #[must_use]
    pub fn into_caller(self) -> Caller {
        self.caller
    }

    /// Returns a loaded object if it belongs to the tenant. One of another tenant does not exist.
    pub fn load<T: TenantObject>(&self, found: Option<T>) -> Result<T, AccessDenied> {
        found.filter(|found| found.tenant() == self.tenant()).ok_or(AccessDenied::NotFound)
    }

    /// Returns the service key of the caller, for what only a service key may do.
    pub fn service_key(&self) -> Result<ServiceKeyId, AccessDenied> {
        let is_service = self.caller.kind == TokenKind::Service;
        self.caller.key.filter(|_| is_service).ok_or(AccessDenied::ServiceKeyRequired)
    }
}

impl<R> Deref for Authorized<R> {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

/// An operator of the installation. This alone gives no access to tenants.
#[derive(Debug)]
pub struct InstallationOperator(Caller);

impl InstallationOperator {
    /// Checks that the caller is an operator. For everyone else the object does not exist.
    pub fn new(caller: Caller) -> Result<Self, AccessDenied> {
        if caller.is_operator && caller.can_hold_permissions() {
            return Ok(Self(caller));
        }
        Err(AccessDenied::NotFound)
    }
}

impl Deref for InstallationOperator {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::access::caller::test_caller::{caller, tenant};
    use crate::access::role::rights::{AgentsManage, Membership, RunsRead, SubjectsVouch};

    struct Document(TenantId);

    impl TenantObject for Document {
        fn tenant(&self) -> TenantId {
            self.0
        }
    }

    /// Checks a right in tenant 7.
    fn check<R: Right>(caller: &Caller) -> Result<TenantId, AccessDenied> {
        Authorized::<R>::new(caller.clone(), tenant(7)).map(|authorized| authorized.tenant())
    }

    #[test]
    fn object_of_another_tenant_is_not_found() {
        let owner = caller(TokenKind::User, Some((7, Role::Owner)));
        let owner = Authorized::<RunsRead>::new(owner, tenant(7)).expect("an owner reads");
        assert!(owner.load(Some(Document(tenant(7)))).is_ok());
        assert_eq!(owner.load(Some(Document(tenant(8)))).err(), Some(AccessDenied::NotFound));
        assert_eq!(owner.load(None::<Document>).err(), Some(AccessDenied::NotFound));
    }

    #[test]
    fn installation_operator_has_no_tenant_permissions() {
        let operator = Caller { is_operator: true, ..caller(TokenKind::User, None) };
        assert!(InstallationOperator::new(operator.clone()).is_ok());
        assert_eq!(check::<RunsRead>(&operator), Err(AccessDenied::NotFound));
        assert_eq!(check::<Membership>(&operator), Err(AccessDenied::NotFound));
        let person = InstallationOperator::new(caller(TokenKind::User, None));
        assert_eq!(person.err(), Some(AccessDenied::NotFound));
    }

    /// Even for an owner of the tenant who also operates the installation.
    #[test]
    fn external_enrolment_and_run_tokens_have_no_rights() {
        for kind in [TokenKind::External, TokenKind::Enrolment, TokenKind::Run] {
            let caller = Caller { is_operator: true, ..caller(kind, Some((7, Role::Owner))) };
            assert_eq!(check::<RunsRead>(&caller), Err(AccessDenied::NotFound), "{kind}");
            assert_eq!(check::<Membership>(&caller), Err(AccessDenied::NotFound), "{kind}");
            assert_eq!(InstallationOperator::new(caller).err(), Some(AccessDenied::NotFound), "{kind}");
        }
    }

    // covers: M1
    #[test]
    fn only_a_user_token_is_a_person() {
        for kind in [TokenKind::User, TokenKind::Agent, TokenKind::Service] {
            let owner = Authorized::<AgentsManage>::new(caller(kind, Some((7, Role::Owner))), tenant(7));
            let owner = owner.expect("the role allows it");
            let expected = match kind {
                TokenKind::User => Ok(owner.principal),
                TokenKind::Agent
                | TokenKind::Service
                | TokenKind::External
                | TokenKind::Enrolment
                | TokenKind::Run => Err(AccessDenied::UserTokenRequired),
            };
            assert_eq!(owner.person(), expected, "{kind}");
        }
    }

    #[test]
    fn only_a_service_key_can_act_as_one() {
        let key = ServiceKeyId::from_uuid(Uuid::from_u128(9));
        let service_key = |kind| {
            let holder = Caller { key: Some(key), ..caller(kind, Some((7, Role::Developer))) };
            Authorized::<SubjectsVouch>::new(holder, tenant(7))
                .and_then(|authorized| authorized.service_key())
        };
        assert_eq!(service_key(TokenKind::Service), Ok(key));
        assert_eq!(service_key(TokenKind::User), Err(AccessDenied::ServiceKeyRequired));
    }
}
