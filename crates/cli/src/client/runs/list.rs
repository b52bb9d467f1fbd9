//! `guildhall runs ls` and `show`.

use anyhow::Result;
use clap::Args;
use guildhall_domain::ids::RunId;
use guildhall_protocol::rest::runs::RunView;
use guildhall_runtime::Clock;
use guildhall_sdk::RunScope;
use serde_json::json;

use super::words::waits_for;
use crate::client::session::{Common, SomeTenant};
use crate::output::{age, fields, second, second_or_dash, show, table};

#[derive(Args)]
pub(super) struct LsArgs {
    /// Lists those that have ended too
    #[arg(long)]
    all: bool,
    /// How many
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    /// Those that were made before this one
    #[arg(long, value_name = "RUN")]
    before: Option<RunId>,
    #[command(flatten)]
    tenant: SomeTenant,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn list(args: &LsArgs) -> Result<()> {
    let session = args.common.open()?;
    let tenant = args.tenant.find(&session).await?;
    let scope = if args.all { RunScope::All } else { RunScope::Open };
    let page = session.client.list_runs(tenant, scope, args.before, args.limit).await?;
    let now = Clock::system().now();
    show(args.common.json, &json!(page), || {
        if page.runs.is_empty() && scope == RunScope::Open {
            return "no open runs; `guildhall runs ls --all` shows those that have ended".to_owned();
        }
        let rows = page.runs.iter().map(|run| {
            let age = age(run.created_at, now);
            let (status, profile) = (run.status.clone(), run.backend_profile.clone());
            [run.run_id.clone(), status, profile, run.project_id.clone(), age, waits_for(run)]
        });
        table(["RUN", "STATUS", "PROFILE", "PROJECT", "AGE", "WAITS FOR"], &rows.collect::<Vec<_>>())
    })?;
    if let Some(next) = page.next_cursor.filter(|_| !args.common.json) {
        eprintln!("there may be older ones: add --before {next}");
    }
    Ok(())
}

pub(super) async fn show_one(run: RunId, common: &Common) -> Result<()> {
    let run = common.open()?.client.show_run(run).await?;
    show(common.json, &json!(run), || facts(&run))?;
    Ok(())
}

fn facts(run: &RunView) -> String {
    let lease = run.lease.as_ref();
    let held = lease.map(|lease| format!("{} until {}", lease.runner_id, second(lease.expires_at)));
    let why = run.failure_kind.as_ref().map(|kind| {
        let message = run.message.as_deref().unwrap_or_default();
        format!("{kind}: {message}")
    });
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let usage = &run.usage;
    fields(&[
        ("run", run.run_id.clone()),
        ("status", run.status.clone()),
        ("why", or_dash(why)),
        ("waits for", waits_for(run)),
        ("session", run.session_id.clone()),
        ("tenant", run.tenant_id.clone()),
        ("project", run.project_id.clone()),
        ("profile", run.backend_profile.clone()),
        ("provider", run.provider_id.clone()),
        ("workspace", run.workspace_ref.to_string()),
        ("policy", run.execution_policy.to_string()),
        ("made", format!("{} by {}", second(run.created_at), run.created_by)),
        ("ended", second_or_dash(run.ended_at)),
        ("runner", or_dash(held)),
        ("commands", or_dash(Some(run.open_command_ids.join(" ")).filter(|ids| !ids.is_empty()))),
        ("events", run.last_seq.to_string()),
        (
            "usage",
            format!(
                "{} tokens in, {} out, {} tool calls, {} s at work",
                usage.input_tokens,
                usage.output_tokens,
                usage.tool_calls,
                usage.active_ms / 1000
            ),
        ),
    ])
}
