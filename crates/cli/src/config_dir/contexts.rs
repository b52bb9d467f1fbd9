//! Contexts: a server and the user's name there.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::dir::{ConfigDir, ConfigDirLock};

const FILE: &str = "contexts.json";

/// There is no context with this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("context {0:?} not found\n  next: `guildhall context ls` lists all contexts")]
pub(crate) struct ContextNotFound(pub(crate) String);

/// A server and the name to sign in with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Context {
    pub(crate) url: String,
    pub(crate) name: String,
    /// Default tenant, a slug or an id, for commands without `--tenant`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tenant: Option<String>,
}

/// All contexts by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Contexts {
    pub(crate) current: Option<String>,
    #[serde(default)]
    pub(crate) contexts: BTreeMap<String, Context>,
}

impl Contexts {
    pub(crate) fn load(dir: &ConfigDir) -> Result<Self> {
        dir.read(FILE)
    }

    pub(crate) fn save(&self, dir: &ConfigDir, lock: &ConfigDirLock) -> Result<()> {
        dir.write(FILE, self, lock)
    }

    /// Returns the named context, or the current one. `None` if no name is given and there is no current context.
    pub(crate) fn find(&self, name: Option<&str>) -> Result<Option<(&str, &Context)>> {
        let Some(name) = name.or(self.current.as_deref()) else { return Ok(None) };
        match self.contexts.get_key_value(name) {
            Some((name, context)) => Ok(Some((name, context))),
            None => Err(ContextNotFound(name.to_owned()).into()),
        }
    }
}
