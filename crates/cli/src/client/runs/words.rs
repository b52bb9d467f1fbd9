//! What a person reads of a run.

use std::io::{Read, stdin};

use anyhow::{Context, Result};
use guildhall_domain::runs::liveness::Phase;
use guildhall_protocol::rest::runs::RunView;

/// The longest prompt that is read from a pipe: what a server takes.
const PROMPT_BYTES: u64 = 1024 * 1024;

/// Returns the words that were given, or those on standard input where `-` was.
pub(super) fn given(words: &str) -> Result<String> {
    if words != "-" {
        return Ok(words.to_owned());
    }
    let mut text = String::new();
    stdin().lock().take(PROMPT_BYTES).read_to_string(&mut text).context("cannot read standard input")?;
    Ok(text)
}

/// Says in a few words what a run waits for, or why it ended.
pub(super) fn waits_for(run: &RunView) -> String {
    let Ok(phase) = Phase::from_name(&run.liveness.phase) else { return run.liveness.phase.clone() };
    match phase {
        Phase::WaitingRunner if run.lease.is_none() => "a runner",
        Phase::WaitingRunner => "its runner to take the command",
        Phase::WaitingModel | Phase::IdleAfterTool => "the model",
        Phase::WaitingTool => "a tool",
        Phase::TransportDisconnected => "a connection to the model",
        Phase::RunnerHeartbeatStale => "a sign of life of its runner",
        Phase::Idle => "a command",
        Phase::Terminal => run.failure_kind.as_deref().unwrap_or("-"),
    }
    .to_owned()
}
