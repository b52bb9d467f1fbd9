//! One PostgreSQL server process on a small file system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use guildhall_testkit::SqlConnection;
use rustix::process::Signal;

use super::small_disk::SmallDisk;
use crate::support::runner_process::{descendants, is_running, send_signal};

/// The data, the write-ahead log, and space for a backup and a second log.
const DISK_MIB: u32 = 2048;

pub(super) struct PostgresNode {
    pub(super) disk: SmallDisk,
    pub(super) port: u16,
    log: PathBuf,
    process: Mutex<Option<Child>>,
}

impl PostgresNode {
    pub(super) fn new(folder: &Path, name: &str) -> Self {
        let disk = SmallDisk::mount(&folder.join(name), DISK_MIB);
        run(Command::new("chown").arg("postgres:").arg(disk.path()));
        let port =
            std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
        let log = folder.join(format!("{name}.log"));
        Self { disk, port, log, process: Mutex::default() }
    }

    fn data(&self) -> PathBuf {
        self.disk.path().join("data")
    }

    /// Creates an empty database.
    pub(super) fn create(&self) {
        let arguments = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"];
        run(self.command("initdb").args(["-D"]).arg(self.data()).args(arguments));
        let settings = fs::read_to_string(self.data().join("postgresql.conf")).expect("settings");
        let settings = format!(
            "{settings}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\nmax_connections = 150\n\
             shared_buffers = 64MB\nmax_wal_size = 128MB\nwal_keep_size = 64MB\nwal_retrieve_retry_interval = 200ms\n\
             log_line_prefix = '%m [%p] '\ninclude = 'storm.conf'\n"
        );
        fs::write(self.data().join("postgresql.conf"), settings).expect("written");
    }

    /// Replaces the data by a copy of the primary, and makes it a standby.
    pub(super) fn copy_from(&self, primary: &Self) {
        let _no_data_yet = fs::remove_dir_all(self.data());
        primary.copy_to(&self.data(), &["--write-recovery-conf"]);
    }

    /// Copies the data of the running server.
    fn copy_to(&self, folder: &Path, arguments: &[&str]) {
        let source = format!("host=127.0.0.1 port={} user=postgres", self.port);
        let mut command = self.command("pg_basebackup");
        command.arg("-d").arg(source).arg("-D").arg(folder);
        run(command.args(["--checkpoint=fast", "--no-sync", "--wal-method=stream"]).args(arguments));
    }

    /// Makes a base backup of the running server. Returns its folder.
    pub(super) fn back_up(&self) -> PathBuf {
        let folder = self.disk.path().join("backup");
        let _no_backup_yet = fs::remove_dir_all(&folder);
        self.copy_to(&folder, &[]);
        folder
    }

    /// Replaces the data of a killed server by a backup, and starts it. It replays the write-ahead log of the lost data,
    /// which an operator has in an archive.
    pub(super) fn restore(&self, backup: &Path) {
        let archive = self.disk.path().join("archive");
        let _no_archive_yet = fs::remove_dir_all(&archive);
        fs::rename(self.data().join("pg_wal"), &archive).expect("the log is on the same disk");
        fs::remove_dir_all(self.data()).expect("removed");
        fs::rename(backup, self.data()).expect("the backup is on the same disk");
        fs::write(self.data().join("recovery.signal"), "").expect("written");
        let restore = format!("restore_command = 'cp \"{}/%f\" \"%p\"'\n", archive.display());
        self.write_settings(false, &restore);
        self.start();
    }

    /// Writes the setting whether commits wait for a standby; a running server reads it.
    pub(super) fn set_synchronous(&self, is_synchronous: bool) {
        self.write_settings(is_synchronous, "");
    }

    fn write_settings(&self, is_synchronous: bool, others: &str) {
        let names = if is_synchronous { "*" } else { "" };
        let text = format!("port = {}\nsynchronous_standby_names = '{names}'\n{others}", self.port);
        fs::write(self.data().join("storm.conf"), text).expect("written");
        if let Some(pid) = self.pid() {
            send_signal(pid, Signal::HUP);
        }
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.process.lock().expect("the lock is not poisoned").as_ref().map(Child::id)
    }

    /// Returns the server process and all processes of its sessions.
    pub(super) fn pids(&self) -> Vec<u32> {
        let Some(pid) = self.pid() else { return Vec::new() };
        let mut pids = descendants(pid);
        pids.push(pid);
        pids
    }

    pub(super) fn signal_all(&self, signal: Signal) {
        self.pids().into_iter().for_each(|pid| send_signal(pid, signal));
    }

    /// Starts the server and waits until it accepts connections.
    pub(super) fn start(&self) {
        let log = fs::OpenOptions::new().create(true).append(true).open(&self.log).expect("a log");
        let errors = log.try_clone().expect("a log");
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.data()).stdin(Stdio::null()).stdout(log).stderr(errors);
        let child = command.spawn().expect("PostgreSQL starts");
        *self.process.lock().expect("the lock is not poisoned") = Some(child);
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.is_ready() {
            assert!(
                Instant::now() < deadline && !self.has_exited(),
                "PostgreSQL does not start: {:?}",
                self.log
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn is_ready(&self) -> bool {
        let text = fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        let mut lines = text.lines();
        lines.next().and_then(|line| line.parse().ok()) == self.pid()
            && lines.nth(6).is_some_and(|state| matches!(state.trim(), "ready" | "standby"))
    }

    pub(super) fn has_exited(&self) -> bool {
        let mut process = self.process.lock().expect("the lock is not poisoned");
        process.as_mut().is_none_or(|child| child.try_wait().is_ok_and(|status| status.is_some()))
    }

    /// Kills all processes of the server and waits until they are gone.
    pub(super) fn kill(&self) {
        let pids = self.pids();
        pids.iter().rev().for_each(|pid| send_signal(*pid, Signal::KILL));
        if let Some(mut child) = self.process.lock().expect("the lock is not poisoned").take() {
            let _reaped = child.wait();
        }
        let deadline = Instant::now() + Duration::from_secs(20);
        while pids.iter().any(|pid| is_running(*pid)) {
            assert!(Instant::now() < deadline, "processes of PostgreSQL are left");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Connects as superuser, not through the forwarder.
    pub(super) async fn sql(&self) -> SqlConnection {
        let url = format!("postgres://postgres@127.0.0.1:{}/postgres", self.port);
        SqlConnection::connect(&url.into()).await
    }

    /// Returns a command of PostgreSQL, which refuses to run as root.
    fn command(&self, name: &str) -> Command {
        let program = guildhall_engines::inspect::postgres_program().expect("PostgreSQL is installed").path;
        // Only some of its programs may be linked into the search path.
        let program = program.canonicalize().expect("PostgreSQL is installed");
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]);
        command.arg(program.with_file_name(name)).current_dir(self.disk.path()).env("LC_ALL", "C");
        command
    }
}

impl Drop for PostgresNode {
    fn drop(&mut self) {
        self.kill();
    }
}

fn run(command: &mut Command) {
    let output = command.output().expect("the command starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
