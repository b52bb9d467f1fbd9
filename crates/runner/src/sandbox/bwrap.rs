//! The command line of `bwrap`.

use std::ffi::{OsStr, OsString};
use std::os::fd::RawFd;
use std::path::Path;

use super::spec::{MountAccess, SandboxSpec};

/// Directories of the system, read-only where they exist. A symbolic link, as `/bin` is on most systems, is repeated.
const SYSTEM_DIRS: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/nix/store"];

/// Configuration of the system that holds no secret and that programs need.
const SYSTEM_CONFIG: [&str; 21] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/java-17-openjdk",
    "/etc/java-21-openjdk",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/lsb-release",
    "/etc/mime.types",
    "/etc/os-release",
    "/etc/pki",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
    "/etc/xdg",
];

/// A file that exists only in the sandbox.
#[derive(Debug)]
pub(super) struct DataFile {
    pub(super) target: &'static str,
    /// The descriptor from which `bwrap` reads its content.
    pub(super) fd: RawFd,
}

/// Returns the arguments of `bwrap`, up to and including `--`.
pub(super) fn arguments(spec: &SandboxSpec, files: &[DataFile]) -> Vec<OsString> {
    let mut args = Arguments::default();
    args.push([
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-net",
        "--unshare-cgroup-try",
        "--die-with-parent",
        // Without a controlling terminal it cannot write into the terminal of the operator.
        "--new-session",
        "--hostname",
        "sandbox",
        "--cap-drop",
        "ALL",
    ]);
    add_system(&mut args);
    let tmp_bytes = spec.limits.tmp_bytes.to_string();
    args.push(["--proc", "/proc", "--dev", "/dev"]);
    args.push(["--size", &tmp_bytes, "--tmpfs", "/dev/shm", "--perms", "1777", "--size", &tmp_bytes]);
    args.push(["--tmpfs", "/tmp"]);
    for file in files {
        args.push(["--ro-bind-data", &file.fd.to_string(), file.target]);
    }
    for mount in &spec.mounts {
        let flag = match mount.access {
            MountAccess::Read => "--ro-bind",
            MountAccess::Write => "--bind",
        };
        args.push([OsStr::new(flag), mount.source.as_os_str(), mount.target.as_os_str()]);
    }
    for path in &spec.masked {
        args.push([OsStr::new("--ro-bind"), OsStr::new("/dev/null"), path.as_os_str()]);
    }
    // The directories that `bwrap` made for the mounts are in memory and belong to the agent.
    args.push(["--remount-ro", "/dev", "--remount-ro", "/", "--chdir"]);
    args.push([spec.dir.as_os_str(), OsStr::new("--")]);
    args.0
}

/// Makes the programs and libraries of the system visible.
fn add_system(args: &mut Arguments) {
    for dir in SYSTEM_DIRS {
        match std::fs::read_link(dir) {
            Ok(target) => args.push([OsStr::new("--symlink"), target.as_os_str(), OsStr::new(dir)]),
            Err(_) if Path::new(dir).is_dir() => args.push(["--ro-bind", dir, dir]),
            Err(_) => {}
        }
    }
    for path in SYSTEM_CONFIG {
        // A symbolic link is mounted as what it points to.
        if Path::new(path).exists() {
            args.push(["--ro-bind", path, path]);
        }
    }
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn push<T: AsRef<OsStr>, const N: usize>(&mut self, arguments: [T; N]) {
        self.0.extend(arguments.iter().map(|argument| argument.as_ref().to_owned()));
    }
}
