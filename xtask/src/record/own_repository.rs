//! The guide to work on one's own repository, followed by a new account with each agent.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::account::Account;
use super::recording::Recording;
use super::{SERVER, stop};
use crate::command::{output, root, target};
use crate::docs;
use crate::fake_model::FakeModel;

const GUIDE: &str = "docs/guides/own-repository.md";

const REPORT: &str = "docs/measured/own-repository.md";

/// The name of the new account, which is in the paths of the recording.
const ACCOUNT: &str = "ada";

/// The agent of the guide. The others take its place.
const AGENT_OF_GUIDE: &str = "codex";

/// The command that ends the measured time.
const LAST_MEASURED: &str = "guildhall runs apply";

/// Records the guide with its own agent, and measures it with every agent.
pub(super) fn record() -> Result<()> {
    let commands = docs::runnable_commands(GUIDE)?;
    let model = FakeModel::start()?;
    let mut results = Vec::new();
    for (agent, script) in
        [("codex", "@openai/codex/bin/codex.js"), ("qwen", "@qwen-code/qwen-code/cli-entry.js")]
    {
        let user = TestAccount::create(&model, agent, script)?;
        let (recording, times) = follow(&user, &commands, agent)?;
        if agent == AGENT_OF_GUIDE {
            recording.write(
                &root().join("docs/recording"),
                "own-repository",
                "Work on your own repository",
            )?;
        }
        results.push((agent, times));
    }
    write_report(&results)
}

/// A new account that has installed Guildhall, NATS and one agent as the guides say.
struct TestAccount {
    account: Account,
    environment: Vec<(&'static str, String)>,
}

impl TestAccount {
    fn create(model: &FakeModel, agent: &str, script: &str) -> Result<Self> {
        let account = Account::create(ACCOUNT)?;
        let local = account.home.join(".local");
        let bin = local.join("bin");
        let tools = account.home.join(".cache/guildhall/tools/bin");
        let templates = account.home.join("templates");
        for folder in [&bin, &local.join("lib"), &tools, &templates] {
            fs::create_dir_all(folder)?;
        }
        for program in ["guildhall", "guildhall-runner"] {
            fs::copy(target().join("debug").join(program), bin.join(program))?;
        }
        let nats = guildhall_engines::inspect::nats_program()?.path;
        fs::copy(nats, tools.join("nats-server"))?;
        // As `npm install --global` does it with a prefix in the home. The files are linked: they are large.
        let modules = local.join("lib/node_modules");
        output(Command::new("cp").arg("-al").arg(model.node_modules()).arg(&modules))?;
        symlink(Path::new("../lib/node_modules").join(script), bin.join(agent))?;
        model.write_templates(&templates)?;
        let own = [".local", ".cache", "templates"].map(|name| account.home.join(name));
        output(Command::new("chown").arg(format!("{ACCOUNT}:")).args(&own))?;
        output(Command::new("chown").arg("-R").arg(format!("{ACCOUNT}:")).arg(account.home.join(".cache")))?;
        let environment = vec![
            ("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display())),
            ("GUILDHALL_PROFILES_TEMPLATES", templates.display().to_string()),
            ("OPENAI_API_KEY", "sk-of-the-recording".to_owned()),
        ];
        Ok(Self { account, environment })
    }

    /// Prepares a command of a shell in the folder in which the last one ended.
    fn shell(&self, line: &str) -> Command {
        let mut command = self.account.command("bash", self.environment.iter().cloned());
        let script = format!(
            "cd \"$(cat ~/.folder 2>/dev/null || pwd)\" && {{ {line}\n}} 2>&1; code=$?; pwd > ~/.folder; exit $code"
        );
        command.args(["--noprofile", "--norc", "-c", &script]);
        command
    }

    fn dev(&self) -> Result<Command> {
        let folder =
            fs::read_to_string(self.account.home.join(".folder")).context("no command ran before")?;
        let mut command = self.account.command("guildhall", self.environment.iter().cloned());
        command.arg("dev").current_dir(PathBuf::from(folder.trim()));
        Ok(command)
    }
}

/// Each command with its duration.
type CommandTimes = Vec<(String, Duration)>;

/// Runs the commands of the guide with an agent.
fn follow(user: &TestAccount, commands: &[String], agent: &str) -> Result<(Recording, CommandTimes)> {
    let (mut recording, mut times, mut dev) = (Recording::default(), Vec::new(), None);
    let result = commands.iter().try_for_each(|command| {
        let mut typed = command.replace(AGENT_OF_GUIDE, agent);
        // The other agents ask before each command, and nobody answers a recording.
        if agent != AGENT_OF_GUIDE && typed.starts_with("guildhall run ") {
            typed.push_str(" --approval never");
        }
        println!("{agent}: {typed}");
        let start = Instant::now();
        if typed == SERVER {
            let server = dev.insert(recording.start(&typed, &mut user.dev()?)?);
            recording.read_until_ready(server)?;
        } else {
            let mut child = recording.start(&typed, &mut user.shell(&typed))?;
            recording.read_to_end(&mut child)?;
        }
        times.push((typed, start.elapsed()));
        anyhow::Ok(())
    });
    if let Some(mut dev) = dev {
        stop(&mut dev)?;
    }
    result.map(|()| (recording, times))
}

fn write_report(results: &[(&str, CommandTimes)]) -> Result<()> {
    let commit = output(Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(root()))?;
    let mut text = format!(
        "# own-repository\nThe [guide to work on your own repository](../guides/own-repository.md), followed by a new account without \
         rights, with real agents and a fake model.\n\n\
         Run with `cargo xtask record own-repository` on commit {}, with programs of the profile dev. Seconds of each command; a person also types and \
         reads.\n\n| agent |",
        commit.trim()
    );
    let measured = |times: &CommandTimes| {
        let end = times.iter().position(|(typed, _)| typed.starts_with(LAST_MEASURED));
        times[..=end.unwrap_or(times.len() - 1)].to_vec()
    };
    let (_, first) = results.first().context("no agent")?;
    let is_shown = |typed: &str| typed.contains("guildhall ");
    for (typed, _) in measured(first).iter().filter(|(typed, _)| is_shown(typed)) {
        let start = typed.find("guildhall ").unwrap_or(0);
        let words: Vec<&str> =
            typed[start..].split(' ').take_while(|word| !word.starts_with(['"', '$'])).collect();
        write!(text, " `{}` |", words.join(" ").replace(AGENT_OF_GUIDE, "AGENT"))?;
    }
    text.push_str(" from the programs to applied changes |\n|---|");
    text.push_str(&"---|".repeat(measured(first).iter().filter(|(typed, _)| is_shown(typed)).count() + 1));
    for (agent, times) in results {
        write!(text, "\n| {agent} |")?;
        for (_, time) in measured(times).iter().filter(|(typed, _)| is_shown(typed)) {
            write!(text, " {:.1} |", time.as_secs_f64())?;
        }
        let total: Duration = measured(times).iter().map(|(_, time)| *time).sum();
        write!(text, " {:.1} |", total.as_secs_f64())?;
    }
    text.push('\n');
    fs::write(root().join(REPORT), text)?;
    println!("wrote {REPORT}");
    Ok(())
}
