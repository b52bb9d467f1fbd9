//! A device that was offline for many messages.

use std::time::Duration;

use guildhall_domain::messages::{InboxId, MessageKind};
use guildhall_runtime::Tasks;
use guildhall_store::inbox_messages::{MessageWriter, NewMessage, Target};
use guildhall_store::{Store, StoreOptions};
use guildhall_testkit::spawn_task;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Pair, send, texts};

/// Messages that were sent while the device was offline.
const OFFLINE: usize = 10_000;

/// Messages of one group of the writer.
const GROUP: usize = 200;

/// Messages that are sent while the device catches up.
const LIVE: usize = 100;

/// Every message of this part is so large that the bytes limit its page, not the number of messages.
const LARGE: std::ops::Range<usize> = 4_000..4_200;

const LARGE_BYTES: usize = 60_000;

/// What the official clients accept at most.
const MAX_FRAME: usize = 1024 * 1024;

fn words(number: usize) -> String {
    let text = format!("message {number}");
    if LARGE.contains(&number) { format!("{text:LARGE_BYTES$}") } else { text }
}

/// Sends the messages of the time offline through a writer of the store: through a socket they would take a minute.
async fn fill_inbox(pair: &Pair) {
    let db = &pair.gateway.cluster.db;
    let timeout = Duration::from_secs(60);
    let options = StoreOptions {
        url: db.url(),
        max_connections: 2,
        acquire_timeout: timeout,
        statement_timeout: timeout,
    };
    let store = Store::new(&options).expect("a URL");
    let mut sql = db.sql().await;
    let mut inbox = async |aid: &str| {
        InboxId::new(sql.number(format!("SELECT id FROM inboxes WHERE aid = '{aid}'")).await)
    };
    let (sender, recipient) = (inbox(&pair.alice.aid).await, inbox(&pair.bobby.aid).await);
    let (tasks, (updates, _dropped)) = (Tasks::new(), mpsc::channel(1));
    let writer = MessageWriter::start(&store, &tasks, &updates);
    let message = |number: usize| NewMessage {
        inbox: recipient,
        sender,
        recipient: None,
        id: format!("offline-{number}").parse().expect("an id"),
        kind: MessageKind::Plain,
        relation: None,
        envelope_type: String::new(),
        payload: json!({ "type": "text", "text": words(number) }).to_string(),
        target: Target::Durable,
        lifetime: SignedDuration::from_hours(24),
    };
    let numbers: Vec<usize> = (0..OFFLINE).collect();
    for group in numbers.chunks(GROUP) {
        let sends = group.iter().map(|number| writer.send(message(*number)));
        for stored in futures::future::join_all(sends).await {
            stored.expect("stored");
        }
    }
}

// covers: A2, A4, A5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn device_catches_up_with_10000_messages_while_others_arrive() {
    let pair = Pair::start().await;
    fill_inbox(&pair).await;
    let Pair { gateway, bobby, mut sender, .. } = pair;
    let mut device = bobby.connected_device(gateway.cluster.second.address, "offline").await;
    let to = bobby.aid.clone();
    let (progress, mut sent) = mpsc::channel::<()>(1);
    let sending = spawn_task(async move {
        for number in 0..LIVE {
            send(&mut sender, &to, &words(OFFLINE + number)).await;
            // Paced by the pages: they arrive all the time while the device reads.
            let _reader_is_at_the_end = progress.send(()).await;
        }
    });
    let (mut after, mut pages, mut read) = (0, 0, Vec::new());
    let end = OFFLINE + LIVE;
    while read.len() < end {
        let _all_sent = sent.recv().await;
        let params = json!({ "after_seq": after, "limit": 200 });
        let page: Value = device.call("message.pull", params).await.expect("a page");
        let bytes = page.to_string().len();
        assert!(bytes < MAX_FRAME, "{bytes} bytes after {after}");
        let found = texts(&page);
        let rows = page["messages"].as_array().expect("rows");
        let numbers = rows.iter().map(|row| row["seq"].as_i64().expect("a seq"));
        read.extend(numbers.zip(found));
        assert!(pages < end, "no end");
        pages += 1;
        after = page["latest_seq"].as_i64().expect("a seq");
        let is_last = read.len() == end;
        assert!(page["has_more"] == true || is_last || read.len() >= OFFLINE, "{after} of {end}");
    }
    // The last page can have what is reported after it.
    drop(sent);
    sending.await.expect("all were sent");
    let expected = (0..end).map(|number| (i64::try_from(number).expect("small") + 1, words(number)));
    assert!(read.into_iter().eq(expected), "another order, a gap or a repeat");
    // 50 pages of 200 messages, and some 14 large messages in each page of the large part.
    assert!((60..200).contains(&pages), "{pages} pages");
}
