//! The output of `guildhall dev` when it is ready.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use guildhall_domain::runs::policy::BackendProfile;
use guildhall_server::Config;
use guildhall_server::config::LauncherKind;
use serde_json::{Value, json};

use super::engines::DevEngines;
use super::{ADMIN_USER, DevArgs, PASSWORD_FILE, agents, aid, own_repository};
use crate::dev_state::{default_state_dir, tls_root_file};

/// Where the server listens.
#[derive(Clone, Copy)]
pub(super) struct Addresses {
    pub(super) plain: SocketAddr,
    pub(super) tls: Option<SocketAddr>,
}

/// Prints what runs and how to use it. `containment` is the error of the sandbox check, where one was made.
pub(super) fn print(
    args: &DevArgs,
    config: &Config,
    engines: &DevEngines,
    addresses: Addresses,
    containment: &Result<(), String>,
    startup: Duration,
) {
    if args.json {
        println!("{}", to_json(args, config, engines, addresses, containment, startup));
    } else {
        print!("{}", to_text(args, config, engines, addresses, containment, startup));
    }
}

fn to_json(
    args: &DevArgs,
    config: &Config,
    engines: &DevEngines,
    addresses: Addresses,
    containment: &Result<(), String>,
    startup: Duration,
) -> Value {
    json!({
        "url": format!("http://{}", addresses.plain),
        "tls": addresses.tls.map(|address| json!({
            "url": format!("https://{address}"), "root": local_root(config, engines),
        })),
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
        "agents": agents::find(config),
        "login": login_command(engines.folder(), addresses.plain),
        "readyAfterMs": u64::try_from(startup.as_millis()).unwrap_or(u64::MAX),
    })
}

fn to_text(
    args: &DevArgs,
    config: &Config,
    engines: &DevEngines,
    addresses: Addresses,
    containment: &Result<(), String>,
    startup: Duration,
) -> String {
    let (version, address) = (env!("CARGO_PKG_VERSION"), addresses.plain);
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
    if let Some(tls) = addresses.tls {
        let root = local_root(config, engines);
        let rest = root.map_or_else(String::new, |root| format!("root certificate in {}", short_path(&root)));
        row("TLS", format!("https://{tls}"), &rest);
    }
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
    let found = agents::find(config);
    for (name, first, rest) in agent_rows(&found) {
        row(name, first, &rest);
    }
    row(
        "Sign in",
        ADMIN_USER.to_owned(),
        &format!("password in {}", short_path(&engines.folder().join(PASSWORD_FILE))),
    );
    text.push_str(&next_steps(config, &found, &login_command(engines.folder(), address)));
    if let Some(root) = addresses.tls.and_then(|_| local_root(config, engines)) {
        text.push_str(&trust(&root));
    }
    text.push_str(&format!("\n  Ready in {:.1} s. Press Ctrl-C to stop.\n", startup.as_secs_f64()));
    text
}

/// Returns the root that signed the certificate of the server. None where the certificate is one of the user.
fn local_root(config: &Config, engines: &DevEngines) -> Option<PathBuf> {
    let is_local = Path::new(&config.http.tls_certificate_file).starts_with(engines.folder());
    is_local.then(|| tls_root_file(engines.folder()))
}

/// Returns the rows about the agents of this machine.
fn agent_rows(found: &[BackendProfile]) -> Vec<(&'static str, String, String)> {
    let names: Vec<&str> = found.iter().map(BackendProfile::as_str).collect();
    let agents = match names.first() {
        Some(first) => (names.join(", "), format!("give one its key: guildhall profiles set {first}")),
        None => ("none found on the PATH".to_owned(), agents::INSTALL.to_owned()),
    };
    let mut rows = vec![("Agents", agents.0, agents.1)];
    if agents::has_codex_login() {
        let next = "agents need an API key: guildhall profiles set codex".to_owned();
        rows.push(("Codex", "login found, not used".to_owned(), next));
    }
    if agents::lacks_claude_adapter() {
        rows.push(("Claude", "found, not usable yet".to_owned(), agents::INSTALL_CLAUDE_ADAPTER.to_owned()));
    }
    rows
}

/// Returns the command that signs in to this server. In a directory that has this state as its default, the command
/// finds URL and password itself.
fn login_command(state: &Path, address: SocketAddr) -> String {
    if default_state_dir().canonicalize().is_ok_and(|default| default == state) {
        return "guildhall login".to_owned();
    }
    let password = state.join(PASSWORD_FILE).display().to_string();
    format!(
        "guildhall login --url http://{address} --name {ADMIN_USER} --password-stdin < {}",
        shell_quote(&password)
    )
}

/// Quotes a word for a shell, if that is needed.
fn shell_quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Returns commands to try.
fn next_steps(config: &Config, found: &[BackendProfile], login: &str) -> String {
    let mut text = format!("\n  Try it, in another terminal:\n    {login}\n");
    if config.launcher.kind == LauncherKind::Local {
        text.push_str("    guildhall runs create --profile demo \"tidy my notes\" --watch\n");
        if let Some(aid) = aid::developer_aid(&config.aun.issuer) {
            text.push_str("\n  Chat with the demo agent:\n");
            text.push_str(&format!(
                "    guildhall aid login {aid}\n    guildhall chat demo.{}\n",
                aid.issuer()
            ));
        }
    }
    if let (Some(profile), Some(_)) = (found.first(), own_repository()) {
        text.push_str("\n  Real work, on a copy of this repository:\n");
        text.push_str(&format!("    guildhall profiles set {profile}\n"));
        text.push_str("    guildhall run \"fix the failing test\"\n");
    }
    text
}

/// Returns how clients trust the local root.
fn trust(root: &Path) -> String {
    let root = shell_quote(&root.display().to_string());
    format!(
        "\n  Trust the TLS certificate:\n    export SSL_CERT_FILE={root}       for OpenSSL, Python and AUN clients\n    \
         export GUILDHALL_CA_FILE={root}   for guildhall in other directories\n"
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_with_other_characters_is_quoted_for_a_shell() {
        assert_eq!(
            shell_quote("/tmp/guildhall-dev-x1/admin.password"),
            "/tmp/guildhall-dev-x1/admin.password"
        );
        assert_eq!(shell_quote("/home/a b/it's"), r"'/home/a b/it'\''s'");
    }
}
