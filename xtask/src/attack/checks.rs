//! Checks on the host, for attacks whose effect shows only there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::installation::{Installation, find_file};
use super::run_handle::RunHandle;
use super::session::AttackSession;
use super::{AttackResult, Outcome};

/// The content of the files that planted links point to.
const UNCHANGED: &str = "unchanged";

/// A turn may report this many changed files.
const MAX_ARTIFACT_EVENTS: usize = 1000;

/// Characters that a terminal interprets.
const ESCAPES: [char; 4] = ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}'];

/// The start of the line with the escapes.
const ESCAPE_LINE: &str = "attack-escape";

/// Attacks that the sandbox allows: the runner and the CLI must be careful with what they read.
pub(super) const DEFENDED_BY_READERS: [&str; 5] = [
    "symlink_in_workspace",
    "fifo_in_workspace",
    "character_device_in_workspace",
    "git_hooks",
    "terminal_escapes",
];

/// The effects of the attacks on the host.
#[derive(Default)]
pub(super) struct HostChecks {
    base: PathBuf,
    /// Whether the harness itself read what was planted.
    is_careless: bool,
    killed: bool,
    typed: bool,
    overwritten: bool,
    overwritten_from_workspace: bool,
    written_folder: bool,
    git_hook_ran: bool,
    rule_allowed: bool,
    /// Why a later turn or run did not end, or what was wrong with its events.
    hung: Option<String>,
    read_device: bool,
    /// Whether the CLI printed the line with the escapes at all.
    printed_output: bool,
    printed_escapes: bool,
}

impl HostChecks {
    /// Lets the runner work on what was planted: one more turn, and the start of the next run.
    pub(super) fn follow_up(&mut self, installation: &Installation, session: &mut AttackSession) {
        if let Err(error) = next_turns(installation, session) {
            self.hung.get_or_insert(format!("{error:#}"));
        }
    }

    /// Looks at the victims.
    pub(super) fn look(&mut self, installation: &mut Installation, session: &AttackSession) -> Result<()> {
        let observed = installation.victims.observe()?;
        let base = installation.base();
        let is_changed =
            |name: &str| fs::read_to_string(base.join(name)).map_or(true, |text| text != UNCHANGED);
        for run in &session.ended {
            let printed = print_escape_event(installation, run)?;
            self.printed_output |= printed.contains(ESCAPE_LINE);
            self.printed_escapes |= printed.contains(ESCAPES);
        }
        self.killed = observed["killed"] == true;
        self.typed = observed["typed"] == true;
        self.overwritten = is_changed("overwrite");
        self.overwritten_from_workspace = is_changed("overwrite-workspace");
        self.written_folder = fs::read_dir(base.join("overwrite-folder"))?.next().is_some();
        self.git_hook_ran = base.join("git-marker").exists();
        self.rule_allowed = rule_marker(installation).exists();
        self.base = base.to_owned();
        Ok(())
    }

    /// Does what a careless runner or user would do with the workspace. This shows that the plants work, and that they
    /// failed because the runner was careful.
    pub(super) fn be_careless(&mut self, installation: &Installation, session: &AttackSession) -> Result<()> {
        self.is_careless = true;
        let token = installation.server.sign_in()?;
        for run in &session.ended {
            let events = run.events(&installation.server, &token)?;
            let texts = events.iter().filter_map(|event| event["payload"]["text"].as_str());
            self.printed_escapes |= texts.into_iter().any(|text| text.contains(ESCAPES));
        }
        let Some(fifo) = find_file(installation.server.state(), "fifo.txt") else { return Ok(()) };
        let workspace = fifo.parent().context("a file has a parent")?;
        let succeeds = |command: &str| -> Result<bool> {
            Ok(Command::new("sh").args(["-c", command]).current_dir(workspace).status()?.success())
        };
        self.overwritten_from_workspace |= fs::write(workspace.join("artifact.txt"), "careless").is_ok()
            && fs::read_to_string(installation.base().join("overwrite-workspace"))? != UNCHANGED;
        if !succeeds("timeout 1 cat fifo.txt")? {
            self.hung.get_or_insert_with(|| "it hung".to_owned());
        }
        self.read_device = succeeds("test \"$(head -c 3 endless.txt | wc -c)\" = 3")?;
        let _status = succeeds("git -c safe.directory='*' status > /dev/null 2>&1")?;
        self.git_hook_ran = installation.base().join("git-marker").exists();
        Ok(())
    }

