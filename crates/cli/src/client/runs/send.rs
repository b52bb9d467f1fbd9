//! `guildhall runs send`.

use anyhow::Result;
use clap::Args;
use guildhall_domain::ids::RunId;
use guildhall_domain::runs::command::CommandKind;
use serde_json::json;

use super::watch::Watch;
use super::words;
use crate::client::session::Common;
use crate::output::show;

pub(super) const EXAMPLES: &str = "Examples:
  guildhall runs send RUN 'now the other folder' --watch
  guildhall runs send RUN 'leave the tests alone' --steer     words for the turn that runs
  guildhall runs send RUN - < prompt.txt                      words from standard input";

#[derive(Args)]
pub(super) struct SendArgs {
    /// The run's id
    run: RunId,
    /// What to do; - is standard input
    words: String,
    /// Tells it to the turn that runs, instead of beginning another
    #[arg(long)]
    steer: bool,
    /// Shows what happens until the turn ends
    #[arg(long)]
    watch: bool,
    /// A word of yours with which the same command can be sent again without being done twice
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn run(args: &SendArgs) -> Result<()> {
    let said = words::given(&args.words)?;
    let client = args.common.open()?.client;
    let after_seq = if args.watch { client.show_run(args.run).await?.last_seq } else { 0 };
    let kind = if args.steer { CommandKind::Steer } else { CommandKind::Turn };
    let sent = client.submit_command(args.run, kind, &said, args.idempotency_key.as_deref()).await?;
    show(args.common.json, &json!(sent), || {
        let to = sent.target_command_id.as_ref().map_or(String::new(), |turn| format!(" for {turn}"));
        format!("sent {} ({}){to}", sent.command_id, sent.r#type)
    })?;
    if !args.watch {
        return Ok(());
    }
    // A steer says nothing itself: what comes of it is in the turn that it is for.
    let watched = sent.target_command_id.unwrap_or(sent.command_id).parse()?;
    let watch =
        Watch { client: &client, run: args.run, command: Some(watched), after_seq, json: args.common.json };
    watch.to_the_end().await
}
