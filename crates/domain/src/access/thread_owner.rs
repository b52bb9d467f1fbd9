//! Who may use a conversation: whoever has started it.

use std::ops::Deref;

use crate::access::authorized::Authorized;
use crate::access::caller::{AccessDenied, Caller};
use crate::access::principal::TokenKind;
use crate::access::role::Right;
use crate::access::role::rights::{RunsRead, RunsWrite};
use crate::ids::{AgentId, TenantId};

/// A caller in their own threads: a member with the right `R`, or an external subject with one agent.
#[derive(Debug)]
pub struct ThreadOwner<R> {
    authorized: Authorized<R>,
    /// The only agent of an external subject; none for a member.
    only_agent: Option<AgentId>,
}

impl<R: Right> ThreadOwner<R> {
    /// Checks that the caller may use threads in a tenant.
    pub fn new(caller: Caller, tenant: TenantId) -> Result<Self, AccessDenied> {
        if caller.kind != TokenKind::External {
            return Ok(Self { authorized: Authorized::new(caller, tenant)?, only_agent: None });
        }
        let scope = caller.subject.filter(|scope| scope.tenant == tenant && scope.agent.is_some());
        let scope = scope.ok_or(AccessDenied::NotFound)?;
        Ok(Self { authorized: Authorized::of_subject(caller, scope), only_agent: scope.agent })
    }

    #[must_use]
    pub fn tenant(&self) -> TenantId {
        self.authorized.tenant()
    }

    /// Returns the only agent of an external subject.
    #[must_use]
    pub fn only_agent(&self) -> Option<AgentId> {
        self.only_agent
    }

    /// Checks that the caller may use an agent of the tenant.
    pub fn check_agent(&self, agent: AgentId) -> Result<(), AccessDenied> {
        if self.only_agent.is_none_or(|only| only == agent) { Ok(()) } else { Err(AccessDenied::NotFound) }
    }

    /// Returns the right, for what belongs to a thread of the caller and for nothing else.
    #[must_use]
    pub fn in_own_thread(&self) -> &Authorized<R> {
        &self.authorized
    }
}

impl ThreadOwner<RunsWrite> {
    /// Returns the same caller with the right to read, which everyone has who may write.
    pub fn as_reader(&self) -> Result<ThreadOwner<RunsRead>, AccessDenied> {
        ThreadOwner::new(Caller::clone(self), self.tenant())
    }
}

impl<R> Deref for ThreadOwner<R> {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.authorized
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::access::caller::test_caller::{any_caller, caller, tenant};
    use crate::access::role::Role;
    use crate::access::subject::SubjectScope;

    fn subject(scope: Option<SubjectScope>) -> Caller {
        Caller { subject: scope, ..caller(TokenKind::External, Some((7, Role::Owner))) }
    }

    #[test]
    fn subject_uses_one_agent_in_the_tenant_of_its_token() {
        let agent = AgentId::generate();
        let scope = SubjectScope { tenant: tenant(7), agent: Some(agent) };
        let owner = ThreadOwner::<RunsWrite>::new(subject(Some(scope)), tenant(7)).expect("its own tenant");
        assert_eq!(owner.check_agent(agent), Ok(()));
        assert_eq!(owner.check_agent(AgentId::generate()), Err(AccessDenied::NotFound));
        assert_eq!((owner.in_own_thread().role(), owner.tenant()), (None, tenant(7)));
        assert!(owner.as_reader().is_ok());
        let denied = |scope, number| ThreadOwner::<RunsWrite>::new(subject(scope), tenant(number)).err();
        assert_eq!(denied(Some(scope), 8), Some(AccessDenied::NotFound));
        assert_eq!(denied(Some(SubjectScope { agent: None, ..scope }), 7), Some(AccessDenied::NotFound));
        assert_eq!(denied(None, 7), Some(AccessDenied::NotFound));
    }

    proptest! {
        #[test]
        fn member_needs_the_right_and_may_use_every_agent(caller in any_caller(), number in 6u128..9) {
            prop_assume!(caller.kind != TokenKind::External);
            let expected = Authorized::<RunsWrite>::new(caller.clone(), tenant(number)).map(|found| found.role());
            let owner = ThreadOwner::<RunsWrite>::new(caller, tenant(number));
            if let Ok(owner) = &owner {
                prop_assert_eq!(owner.check_agent(AgentId::generate()), Ok(()));
            }
            prop_assert_eq!(owner.map(|owner| owner.in_own_thread().role()), expected);
        }
    }
}
