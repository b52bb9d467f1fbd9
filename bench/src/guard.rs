//! The check of a tool call by the guard, compared with the bare validation of its arguments; and the comparison of two manifests
//! of the largest size.
//!
//! A check finds the tool, its scope and its sensitivity, and validates the arguments with the schema that was compiled before.
//! What follows, the audit log and the tool, is not in it. Rounds of both sides alternate; the ratio is that of their medians.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use guildhall_domain::agents::diff::ManifestDiff;
use guildhall_domain::agents::manifest::document::MAX_BYTES;
use guildhall_domain::agents::tool_calls::{ConversationKind, ToolCall};
use guildhall_protocol::manifest::{CheckedManifest, check, compile_input_schema};
use guildhall_sdk::guard::ToolGrant;
use serde_json::{Value, json};

use crate::percentile::percentile;

const ROUNDS: usize = 201;
const CHECKS: u32 = 2_000;
const DIFFS: usize = 21;

/// As many tools as a manifest may have, so that finding one is not for free.
const TOOLS: usize = 128;

const SCOPE: &str = "files:write";

pub(crate) fn run() -> Result<()> {
    let (ratio, bare, guarded) = compare_checks()?;
    println!("bare validation {bare:?}, with the guard {guarded:?}, medians of {ROUNDS} rounds");
    let (bytes, diff) = measure_diff()?;
    println!("diff of two manifests of {bytes} bytes: {diff:?}, median of {DIFFS}");
    println!("manifest_diff_ms={:.2}", diff.as_secs_f64() * 1e3);
    println!("guard_ratio={ratio:.2}");
    Ok(())
}

/// Returns the ratio, and the times of one validation and of one check.
fn compare_checks() -> Result<(f64, Duration, Duration)> {
    let validator = compile_input_schema(&input_schema()).context("a valid schema")?;
    let checked = manifest(0)?;
    let grant = ToolGrant::new(checked, [SCOPE.to_owned()].into())?;
    let call = ToolCall {
        id: "call-1".parse()?,
        tool: tool_name(TOOLS - 1),
        arguments: arguments(),
        scope: SCOPE.to_owned(),
        timeout_ms: None,
    };
    ensure!(validator.is_valid(&call.arguments), "the arguments are valid");
    ensure!(grant.check(&call, ConversationKind::Direct).is_ok(), "the call is allowed");
    let (mut bare, mut guarded) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(time(|| validator.is_valid(black_box(&call.arguments))));
        guarded.push(time(|| grant.check(black_box(&call), ConversationKind::Direct).is_ok()));
    }
    let (bare, guarded) = (percentile(&mut bare, 50), percentile(&mut guarded, 50));
    Ok((guarded.as_secs_f64() / bare.as_secs_f64(), bare / CHECKS, guarded / CHECKS))
}

fn time(check: impl Fn() -> bool) -> Duration {
    let start = Instant::now();
    for _ in 0..CHECKS {
        black_box(check());
    }
    start.elapsed()
}

/// Returns the size of the manifests, and the time of a diff.
fn measure_diff() -> Result<(usize, Duration)> {
    let (old, new) = (manifest(0)?, manifest(1)?);
    let bytes = old.document.canonical().len();
    ensure!(bytes == MAX_BYTES, "a manifest of the largest size, not of {bytes} bytes");
    let mut times = Vec::new();
    for _ in 0..DIFFS {
        let start = Instant::now();
        let diff = ManifestDiff::between(black_box(&old.manifest), black_box(&new.manifest));
        times.push(start.elapsed());
        ensure!(diff.changes().len() >= TOOLS, "every tool has changed: {}", diff.changes().len());
    }
    Ok((bytes, percentile(&mut times, 50)))
}

fn tool_name(number: usize) -> String {
    format!("write_file_{number}")
}

/// Returns a manifest of the largest size: the descriptions of the tools fill it.
fn manifest(revision: usize) -> Result<CheckedManifest> {
    let bytes = manifest_with(revision, 0)?.document.canonical().len();
    manifest_with(revision, MAX_BYTES.saturating_sub(bytes))
}

/// Returns a manifest whose descriptions have so many further bytes, together.
fn manifest_with(revision: usize, filling: usize) -> Result<CheckedManifest> {
    let words = |number: usize| {
        let length = filling / TOOLS + usize::from(number < filling % TOOLS);
        "Writes a file. ".chars().cycle().take(length).collect::<String>()
    };
    let tools: Vec<Value> = (0..TOOLS)
        .map(|number| {
            json!({
                "name": tool_name(number), "description_i18n_key": "key",
                "description_fallback": format!("Revision {revision}. {}", words(number)),
                "input_schema": input_schema(), "permission_scope": SCOPE,
            })
        })
        .collect();
    let text = json!({
        "schema_version": "1.0", "agent_version": "1.0.0", "tools": tools,
        "permission_scopes": [{
            "id": SCOPE, "label_i18n_key": "key", "label_fallback": "Write files", "description_i18n_key": "key",
            "description_fallback": "Writes files that you choose", "sensitivity": "high",
        }],
        "capability_flags": {
            "supports_streaming": true, "supports_artifacts": true, "supports_voice": false,
            "supports_group_chat": false,
        },
    });
    check(&text.to_string()).map_err(|findings| anyhow::anyhow!("invalid manifest: {findings:?}"))
}

/// A schema as tools that write files have it.
fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "minLength": 1, "maxLength": 4096, "pattern": "^/[^\\u0000]*$" },
            "mode": { "enum": ["create", "replace", "append"] },
            "lines": { "type": "array", "maxItems": 10_000, "items": { "type": "string", "maxLength": 2000 } },
            "permissions": {
                "type": "object",
                "properties": { "owner": { "type": "string" }, "bits": { "type": "integer", "minimum": 0, "maximum": 511 } },
                "required": ["bits"], "additionalProperties": false,
            },
            "backup": { "type": "boolean" },
        },
        "required": ["path", "mode", "lines"],
        "additionalProperties": false,
    })
}

fn arguments() -> Value {
    let lines: Vec<String> = (0..20).map(|number| format!("{number}: a line of text")).collect();
    json!({
        "path": "/home/alice/notes/today.md", "mode": "replace", "lines": lines,
        "permissions": { "owner": "alice", "bits": 420 }, "backup": true,
    })
}
