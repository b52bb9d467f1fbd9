//! How the cost of a server grows with what it holds: statements and blocks for N and for 10 N.

mod counters;
mod load;
mod rows;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reqwest::Method;
use serde_json::json;

pub(crate) use self::counters::Counters;
use self::counters::Counts;
pub(crate) use self::load::open_streams;
use crate::installation::{Installation, Tenant, text};

/// How long an idle server is measured: longer than a long poll.
const IDLE: Duration = Duration::from_secs(20);

/// Time for clients to reach the state that is measured.
const SETTLE: Duration = Duration::from_secs(12);

const FOLLOWERS: usize = 500;
const WAITING_RUNNERS: usize = 200;
const RUNNERS_AT_AN_OFFER: usize = 50;
const HELD_RUNS: usize = 50;
const PENDING_RUNS: usize = 1_000;
const LISTED_RUNS: usize = 10;
const FINISHED_RUNS: usize = 10_000;
const TENANTS: usize = 1_000;

/// Rows of an operation that are noise: what reconcilers read meanwhile.
const ROWS_FLOOR: f64 = 30.0;

/// Blocks of an operation that are noise: another level of some indexes.
const BLOCKS_FLOOR: f64 = 300.0;

/// What does not grow.
#[derive(Clone, Copy)]
enum Flat {
    /// Statements: one of them reads a row for each of N.
    Statements,
    /// Statements, rows and blocks: N is what else there is.
    Everything,
}

/// A cost with N, and with ten times as many.
struct Growth {
    what: &'static str,
    flat: Flat,
    unit: &'static str,
    n: usize,
    costs: [Counts; 2],
}

impl Growth {
    /// Returns the cost of 10 N over that of N, of what is flat. Less than a floor is the floor: there is nothing to save.
    fn ratio(&self) -> f64 {
        let of = |count: fn(&Counts) -> f64, floor: f64| {
            count(&self.costs[1]).max(floor) / count(&self.costs[0]).max(floor)
        };
        let statements = of(|counts| counts.statements, 1.0);
        match self.flat {
            Flat::Statements => statements,
            Flat::Everything => {
                let rows = of(|counts| counts.rows, ROWS_FLOOR);
                statements.max(rows).max(of(|counts| counts.blocks, BLOCKS_FLOOR))
            }
        }
    }

    /// Returns the statements that each further one costs.
    fn per_item(&self) -> f64 {
        let [few, many] = &self.costs;
        (many.statements - few.statements) / f64::from(u32::try_from(self.n * 9).unwrap_or(u32::MAX))
    }

    fn print(&self) {
        let [few, many] = &self.costs;
        println!(
            "{}: {:.1} statements, {:.0} rows and {:.0} blocks {} with {}; {:.1}, {:.0} and {:.0} with {} ({:.2})",
            self.what,
            few.statements,
            few.rows,
            few.blocks,
            self.unit,
            self.n,
            many.statements,
            many.rows,
            many.blocks,
            self.n * 10,
            self.ratio()
        );
    }
}

pub(crate) fn run() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let installation = Installation::start_with(|postgres| runtime.block_on(Counters::enable(postgres)))?;
    runtime.block_on(measure(&installation))
}

async fn measure(installation: &Installation) -> Result<()> {
    let tenant = installation.create_tenant().await?;
    let mut counters = Counters::open(installation).await?;
    let idle = counters.measure_idle(IDLE).await?;
    println!(
        "idle server: {:.1} statements, {:.0} rows and {:.0} blocks a second",
        idle.statements, idle.rows, idle.blocks
    );
    let mut growths = vec![
        followers(installation, &signed_in(installation, &tenant).await?, &mut counters).await?,
        waiting_runners(installation, &signed_in(installation, &tenant).await?, &mut counters).await?,
        offered_run(installation, &signed_in(installation, &tenant).await?, &mut counters).await?,
    ];
    // Not flat: each holder polls for the commands of its run.
    let held = held_runs(installation, &signed_in(installation, &tenant).await?, &mut counters).await?;
    growths.extend([
        listed_runs(installation, &signed_in(installation, &tenant).await?, &mut counters).await?,
        pending_runs(installation, &signed_in(installation, &tenant).await?, &mut counters).await?,
        finished_runs(installation, &signed_in(installation, &tenant).await?, &mut counters).await?,
        tenants(&mut counters).await?,
    ]);
    println!("held_run_statements_a_second={:.3}", held.per_item());
    let worst = growths.iter().map(Growth::ratio).fold(0.0, f64::max);
    println!("growth_worst_ratio={worst:.2}");
    Ok(())
}

