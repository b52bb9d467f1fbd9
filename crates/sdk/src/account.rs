//! The account of the signed-in user.

use guildhall_protocol::rest::access::account::{AccountSettings, EndedLoginsView};
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use crate::{Client, ClientError};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChangePasswordBody<'a> {
    current_password: &'a str,
    new_password: &'a str,
}

impl Client {
    /// Changes the password of the signed-in user and ends their other logins.
    pub async fn change_password(
        &self,
        current: &SecretString,
        new: &SecretString,
    ) -> Result<EndedLoginsView, ClientError> {
        let body = ChangePasswordBody {
            current_password: current.expose_secret(),
            new_password: new.expose_secret(),
        };
        self.call(self.request(Method::PUT, &["auth", "password"]).json(&body)).await
    }

    /// Returns the settings of the caller.
    pub async fn account_settings(&self) -> Result<AccountSettings, ClientError> {
        self.call(self.request(Method::GET, &["account", "settings"])).await
    }

    /// Replaces the settings of the caller.
    pub async fn set_account_settings(
        &self,
        settings: &AccountSettings,
    ) -> Result<AccountSettings, ClientError> {
        self.call(self.request(Method::PUT, &["account", "settings"]).json(settings)).await
    }

    /// Ends all logins of the signed-in user, including the current one.
    pub async fn end_logins(&self) -> Result<EndedLoginsView, ClientError> {
        self.call(self.request(Method::DELETE, &["auth", "logins"])).await
    }
}
