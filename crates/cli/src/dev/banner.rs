//! What a developer sees when everything runs.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use guildhall_server::Config;
use guildhall_server::config::LauncherKind;
use serde_json::{Value, json};

use super::DevArgs;
use super::parts::Parts;

pub(super) fn show(args: &DevArgs, config: &Config, parts: &Parts, address: SocketAddr, took: Duration) {
    if args.json {
        println!("{}", as_json(args, config, parts, address, took));
    } else {
        print!("{}", as_table(args, config, parts, address, took));
    }
}

fn as_json(args: &DevArgs, config: &Config, parts: &Parts, address: SocketAddr, took: Duration) -> Value {
    json!({
        "url": format!("http://{address}"),
        "state": parts.folder(),
        "kept": !args.ephemeral,
        "postgres": parts.postgres.as_ref().map(|postgres| json!({
            "version": postgres.version(), "port": postgres.port(), "pid": postgres.pid(), "data": postgres.data_folder(),
        })),
        "nats": parts.nats.as_ref().map(|nats| json!({
            "version": nats.version(), "port": nats.port(), "pid": nats.pid(),
        })),
        "runners": match config.launcher.kind {
            LauncherKind::None => Value::Null,
            LauncherKind::Local => json!({ "launcher": "local", "warm": config.launcher.warm }),
        },
        "readyAfterMs": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    })
}

fn as_table(args: &DevArgs, config: &Config, parts: &Parts, address: SocketAddr, took: Duration) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let kept = if args.ephemeral {
        "nothing is kept".to_owned()
    } else {
        format!("state in {}, kept across restarts", shown(parts.folder()))
    };
    let mut text = format!("guildhall {version}   dev mode: this machine only; {kept}\n\n");
    let mut row = |name: &str, first: String, rest: &str| {
        text.push_str(format!("  {name:<11} {first:<30} {rest}").trim_end());
        text.push('\n');
    };
    row("API", format!("http://{address}"), "GET /health/readiness, /openapi.json, /metrics");
    row("Docs", format!("http://{address}/docs"), "");
    match &parts.postgres {
        Some(postgres) => {
            let first = format!("{}  127.0.0.1:{}", postgres.version(), postgres.port());
            row("PostgreSQL", first, &data_place(parts, postgres.data_folder()));
        }
        None => row("PostgreSQL", "yours".to_owned(), ""),
    }
    match &parts.nats {
        Some(nats) => row("NATS", format!("{}  127.0.0.1:{}", nats.version(), nats.port()), "supervised"),
        None => row("NATS", "yours".to_owned(), ""),
    }
    match config.launcher.kind {
        LauncherKind::None => row("Runners", "yours".to_owned(), ""),
        LauncherKind::Local => {
            let warm =
                config.launcher.warm.iter().map(|(profile, count)| format!("{count} {}", profile.as_str()));
            let first = format!("warm: {}", warm.collect::<Vec<_>>().join(", "));
            let reach = if guildhall_server::contains_runners() {
                "contained: agents reach neither this state nor the engines"
            } else {
                "not contained: an agent reaches what you reach"
            };
            row("Runners", first, reach);
        }
    }
    row(
        "Sign in",
        "admin".to_owned(),
        &format!("password in {}", shown(&parts.folder().join("admin.password"))),
    );
    if config.launcher.kind == LauncherKind::Local {
        text.push_str("\n  Try it, in another terminal:\n    guildhall login\n");
        text.push_str("    guildhall runs create --profile demo \"tidy my notes\" --watch\n");
    }
    text.push_str(&format!("\n  Ready in {:.1} s. Ctrl-C ends everything.\n", took.as_secs_f64()));
    text
}

/// Says where the data is; most of all when it could not stay in the state folder.
fn data_place(parts: &Parts, data: &Path) -> String {
    if data.starts_with(parts.folder()) {
        return format!("supervised, data in {}", shown(data));
    }
    format!("supervised, data in {} (its account cannot enter the state folder)", data.display())
}

/// Shortens a path below the working folder.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
    match path.strip_prefix(&here) {
        Ok(below) => format!("./{}", below.display()),
        Err(_) => path.display().to_string(),
    }
}
