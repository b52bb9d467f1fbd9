//! `guildhall runs send`.

use anyhow::Result;
use clap::Args;
use guildhall_domain::ids::RunId;
use guildhall_domain::runs::command::CommandKind;
use serde_json::json;

use super::prompt;
use super::watch::RunWatch;
use crate::client::connection::CommonArgs;
use crate::output::print_result;

pub(super) const EXAMPLES: &str = "Examples:
  guildhall runs send RUN 'now the other folder' --watch
  guildhall runs send RUN 'leave the tests alone' --steer     Add to the running turn
  guildhall runs send RUN - < prompt.txt                      Read the prompt from standard input";

#[derive(Args)]
pub(super) struct SendArgs {
    /// Id of the run
    run: RunId,
    /// Prompt; - reads standard input
    prompt: String,
    /// Send the prompt to the running turn instead of starting a new turn
    #[arg(long)]
    steer: bool,
    /// Print events until the turn ends
    #[arg(long)]
    watch: bool,
    /// Idempotency key: a repeated command with the same key is not executed twice
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) async fn run(args: &SendArgs) -> Result<()> {
    let prompt = prompt::read(&args.prompt)?;
    let client = args.common.connect()?.client;
    let after_seq = if args.watch { client.get_run(args.run).await?.last_seq } else { 0 };
    let kind = if args.steer { CommandKind::Steer } else { CommandKind::Turn };
    let sent = client.submit_command(args.run, kind, &prompt, args.idempotency_key.as_deref()).await?;
    print_result(args.common.json, &json!(sent), || {
        let target = sent.target_command_id.as_ref().map_or(String::new(), |turn| format!(" for {turn}"));
        format!("sent {} ({}){target}", sent.command_id, sent.r#type)
    })?;
    if !args.watch {
        return Ok(());
    }
    // A steer command has no output of its own: its effect is in the turn that it steers.
    let watched = sent.target_command_id.unwrap_or(sent.command_id).parse()?;
    let watch = RunWatch {
        client: &client,
        run: args.run,
        command: Some(watched),
        after_seq,
        json: args.common.json,
        closes_run: false,
    };
    watch.follow_to_end().await
}
