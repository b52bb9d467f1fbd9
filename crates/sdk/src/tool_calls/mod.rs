//! Calls of tools over the inbox, sealed from end to end.
//!
//! The device of a user runs a [`GuardedInbox`]: it takes calls out of the inbox of a [`Messenger`](crate::messages::Messenger), lets a
//! [`Guard`](crate::guard::Guard) decide and run them, and answers. An agent that runs elsewhere calls tools with a [`ToolCaller`].
//!
//! What an agent may call is in a [`StoredToolGrant`](crate::messages::StoredToolGrant): what the user has granted on this device, with
//! the manifest that was shown. The server can take away from it, and add nothing.

mod answers;
mod call_queue;
mod caller;
mod effective;
mod error;
mod guarded_inbox;
mod incoming;
mod open_messages;
mod relations;
mod relations_freshness;

pub use caller::{ToolCallRequest, ToolCaller};
pub use effective::{PublishedManifest, fetch_published_manifest};
pub use error::{GuardedInboxError, PublishedManifestError, ToolCallError};
pub use guarded_inbox::{GuardNotice, GuardedInbox};
pub use incoming::RefusedMessage;
pub use relations::{ServerRelation, list_relations};
