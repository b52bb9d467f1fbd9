//! `guildhall send`.

use std::io::{Read, stdin};

use anyhow::{Context as _, Result};
use clap::Args;
use guildhall_domain::identity::Aid;
use guildhall_domain::messages::MessageId;
use guildhall_protocol::rpc::MAX_FRAME_BYTES;
use guildhall_runtime::Tasks;
use guildhall_sdk::messages::{SealChoice, SendOptions, SentMessage};
use serde_json::{Map, Value, json};

use super::chat::history::{ChatEntry, ChatHistory};
use super::command_error;
use super::payload::{is_sealed, seal_name, text_of, text_payload};
use crate::async_runtime::block_on;
use crate::client::aid_socket::AidSocketArgs;
use crate::error::{InvalidParameters, UsageError};
use crate::output::print_result;

/// Separates this client from others of the same device.
const SLOT: &str = "send";

const EXAMPLES: &str = "Examples:
  guildhall send bobby.guild.example 'shall we start?'
  guildhall send bobby.guild.example - < report.txt           Read the text from standard input
  guildhall send bobby.guild.example --payload '{\"type\": \"order\", \"id\": 7}'
  guildhall send bobby.guild.example --plain 'hello'          Not sealed: servers can read it

A message is sealed for the devices of the recipient: no server can read it. It is stored until the recipient has it, for 24 hours \
unless the server is configured otherwise.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SendMessageArgs {
    /// AID of the recipient
    to: Aid,
    /// Text; - reads standard input
    #[arg(required_unless_present = "payload")]
    text: Option<String>,
    /// Send this JSON object instead of a text; - reads standard input
    #[arg(long, value_name = "JSON", conflicts_with = "text")]
    payload: Option<String>,
    /// Do not seal the message: servers can read it
    #[arg(long)]
    plain: bool,
    /// Id of the message: one that is sent again with the same id is stored once
    #[arg(long, value_name = "ID")]
    message_id: Option<MessageId>,
    #[command(flatten)]
    socket: AidSocketArgs,
}

pub(crate) fn run(args: &SendMessageArgs) -> Result<()> {
    block_on(send(args))
}

async fn send(args: &SendMessageArgs) -> Result<()> {
    let payload = read_payload(args)?;
    let mut options = SendOptions::default();
    if args.plain {
        options = options.with_seal(SealChoice::NotSealed);
    }
    if let Some(id) = &args.message_id {
        options = options.with_message_id(id.clone());
    }
    let tasks = Tasks::new();
    let device = args.socket.login()?.open_device(SLOT, &tasks).await?;
    let sent = device.messenger.send(&args.to, &payload, &options).await;
    device.messenger.socket().close().await;
    let sent = sent.map_err(command_error)?;
    let history = ChatHistory::open(&device, &args.to)?;
    if let Err(error) = history.append(&ChatEntry::sent(&sent, text_of(&payload))) {
        eprintln!("warning: the chat with {} will not show this message: {error:#}", args.to);
    }
    print(args, &sent)
}

fn print(args: &SendMessageArgs, sent: &SentMessage) -> Result<()> {
    let to = args.to.to_string();
    let value = json!({
        "messageId": sent.message_id, "to": to, "seq": sent.seq, "storedAt": sent.stored_at,
        "seal": seal_name(sent.seal), "repeated": sent.is_repeated,
    });
    print_result(args.socket.json, &value, || {
        let seal = if is_sealed(sent.seal) { "sealed" } else { "not sealed" };
        let repeated = if sent.is_repeated { "; it was sent before" } else { "" };
        format!("sent {} to {to}, {seal}{repeated}", sent.message_id)
    })?;
    Ok(())
}

fn read_payload(args: &SendMessageArgs) -> Result<Map<String, Value>> {
    match (&args.payload, &args.text) {
        (Some(payload), _) => {
            let text = read(payload)?;
            let parsed = serde_json::from_str(&text);
            // Only the position: the payload may be secret.
            Ok(parsed.map_err(|error| InvalidParameters { line: error.line(), column: error.column() })?)
        }
        (None, Some(text)) => {
            let text = read(text)?;
            // A file ends with a line break, which is no part of the message.
            let text =
                if args.text.as_deref() == Some("-") { text.trim_end_matches(['\r', '\n']) } else { &text };
            if text.is_empty() {
                return Err(UsageError("the message is empty").into());
            }
            Ok(text_payload(text))
        }
        (None, None) => Err(UsageError("the text is missing").into()),
    }
}

/// Returns an argument, or standard input where it is `-`. A longer text than a message can have is refused by the server.
fn read(argument: &str) -> Result<String> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let mut text = String::new();
    let mut input = stdin().lock().take(MAX_FRAME_BYTES as u64 + 1);
    input.read_to_string(&mut text).context("cannot read standard input")?;
    Ok(text)
}
