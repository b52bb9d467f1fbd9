//! The installation that is attacked: programs, a user's home with a signed-in CLI, a server, another tenant.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::agent::{Backend, write_agent_profile, write_profile};
use super::run_handle::RunHandle;
use super::victims::Victims;
use super::{AttackArgs, Sandbox};
use crate::command::target;
use crate::dev_server::{DevServer, OPERATOR};
use crate::fake_model::FakeModel;

/// The folder is below /var/tmp: a sandbox with a private /tmp must not pass because everything was in /tmp.
const PARENT: &str = "/var/tmp";

/// Limits of the sandbox. An attack succeeds when it exceeds one.
const MAX_PROCESSES: u64 = 512;
const MAX_MEMORY_MIB: u64 = 1536;
const MAX_DISK_MIB: u64 = 1024;
const MAX_FILES: u64 = 20_000;

/// Files that an attack tries to create.
const FILES: u64 = 100_000;

/// The fields are dropped in this order: the server first, the folder last.
pub(super) struct Installation {
    pub(super) server: DevServer,
    pub(super) victims: Victims,
    /// The content of `targets.json`.
    pub(super) targets: Value,
    _model: Option<FakeModel>,
    folder: TempDir,
}

impl Installation {
    pub(super) fn start(args: &AttackArgs) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("guildhall-attack-").tempdir_in(PARENT)?;
        let base = folder.path();
        let (mut victims, mut targets) = Victims::start(base)?;
        for name in ["bin", "tmp", "profiles", "home/.cargo/bin", "home/.local/bin"] {
            fs::create_dir_all(base.join(name))?;
        }
        for program in ["guildhall", "guildhall-runner"] {
            fs::copy(target().join("debug").join(program), base.join("bin").join(program))?;
        }
        let model = (args.backend != Backend::Script).then(FakeModel::start).transpose()?;
        let credential = victims.create_canary()?;
        push(&mut targets, "canaries", json!(credential.hash));
        if let Some(model) = &model {
            write_agent_profile(model, args.backend, &base.join("profiles"), &credential.text)?;
        }
        write_profile(&base.join("profiles/unused"), "backend = \"codex\"\n", &credential.text)?;
        let server = DevServer::start(&mut server_command(base, args, model.as_ref())?)?;
        let mut installation = Self { server, victims, targets, _model: model, folder };
        installation.sign_in_user()?;
        installation.add_targets(args)?;
        installation.add_other_tenant()?;
        Ok(installation)
    }

    pub(super) fn base(&self) -> &Path {
        self.folder.path()
    }

    /// Runs the CLI of the user and returns its output, as bytes of a terminal.
    pub(super) fn cli(&self, args: &[&str], input: &str) -> Result<String> {
        let mut child = user_command(self.base())
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        child.stdin.take().context("stdin is not piped")?.write_all(input.as_bytes())?;
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "`guildhall {}` failed ({})", args.join(" "), output.status);
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn sign_in_user(&self) -> Result<()> {
        let args = ["login", "--url", self.server.url(), "--name", OPERATOR, "--password-stdin"];
        self.cli(&args, &self.server.password()?).map(|_output| ())
    }

    fn add_targets(&mut self, args: &AttackArgs) -> Result<()> {
        let base = self.base().to_owned();
        let ready = self.server.ready().clone();
        let state = self.server.state().to_owned();
        let address: SocketAddr = self.server.url().trim_start_matches("http://").parse()?;
        let overwrite_folder = base.join("overwrite-folder");
        fs::create_dir_all(&overwrite_folder)?;
        fs::set_permissions(&overwrite_folder, fs::Permissions::from_mode(0o777))?;
        let overwrite = [base.join("overwrite"), base.join("overwrite-workspace")];
        for file in &overwrite {
            fs::write(file, "unchanged")?;
            fs::set_permissions(file, fs::Permissions::from_mode(0o666))?;
        }
        let more = json!({
            "state": state,
            "uncontained": args.uncontained,
            "backend": args.backend.as_str(),
            "api": [address.ip(), address.port()],
            "postgres_port": ready["postgres"]["port"],
            "nats_port": ready["nats"]["port"],
            "runner": base.join("bin/guildhall-runner"),
            "tools": [base.join("bin"), base.join("home/.cargo/bin"), base.join("home/.local/bin")],
            "overwrite": overwrite[0],
            "overwrite_workspace": overwrite[1],
            "overwrite_folder": overwrite_folder,
            "git_marker": base.join("git-marker"),
            "limits": {
                "processes": MAX_PROCESSES, "memory_mib": MAX_MEMORY_MIB, "disk_mib": MAX_DISK_MIB, "files": FILES,
            },
        });
        let targets = self.targets.as_object_mut().context("the targets are no object")?;
        targets.extend(more.as_object().cloned().unwrap_or_default());
        let data = ready["postgres"]["data"].as_str().map(PathBuf::from).unwrap_or_default();
        let tokens = find_file(&base.join("home"), "tokens.json").context("the CLI saved no token")?;
        for (kind, path) in [
            ("cli-token", tokens),
            ("state", state.join("admin.password")),
            ("state", state.join("identity.key")),
            ("launcher", state.join("launcher/place")),
            ("engine", data.join("PG_VERSION")),
        ] {
            let hash = self.victims.hash_file(&path).with_context(|| format!("no {}", path.display()))?;
            push(&mut self.targets, "secrets", json!({ "kind": kind, "path": path, "sha256": hash }));
        }
        let credential = base.join("profiles/unused/credential");
        push(&mut self.targets, "secrets", json!({ "kind": "credential", "path": credential }));
        Ok(())
    }

    /// Creates a tenant with a run that leaves a secret in its workspace.
    fn add_other_tenant(&mut self) -> Result<()> {
        let canary = self.victims.create_canary()?;
        let token = self.server.sign_in()?;
        let tenant = json!({ "slug": "victim", "name": "Victim" });
        self.server.post("/api/v1/tenants", &token, &tenant)?;
        let run = RunHandle::create(&self.server, "victim", Backend::Script.profile(), None, &json!({}))?;
        run.turn(&self.server, &format!("run:echo {} > secret-of-victim.txt", canary.text))?;
        let places = [self.base(), Path::new("/var/lib/guildhall"), Path::new("/var/tmp"), Path::new("/tmp")];
        let file = places.iter().find_map(|place| find_file(place, "secret-of-victim.txt"));
        let file = file.context("the workspace of the other tenant was not found")?;
        push(&mut self.targets, "canaries", json!(canary.hash));
        push(&mut self.targets, "secrets", json!({ "kind": "workspace", "path": file }));
        Ok(())
    }
}

