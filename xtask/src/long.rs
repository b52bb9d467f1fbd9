//! The full-size form of fault and size tests.

use std::fs;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::command::{cargo, output, root, step};
use crate::engines::Engines;

#[derive(Args)]
pub(crate) struct LongArgs {
    /// The test; without a name they are listed
    name: Option<String>,
    /// The seed of its random choices; chosen and printed when not given
    #[arg(long)]
    seed: Option<u64>,
    /// Another size than the full one; the report says so
    #[arg(long)]
    size: Option<u32>,
}

/// A test whose short form runs in CI. The full form is the same test with a larger size in its environment.
struct Long {
    name: &'static str,
    about: &'static str,
    package: &'static str,
    test: &'static str,
    size: u32,
}

const ALL: [Long; 6] = [
    Long {
        name: "runner-kills",
        about: "SIGKILL of runners in the middle of tool calls: nothing is done twice, nothing lives on, the run goes on",
        package: "guildhall-cli",
        test: "runner_faults::kills::a_runner_killed_in_a_tool_call_does_nothing_twice_and_its_run_goes_on",
        size: 50,
    },
    Long {
        name: "run-faults",
        about: "SIGKILL of servers, PostgreSQL and NATS, and runners that die: no event lost or doubled, no run hangs",
        package: "guildhall-cli",
        test: "run_faults::no_event_is_lost_or_doubled_and_no_run_hangs_whatever_is_killed",
        size: 200,
    },
    Long {
        name: "run-size",
        about: "a run of a million events: its result and its pages cost what those of a short run cost",
        package: "guildhall-server",
        test: "run_size::a_result_and_a_page_cost_the_same_at_any_length_of_the_run",
        size: 1_000_000,
    },
    Long {
        name: "journal-faults",
        about: "SIGKILL of servers, PostgreSQL and NATS under 16 writers: nothing confirmed is lost or doubled",
        package: "guildhall-cli",
        test: "journal_faults::nothing_confirmed_is_lost_or_doubled_whatever_is_killed",
        size: 60,
    },
    Long {
        name: "dev-kills",
        about: "SIGKILL of `guildhall dev` at random moments: nothing left running, nothing lost",
        package: "guildhall-cli",
        test: "dev_kills::killed_at_random_moments_it_leaves_no_process_and_loses_no_row",
        size: 20,
    },
    Long {
        name: "claim-race",
        about: "two runners claim the same run at the same moment, one on each replica: one owner each time",
        package: "guildhall-server",
        test: "claim_race::of_two_that_claim_at_once_one_gets_the_run_and_the_other_learns_who_and_until_when",
        size: 1000,
    },
];

pub(crate) fn run(args: &LongArgs) -> Result<()> {
    let Some(name) = &args.name else {
        for long in &ALL {
            println!("{:14} {}", long.name, long.about);
        }
        return Ok(());
    };
    let Some(long) = ALL.iter().find(|long| long.name == name) else {
        bail!("no long test is called `{name}`; `cargo xtask long` lists them");
    };
    let size = args.size.unwrap_or(long.size);
    let seed = args.seed.unwrap_or_else(|| u64::from(std::process::id()));
    let report = root().join("docs/measured").join(format!("{name}.md"));
    let lines = tempfile::NamedTempFile::new()?;
    // The command's tests start the runner's program too.
    step("runner", &mut cargo(["build", "-p", "guildhall-cli", "-p", "guildhall-runner"]))?;
    let engines = Engines::temporary()?;
    let mut test = cargo(["nextest", "run", "--profile", "long", "--package", long.package, long.test]);
    test.envs(engines.env())
        .env("GUILDHALL_LONG_SIZE", size.to_string())
        .env("GUILDHALL_LONG_SEED", seed.to_string())
        .env("GUILDHALL_LONG_REPORT", lines.path());
    step(long.name, &mut test)?;
    let said = fs::read_to_string(lines.path()).context("the test wrote no report")?;
    if said.trim().is_empty() {
        bail!("{} passed but wrote no report: was it run at all?", long.name);
    }
    let commit =
        output(std::process::Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(root()))?;
    let sized = args.size.map_or(String::new(), |size| format!(" --size {size}"));
    let text = format!(
        "# {name}\n{}.\n\nRun with `cargo xtask long {name} --seed {seed}{sized}` on commit {}: size {size} of {}, seed {seed}.\n\n{said}",
        long.about,
        commit.trim(),
        long.size
    );
    fs::write(&report, text)?;
    println!("wrote {}", report.display());
    Ok(())
}
