use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use guildhall_domain::access::principal::Slug;
use serde::{Deserialize, Deserializer};

use super::list::list;
use super::section::section;

/// How runners are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LauncherKind {
    /// The server starts no runners. Runners register with enrolment tokens.
    None,
    /// The server starts runners as local processes.
    Local,
}

section! {
    /// The launcher starts runners. Without it, start runners yourself, with enrolment tokens.
    Launcher = "launcher" {
        /// none, or local: start runners as processes on this machine. Their agents run in a sandbox, which needs the
        /// program bwrap (package bubblewrap). Without it, runs fail.
        kind: LauncherKind = "\"none\"";
        /// Path of the program guildhall-runner. Empty: in the directory of this program.
        runner: PathBuf = "\"\"";
        /// Folder for runners, their logs and session storage. Several servers on one machine can share it.
        state: PathBuf = "\"./.guildhall/launcher\"";
        /// Folder of the profiles that runners can use: one subfolder per profile, with the files profile.toml and
        /// credential. The profile demo needs none.
        profiles: PathBuf = "\"\"";
        /// Start agents without a sandbox. They can access everything that this server's account can access, including
        /// all credentials. Only for a machine on which every user trusts every agent. /capabilities shows it.
        uncontained: bool = "false";
        /// Files and folders that no workspace may contain, such as this server's configuration. Always protected: the
        /// launcher's folders and `secrets.folder`.
        #[serde(deserialize_with = "list")]
        protected_paths: Vec<String> = "[]";
        /// Folders below which runs may name folders and repositories of this machine. What a tenant may use of them is
        /// in `runs.directories`.
        #[serde(deserialize_with = "list")]
        workspace_roots: Vec<String> = "[]";
        /// URL under which runners reach this server. Empty: the listen address.
        url: String = "\"\"";
        /// Warm pool: the number of idle runners to keep per profile, for runs of any tenant. A table of profiles and
        /// numbers; in the environment demo=1,codex=2.
        #[serde(deserialize_with = "warm_pool")]
        warm: BTreeMap<Slug, u32> = "{}";
        /// Start a new runner for a run that no warm runner has claimed within a second.
        cold_start: bool = "true";
        /// Maximum number of runners at a time, including warm ones.
        max_processes: NonZeroU32 = "16";
        /// Interval of the reconciler that starts and stops runners.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        tend_every: Duration = "\"1s\"";
        /// Idle timeout: a runner without a command for this long releases its run and exits. If other runs wait for its
        /// place, it does so at once.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        idle: Duration = "\"5m\"";
        /// Maximum waiting time of a warm runner. A runner without a run for this long is replaced.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        warm_for: Duration = "\"12h\"";
        /// Memory limit of each process in MiB. 0: no limit.
        memory_mib: u64 = "0";
        /// Maximum number of open files of each process. 0: no limit.
        open_files: u64 = "4096";
        /// Maximum number of processes of the account that runs the runners. The kernel counts all processes of the
        /// account. 0: no limit.
        processes: u64 = "0";
        /// Scheduling priority of runners (nice value): 0 to 19, 19 is the lowest priority.
        nice: u8 = "5";
        /// Maximum size of a runner's log in bytes. Larger logs are truncated.
        log_bytes: u64 = "4194304";
        /// Stop runners when this server stops. Otherwise they keep running, and the next server takes them over.
        end_with_server: bool = "false";
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum TableOrString {
    Table(BTreeMap<Slug, u32>),
    String(String),
}

fn warm_pool<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<Slug, u32>, D::Error> {
    let text = match TableOrString::deserialize(deserializer)? {
        TableOrString::Table(table) => return Ok(table),
        TableOrString::String(text) => text,
    };
    let invalid = || serde::de::Error::custom("launcher.warm: write PROFILE=NUMBER, separated by commas");
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty()).map(|pair| {
        let (profile, count) = pair.split_once('=').ok_or_else(invalid)?;
        let profile = profile.trim().parse().map_err(|_| invalid())?;
        Ok((profile, count.trim().parse().map_err(|_| invalid())?))
    });
    pairs.collect()
}