/// Returns the command of the server, with the configuration of the attack.
fn server_command(base: &Path, args: &AttackArgs, model: Option<&FakeModel>) -> Result<Command> {
    let mut command = user_command(base);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = [base.join("home/.cargo/bin"), base.join("home/.local/bin")].into_iter();
    let codex = model.map(|model| model.codex_folder().to_owned());
    let folders = codex.into_iter().chain(std::env::split_paths(&path)).chain(own);
    command
        .env("PATH", std::env::join_paths(folders)?)
        .env("TMPDIR", base.join("tmp"))
        .env("GUILDHALL_LAUNCHER_PROFILES", base.join("profiles"))
        // The widest bounds: what a run gets must come from its own policy.
        .env("GUILDHALL_RUNS_SANDBOX", Sandbox::DangerFullAccess.as_str())
        .env("GUILDHALL_RUNS_NETWORK", "enabled")
        .env("GUILDHALL_SANDBOX_PROCESSES", MAX_PROCESSES.to_string())
        .env("GUILDHALL_SANDBOX_MEMORY_MIB", MAX_MEMORY_MIB.to_string())
        .env("GUILDHALL_SANDBOX_DISK_MIB", MAX_DISK_MIB.to_string())
        .env("GUILDHALL_SANDBOX_FILES", MAX_FILES.to_string())
        // Attacks on resources, and a shared machine, delay the server.
        .env("GUILDHALL_HTTP_REQUEST_TIMEOUT", "120s")
        // Each request of the harness signs in.
        .env("GUILDHALL_LIMITS_ACCOUNT", "100000/60s")
        .env("GUILDHALL_LIMITS_SIGN_IN", "100000/60s");
    if args.uncontained {
        command.env("GUILDHALL_LAUNCHER_UNCONTAINED", "true");
    }
    Ok(command)
}

/// Returns the CLI as the user of the attack starts it: with a home of its own.
fn user_command(base: &Path) -> Command {
    let mut command = Command::new(base.join("bin/guildhall"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    command
        .current_dir(base)
        .env("HOME", base.join("home"))
        .env_remove("XDG_CONFIG_HOME")
        // Where `.ci/setup` installs the engines.
        .envs(cache.map(|cache| ("XDG_CACHE_HOME", cache)));
    command
}

/// Finds a file by name. Folders that cannot be read are skipped.
pub(super) fn find_file(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                folders.push(entry.path());
            } else if entry.file_name() == name {
                return Some(entry.path());
            }
        }
    }
    None
}

/// Appends to a list of the targets.
fn push(targets: &mut Value, key: &str, value: Value) {
    if let Some(list) = targets[key].as_array_mut() {
        list.push(value);
    }
}
