//! Fault and size tests at full size. CI runs the same tests with a small size.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::command::{build_workspace, cargo, output, root, step};
use crate::dist;
use crate::engines::Engines;

#[derive(Args)]
pub(crate) struct LongArgs {
    /// Name of the test; omit it to list all
    name: Option<String>,
    /// Seed of the random choices; a new one by default, written to the report
    #[arg(long)]
    seed: Option<u64>,
    /// Override the full size; the report shows it. The size of `storm` is in minutes
    #[arg(long, visible_alias = "minutes")]
    size: Option<u32>,
    /// Tarball to test with `dist`; without it a new one of the release profile
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "size"])]
    tarball: Option<PathBuf>,
}

/// A test that reads its size from the environment.
struct LongTest {
    name: &'static str,
    about: &'static str,
    package: &'static str,
    test: &'static str,
    size: u32,
}

const LONG_TESTS: [LongTest; 17] = [
    LongTest {
        name: "runner-kills",
        about: "SIGKILL of runners during tool calls: no call is repeated, no process survives, the run continues",
        package: "guildhall-cli",
        test: "runner_faults::kills::killed_runner_repeats_no_tool_call_and_its_run_continues",
        size: 50,
    },
    LongTest {
        name: "approval-faults",
        about: "SIGKILL of runners, servers and PostgreSQL while agents ask people: no action without its allowance",
        package: "guildhall-cli",
        test: "runner_faults::approval_faults::action_runs_at_most_once_per_allowance_and_no_answer_is_lost",
        size: 100,
    },
    LongTest {
        name: "run-faults",
        about: "SIGKILL of servers, PostgreSQL, NATS and runners: no event is lost or duplicated, no run hangs",
        package: "guildhall-cli",
        test: "run_faults::run_events_survive_kills_without_loss_and_no_run_hangs",
        size: 200,
    },
    LongTest {
        name: "run-size",
        about: "a run of a million events: result and pages are as fast as those of a short run",
        package: "guildhall-server",
        test: "run_size::result_and_page_latency_do_not_depend_on_run_length",
        size: 1_000_000,
    },
    LongTest {
        name: "retention",
        about: "thirty days of runs with a retention of three days: the database stops growing",
        package: "guildhall-server",
        test: "retention_size::database_stops_growing_with_retention",
        size: 100_000,
    },
    LongTest {
        name: "transparency-log",
        about: "a log of a million certificates: proofs are accepted by another implementation and read few rows",
        package: "guildhall-service",
        test: "transparency::proofs_of_a_long_log_read_few_nodes",
        size: 1_000_000,
    },
    LongTest {
        name: "journal-faults",
        about: "SIGKILL of servers, PostgreSQL and NATS under 16 writers: no confirmed entry is lost or duplicated",
        package: "guildhall-cli",
        test: "journal_faults::confirmed_entries_survive_kills_without_loss_or_duplicate",
        size: 60,
    },
    LongTest {
        name: "inbox-faults",
        about: "SIGKILL of servers, PostgreSQL and NATS while 600 devices exchange messages: none is lost or read twice",
        package: "guildhall-cli",
        test: "inbox_faults::acknowledged_messages_survive_kills_without_loss_or_duplicate",
        size: 100,
    },
    LongTest {
        name: "nats-outage",
        about: "NATS away for a minute, at the start and later: messages are accepted and read, and live again by themselves",
        package: "guildhall-server",
        test: "messages::outages::messages_are_pushed_live_again_after_each_outage_of_nats",
        size: 60,
    },
    LongTest {
        name: "relations",
        about: "a breaking change of an agent with 100,000 users, a server killed half-way: each has exactly one notice",
        package: "guildhall-cli",
        test: "relation_faults::every_user_has_one_notice_when_a_server_is_killed_half_way",
        size: 100_000,
    },
    LongTest {
        name: "dev-kills",
        about: "SIGKILL of `guildhall dev` at random moments: no process is left, no row is lost",
        package: "guildhall-cli",
        test: "dev_kills::killed_dev_leaves_no_process_and_loses_no_row",
        size: 20,
    },
    LongTest {
        name: "storm",
        about: "random faults of 27 kinds for some minutes: nothing confirmed is lost, doubled or reordered, nothing hangs",
        package: "guildhall-cli",
        test: "storm::storm_of_faults_loses_doubles_and_reorders_nothing",
        size: 60,
    },
    LongTest {
        name: "claim-race",
        about: "two runners claim the same run at once, one on each replica: exactly one wins",
        package: "guildhall-server",
        test: "claim_race::concurrent_claims_have_one_winner_and_a_conflict_with_owner",
        size: 1000,
    },
    LongTest {
        name: "approval-votes",
        about: "100 voters answer the same question at once, on two replicas: exactly one wins",
        package: "guildhall-server",
        test: "approval_votes::one_of_100_voters_wins_and_the_others_are_told_who",
        size: 1000,
    },
    LongTest {
        name: "agui-reload",
        about: "AG-UI pages that are reloaded in mid-stream while replicas are killed: no frame is missing or doubled",
        package: "guildhall-cli",
        test: "agui_reload::reloaded_pages_miss_and_double_nothing_while_replicas_are_killed",
        size: 200,
    },
    LongTest {
        name: "tool-calls",
        about: "167 agents on two replicas call tools 60 times each within a minute: every call is stored once, the 61st is refused",
        package: "guildhall-cli",
        test: "tool_calls::load::calls_up_to_the_limit_are_stored_once_and_the_next_is_refused",
        size: 167,
    },
    LongTest {
        name: "manifest-diff",
        about: "pairs of generated input schemas: no change that a validator notices is taken for a harmless one",
        package: "guildhall-protocol",
        test: "manifest_diff::diff_is_never_more_lenient_than_the_values",
        size: 100_000,
    },
];

