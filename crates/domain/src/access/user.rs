//! Users as operators see them, and the rules for changing them.

use jiff::Timestamp;

use crate::ids::PrincipalId;

/// A person with an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub id: PrincipalId,
    /// The name to sign in with. Of a user without a password, the name that the identity provider sent.
    pub name: String,
    pub is_operator: bool,
    pub created_at: Timestamp,
    pub disabled_at: Option<Timestamp>,
    /// Without one, the user signs in through the identity provider.
    pub has_password: bool,
    /// The end of the lock after failed sign-ins; none if the user is not locked.
    pub locked_until: Option<Timestamp>,
}

/// The users in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserFilter<'a> {
    All,
    /// Users with exactly this name.
    Name(&'a str),
    /// Users whose name starts with this text, in upper or lower case.
    NamePrefix(&'a str),
}

/// Why a user cannot be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UserError {
    #[error("this is the last operator of the installation: enable another operator first")]
    LastOperator,
    #[error("operators change their own password with the current one: use `guildhall passwd`")]
    OwnPassword,
    #[error("this user has no password: they sign in through the identity provider")]
    NoPassword,
}

/// Decides whether a user can be disabled. `operators` is the number of operators who are not disabled, including this
/// user. It must be read under a lock that blocks concurrent changes.
pub fn disable(user: &User, operators: usize) -> Result<(), UserError> {
    let removes_operator = user.is_operator && user.disabled_at.is_none();
    if removes_operator && operators <= 1 { Err(UserError::LastOperator) } else { Ok(()) }
}

/// Decides whether an operator can set a user's password. With a stolen token of an operator, their own password cannot
/// be replaced.
pub fn reset_password(operator: PrincipalId, user: &User) -> Result<(), UserError> {
    if operator == user.id {
        return Err(UserError::OwnPassword);
    }
    if user.has_password { Ok(()) } else { Err(UserError::NoPassword) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("in range")
    }

    fn user(is_operator: bool) -> User {
        User {
            id: PrincipalId::generate(),
            name: "ada".to_owned(),
            is_operator,
            created_at: at(0),
            disabled_at: None,
            has_password: true,
            locked_until: None,
        }
    }

    #[test]
    fn operator_resets_the_password_of_others_who_have_one() {
        let (operator, ada) = (user(true), user(false));
        assert_eq!(reset_password(operator.id, &ada), Ok(()));
        assert_eq!(reset_password(operator.id, &operator), Err(UserError::OwnPassword));
        let external = User { has_password: false, ..ada };
        assert_eq!(reset_password(operator.id, &external), Err(UserError::NoPassword));
    }

    proptest! {
        #[test]
        fn random_changes_keep_an_enabled_operator(
            others in proptest::collection::vec(any::<bool>(), 0..5),
            steps in proptest::collection::vec((0usize..6, any::<bool>()), 0..60),
        ) {
            let mut users: Vec<User> =
                std::iter::once(true).chain(others).map(user).collect();
            let count = |users: &[User]| {
                users.iter().filter(|user| user.is_operator && user.disabled_at.is_none()).count()
            };
            for (index, is_disable) in steps {
                let (operators, index) = (count(&users), index % users.len());
                if !is_disable {
                    users[index].disabled_at = None;
                } else if disable(&users[index], operators).is_ok() {
                    users[index].disabled_at = Some(at(1));
                } else {
                    prop_assert_eq!(operators, 1);
                }
                prop_assert!(count(&users) >= 1);
            }
        }
    }
}
