//! Messages between AIDs, sealed from end to end.
//!
//! A [`Messenger`] sends messages and follows the inbox of one device. What has to survive a restart is in its [`DeviceStore`]: the
//! private keys of the device, the keys of others, and how far the inbox was read.
//!
//! [`InboxFollower`] yields every message of the inbox once, in the order of the inbox, also after a lost connection and a restart.
//! The position moves when the consumer confirms an item with [`InboxFollower::ack`]: what was not confirmed comes again.
//!
//! ```no_run
//! # async fn example(
//! #     identity: guildhall_sdk::messages::MessengerIdentity,
//! #     credentials: guildhall_sdk::socket::AidCredentials,
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//! use guildhall_runtime::{Clock, Tasks};
//! use guildhall_sdk::messages::{DeviceStore, InboxItem, Messenger, SendOptions};
//! use guildhall_sdk::socket::{SocketClient, SocketEndpoint, SocketOptions};
//!
//! let endpoint = SocketEndpoint::new("https://guild.example", &[])?;
//! let store = DeviceStore::open("/home/alice/.config/guildhall/device".as_ref(), &identity)?;
//! let options = SocketOptions::for_aid(endpoint.clone(), credentials, store.device_id(), Clock::system());
//! let socket = SocketClient::start(options, &Tasks::new());
//! let messenger = Messenger::new(socket, endpoint, identity, store, Clock::system());
//!
//! let text = serde_json::json!({ "type": "text", "text": "hello" });
//! let to = "bobby.guild.example".parse()?;
//! messenger.send(&to, text.as_object().expect("an object"), &SendOptions::default()).await?;
//!
//! let mut inbox = messenger.follow();
//! loop {
//!     let item = inbox.next().await?;
//!     match &item {
//!         InboxItem::Message(message) => println!("{}: {:?}", message.from, message.payload),
//!         InboxItem::Recall(recall) => println!("{} recalled {:?}", recall.from, recall.message_ids),
//!         InboxItem::Unreadable(message) => println!("{}: unreadable: {}", message.from, message.reason),
//!         InboxItem::CaughtUp => println!("no more messages yet"),
//!         InboxItem::Disconnected(error) => eprintln!("{error}"),
//!     }
//!     if let Some(seq) = item.seq() {
//!         inbox.ack(seq).await?;
//!     }
//! }
//! # }
//! ```

mod cache;
mod delivery_marks;
mod error;
mod identity;
mod inbox;
mod inbox_item;
mod messenger;
mod peer_keys;
mod published_keys;
mod received;
mod sealing;
mod send;
mod shared;
mod store;
#[cfg(test)]
mod tests;
mod trust;

pub use delivery_marks::{DeliveryMark, DeliveryMarks};
pub use error::{KeyChange, MessengerError, PeerKeyError, UnreadableReason};
pub use identity::MessengerIdentity;
pub use inbox::InboxFollower;
pub use inbox_item::{InboxItem, RecallNotice, ReceivedMessage, SealKind, UnreadableMessage};
pub use messenger::Messenger;
pub use send::{SealChoice, SendOptions, SentMessage};
pub use store::{DeviceStore, DeviceStoreError, StoredToolGrant};
