//! `guildhall chat`.

mod chat_line;
mod conversation;
pub(super) mod history;
mod keyboard;
mod line_chat;
mod line_editor;
mod local_time;
mod screen;
mod terminal_chat;

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use guildhall_domain::identity::Aid;
use guildhall_runtime::Tasks;
use guildhall_sdk::messages::SealChoice;
use sha2::{Digest, Sha256};

use self::conversation::{Conversation, Outbox};
use self::history::ChatEntry;
use self::keyboard::Keyboard;
use self::line_chat::LineChat;
use self::terminal_chat::TerminalChat;
use crate::async_runtime::block_on;
use crate::client::aid_socket::{AidSocketArgs, OpenDevice};
use crate::client::duration::parse_duration;

const HELP: &str = "On a terminal the chat starts with the last messages. Enter sends a line; Ctrl-D on an empty line, or Ctrl-C, leaves. \
A message of yours is marked: `·` is being sent, `✓` is stored by the server, `✓✓` is on a device of the other, `!` was not sent. A message that \
was not sealed from end to end is marked `not sealed`.

Without a terminal, each line of standard input is a message, and each message of the other is a line of standard output; the command ends \
when standard input ends and everything is sent. With --wait it ends when the other has answered.

The messages of a chat are kept on this device, encrypted with the key of the AID.

Examples:
  guildhall chat bobby.guild.example
  echo 'the build is green' | guildhall chat bobby.guild.example
  echo 'why is the build red?' | guildhall chat helper.guild.example --wait 10m";

#[derive(Args)]
#[command(after_help = HELP)]
pub(crate) struct ChatArgs {
    /// AID of the other
    peer: Aid,
    /// Number of earlier messages to show
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=1000))]
    lines: u32,
    /// Do not seal messages: servers can read them
    #[arg(long)]
    plain: bool,
    /// Without a terminal, wait this long for an answer to the last message, such as 30s or 10m
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    wait: Option<Duration>,
    /// Do not tell the other when you are typing
    #[arg(long)]
    no_typing: bool,
    #[command(flatten)]
    socket: AidSocketArgs,
}

/// The parts of a chat.
struct ChatParts {
    device: OpenDevice,
    conversation: Conversation,
    outbox: Outbox,
    /// The last messages.
    earlier: Vec<ChatEntry>,
    /// The other is an agent whose key its server holds.
    is_hosted: bool,
}

pub(crate) fn run(args: &ChatArgs) -> Result<()> {
    block_on(chat(args))
}

async fn chat(args: &ChatArgs) -> Result<()> {
    let (tasks, login) = (Tasks::new(), args.socket.login()?);
    if *login.aid() == args.peer {
        bail!("{} is your own AID\n  next: name another one, or log in as another with --as", args.peer);
    }
    let device = login.open_device(&slot(&args.peer), &tasks).await?;
    let messenger = device.messenger.clone();
    let (conversation, mut earlier) = Conversation::open(&device, &args.peer)?;
    earlier.drain(..earlier.len().saturating_sub(args.lines as usize));
    let seal = if args.plain { SealChoice::NotSealed } else { SealChoice::Sealed };
    let outbox = Outbox::new(messenger.clone(), args.peer.clone(), seal);
    // Where nobody knows, the chat does not promise that only the other can read it.
    let is_hosted = messenger.is_hosted(&args.peer).await.unwrap_or(true);
    let parts = ChatParts { device, conversation, outbox, earlier, is_hosted };
    let keyboard = if args.socket.json { None } else { Keyboard::open() };
    let result = match keyboard {
        Some(keyboard) => TerminalChat::new(args, parts).run(keyboard).await,
        None => LineChat::new(args, parts).run().await,
    };
    messenger.socket().close().await;
    result
}

/// Returns the read position of a conversation. An AID can be longer than the name of a slot.
fn slot(peer: &Aid) -> String {
    let hash = Sha256::digest(peer.to_string());
    let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("chat-{hash}")
}
