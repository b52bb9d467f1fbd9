//! Checks on the host, for attacks whose effect shows only there.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;

use super::installation::Installation;
use super::session::{AttackSession, RunHandle};
use super::{AttackResult, Outcome};

/// The content of the files that planted links point to.
const UNCHANGED: &str = "unchanged";

/// A turn may report this many changed files.
const MAX_ARTIFACT_EVENTS: usize = 1000;

/// Characters that a terminal interprets.
const ESCAPES: [char; 4] = ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}'];

/// The state of the host after the attacks.
pub(super) struct HostChecks {
    base: PathBuf,
    killed: bool,
    typed: bool,
    overwritten: bool,
    overwritten_from_workspace: bool,
    git_hook_ran: bool,
    rule_allowed: bool,
    /// Why the next turn or run did not work, or what was wrong with its events.
    hung: Option<String>,
    printed_escapes: bool,
}

impl HostChecks {
    /// Lets the runner work on what was planted, and looks at the result.
    pub(super) fn collect(installation: &mut Installation, session: &AttackSession) -> Result<Self> {
        let base = installation.base().to_owned();
        let rule_marker = base.join("rule-marker");
        let hung = follow_up(installation, session, &rule_marker).err().map(|error| format!("{error:#}"));
        let observed = installation.victims.observe()?;
        let printed = installation.cli(&["runs", "events", &session.handle.run], "")?;
        let is_changed =
            |name: &str| fs::read_to_string(base.join(name)).map_or(true, |text| text != UNCHANGED);
        Ok(Self {
            killed: observed["killed"] == true,
            typed: observed["typed"] == true,
            overwritten: is_changed("overwrite"),
            overwritten_from_workspace: is_changed("overwrite-workspace"),
            git_hook_ran: base.join("git-marker").exists(),
            rule_allowed: rule_marker.exists(),
            hung,
            printed_escapes: printed.contains(ESCAPES),
            base,
        })
    }

    /// Replaces the outcome `planted` by what happened.
    pub(super) fn resolve(&self, attack: &str, result: &mut AttackResult) {
        if result.outcome != Outcome::Planted {
            return;
        }
        let (has_effect, effect) = match attack {
            "write_program_folder" | "write_tools" | "write_user_home" => {
                let marker = Path::new(&result.detail);
                (marker.starts_with(&self.base) && marker.exists(), "file outside")
            }
            "kill_process" => (self.killed, "process ended"),
            "terminal_input" => (self.typed, "character arrived"),
            "symlink_for_runner" => (self.overwritten, "file outside overwritten"),
            "symlink_in_workspace" => (self.overwritten_from_workspace, "file outside overwritten"),
            "fifo_in_workspace" | "character_device_in_workspace" => {
                (self.hung.is_some(), self.hung.as_deref().unwrap_or("the runner hung or followed it"))
            }
            "git_hooks" => (self.git_hook_ran, "hook ran outside"),
            "codex_rules" => (self.rule_allowed, "rule allowed a command outside"),
            "terminal_escapes" => (self.printed_escapes, "the CLI printed them"),
            _ => {
                *result =
                    AttackResult { outcome: Outcome::Broken, detail: "no check on the host".to_owned() };
                return;
            }
        };
        let (outcome, prefix) =
            if has_effect { (Outcome::Succeeded, "") } else { (Outcome::Refused, "did not happen: ") };
        *result = AttackResult { outcome, detail: format!("{prefix}{effect}") };
    }
}

/// Sends one more turn to the run, and one to the next run of the session. Both must end.
fn follow_up(installation: &Installation, session: &AttackSession, rule_marker: &Path) -> Result<()> {
    let server = &installation.server;
    session.handle.turn(server, "run:echo still here")?;
    check_artifacts(&session.handle, installation)?;
    session.handle.cancel(server)?;
    let next = session.next_run(server)?;
    next.turn(server, &format!("run:touch {}", rule_marker.display()))?;
    next.cancel(server)
}

/// Artifact events must be few, and describe files of the workspace.
fn check_artifacts(run: &RunHandle, installation: &Installation) -> Result<()> {
    let events = run.events(&installation.server, &installation.server.sign_in()?)?;
    let artifacts: Vec<&Value> = events.iter().filter(|event| event["type"] == "artifact").collect();
    anyhow::ensure!(artifacts.len() <= MAX_ARTIFACT_EVENTS, "{} artifact events", artifacts.len());
    let is_outside = |event: &&&Value| {
        let path = event["payload"]["path"].as_str().unwrap_or_default();
        path.starts_with('/') || path.starts_with("outside/") || path.contains("..")
    };
    if let Some(event) = artifacts.iter().find(is_outside) {
        anyhow::bail!("artifact outside of the workspace: {}", event["payload"]);
    }
    Ok(())
}
