//! PostgreSQL URLs.

use secrecy::{ExposeSecret, SecretString};
use url::Url;

pub(crate) fn with_database(url: &SecretString, database: &str) -> SecretString {
    let mut url = Url::parse(url.expose_secret()).expect("a valid PostgreSQL URL");
    url.set_path(database);
    String::from(url).into()
}

pub(crate) fn with_role(url: &SecretString, role: &str, password: &str) -> SecretString {
    let mut url = Url::parse(url.expose_secret()).expect("a valid PostgreSQL URL");
    let changed = url.set_username(role).and_then(|()| url.set_password(Some(password)));
    changed.expect("a URL with a host");
    String::from(url).into()
}

pub(crate) fn role_name(url: &SecretString) -> String {
    Url::parse(url.expose_secret()).expect("a valid PostgreSQL URL").username().to_owned()
}
