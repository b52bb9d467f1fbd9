//! What the command remembers between two runs: where the servers are, who signed in, and the tokens.

mod contexts;
mod folder;
mod source;
mod tokens;

pub(crate) use contexts::{Context, Contexts};
pub(crate) use folder::Folder;
pub(crate) use source::{KeptTokens, NotSignedIn};
