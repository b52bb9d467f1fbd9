//! Statements of a request that sends a prompt, until it is answered: what a runner waits for.

use anyhow::Result;
use reqwest::Method;
use serde_json::json;

use super::latency::THREAD;
use super::thread::{Application, open};
use crate::growth::Counters;
use crate::installation::Installation;

/// Requests of each kind. What the server does by itself meanwhile is counted too.
const REQUESTS: u32 = 50;

pub(super) async fn print(installation: &Installation) -> Result<()> {
    let app = Application::create(installation).await?;
    app.start_turn(THREAD, "first").await?;
    let run = app.only_run().await?;
    let mut counters = Counters::open(installation).await?;
    let agui = async {
        for number in 0..REQUESTS {
            open(app.agui_request(THREAD, &format!("run-{number}"))).await?;
        }
        Ok(())
    };
    let ((), agui) = counters.during(agui).await?;
    let commands = async {
        for _ in 0..REQUESTS {
            let turn = json!({ "type": "turn", "payload": { "prompt": "go" } });
            let path = format!("/api/v1/runs/{run}/commands");
            open(app.request(Method::POST, &path).json(&turn)).await?.bytes().await?;
        }
        Ok(())
    };
    let ((), commands) = counters.during(commands).await?;
    let per_request = |statements: f64| statements / f64::from(REQUESTS);
    println!(
        "statements of a request: {:.1} for AG-UI with its stream, {:.1} for a command without one",
        per_request(agui.statements),
        per_request(commands.statements)
    );
    Ok(())
}
