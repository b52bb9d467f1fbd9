//! User accounts, for operators.

use guildhall_domain::ids::PrincipalId;
use guildhall_protocol::rest::access::account::EndedLoginsView;
use guildhall_protocol::rest::access::users::{UserView, UsersView};
use reqwest::{Method, RequestBuilder};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use crate::{Client, ClientError};

#[derive(Serialize)]
struct CreateUserBody<'a> {
    name: &'a str,
    password: &'a str,
}

#[derive(Serialize)]
struct ResetPasswordBody<'a> {
    password: &'a str,
}

/// Filter of [`Client::list_users`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserScope<'a> {
    All,
    /// Users with exactly this name.
    Name(&'a str),
    /// Users whose name starts with this text, in upper or lower case.
    NamePrefix(&'a str),
}

impl Client {
    /// Creates a user. Requires an operator, like all methods about other users.
    pub async fn create_user(&self, name: &str, password: &SecretString) -> Result<UserView, ClientError> {
        let body = CreateUserBody { name, password: password.expose_secret() };
        self.call(self.request(Method::POST, &["users"]).json(&body)).await
    }

    /// Lists at most 100 users, newest first, optionally only those created before a user.
    pub async fn list_users(
        &self,
        scope: UserScope<'_>,
        before: Option<PrincipalId>,
        limit: u32,
    ) -> Result<UsersView, ClientError> {
        let mut query = vec![("limit", limit.to_string())];
        match scope {
            UserScope::All => {}
            UserScope::Name(name) => query.push(("name", name.to_owned())),
            UserScope::NamePrefix(prefix) => query.push(("namePrefix", prefix.to_owned())),
        }
        query.extend(before.map(|user| ("cursor", user.to_string())));
        self.call(self.query(&["users"], &query)).await
    }

    pub async fn get_user(&self, user: PrincipalId) -> Result<UserView, ClientError> {
        self.call(self.request(Method::GET, &["users", &user.to_string()])).await
    }

    /// Disables a user and ends their logins.
    pub async fn disable_user(&self, user: PrincipalId) -> Result<UserView, ClientError> {
        self.call(self.user_request(Method::POST, user, "disable")).await
    }

    pub async fn enable_user(&self, user: PrincipalId) -> Result<UserView, ClientError> {
        self.call(self.user_request(Method::POST, user, "enable")).await
    }

    /// Clears the failed sign-ins of a user.
    pub async fn unlock_user(&self, user: PrincipalId) -> Result<UserView, ClientError> {
        self.call(self.user_request(Method::POST, user, "unlock")).await
    }

    /// Sets a new password for another user and ends their logins.
    pub async fn reset_password(
        &self,
        user: PrincipalId,
        password: &SecretString,
    ) -> Result<UserView, ClientError> {
        let body = ResetPasswordBody { password: password.expose_secret() };
        self.call(self.user_request(Method::PUT, user, "password").json(&body)).await
    }

    /// Ends all logins of a user.
    pub async fn end_user_logins(&self, user: PrincipalId) -> Result<EndedLoginsView, ClientError> {
        self.call(self.user_request(Method::DELETE, user, "logins")).await
    }

    fn user_request(&self, method: Method, user: PrincipalId, part: &str) -> RequestBuilder {
        self.request(method, &["users", &user.to_string(), part])
    }
}
