//! Attacks the sandbox of agents: a run executes `crates/testkit/attack/attack.py` as its tool, on a temporary
//! installation with victims around it. With the sandbox, every attack must fail; without it, every attack must succeed,
//! or else it would prove nothing.

mod agent;
mod checks;
mod installation;
mod report;
mod run_handle;
mod session;
mod victims;

use std::fmt;

use anyhow::{Result, bail, ensure};
use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::command::{build_workspace, output, root};
use agent::Backend;
use checks::HostChecks;
use installation::Installation;
use report::AttackReport;
use session::AttackSession;

/// The group of attacks that run in the second run of the session, whose runner started anew.
const SECOND_RUN: &str = "second-run";

/// The group that runs last: a sandbox kills every command that adds files to a full workspace.
const FLOOD: &str = "files-flood";

#[derive(Args)]
pub(crate) struct AttackArgs {
    /// Agent that runs the attacks
    #[arg(long, value_enum, default_value = "script")]
    backend: Backend,
    /// Sandbox of the run
    #[arg(long, value_enum, default_value = "workspace-write")]
    sandbox: Sandbox,
    /// Network of the run
    #[arg(long, value_enum, default_value = "disabled")]
    network: Network,
    /// Start runners without a sandbox: every attack must succeed
    #[arg(long)]
    uncontained: bool,
    /// Run only the attacks of these groups
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
    /// Write the result to docs/measured/attacks.md
    #[arg(long)]
    write: bool,
    /// Run every backend with every policy, and each backend once without the sandbox
    #[arg(long, conflicts_with_all = ["backend", "sandbox", "network", "uncontained"])]
    all: bool,
}

/// One backend with one policy.
type Configuration = (Backend, Sandbox, Network);

/// What CI attacks: the default policy, and the widest one of real agents.
const CI: [Configuration; 5] = [
    (Backend::Script, Sandbox::WorkspaceWrite, Network::Disabled),
    (Backend::Codex, Sandbox::WorkspaceWrite, Network::Disabled),
    (Backend::Codex, Sandbox::DangerFullAccess, Network::Enabled),
    (Backend::Qwen, Sandbox::WorkspaceWrite, Network::Disabled),
    (Backend::Qwen, Sandbox::DangerFullAccess, Network::Enabled),
];

/// Attacks every configuration of CI.
pub(crate) fn run_ci() -> Result<()> {
    build_workspace()?;
    CI.iter().try_for_each(|configuration| attack(&arguments(*configuration, false, false)))
}

fn arguments((backend, sandbox, network): Configuration, uncontained: bool, write: bool) -> AttackArgs {
    AttackArgs { backend, sandbox, network, uncontained, groups: Vec::new(), write, all: false }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sandbox {
    ReadOnly,
    WorkspaceWrite,
    DangerFullAccess,
}

impl Sandbox {
    fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::DangerFullAccess => "danger-full-access",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Network {
    Disabled,
    Enabled,
}

impl Network {
    fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Enabled => "enabled",
        }
    }
}

/// An attack of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Attack {
    name: String,
    group: String,
    /// Why it fails without a sandbox too; `None` if it must succeed there.
    fails_without_sandbox: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Succeeded,
    Refused,
    /// This machine cannot do it even without a sandbox.
    Unavailable,
    /// Only the host can see the effect.
    Planted,
    /// The attack has a bug, or did not report.
    Broken,
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Succeeded => "succeeded",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
            Self::Planted => "planted",
            Self::Broken => "broken",
        })
    }
}

/// What an attack reported, after the checks on the host.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AttackResult {
    outcome: Outcome,
    detail: String,
}

pub(crate) fn run(args: &AttackArgs) -> Result<()> {
    build_workspace()?;
    if !args.all {
        return attack(args);
    }
    let backends = Backend::value_variants();
    for backend in backends {
        for (sandbox, network) in Sandbox::value_variants()
            .iter()
            .flat_map(|sandbox| Network::value_variants().iter().map(move |network| (*sandbox, *network)))
        {
            attack(&arguments((*backend, sandbox, network), false, args.write))?;
        }
        attack(&arguments((*backend, Sandbox::DangerFullAccess, Network::Enabled), true, args.write))?;
    }
    Ok(())
}

