//! A warm runner in a separate process: it answers each turn at once with one word.

use std::time::Duration;

use anyhow::{Result, bail};
use guildhall_domain::runs::TerminalOutcome;
use guildhall_protocol::rest::runners::{NewEvent, RegisterRunner};
use guildhall_sdk::Client;
use guildhall_sdk::runner::{ClaimOutcome, ClaimRetry, LeasedRun, PollCursor, RunnerClient};
use secrecy::SecretString;
use serde_json::{Value, json};

/// The argument with which this program starts itself as the runner.
pub(crate) const RUNNER: &str = "as-agui-runner";

const POLL_WAIT: Duration = Duration::from_secs(8);

#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct RunnerInput {
    pub(super) base: String,
    pub(super) enrolment: String,
    pub(super) run: String,
}

/// The runner process: claims the run of its input, and serves its turns.
pub(crate) fn serve() -> Result<()> {
    let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    let input: RunnerInput = serde_json::from_str(&line)?;
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve_run(&input))
}

async fn serve_run(input: &RunnerInput) -> Result<()> {
    let client = RunnerClient::new(Client::new(&input.base)?, SecretString::from(input.enrolment.as_str()));
    let profiles = vec!["demo".to_owned()];
    let registration =
        RegisterRunner { name: "bench".to_owned(), placement: json!({}), backend_profiles: profiles };
    let runner = client.register(&registration).await?.runner_id.parse()?;
    let claim = client.claim(input.run.parse()?, runner, ClaimRetry::No).await?;
    let ClaimOutcome::Granted { run: held, .. } = claim else { bail!("the claim was refused: {claim:?}") };
    println!("ready");
    let mut from = PollCursor::default();
    loop {
        let work = held.poll(from, POLL_WAIT).await?;
        from = PollCursor::after(&work);
        for command in work.commands {
            answer(&held, &command.command_id).await?;
        }
    }
}

async fn answer(held: &LeasedRun, command: &str) -> Result<()> {
    let event = |number: u8, kind: &str, payload: Value| NewEvent {
        id: format!("{command}-{number}"),
        r#type: kind.to_owned(),
        command_id: Some(command.to_owned()),
        payload,
    };
    let id = command.parse()?;
    held.ack(id).await?;
    held.append(&[event(1, "assistant_delta", json!({ "itemId": "answer", "text": "Hello" }))]).await?;
    let message = json!({ "itemId": "answer", "text": "Hello", "final": true });
    held.append(&[event(2, "assistant_message", message)]).await?;
    held.finish(id, &TerminalOutcome::COMPLETED, None).await?;
    Ok(())
}
