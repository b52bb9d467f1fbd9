use std::num::NonZeroU64;
use std::time::Duration;

use super::list::list;
use super::section::section;

section! {
    /// The sandbox of agents that local runners start. The limits are for one agent with all of its processes.
    Sandbox = "sandbox" {
        /// Folders of tools that agents may read and execute. Credential files directly in them are hidden. The system's
        /// folders and cargo, rustup, pyenv, nvm and uv on the search path are always visible.
        #[serde(deserialize_with = "list")]
        tools: Vec<String> = "[]";
        /// Hosts that runs with network allow-list reach, such as registry.example.com or *.example.com, by HTTP and
        /// HTTPS.
        #[serde(deserialize_with = "list")]
        allowed_hosts: Vec<String> = "[]";
        /// Maximum number of processes and threads.
        processes: NonZeroU64 = "1024";
        /// Maximum memory in MiB.
        memory_mib: NonZeroU64 = "4096";
        /// Maximum disk space of the workspace and the private home in MiB.
        disk_mib: NonZeroU64 = "10240";
        /// Maximum number of files in the workspace and the private home.
        files: NonZeroU64 = "1000000";
        /// Maximum CPU time of one process.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        cpu_time: Duration = "\"4h\"";
        /// Maximum number of model tokens of one run. 0: no limit.
        model_tokens: u64 = "0";
        /// Maximum number of model requests of one run. 0: no limit.
        model_requests: u64 = "0";
        /// Maximum bytes of model requests and responses of one run. 0: no limit.
        model_bytes: u64 = "0";
    }
}