fn attack(args: &AttackArgs) -> Result<()> {
    println!(
        "=== attack: {}, {}, network {}",
        args.backend.as_str(),
        args.sandbox.as_str(),
        args.network.as_str()
    );
    let has_own_sandbox = args.backend == Backend::Codex && args.sandbox != Sandbox::DangerFullAccess;
    ensure!(
        !(args.uncontained && has_own_sandbox),
        "Codex has a sandbox of its own: add `--sandbox danger-full-access` to `--uncontained`"
    );
    let attacks = list_attacks(&args.groups)?;
    let mut installation = Installation::start(args)?;
    let mut session = AttackSession::create(&installation, args)?;
    let of_group = |name: &str| -> Vec<Attack> {
        attacks.iter().filter(|attack| attack.group == name).cloned().collect()
    };
    let (second_run, flood) = (of_group(SECOND_RUN), of_group(FLOOD));
    let is_first = |attack: &&Attack| ![SECOND_RUN, FLOOD].contains(&attack.group.as_str());
    let first_run: Vec<Attack> = attacks.iter().filter(is_first).cloned().collect();
    let mut results = session.run_attacks(&installation.server, &first_run)?;
    let mut checks = HostChecks::default();
    checks.follow_up(&installation, &mut session);
    results.extend(session.run_attacks(&installation.server, &second_run)?);
    checks.follow_up(&installation, &mut session);
    checks.look(&mut installation, &session)?;
    if !flood.is_empty() {
        // In a session of its own: the attacks before may have damaged what the agent stored of theirs.
        let session = AttackSession::create(&installation, args)?;
        results.extend(session.run_attacks(&installation.server, &flood)?);
    }
    if args.uncontained {
        checks.be_careless(&installation, &session)?;
    }
    for (name, result) in &mut results {
        checks.resolve(name, result);
    }
    let report = AttackReport::new(args, &attacks, results);
    println!("\n{}", report.table());
    if args.write {
        report.write()?;
    }
    report.verdict()
}

/// Asks the program for its attacks.
fn list_attacks(groups: &[String]) -> Result<Vec<Attack>> {
    let program = root().join("crates/testkit/attack/attack.py");
    let lines = output(std::process::Command::new("python3").arg(program).arg("--list"))?;
    let attacks: Vec<Attack> = lines.lines().map(parse_attack).collect::<Result<_>>()?;
    if let Some(unknown) = groups.iter().find(|group| !attacks.iter().any(|attack| attack.group == **group)) {
        bail!("no attack is in the group `{unknown}`");
    }
    let selected: Vec<Attack> =
        attacks.into_iter().filter(|attack| groups.is_empty() || groups.contains(&attack.group)).collect();
    ensure!(!selected.is_empty(), "attack.py lists no attacks");
    Ok(selected)
}

fn parse_attack(line: &str) -> Result<Attack> {
    let row: Value = serde_json::from_str(line)?;
    let text = |key: &str| row[key].as_str().map(str::to_owned);
    Ok(Attack {
        name: text("attack").unwrap_or_default(),
        group: text("group").unwrap_or_default(),
        fails_without_sandbox: text("failsWithoutSandbox"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_attacks_exist_in_the_program() {
        let attacks = list_attacks(&[]).unwrap();
        let special = report::ALLOWED.iter().chain(&report::DEFENDED).map(|(_, name)| *name);
        for name in special.chain(checks::DEFENDED_BY_READERS) {
            assert!(attacks.iter().any(|attack| attack.name == name), "{name}");
        }
        for group in [SECOND_RUN, FLOOD] {
            assert!(attacks.iter().any(|attack| attack.group == group), "{group}");
        }
    }

    #[test]
    fn every_attack_has_a_unique_name_and_its_group_is_in_one_block() {
        let attacks = list_attacks(&[]).unwrap();
        let names: std::collections::BTreeSet<&str> =
            attacks.iter().map(|attack| attack.name.as_str()).collect();
        assert_eq!(names.len(), attacks.len());
        let blocks: Vec<&str> =
            attacks.chunk_by(|a, b| a.group == b.group).map(|block| block[0].group.as_str()).collect();
        let groups: std::collections::BTreeSet<&str> = blocks.iter().copied().collect();
        assert_eq!(groups.len(), blocks.len(), "{blocks:?}");
    }

    #[test]
    fn unknown_group_is_refused() {
        let error = list_attacks(&["nothing".to_owned()]).unwrap_err();
        assert_eq!(error.to_string(), "no attack is in the group `nothing`");
    }
}