/// Returns the tenant with a new access token: each measurement takes a minute or two.
async fn signed_in(installation: &Installation, tenant: &Tenant) -> Result<Tenant> {
    Ok(Tenant {
        access: installation.sign_in().await?,
        id: tenant.id.clone(),
        enrolment: tenant.enrolment.clone(),
    })
}

async fn followers(installation: &Installation, tenant: &Tenant, counters: &mut Counters) -> Result<Growth> {
    let run = installation.create_run(tenant).await?;
    let mut costs = Vec::new();
    let mut streams = Vec::new();
    for count in [FOLLOWERS, FOLLOWERS * 10] {
        streams.extend(load::follow(installation, tenant, &run, count - streams.len()).await?);
        tokio::time::sleep(SETTLE).await;
        costs.push(counters.per_second(IDLE).await?);
        ensure!(open_streams(installation).await? == count, "streams were closed");
    }
    growth("followers with tokens of their own", "a second", Flat::Statements, FOLLOWERS, costs)
}

async fn waiting_runners(
    installation: &Installation,
    tenant: &Tenant,
    counters: &mut Counters,
) -> Result<Growth> {
    let runners = load::register(installation, tenant, WAITING_RUNNERS * 10).await?;
    let mut costs = Vec::new();
    for count in [WAITING_RUNNERS, WAITING_RUNNERS * 10] {
        let _waiting = load::wait_for_runs(installation, tenant, &runners[..count]);
        tokio::time::sleep(SETTLE).await;
        costs.push(counters.per_second(IDLE).await?);
        let other = installation.request(Method::GET, "/api/v1/whoami", &tenant.access, json!({})).await;
        other.context("another request while runners wait")?;
    }
    growth("waiting runners", "a second", Flat::Statements, WAITING_RUNNERS, costs)
}

/// Counts from the request that sends a command to the grant of its run.
async fn offered_run(
    installation: &Installation,
    tenant: &Tenant,
    counters: &mut Counters,
) -> Result<Growth> {
    let runners = load::register(installation, tenant, RUNNERS_AT_AN_OFFER * 10).await?;
    let mut costs = Vec::new();
    for count in [RUNNERS_AT_AN_OFFER, RUNNERS_AT_AN_OFFER * 10] {
        let mut waiting = load::wait_for_runs(installation, tenant, &runners[..count]);
        let run = installation.create_run(tenant).await?;
        tokio::time::sleep(SETTLE).await;
        let offer = async {
            send_turn(installation, tenant, &run).await?;
            let grant = waiting.join_next().await.context("a runner")??;
            ensure!(grant?["run"]["runId"] == json!(run), "another run was claimed");
            Ok(())
        };
        costs.push(counters.during(offer).await?.1);
        end_run(installation, tenant, &run).await?;
    }
    growth("a command until a waiting runner has its run", "", Flat::Everything, RUNNERS_AT_AN_OFFER, costs)
}

async fn held_runs(installation: &Installation, tenant: &Tenant, counters: &mut Counters) -> Result<Growth> {
    let mut costs = Vec::new();
    let mut held = Vec::new();
    for count in [HELD_RUNS, HELD_RUNS * 9] {
        held.push(load::hold_runs(installation, tenant, count).await?);
        tokio::time::sleep(SETTLE).await;
        costs.push(counters.per_second(IDLE).await?);
    }
    growth("idle runs that runners hold", "a second", Flat::Statements, HELD_RUNS, costs)
}

