//! The account that PostgreSQL runs as: ourselves, or `postgres` when we are root.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{EngineError, find};

/// Another account than ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    name: String,
    uid: u32,
    gid: u32,
}

impl Account {
    /// Returns the account to switch to, or none when PostgreSQL may run as ourselves.
    pub(crate) fn for_postgres() -> Result<Option<Self>, EngineError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        parse(&passwd, "postgres").map(Some).ok_or(EngineError::NoAccount)
    }

    /// Returns the `setpriv` arguments that switch to this account.
    pub(crate) fn switches(&self) -> [String; 3] {
        [format!("--reuid={}", self.uid), format!("--regid={}", self.gid), "--clear-groups".to_owned()]
    }

    /// Gives a file or folder to this account.
    pub(crate) fn give(&self, path: &Path) -> Result<(), EngineError> {
        chown(path, Some(self.uid), Some(self.gid)).map_err(EngineError::io("hand over", path))
    }

    /// Returns whether this account can enter a folder, asked of the kernel as that account.
    pub(crate) fn can_enter(&self, folder: &Path) -> Result<bool, EngineError> {
        let setpriv = find::setpriv()?;
        let status = Command::new(&setpriv)
            .args(self.switches())
            .args(["--", "test", "-x"])
            .arg(folder)
            .stderr(Stdio::null())
            .status()
            .map_err(|source| EngineError::Spawn { program: setpriv.display().to_string(), source })?;
        Ok(status.success())
    }
}

fn parse(passwd: &str, name: &str) -> Option<Account> {
    let fields: Vec<&str> = passwd
        .lines()
        .map(|line| line.split(':').collect())
        .find(|f: &Vec<&str>| f.first() == Some(&name))?;
    Some(Account {
        name: name.to_owned(),
        uid: fields.get(2)?.parse().ok()?,
        gid: fields.get(3)?.parse().ok()?,
    })
}

impl std::fmt::Display for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_is_found_by_its_whole_name() {
        let passwd =
            "root:x:0:0::/:/bin/sh\npostgres-exporter:x:7:7::/:/bin/sh\npostgres:x:101:104:,,,:/:/bin/bash\n";
        let wanted = Account { name: "postgres".to_owned(), uid: 101, gid: 104 };
        assert_eq!(parse(passwd, "postgres"), Some(wanted));
        assert_eq!(parse(passwd, "nobody"), None);
    }
}
