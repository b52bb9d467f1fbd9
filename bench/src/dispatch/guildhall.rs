//! The Guildhall side: a command over HTTP, and a waiting runner in a separate process.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use guildhall_domain::runs::TerminalOutcome;
use guildhall_protocol::rest::runners::RegisterRunner;
use guildhall_sdk::Client;
use guildhall_sdk::runner::{ClaimOutcome, ClaimRetry, PollCursor, RunnerClient};
use secrecy::SecretString;
use serde_json::json;

use super::{ReceivedJob, WorkerProcess, now};
use crate::installation::{Installation, Tenant, text};

/// The argument with which this program starts itself as the runner.
pub(crate) const RUNNER: &str = "as-dispatch-runner";

const POLL_WAIT: Duration = Duration::from_secs(8);

#[derive(serde::Serialize, serde::Deserialize)]
struct RunnerInput {
    base: String,
    enrolment: String,
    run: String,
}

pub(super) struct Guildhall<'a> {
    installation: &'a Installation,
    tenant: Tenant,
    run: String,
    runner: WorkerProcess,
}

impl<'a> Guildhall<'a> {
    pub(super) async fn start(installation: &'a Installation) -> Result<Self> {
        let tenant = installation.create_tenant().await?;
        let run = installation.create_run(&tenant).await?;
        let input = RunnerInput {
            base: installation.base.clone(),
            enrolment: tenant.enrolment.clone(),
            run: run.clone(),
        };
        let mut command = Command::new(std::env::current_exe()?);
        let runner = WorkerProcess::start(command.arg(RUNNER), &serde_json::to_string(&input)?)?;
        Ok(Self { installation, tenant, run, runner })
    }

    pub(super) async fn run_job(&mut self, number: usize) -> Result<i64> {
        let url = format!("{}/api/v1/runs/{}/commands", self.installation.base, self.run);
        let turn = json!({ "type": "turn", "payload": { "prompt": number.to_string() } });
        let request = self.installation.client.post(url).bearer_auth(&self.tenant.access).json(&turn);
        let response = request.send().await?;
        let accepted = now();
        text(&response.error_for_status()?.json().await?, "commandId")?;
        self.runner.wait_for_job(number, accepted).await
    }
}

/// The runner process: claims the run, and completes each command at once.
pub(crate) fn receive() -> Result<()> {
    let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    let input: RunnerInput = serde_json::from_str(&line)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve_run(&input))
}

async fn serve_run(input: &RunnerInput) -> Result<()> {
    let client = RunnerClient::new(Client::new(&input.base)?, SecretString::from(input.enrolment.as_str()));
    let registration = RegisterRunner {
        name: "bench".to_owned(),
        placement: json!({}),
        backend_profiles: vec!["demo".to_owned()],
    };
    let runner = client.register(&registration).await?.runner_id.parse()?;
    let claim = client.claim(input.run.parse()?, runner, ClaimRetry::No).await?;
    let ClaimOutcome::Granted { run: held, .. } = claim else { bail!("the claim was refused: {claim:?}") };
    print_job(&ReceivedJob { n: 0, at: 0 })?;
    let mut from = PollCursor::default();
    loop {
        let work = held.poll(from, POLL_WAIT).await?;
        let at = now();
        from = PollCursor::after(&work);
        for command in work.commands {
            let n = command.payload["prompt"].as_str().and_then(|n| n.parse().ok()).context("a number")?;
            print_job(&ReceivedJob { n, at })?;
            let id = command.command_id.parse()?;
            held.ack(id).await?;
            held.finish(id, &TerminalOutcome::COMPLETED, None).await?;
        }
    }
}

fn print_job(job: &ReceivedJob) -> Result<()> {
    println!("{}", serde_json::to_string(job)?);
    Ok(())
}
