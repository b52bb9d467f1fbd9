//! Messages of inboxes: grouped sends, pages, recalls and partitions.

mod group;
mod insert;
mod page;
mod partitions;
mod recall;
mod tool_calls;

pub use group::{InboxUpdate, MessageWriter};
pub use insert::{NewMessage, SendError, StoredMessage, Target};
pub use page::{InstanceMessage, PageQuery, SenderPageQuery, list_new, page, page_of_sender};
pub use partitions::{create_partitions, drop_detached_partitions, drop_partition, list_expired_partitions};
pub use recall::{MessagePlace, SentMessage, find_sent, recall};
pub use tool_calls::end_undelivered_calls;