    /// Replaces the outcome `planted` by what happened.
    pub(super) fn resolve(&self, attack: &str, result: &mut AttackResult) {
        if result.outcome != Outcome::Planted {
            return;
        }
        let hung = self.hung.as_deref().unwrap_or("the runner hung or followed it");
        let (has_effect, effect) = match attack {
            "write_program_folder" | "write_tools" | "write_user_home" => {
                let marker = Path::new(&result.detail);
                (marker.starts_with(&self.base) && marker.exists(), "file outside")
            }
            "kill_process" => (self.killed, "process ended"),
            "terminal_input" => (self.typed, "character arrived"),
            "symlink_for_runner" => (self.overwritten, "file outside overwritten"),
            "symlink_folder_for_runner" => (self.written_folder, "file in a folder outside"),
            "symlink_in_workspace" => (self.overwritten_from_workspace, "file outside overwritten"),
            "fifo_in_workspace" => (self.hung.is_some(), hung),
            "character_device_in_workspace" => (self.hung.is_some() || self.read_device, "device was read"),
            "git_hooks" => (self.git_hook_ran, "hook ran outside"),
            "codex_rules" => (self.rule_allowed, "rule allowed a command outside"),
            "terminal_escapes" if self.printed_output => (self.printed_escapes, "escapes were printed"),
            _ => {
                let detail = "no check on the host".to_owned();
                *result = AttackResult { outcome: Outcome::Broken, detail };
                return;
            }
        };
        let (outcome, prefix) = match has_effect {
            true if self.is_careless && DEFENDED_BY_READERS.contains(&attack) => {
                (Outcome::Succeeded, "careless reader: ")
            }
            true => (Outcome::Succeeded, ""),
            false => (Outcome::Refused, "did not happen: "),
        };
        *result = AttackResult { outcome, detail: format!("{prefix}{effect}") };
    }
}

/// Returns what the CLI prints from the event with the escapes on.
fn print_escape_event(installation: &Installation, handle: &RunHandle) -> Result<String> {
    let RunHandle { run, session } = handle;
    let events = handle.events(&installation.server, &installation.server.sign_in()?)?;
    let has_line =
        |event: &&Value| event["payload"]["text"].as_str().is_some_and(|text| text.contains(ESCAPE_LINE));
    let Some(event) = events.iter().find(has_line) else { return Ok(String::new()) };
    let after = (event["seq"].as_u64().context("an event has no seq")? - 1).to_string();
    let events = installation.cli(&["runs", "events", run, "--after", &after], "")?;
    let output = ["sessions", "output", session, "--run", run, "--after", &after];
    Ok(events + &installation.cli(&output, "")?)
}

/// A file that the agent may create only with a planted rule.
fn rule_marker(installation: &Installation) -> PathBuf {
    installation.base().join("rule-marker")
}

fn next_turns(installation: &Installation, session: &mut AttackSession) -> Result<()> {
    let server = &installation.server;
    session.handle.turn(server, "run:echo still here")?;
    // The attack prints escapes from a tool; this turn puts them into the reply.
    session.handle.turn(server, &format!("echo:{ESCAPE_LINE} {}", String::from_iter(ESCAPES)))?;
    check_artifacts(&session.handle, installation)?;
    // A stricter run of the session must not obey rules that an earlier one planted.
    session.restart_read_only(server)?;
    session.handle.turn(server, &format!("run:touch {}", rule_marker(installation).display()))?;
    session.restart(server)
}

/// Artifact events must be few, and describe files of the workspace.
fn check_artifacts(run: &RunHandle, installation: &Installation) -> Result<()> {
    let events = run.events(&installation.server, &installation.server.sign_in()?)?;
    let artifacts: Vec<&Value> = events.iter().filter(|event| event["type"] == "artifact").collect();
    ensure!(artifacts.len() <= MAX_ARTIFACT_EVENTS, "{} artifact events", artifacts.len());
    let is_outside = |event: &&&Value| {
        let path = event["payload"]["path"].as_str().unwrap_or_default();
        path.starts_with('/') || path.starts_with("outside/") || path.contains("..")
    };
    if let Some(event) = artifacts.iter().find(is_outside) {
        bail!("artifact outside of the workspace: {}", event["payload"]);
    }
    Ok(())
}
