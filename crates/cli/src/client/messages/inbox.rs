//! `guildhall inbox`.

use anyhow::Result;
use clap::Args;
use guildhall_runtime::Tasks;
use guildhall_sdk::messages::{InboxFollower, InboxItem, ReceivedMessage};
use serde_json::{Value, json};

use super::command_error;
use super::payload::{is_sealed, is_typing, seal_name, text_of};
use crate::async_runtime::block_on;
use crate::client::aid_socket::AidSocketArgs;
use crate::error::FollowInterrupted;
use crate::output::{format_optional_time, format_time, print_json, print_line, sanitize_line};

/// The read position of `guildhall inbox`.
const SLOT: &str = "inbox";

const EXAMPLES: &str = "Examples:
  guildhall inbox                     Show messages that were not shown before
  guildhall inbox -f                  Wait for more, until Ctrl-C
  guildhall inbox --no-ack            Show them again the next time
  guildhall inbox -f --json           One JSON object per line, with the whole payload

A message is one line: time, sender, whether it was sealed from end to end, and the text. A message that was shown is confirmed: \
it is not shown again, and its sender is told. Messages are stored for 24 hours, unless the server is configured otherwise.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InboxArgs {
    /// Wait for more messages
    #[arg(short = 'f', long)]
    follow: bool,
    /// Do not confirm messages: they are shown again, and their senders are not told
    #[arg(long)]
    no_ack: bool,
    #[command(flatten)]
    socket: AidSocketArgs,
}

pub(crate) fn run(args: &InboxArgs) -> Result<()> {
    block_on(read(args))
}

async fn read(args: &InboxArgs) -> Result<()> {
    let tasks = Tasks::new();
    let device = args.socket.login()?.open_device(SLOT, &tasks).await?;
    let mut follower = device.messenger.follow();
    if !args.no_ack {
        // What was printed is confirmed when the next one is taken: none is lost, whenever the command is killed.
        follower = follower.with_auto_ack();
    }
    let read = tokio::select! {
        read = print_items(&mut follower, args) => read,
        // Without a handler, Ctrl-C ends the process as usual.
        Ok(()) = tokio::signal::ctrl_c() => Err(FollowInterrupted.into()),
    };
    device.messenger.socket().close().await;
    read
}

async fn print_items(follower: &mut InboxFollower, args: &InboxArgs) -> Result<()> {
    let mut is_empty = true;
    loop {
        let item = follower.next().await.map_err(command_error)?;
        match &item {
            InboxItem::CaughtUp if args.follow => {}
            InboxItem::CaughtUp => {
                if is_empty && !args.socket.json {
                    eprintln!("no new messages");
                }
                return Ok(());
            }
            InboxItem::Disconnected(error) => eprintln!("{error}; retrying"),
            // For chats alone.
            InboxItem::Message(message) if is_typing(message) => {}
            InboxItem::Message(_) | InboxItem::Recall(_) | InboxItem::Unreadable(_) => {
                is_empty = false;
                print(&item, args.socket.json)?;
            }
        }
    }
}

fn print(item: &InboxItem, json: bool) -> std::io::Result<()> {
    if json {
        return json_of(item).map_or(Ok(()), |value| print_json(&value.to_string()));
    }
    line_of(item).map_or(Ok(()), |line| print_line(&line))
}

fn line_of(item: &InboxItem) -> Option<String> {
    let (time, from, mark, text) = match item {
        InboxItem::Message(message) => {
            let ReceivedMessage { stored_at, from, seal, payload, .. } = &**message;
            let mark = if is_sealed(*seal) { "sealed" } else { "plain" };
            (format_time(*stored_at), from.to_string(), mark, text_of(payload).replace('\n', " ⏎ "))
        }
        InboxItem::Recall(recall) => {
            let text = format!("has recalled {}", recall.message_ids.join(", "));
            ("-".to_owned(), recall.from.to_string(), "-", text)
        }
        InboxItem::Unreadable(message) => {
            let text = format!("a message that cannot be read: {}", message.reason);
            (format_optional_time(message.stored_at), message.from.clone(), "-", text)
        }
        InboxItem::CaughtUp | InboxItem::Disconnected(_) => return None,
    };
    Some(sanitize_line(&format!("{time:<20}  {from}  {mark:<6}  {text}")))
}

fn json_of(item: &InboxItem) -> Option<Value> {
    Some(match item {
        InboxItem::Message(message) => json!({
            "kind": "message", "seq": message.seq, "messageId": message.message_id,
            "from": message.from.to_string(), "to": message.to.to_string(), "storedAt": message.stored_at,
            "sealedAt": message.sealed_at, "seal": seal_name(message.seal),
            "delivery": message.delivery.as_str(), "payload": message.payload,
        }),
        InboxItem::Recall(recall) => json!({
            "kind": "recall", "seq": recall.seq, "from": recall.from.to_string(), "messageIds": recall.message_ids,
        }),
        InboxItem::Unreadable(message) => json!({
            "kind": "unreadable", "seq": message.seq, "messageId": message.message_id, "from": message.from,
            "storedAt": message.stored_at, "reason": message.reason.to_string(),
        }),
        InboxItem::CaughtUp | InboxItem::Disconnected(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use guildhall_domain::messages::DeliveryMode;
    use guildhall_sdk::messages::{RecallNotice, SealKind};

    use super::*;

    fn message(seal: SealKind, text: &str) -> InboxItem {
        InboxItem::Message(Box::new(ReceivedMessage {
            seq: 7,
            message_id: "m-1".to_owned(),
            from: "bobby.guild.example".parse().expect("an AID"),
            to: "alice.guild.example".parse().expect("an AID"),
            stored_at: "2026-01-02T03:04:05.678Z".parse().expect("a time"),
            sealed_at: None,
            seal,
            delivery: DeliveryMode::Fanout,
            headers: std::collections::BTreeMap::new(),
            payload: super::super::payload::text_payload(text),
        }))
    }

    #[test]
    fn message_is_one_line_that_cannot_control_the_terminal() {
        let recall = InboxItem::Recall(RecallNotice {
            seq: 8,
            from: "bobby.guild.example".parse().expect("an AID"),
            message_ids: vec!["m-1".to_owned()],
        });
        let items = [
            message(SealKind::V2, "hello"),
            message(SealKind::NotSealed, "two\nlines\u{1b}[2J\u{202e}"),
            recall,
            InboxItem::CaughtUp,
        ];
        let lines: Vec<_> = items.iter().filter_map(line_of).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        2026-01-02T03:04:05Z  bobby.guild.example  sealed  hello
        2026-01-02T03:04:05Z  bobby.guild.example  plain   two ⏎ lines�[2J�
        -                     bobby.guild.example  -       has recalled m-1
        ");
    }

    #[test]
    fn json_of_a_message_has_its_whole_payload() {
        let value = json!({
            "kind": "message", "seq": 7, "messageId": "m-1", "from": "bobby.guild.example",
            "to": "alice.guild.example", "storedAt": "2026-01-02T03:04:05.678Z", "sealedAt": null, "seal": "v1",
            "delivery": "fanout", "payload": { "type": "text", "text": "hello" },
        });
        assert_eq!(json_of(&message(SealKind::V1, "hello")), Some(value));
    }
}
