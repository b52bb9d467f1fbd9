//! The sealed keys of agents that the server answers for: `<root>/agent-keys/<agent>.key`.

use std::path::{Path, PathBuf};

use guildhall_domain::ids::AgentId;
use uuid::Uuid;

use super::file_store::TEMP_PREFIX;
use super::private_dir::PrivateDir;
use super::store::SecretError;

const FOLDER: &str = "agent-keys";
const MAX_FILE_BYTES: u64 = 16 * 1024;

/// The folder of the keys of agents. No other user can read it. All replicas write and read the same one.
#[derive(Debug, Clone)]
pub struct AgentKeyFolder {
    root: PathBuf,
}

impl AgentKeyFolder {
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Returns where the key of an agent is.
    #[must_use]
    pub fn path(&self, agent: AgentId) -> PathBuf {
        self.root.join(FOLDER).join(file_name(agent))
    }

    pub fn read(&self, agent: AgentId) -> Result<Option<String>, SecretError> {
        let Some(folder) = self.find()? else { return Ok(None) };
        Ok(folder.read(&file_name(agent), MAX_FILE_BYTES)?.map(|read| read.text))
    }

    /// Writes the file of an agent. Readers see the earlier one or this one.
    pub fn write(&self, agent: AgentId, text: &str) -> Result<(), SecretError> {
        let folder = PrivateDir::create(&self.root)?.open_or_create(FOLDER)?;
        let temporary = format!("{TEMP_PREFIX}{}", Uuid::now_v7().simple());
        let written =
            folder.write(&temporary, text).and_then(|()| folder.replace_file(&temporary, &file_name(agent)));
        if written.is_err() {
            folder.remove_file(&temporary)?;
        }
        written
    }

    /// Removes the file of an agent. Returns false where there was none.
    pub fn remove(&self, agent: AgentId) -> Result<bool, SecretError> {
        match self.find()? {
            Some(folder) => folder.remove_file(&file_name(agent)),
            None => Ok(false),
        }
    }

    fn find(&self) -> Result<Option<PrivateDir>, SecretError> {
        match PrivateDir::find(&self.root)? {
            Some(root) => root.open(FOLDER),
            None => Ok(None),
        }
    }
}

fn file_name(agent: AgentId) -> String {
    format!("{agent}.key")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn file_of_an_agent_is_private_and_replaced_at_once() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = AgentKeyFolder::new(&root.path().join("secrets"));
        let (agent, other) = (AgentId::generate(), AgentId::generate());
        assert_eq!(folder.read(agent).expect("read"), None);
        assert!(!folder.remove(agent).expect("looked"));
        for text in ["sealed", "newer"] {
            folder.write(agent, text).expect("written");
            assert_eq!(folder.read(agent).expect("read").as_deref(), Some(text));
        }
        assert_eq!(folder.read(other).expect("read"), None);
        let path = folder.path(agent);
        assert_eq!(std::fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
        let parent = path.parent().expect("a folder");
        assert_eq!(std::fs::read_dir(parent).expect("listed").count(), 1, "no temporary file is left");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("changed");
        assert!(matches!(folder.read(agent), Err(SecretError::InsecurePermissions(_))));
        assert!(folder.remove(agent).expect("removed"));
        assert_eq!(folder.read(agent).expect("read"), None);
    }
}
