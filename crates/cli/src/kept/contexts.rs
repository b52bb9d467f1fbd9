//! Servers, and who one is there.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};

use super::Folder;
use super::folder::Locked;

const FILE: &str = "contexts.json";

/// A server and the name to sign in with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Context {
    pub(crate) url: String,
    pub(crate) name: String,
    /// The tenant, by slug or id, whose runs and sessions are meant where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tenant: Option<String>,
}

/// All contexts, by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Contexts {
    pub(crate) current: Option<String>,
    #[serde(default)]
    pub(crate) contexts: BTreeMap<String, Context>,
}

impl Contexts {
    pub(crate) fn read(folder: &Folder) -> Result<Self> {
        folder.read(FILE)
    }

    pub(crate) fn write(&self, folder: &Folder, lock: &Locked) -> Result<()> {
        folder.write(FILE, self, lock)
    }

    /// Finds the context that was asked for, or else the current one. None: nobody signed in yet.
    pub(crate) fn find(&self, asked: Option<&str>) -> Result<Option<(&str, &Context)>> {
        let Some(name) = asked.or(self.current.as_deref()) else { return Ok(None) };
        match self.contexts.get_key_value(name) {
            Some((name, context)) => Ok(Some((name, context))),
            None => {
                bail!("there is no context {name:?}\n  next: `guildhall context ls` shows which there are")
            }
        }
    }
}
