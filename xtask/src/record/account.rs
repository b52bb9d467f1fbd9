//! A new account without rights, for as long as it is needed.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::command::output;

/// How often the removal is tried: processes of the account may still be ending.
const REMOVALS: usize = 50;

/// An account with a home. Dropping this value removes both.
pub(super) struct Account {
    name: &'static str,
    pub(super) home: PathBuf,
}

impl Account {
    /// Creates the account. Needs root.
    pub(super) fn create(name: &'static str) -> Result<Self> {
        let user = output(Command::new("id").arg("-u"))?;
        ensure!(user.trim() == "0", "a new account needs root");
        let passwd = fs::read_to_string("/etc/passwd")?;
        let is_taken = passwd.lines().any(|line| line.split(':').next() == Some(name));
        ensure!(!is_taken, "this machine has an account `{name}` already");
        let home = Path::new("/home").join(name);
        ensure!(!home.exists(), "{} exists already", home.display());
        let mut add = Command::new("useradd");
        add.args(["--system", "--user-group", "--create-home", "--shell", "/bin/bash", "--home-dir"]);
        output(add.arg(&home).arg(name))?;
        Ok(Self { name, home })
    }

    /// Prepares a program that runs under this account with a new environment.
    pub(super) fn command<I, K, V>(&self, program: &str, environment: I) -> Command
    where
        I: IntoIterator<Item = (K, V)>,
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        let mut command = Command::new("setpriv");
        command.args([
            "--reuid",
            self.name,
            "--regid",
            self.name,
            "--init-groups",
            "--reset-env",
            "--",
            "env",
        ]);
        for (name, value) in environment {
            let mut assignment = name.as_ref().to_owned();
            assignment.push("=");
            assignment.push(value);
            command.arg(assignment);
        }
        command.arg(program).current_dir(&self.home);
        command
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        for _ in 0..REMOVALS {
            let removal =
                Command::new("userdel").args(["--remove", self.name]).stderr(Stdio::null()).status();
            if removal.is_ok_and(|status| status.success()) {
                return;
            }
            sleep(Duration::from_millis(200));
        }
        eprintln!("cannot remove the account {}; run `userdel --remove {}`", self.name, self.name);
    }
}
