//! `guildhall rpc`: one call of the socket.

use std::fs::File;
use std::io::{Read, stdin};

use anyhow::{Context as _, Result};
use clap::Args;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::error::Error as ClapError;
use guildhall_domain::FailureKind;
use guildhall_protocol::rpc::{Access, MAX_FRAME_BYTES, Method};
use guildhall_runtime::Tasks;
use guildhall_sdk::socket::{SocketEndpoint, SocketError, SocketEvent, SocketEvents};
use serde_json::{Map, Value, json};

use crate::async_runtime::block_on;
use crate::client::aid_socket::AidSocketArgs;
use crate::config_dir::{ConfigDir, Contexts};
use crate::error::{InvalidParameters, UnknownMethod};
use crate::output::{escape_json, print_json, print_line};
use crate::server_client::socket_endpoint;

/// Separates this client from others of the same device.
const SLOT: &str = "rpc";

/// How like a name another one has to be, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.8;

const MAX_SUGGESTIONS: usize = 3;

const HELP: &str = "`guildhall openrpc` prints all methods with their parameters; docs/reference/socket.md describes them. \
Methods for everybody need no login. Parameters that are secret belong in a file or on standard input: everybody on this machine \
can read arguments.

The result is printed as JSON: on one line with --json or --follow.

Examples:
  guildhall rpc meta.status
  guildhall rpc message.query_online '{\"aids\": [\"bobby.guild.example\"]}'
  guildhall rpc message.send @message.json
  guildhall rpc meta.status --follow                Print notifications, one JSON object per line
  guildhall rpc meta.ping --server https://guild.example";

#[derive(Args)]
#[command(after_help = HELP)]
pub(crate) struct RpcArgs {
    /// Name of the method, such as meta.status
    #[arg(value_parser = MethodNames, hide_possible_values = true)]
    method: String,
    /// Parameters: a JSON object, @FILE, or - for standard input
    #[arg(value_name = "PARAMS", default_value = "{}", hide_default_value = true)]
    params: String,
    /// Print the notifications of the server after the result, until Ctrl-C
    #[arg(short = 'f', long, conflicts_with = "server")]
    follow: bool,
    /// URL of a server, for methods that need no login
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    #[command(flatten)]
    socket: AidSocketArgs,
}

pub(crate) fn run(args: &RpcArgs) -> Result<()> {
    block_on(call(args))
}

async fn call(args: &RpcArgs) -> Result<()> {
    let params = Value::Object(read_params(&args.params)?);
    let is_public = Method::from_name(&args.method).is_some_and(|it| it.spec().access == Access::Public);
    if args.server.is_some() || (is_public && !args.follow) {
        let result = endpoint(args)?.call_once_raw(&args.method, params).await;
        return print(args, &result.map_err(|error| explain(args, error))?);
    }
    let tasks = Tasks::new();
    let client = args.socket.login()?.connect(SLOT, &tasks).await?;
    // Before the call: what comes with its response is not missed.
    let events = client.events();
    let result = client.call_raw(&args.method, params).await;
    if let Ok(result) = &result {
        print(args, result)?;
        if args.follow {
            return follow(events).await;
        }
    }
    client.close().await;
    result.map(drop).map_err(|error| explain(args, error))
}

async fn follow(mut events: SocketEvents) -> Result<()> {
    while let Some(event) = events.next().await {
        match event {
            SocketEvent::Notification(it) => {
                print_json(&json!({ "method": it.method, "params": it.params }).to_string())?;
            }
            SocketEvent::Missed => print_json(&json!({ "gap": { "recovered": false } }).to_string())?,
            SocketEvent::Disconnected(error) => eprintln!("{error}; retrying"),
            SocketEvent::Connected(_) => {}
            SocketEvent::Ended(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Returns the socket for a call without a login.
fn endpoint(args: &RpcArgs) -> Result<SocketEndpoint> {
    if let Some(url) = &args.server {
        return socket_endpoint(url);
    }
    match args.socket.login() {
        Ok(login) => Ok(login.endpoint().clone()),
        Err(error) => match Contexts::load(&ConfigDir::find()?)?.find(None) {
            Ok(Some((_, context))) => socket_endpoint(&context.url),
            Ok(None) | Err(_) => Err(error),
        },
    }
}

fn print(args: &RpcArgs, result: &Value) -> Result<()> {
    if args.socket.json || args.follow {
        print_json(&result.to_string())?;
    } else {
        let pretty = serde_json::to_string_pretty(result)?;
        // Line breaks are all its own: those in values are escaped already.
        let lines: Vec<_> = pretty.lines().map(escape_json).collect();
        print_line(&lines.join("\n"))?;
    }
    Ok(())
}

fn read_params(argument: &str) -> Result<Map<String, Value>> {
    let text = match (argument, argument.strip_prefix('@')) {
        ("-", _) => read_text(stdin().lock()).context("cannot read standard input")?,
        (_, Some(file)) => {
            File::open(file).and_then(read_text).with_context(|| format!("cannot read {file}"))?
        }
        (_, None) => argument.to_owned(),
    };
    // Only the position: parameters may be secret.
    let parsed = serde_json::from_str(&text);
    Ok(parsed.map_err(|error| InvalidParameters { line: error.line(), column: error.column() })?)
}

/// Reads at most one byte more than a frame can have, so that a longer text is refused and not cut.
fn read_text(source: impl Read) -> std::io::Result<String> {
    let mut text = String::new();
    source.take(MAX_FRAME_BYTES as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// Names methods that may be meant, where the server does not know the method.
fn explain(args: &RpcArgs, error: SocketError) -> anyhow::Error {
    if error.kind() == Some(FailureKind::MethodNotAllowed) {
        return UnknownMethod { name: args.method.clone(), near: near_methods(&args.method) }.into();
    }
    error.into()
}

/// Returns the methods with the most similar names.
fn near_methods(name: &str) -> Vec<&'static str> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let similarity = |method: &str| {
        let whole = strsim::normalized_damerau_levenshtein(name, method);
        whole.max(strsim::normalized_damerau_levenshtein(&last(name), &last(method)))
    };
    let mut found: Vec<_> =
        Method::ALL.iter().map(|it| (similarity(it.spec().name), it.spec().name)).collect();
    found.retain(|(similarity, _)| *similarity >= MIN_SIMILARITY);
    found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    found.into_iter().map(|(_, name)| name).take(MAX_SUGGESTIONS).collect()
}

/// Completes the names of the table, and accepts others: a server may be newer than this command.
#[derive(Debug, Clone, Copy)]
struct MethodNames;

impl TypedValueParser for MethodNames {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, ClapError> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Method::ALL.iter().map(|method| {
            let spec = method.spec();
            PossibleValue::new(spec.name).help(spec.summary)
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_methods_are_found_by_their_whole_name_and_by_their_last_part() {
        assert_eq!(near_methods("meta.pin"), ["meta.ping"]);
        assert_eq!(near_methods("send"), ["message.send"]);
        assert_eq!(near_methods("message.v2.pul"), ["message.v2.pull"]);
        assert_eq!(near_methods("workspace.open"), Vec::<&str>::new());
    }

    #[test]
    fn parameters_are_an_object_and_are_not_repeated_in_errors() {
        assert_eq!(
            read_params(r#"{"a":1}"#).expect("an object"),
            *json!({ "a": 1 }).as_object().expect("an object")
        );
        for text in ["[]", "{hunter2}", r#""hunter2""#, ""] {
            let error = read_params(text).expect_err(text);
            assert!(!format!("{error:#}").contains("hunter2"), "{error:#}");
        }
    }
}
