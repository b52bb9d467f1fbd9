//! Our side: a command over HTTP, and a runner in a process of its own that waits for it.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use guildhall_domain::runs::Ending;
use guildhall_protocol::rest::runners::RegisterRunner;
use guildhall_sdk::Client;
use guildhall_sdk::runner::{Claim, ClaimAgain, PollFrom, RunnerClient};
use secrecy::SecretString;
use serde_json::json;

use super::{Received, Receiver, now};
use crate::installation::{Installation, Tenant, text};

/// The name under which this program starts itself as the runner.
pub(crate) const RUNNER: &str = "as-dispatch-runner";

const POLL_WAIT: Duration = Duration::from_secs(8);

#[derive(serde::Serialize, serde::Deserialize)]
struct Task {
    base: String,
    enrolment: String,
    run: String,
}

pub(super) struct Ours<'a> {
    installation: &'a Installation,
    tenant: Tenant,
    run: String,
    runner: Receiver,
}

impl<'a> Ours<'a> {
    pub(super) async fn start(installation: &'a Installation) -> Result<Self> {
        let tenant = installation.tenant().await?;
        let run = installation.run(&tenant).await?;
        let task =
            Task { base: installation.base.clone(), enrolment: tenant.enrolment.clone(), run: run.clone() };
        let mut command = Command::new(std::env::current_exe()?);
        let runner = Receiver::start(command.arg(RUNNER), &serde_json::to_string(&task)?)?;
        Ok(Self { installation, tenant, run, runner })
    }

    pub(super) async fn work(&mut self, number: usize) -> Result<i64> {
        let url = format!("{}/api/v1/runs/{}/commands", self.installation.base, self.run);
        let turn = json!({ "type": "turn", "payload": { "prompt": number.to_string() } });
        let request = self.installation.client.post(url).bearer_auth(&self.tenant.access).json(&turn);
        let answer = request.send().await?;
        let accepted = now();
        text(&answer.error_for_status()?.json().await?, "commandId")?;
        self.runner.received(number, accepted).await
    }
}

/// The other process: holds the run, and takes and ends whatever comes.
pub(crate) fn receive() -> Result<()> {
    let _already_there = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let mut told = String::new();
    std::io::stdin().read_line(&mut told)?;
    let task: Task = serde_json::from_str(&told)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(hold(&task))
}

async fn hold(task: &Task) -> Result<()> {
    let client = RunnerClient::new(Client::new(&task.base)?, SecretString::from(task.enrolment.as_str()));
    let about = RegisterRunner {
        name: "bench".to_owned(),
        placement: json!({}),
        backend_profiles: vec!["demo".to_owned()],
    };
    let runner = client.register(&about).await?.runner_id.parse()?;
    let claim = client.claim(task.run.parse()?, runner, ClaimAgain::No).await?;
    let Claim::Granted { held, .. } = claim else { bail!("not granted: {claim:?}") };
    say(&Received { n: 0, at: 0 })?;
    let mut from = PollFrom::default();
    loop {
        let work = held.poll(from, POLL_WAIT).await?;
        let at = now();
        from = PollFrom::after(&work);
        for command in work.commands {
            let n = command.payload["prompt"].as_str().and_then(|n| n.parse().ok()).context("a number")?;
            say(&Received { n, at })?;
            let id = command.command_id.parse()?;
            held.ack(id).await?;
            held.finish(id, &Ending::COMPLETED, None).await?;
        }
    }
}

fn say(received: &Received) -> Result<()> {
    println!("{}", serde_json::to_string(received)?);
    Ok(())
}
