use std::path::PathBuf;

use super::list::list;
use super::section::section;

section! {
    /// Repositories of other machines, which local runners fetch for workspaces such as
    /// `git:https://github.com/OWNER/REPOSITORY`.
    Git = "git" {
        /// Hosts that repositories are fetched from by HTTPS or SSH, such as git.example.com, *.example.com or
        /// git.example.com:8443. Without a port: 443 for HTTPS, 22 for SSH. A private address must also be in `egress.allow`.
        #[serde(deserialize_with = "list")]
        hosts: Vec<String> = "[\"github.com\", \"gitlab.com\", \"codeberg.org\", \"bitbucket.org\"]";
        /// Folder with the credentials of these hosts, each in a file with mode 0600: TENANT/HOST contains TOKEN or
        /// USER:TOKEN, TENANT/ssh/HOST a private SSH key without a passphrase; shared instead of TENANT is for all
        /// tenants. Agents never see them. Empty: no credentials.
        credentials: PathBuf = "\"\"";
        /// File with the SSH keys of these hosts, in the format of OpenSSH's known_hosts. A host that is not in it is not
        /// fetched from by SSH. Empty: no host is.
        known_hosts: PathBuf = "\"\"";
    }
}
