//! The account that runs PostgreSQL: the current user, or `postgres` if that is root.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{EngineError, programs};

/// An account other than the current user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    name: String,
    uid: u32,
    gid: u32,
}

impl Account {
    /// Returns the account to switch to, or `None` if PostgreSQL can run as the current user.
    pub(crate) fn for_postgres() -> Result<Option<Self>, EngineError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        parse(&passwd, "postgres").map(Some).ok_or(EngineError::NoAccount)
    }

    /// Returns the `setpriv` arguments that switch to this account.
    pub(crate) fn setpriv_arguments(&self) -> [String; 3] {
        [format!("--reuid={}", self.uid), format!("--regid={}", self.gid), "--clear-groups".to_owned()]
    }

    /// Changes the owner of a file or directory to this account.
    pub(crate) fn chown(&self, path: &Path) -> Result<(), EngineError> {
        chown(path, Some(self.uid), Some(self.gid)).map_err(EngineError::io("change the owner of", path))
    }

    /// Returns whether this account can access a directory, by trying it as that account.
    pub(crate) fn can_enter(&self, folder: &Path) -> Result<bool, EngineError> {
        let setpriv = programs::find_setpriv()?;
        let status = Command::new(&setpriv)
            .args(self.setpriv_arguments())
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
    fn account_is_found_by_its_full_name() {
        let passwd =
            "root:x:0:0::/:/bin/sh\npostgres-exporter:x:7:7::/:/bin/sh\npostgres:x:101:104:,,,:/:/bin/bash\n";
        let expected = Account { name: "postgres".to_owned(), uid: 101, gid: 104 };
        assert_eq!(parse(passwd, "postgres"), Some(expected));
        assert_eq!(parse(passwd, "nobody"), None);
    }
}