/// Not a test of a crate: it tests the programs as users get them.
const DIST: (&str, &str) = (
    "dist",
    "the tarball of a release, where there is nothing but libc and a shell: it installs, serves and completes a run",
);

pub(crate) fn run(args: &LongArgs) -> Result<()> {
    let Some(name) = &args.name else {
        for (name, about) in LONG_TESTS.iter().map(|long| (long.name, long.about)).chain([DIST]) {
            println!("{name:16} {about}");
        }
        return Ok(());
    };
    if name == DIST.0 {
        return test_tarball(args.tarball.as_deref());
    }
    let Some(long) = LONG_TESTS.iter().find(|long| long.name == name) else {
        bail!("no long test is named `{name}`; `cargo xtask long` lists them");
    };
    let size = args.size.unwrap_or(long.size);
    let seed = args.seed.unwrap_or_else(|| u64::from(std::process::id()));
    let lines = tempfile::NamedTempFile::new()?;
    build_workspace()?;
    let engines = Engines::temporary()?;
    let mut test = cargo(["nextest", "run", "--profile", "long", "--workspace", "-E"]);
    test.arg(format!("package({}) & test({})", long.package, long.test));
    test.envs(engines.env())
        .env("GUILDHALL_LONG_SIZE", size.to_string())
        .env("GUILDHALL_LONG_SEED", seed.to_string())
        .env("GUILDHALL_LONG_REPORT", lines.path());
    step(long.name, &mut test)?;
    let results = fs::read_to_string(lines.path()).context("the test wrote no report")?;
    if results.trim().is_empty() {
        bail!("{} passed but wrote no report: did the filter match a test?", long.name);
    }
    let size_argument = args.size.map_or(String::new(), |size| format!(" --size {size}"));
    let text = format!(
        "# {name}\n{}.\n\nRun with `cargo xtask long {name} --seed {seed}{size_argument}` on commit {}: size {size} of {}, seed {seed}.\n\n{results}",
        long.about,
        commit()?,
        long.size
    );
    write_report(name, &text)
}

fn test_tarball(tarball: Option<&Path>) -> Result<()> {
    let results = dist::trial::run(tarball)?;
    let option = tarball.map_or("", |_| " --tarball FILE");
    let (name, about) = DIST;
    let text = format!(
        "# {name}\n{about}.\n\nRun with `cargo xtask long {name}{option}` on commit {}.\n\n{results}",
        commit()?
    );
    write_report(name, &text)
}

fn commit() -> Result<String> {
    let printed = output(Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(root()))?;
    Ok(printed.trim().to_owned())
}

fn write_report(name: &str, text: &str) -> Result<()> {
    let report = root().join("docs/measured").join(format!("{name}.md"));
    fs::write(&report, text)?;
    println!("wrote {}", report.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests and their modules are renamed without a compile error here.
    #[test]
    fn every_long_test_exists() {
        for long in &LONG_TESTS {
            let folder =
                root().join("crates").join(long.package.trim_start_matches("guildhall-")).join("tests/it");
            let (modules, function) = long.test.rsplit_once("::").unwrap();
            let module = folder.join(modules.replace("::", "/"));
            let files = [module.with_extension("rs"), module.join("mod.rs")];
            let source: String = files.iter().filter_map(|file| fs::read_to_string(file).ok()).collect();
            assert!(source.contains(&format!("fn {function}(")), "{} is not in {files:?}", long.test);
        }
    }
    #[test]
    fn workflow_runs_every_long_test() {
        let workflow = fs::read_to_string(root().join(".github/workflows/ci.yml")).unwrap();
        let names: Vec<&str> = LONG_TESTS.iter().map(|long| long.name).chain([DIST.0]).collect();
        assert!(
            workflow.contains(&format!("name: [{}]", names.join(", "))),
            "matrix of long-tests: {names:?}"
        );
    }
}
