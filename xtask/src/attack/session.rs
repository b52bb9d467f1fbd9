//! The run that attacks.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::agent::Backend;
use super::installation::Installation;
use super::run_handle::{RunHandle, Turn};
use super::{Attack, AttackArgs, AttackResult, Outcome, Sandbox};
use crate::command::root;
use crate::dev_server::DevServer;

/// The tenant of the first user of `guildhall dev`.
const TENANT: &str = "dev";

/// Further turns in which a tool that was left running can be stopped by a limit.
const MAX_WAITS: u32 = 3;
const WAIT_SECONDS: u32 = 8;

/// The session whose agent attacks.
pub(super) struct AttackSession {
    pub(super) handle: RunHandle,
    /// Earlier runs of the session.
    pub(super) ended: Vec<RunHandle>,
    backend: Backend,
    policy: Value,
    /// The shell command of the attack, without the names of attacks.
    command: String,
}

impl AttackSession {
    pub(super) fn create(installation: &Installation, args: &AttackArgs) -> Result<Self> {
        let mut policy = json!({ "sandbox": args.sandbox.as_str(), "network": args.network.as_str() });
        if let Some(scope) = args.backend.secret_scope() {
            policy["secretScope"] = scope;
        }
        let profile = args.backend.profile();
        let handle = RunHandle::create(&installation.server, TENANT, profile, None, &policy)?;
        let command = pack_command(&installation.targets)?;
        Ok(Self { handle, ended: Vec::new(), backend: args.backend, policy, command })
    }

    /// Runs the attacks, one group per turn. An attack without a result is broken.
    pub(super) fn run_attacks(
        &self,
        server: &DevServer,
        attacks: &[Attack],
    ) -> Result<BTreeMap<String, AttackResult>> {
        let mut results = BTreeMap::new();
        for group in attacks.chunk_by(|a, b| a.group == b.group) {
            for chunk in group.chunks(self.backend.attacks_per_turn(&group[0].group)) {
                let started = Instant::now();
                let names: Vec<&str> = chunk.iter().map(|attack| attack.name.as_str()).collect();
                let turn = self.handle.turn(server, &format!("run:{} {}", self.command, names.join(" ")))?;
                println!(
                    "{}: {} attacks, {} after {} s",
                    group[0].group,
                    names.len(),
                    turn.status,
                    started.elapsed().as_secs()
                );
                let mut found = results_of(&turn, &names);
                // Codex returns from a slow tool and leaves it running.
                for _ in 0..MAX_WAITS {
                    if names.iter().all(|name| found.contains_key(*name)) {
                        break;
                    }
                    let later = self.handle.turn(server, &format!("run:sleep {WAIT_SECONDS}"))?;
                    found.extend(results_of(&later, &names));
                }
                if names.iter().any(|name| !found.contains_key(*name)) {
                    let end = turn.output.floor_char_boundary(2000);
                    println!("{} {}", turn.message, &turn.output[..end]);
                }
                results.extend(found);
            }
        }
        for attack in attacks {
            let missing = AttackResult { outcome: Outcome::Broken, detail: "no result".to_owned() };
            results.entry(attack.name.clone()).or_insert(missing);
        }
        Ok(results)
    }

    /// Ends the run and creates the next one of the session, whose runner starts anew.
    pub(super) fn restart(&mut self, server: &DevServer) -> Result<()> {
        self.restart_with(server, &self.policy.clone())
    }

    /// Like `restart`, with the strictest sandbox.
    pub(super) fn restart_read_only(&mut self, server: &DevServer) -> Result<()> {
        let mut policy = self.policy.clone();
        policy["sandbox"] = json!(Sandbox::ReadOnly.as_str());
        self.restart_with(server, &policy)
    }

    fn restart_with(&mut self, server: &DevServer, policy: &Value) -> Result<()> {
        self.handle.cancel(server)?;
        let session = Some(self.handle.session.as_str());
        let next = RunHandle::create(server, TENANT, self.backend.profile(), session, policy)?;
        self.ended.push(std::mem::replace(&mut self.handle, next));
        Ok(())
    }
}

/// Returns the results of a turn. If the sandbox killed its processes, all attacks were refused.
fn results_of(turn: &Turn, names: &[&str]) -> BTreeMap<String, AttackResult> {
    let mut found = parse_results(&turn.output);
    if let Some(limit) = exceeded_limit(&turn.message) {
        let result = AttackResult { outcome: Outcome::Refused, detail: limit };
        found.extend(names.iter().map(|name| ((*name).to_owned(), result.clone())));
    }
    found
}

/// Returns the limit for which the sandbox killed all processes of a turn.
fn exceeded_limit(message: &str) -> Option<String> {
    let start = ["it used more than", "it created more than"].iter().find_map(|text| message.find(text))?;
    Some(message[start..].trim_end_matches('"').to_owned())
}

/// Packs the program and its targets into one shell command.
fn pack_command(targets: &Value) -> Result<String> {
    let mut child = Command::new("python3")
        .arg(root().join("crates/testkit/attack/attack.py"))
        .arg("--pack")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    child.stdin.take().context("stdin is not piped")?.write_all(targets.to_string().as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "cannot pack attack.py ({})", output.status);
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Finds the results in the output of a tool, which agents may decorate.
fn parse_results(output: &str) -> BTreeMap<String, AttackResult> {
    let lines = output.lines().filter_map(|line| line.find("{\"attack\":").map(|start| &line[start..]));
    lines.filter_map(parse_result).collect()
}

fn parse_result(line: &str) -> Option<(String, AttackResult)> {
    let row: Value = serde_json::Deserializer::from_str(line).into_iter().next()?.ok()?;
    let outcome = match row["outcome"].as_str()? {
        "succeeded" => Outcome::Succeeded,
        "refused" => Outcome::Refused,
        "unavailable" => Outcome::Unavailable,
        "planted" => Outcome::Planted,
        _ => Outcome::Broken,
    };
    let detail = row["detail"].as_str()?.to_owned();
    Some((row["attack"].as_str()?.to_owned(), AttackResult { outcome, detail }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_found_in_decorated_output() {
        let output =
            "Output: {\"attack\": \"api\", \"outcome\": \"refused\", \"detail\": \"no\"} (exit 0)\nother\n";
        let expected = AttackResult { outcome: Outcome::Refused, detail: "no".to_owned() };
        assert_eq!(parse_results(output), BTreeMap::from([("api".to_owned(), expected)]));
    }

    #[test]
    fn unknown_outcome_is_broken() {
        let output = "{\"attack\": \"api\", \"outcome\": \"maybe\", \"detail\": \"\"}";
        assert_eq!(parse_results(output)["api"].outcome, Outcome::Broken);
    }
}
