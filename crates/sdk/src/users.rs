//! User accounts.

use guildhall_protocol::rest::access::users::UserView;
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use crate::{Client, ClientError};

#[derive(Serialize)]
struct CreateUserBody<'a> {
    name: &'a str,
    password: &'a str,
}

impl Client {
    /// Creates a user. Requires an operator.
    pub async fn create_user(&self, name: &str, password: &SecretString) -> Result<UserView, ClientError> {
        let body = CreateUserBody { name, password: password.expose_secret() };
        self.call(self.request(Method::POST, &["users"]).json(&body)).await
    }
}
