//! A CLI user with an AID.

use std::path::PathBuf;

use serde_json::Value;

use super::user::{CliUser, stderr};

/// A CLI user whose folder has the key of an AID.
pub(crate) struct AidUser {
    pub(crate) user: CliUser,
    pub(crate) aid: String,
}

impl AidUser {
    /// Lets an operator create an AID, with its key in the folder of a new user. It is not logged in.
    pub(crate) fn create(operator: &CliUser, name: &str) -> Self {
        let user = CliUser::new();
        let directory = user.home().display().to_string();
        let created = operator.json(&["aid", "create", name, "--directory", &directory]);
        let aid = created["aid"].as_str().expect("an AID").to_owned();
        Self { user, aid }
    }

    /// Logs in at a server.
    pub(crate) fn log_in(&self, url: &str) {
        let output = self.user.run(&["aid", "login", &self.aid, "--server", url]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }

    pub(crate) fn key_file(&self) -> PathBuf {
        self.user.home().join(format!("{}.key", self.aid))
    }

    /// Returns the stored login.
    pub(crate) fn stored_login(&self) -> Value {
        self.stored()["logins"][&self.aid].clone()
    }

    /// Changes the stored login.
    pub(crate) fn change_login(&self, change: impl FnOnce(&mut Value)) {
        let mut stored = self.stored();
        change(&mut stored["logins"][&self.aid]);
        std::fs::write(self.user.config_path("aids.json"), stored.to_string()).expect("written");
    }

    fn stored(&self) -> Value {
        let file = std::fs::read(self.user.config_path("aids.json")).expect("logins");
        serde_json::from_slice(&file).expect("JSON")
    }
}