async fn listed_runs(
    installation: &Installation,
    tenant: &Tenant,
    counters: &mut Counters,
) -> Result<Growth> {
    let mut costs = Vec::new();
    for limit in [LISTED_RUNS, LISTED_RUNS * 10] {
        let path = format!("/api/v1/runs?tenantId={}&limit={limit}", tenant.id);
        let list = installation.request(Method::GET, &path, &tenant.access, json!({}));
        let (listed, counts) = counters.during(list).await?;
        ensure!(listed["runs"].as_array().is_some_and(|runs| runs.len() == limit), "too few runs: {listed}");
        costs.push(counts);
    }
    growth("a list of runs", "", Flat::Statements, LISTED_RUNS, costs)
}

/// Counts a claim while other runs wait that the runner could claim as well.
async fn pending_runs(
    installation: &Installation,
    tenant: &Tenant,
    counters: &mut Counters,
) -> Result<Growth> {
    let runner = load::register(installation, tenant, 2).await?;
    let run = installation.create_run(tenant).await?;
    send_turn(installation, tenant, &run).await?;
    let mut costs = Vec::new();
    for (copies, runner) in [(PENDING_RUNS, &runner[0]), (PENDING_RUNS * 9, &runner[1])] {
        counters.execute(rows::copy_waiting_runs(copies)).await?;
        // The claim is measured, not what is known of the runner.
        let body = json!({ "runnerId": runner, "wait": 0 });
        let claim = installation.request(Method::POST, "/api/v1/runners/claim", &tenant.enrolment, body);
        let began = Instant::now();
        let (claimed, counts) = counters.during(claim).await?;
        println!("a claim took {:.1?}", began.elapsed());
        ensure!(!claimed["grant"].is_null(), "no run was claimed");
        costs.push(counts);
    }
    growth("a claim beside pending runs", "", Flat::Everything, PENDING_RUNS, costs)
}

/// Counts a run from its creation to its end, with a list of runs, beside runs that have ended.
async fn finished_runs(
    installation: &Installation,
    tenant: &Tenant,
    counters: &mut Counters,
) -> Result<Growth> {
    let run = installation.create_run(tenant).await?;
    send_turn(installation, tenant, &run).await?;
    end_run(installation, tenant, &run).await?;
    let mut costs = Vec::new();
    for copies in [FINISHED_RUNS, FINISHED_RUNS * 9] {
        counters.execute(rows::copy_ended_runs(copies)).await?;
        let whole_run = async {
            let run = installation.create_run(tenant).await?;
            send_turn(installation, tenant, &run).await?;
            let path = format!("/api/v1/runs?tenantId={}&limit=100", tenant.id);
            installation.request(Method::GET, &path, &tenant.access, json!({})).await?;
            end_run(installation, tenant, &run).await
        };
        costs.push(counters.during(whole_run).await?.1);
    }
    growth("a run and a list beside finished runs", "", Flat::Everything, FINISHED_RUNS, costs)
}

/// Counts an idle server.
async fn tenants(counters: &mut Counters) -> Result<Growth> {
    let mut costs = Vec::new();
    for count in [TENANTS, TENANTS * 9] {
        counters.execute(rows::insert_tenants(count)).await?;
        tokio::time::sleep(SETTLE).await;
        costs.push(counters.per_second(IDLE).await?);
    }
    growth("tenants with an audit log, idle server", "a second", Flat::Everything, TENANTS, costs)
}

async fn send_turn(installation: &Installation, tenant: &Tenant, run: &str) -> Result<String> {
    let turn = json!({ "type": "turn", "payload": { "prompt": "go" } });
    let path = format!("/api/v1/runs/{run}/commands");
    text(&installation.request(Method::POST, &path, &tenant.access, turn).await?, "commandId")
}

async fn end_run(installation: &Installation, tenant: &Tenant, run: &str) -> Result<()> {
    let path = format!("/api/v1/runs/{run}/cancel");
    installation.request(Method::POST, &path, &tenant.access, json!({})).await?;
    Ok(())
}

fn growth(
    what: &'static str,
    unit: &'static str,
    flat: Flat,
    n: usize,
    costs: Vec<Counts>,
) -> Result<Growth> {
    let costs = costs.try_into().ok().context("two costs")?;
    let growth = Growth { what, flat, unit, n, costs };
    growth.print();
    Ok(growth)
}
