use std::path::PathBuf;

use super::list::list;
use super::section::section;

section! {
    /// Repositories of other machines, which local runners fetch for workspaces such as
    /// `git:https://github.com/OWNER/REPOSITORY`.
    Git = "git" {
        /// Hosts that repositories are fetched from by HTTPS, such as git.example.com, *.example.com or
        /// git.example.com:8443. A private address must also be in `egress.allow`.
        #[serde(deserialize_with = "list")]
        hosts: Vec<String> = "[\"github.com\", \"gitlab.com\", \"codeberg.org\", \"bitbucket.org\"]";
        /// Folder with the credentials of these hosts, each in a file with mode 0600 that contains TOKEN or USER:TOKEN:
        /// TENANT/HOST for one tenant, shared/HOST for all. Agents never see them. Empty: no credentials.
        credentials: PathBuf = "\"\"";
    }
}
