use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use guildhall_domain::access::principal::Slug;
use serde::{Deserialize, Deserializer};

use super::list::list;
use super::section::section;

/// Who starts runners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LauncherKind {
    /// Nobody here: runners come with enrolment tokens.
    None,
    /// This server, as processes of its own machine.
    Local,
}

section! {
    /// Starting runners. Without a launcher they come by themselves, with enrolment tokens.
    Launcher = "launcher" {
        /// none, or local: processes of this machine. The kernel keeps their agents from what is out of their reach (Linux
        /// 6.7 or newer); where it cannot, they reach what this server's account reaches: /capabilities says which.
        kind: LauncherKind = "\"none\"";
        /// The program guildhall-runner; empty for the one beside this program.
        runner: PathBuf = "\"\"";
        /// Where runners, their logs and the storage of sessions are kept. Servers of one machine may share it.
        state: PathBuf = "\"./.guildhall/launcher\"";
        /// Profiles that runners may be given: a folder each, with profile.toml and credential. The profile demo needs none.
        profiles: PathBuf = "\"\"";
        /// More files and folders that no agent may reach, such as this server's configuration. Always out of reach are the
        /// launcher's folders, secrets.folder, and the ports of PostgreSQL and NATS where they are on this machine.
        #[serde(deserialize_with = "list")]
        out_of_reach: Vec<String> = "[]";
        /// Where runners reach this server; empty for the address that it listens on.
        url: String = "\"\"";
        /// How many idle runners of each profile wait for the next run of any tenant: a table of profiles and numbers; in
        /// the environment demo=1,codex=2.
        #[serde(deserialize_with = "warm")]
        warm: BTreeMap<Slug, u32> = "{}";
        /// Whether a run that no warm runner has taken within a second gets a runner of its own.
        cold_start: bool = "true";
        /// Runners at a time, warm ones among them.
        max_processes: NonZeroU32 = "16";
        /// How often runners are looked after.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        tend_every: Duration = "\"1s\"";
        /// A run without a command for this long is given back, and its runner ends.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        idle: Duration = "\"5m\"";
        /// A warm runner that got no run for this long ends, and another takes its place.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        warm_for: Duration = "\"12h\"";
        /// Memory of each process in MiB; 0 for no limit.
        memory_mib: u64 = "0";
        /// Files that each process may have open; 0 for no limit.
        open_files: u64 = "4096";
        /// Processes of the account under which runners run; 0 for no limit. The kernel counts all of that account.
        processes: u64 = "0";
        /// How much runners yield to other processes: 0 to 19.
        nice: u8 = "5";
        /// A runner's log that has grown past this is cut.
        log_bytes: u64 = "4194304";
        /// Whether runners end with this server. They outlive it otherwise, and the next one finds them.
        end_with_server: bool = "false";
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Table(BTreeMap<Slug, u32>),
    Words(String),
}

fn warm<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<Slug, u32>, D::Error> {
    let words = match Written::deserialize(deserializer)? {
        Written::Table(table) => return Ok(table),
        Written::Words(words) => words,
    };
    let invalid = || serde::de::Error::custom("launcher.warm: use PROFILE=NUMBER, divided by commas");
    let pairs = words.split(',').map(str::trim).filter(|pair| !pair.is_empty()).map(|pair| {
        let (profile, count) = pair.split_once('=').ok_or_else(invalid)?;
        let profile = profile.trim().parse().map_err(|_| invalid())?;
        Ok((profile, count.trim().parse().map_err(|_| invalid())?))
    });
    pairs.collect()
}
