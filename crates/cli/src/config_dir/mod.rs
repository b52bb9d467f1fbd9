//! The configuration directory of the user: contexts (servers), logins of AIDs, and tokens.

mod aid_logins;
mod aid_token_source;
mod contexts;
mod dir;
mod listener_secret;
mod token_source;
mod token_store;

pub(crate) use aid_logins::{AidLogin, AidLogins, AidNotLoggedIn, LoginSettings, PinnedRoot};
pub(crate) use aid_token_source::StoredAidTokens;
pub(crate) use contexts::{Context, ContextNotFound, Contexts};
pub(crate) use dir::ConfigDir;
pub(crate) use listener_secret::listener_secret;
pub(crate) use token_source::{NotSignedIn, StoredTokenSource};
