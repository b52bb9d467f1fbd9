//! `guildhall guard log`.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use guildhall_runtime::Clock;
use guildhall_sdk::guard::{AuditStatus, read_audit_entries};
use serde_json::json;

use super::AUDIT_DIR;
use crate::client::aid_socket::{AidSocketArgs, DEVICES_DIR, LoggedInAid};
use crate::output::{format_table, format_time, print_json, print_line};

/// Characters of a digest in a table.
const DIGEST_CHARS: usize = 16;

#[derive(Args)]
pub(super) struct LogArgs {
    #[command(flatten)]
    socket: AidSocketArgs,
}

pub(super) fn run(args: &LogArgs) -> Result<()> {
    let login = args.socket.login()?;
    let entries = read_audit_entries(&audit_folder(&login), Clock::system().now())?;
    if args.socket.json {
        for entry in entries {
            print_json(&json!(entry).to_string())?;
        }
        return Ok(());
    }
    let rows: Vec<[String; 7]> = entries
        .into_iter()
        .map(|entry| {
            let digest: String = entry.arguments_digest.chars().take(DIGEST_CHARS).collect();
            let (time, status) = (format_time(entry.timestamp), status(entry.status).to_owned());
            [time, entry.agent_id, entry.call_id, entry.tool_name, entry.scope, status, digest]
        })
        .collect();
    print_line(&format_table(["TIME", "AGENT", "CALL", "TOOL", "SCOPE", "STATUS", "ARGUMENTS"], &rows))?;
    Ok(())
}

/// Returns the folder of the audit log of an AID.
pub(super) fn audit_folder(login: &LoggedInAid) -> PathBuf {
    login.dir().file(DEVICES_DIR).join(login.aid().to_string()).join(AUDIT_DIR)
}

fn status(status: AuditStatus) -> &'static str {
    match status {
        AuditStatus::Started => "started",
        AuditStatus::Ok => "ok",
        AuditStatus::Error => "error",
        AuditStatus::Denied => "denied",
    }
}
