//! The configuration directory of the user: contexts (servers) and tokens.

mod contexts;
mod dir;
mod token_source;
mod token_store;

pub(crate) use contexts::{Context, ContextNotFound, Contexts};
pub(crate) use dir::ConfigDir;
pub(crate) use token_source::{NotSignedIn, StoredTokenSource};
