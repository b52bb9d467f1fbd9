//! The output of `guildhall dev` when it is ready.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use guildhall_server::Config;
use guildhall_server::config::LauncherKind;
use serde_json::{Value, json};

use super::DevArgs;
use super::engines::DevEngines;

/// Prints what runs and how to use it. `containment` is the error of the sandbox check, where one was made.
pub(super) fn print(
    args: &DevArgs,
    config: &Config,
    engines: &DevEngines,
    address: SocketAddr,
    containment: &Result<(), String>,
    startup: Duration,
) {
    if args.json {
        println!("{}", to_json(args, config, engines, address, containment, startup));
    } else {
        print!("{}", to_text(args, config, engines, address, containment, startup));
    }
}

fn to_json(
    args: &DevArgs,
    config: &Config,
    engines: &DevEngines,
    address: SocketAddr,
    containment: &Result<(), String>,
    startup: Duration,
) -> Value {
    json!({
        "url": format!("http://{address}"),
        "state": engines.folder(),
        "kept": !args.ephemeral,
        "postgres": engines.postgres.as_ref().map(|postgres| json!({
            "version": postgres.version(), "port": postgres.port(), "pid": postgres.pid(), "data": postgres.data_folder(),
        })),
        "nats": engines.nats.as_ref().map(|nats| json!({
            "version": nats.version(), "port": nats.port(), "pid": nats.pid(),
        })),
        "runners": match config.launcher.kind {
            LauncherKind::None => Value::Null,
            LauncherKind::Local => json!({
                "launcher": "local", "warm": config.launcher.warm, "contained": containment.is_ok(),
            }),
        },
        "readyAfterMs": u64::try_from(startup.as_millis()).unwrap_or(u64::MAX),
    })
}

fn to_text(
    args: &DevArgs,
    config: &Config,
    engines: &DevEngines,
    address: SocketAddr,
    containment: &Result<(), String>,
    startup: Duration,
) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let storage = if args.ephemeral {
        "all data is deleted at exit".to_owned()
    } else {
        format!("state in {}", short_path(engines.folder()))
    };
    let mut text = format!("guildhall {version}   development mode, this machine only; {storage}\n\n");
    let mut row = |name: &str, first: String, rest: &str| {
        text.push_str(format!("  {name:<11} {first:<30} {rest}").trim_end());
        text.push('\n');
    };
    row("API", format!("http://{address}"), "GET /health/readiness, /openapi.json, /metrics");
    row("Docs", format!("http://{address}/docs"), "");
    match &engines.postgres {
        Some(postgres) => {
            let first = format!("{}  127.0.0.1:{}", postgres.version(), postgres.port());
            row("PostgreSQL", first, &data_location(engines, postgres.data_folder()));
        }
        None => row("PostgreSQL", "external".to_owned(), ""),
    }
    match &engines.nats {
        Some(nats) => row("NATS", format!("{}  127.0.0.1:{}", nats.version(), nats.port()), "supervised"),
        None => row("NATS", "external".to_owned(), ""),
    }
    match config.launcher.kind {
        LauncherKind::None => row("Runners", "external".to_owned(), ""),
        LauncherKind::Local => {
            let warm =
                config.launcher.warm.iter().map(|(profile, count)| format!("{count} {}", profile.as_str()));
            let first = format!("warm: {}", warm.collect::<Vec<_>>().join(", "));
            match containment {
                Ok(()) => row("Runners", first, "agents run in a sandbox"),
                Err(reason) => row("Runners", first, &format!("WARNING: {reason}")),
            }
        }
    }
    if has_codex_login() {
        row(
            "Codex",
            "login found, not used".to_owned(),
            "agents need an API key: guildhall profiles set codex",
        );
    }
    row(
        "Sign in",
        "admin".to_owned(),
        &format!("password in {}", short_path(&engines.folder().join("admin.password"))),
    );
    if config.launcher.kind == LauncherKind::Local {
        text.push_str("\n  Try it, in another terminal:\n    guildhall login\n");
        text.push_str("    guildhall runs create --profile demo \"tidy my notes\" --watch\n");
    }
    text.push_str(&format!("\n  Ready in {:.1} s. Press Ctrl-C to stop.\n", startup.as_secs_f64()));
    text
}

/// Returns whether the user has a login of a Codex subscription. Agents cannot use it: the model proxy holds API keys
/// only, and tokens must not be in the sandbox.
fn has_codex_login() -> bool {
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".codex"));
    let dir = std::env::var_os("CODEX_HOME").map(PathBuf::from).or(home);
    dir.is_some_and(|dir| dir.join("auth.json").is_file())
}

/// Describes where the data is. It may be outside the state directory.
fn data_location(engines: &DevEngines, data: &Path) -> String {
    if data.starts_with(engines.folder()) {
        return format!("supervised, data in {}", short_path(data));
    }
    format!(
        "supervised, data in {} (the PostgreSQL account cannot access the state directory)",
        data.display()
    )
}

/// Shortens a path below the current directory.
fn short_path(path: &Path) -> String {
    let current = std::env::current_dir().and_then(|dir| dir.canonicalize()).unwrap_or_default();
    match path.strip_prefix(&current) {
        Ok(relative) => format!("./{}", relative.display()),
        Err(_) => path.display().to_string(),
    }
}
