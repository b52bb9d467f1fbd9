//! Messages between AIDs: what an inbox holds, who gets which copy, how far its readers are, and what can be recalled.

mod coverage;
mod delivery;
mod hosted_agent;
mod inbox;
pub mod keys;
mod payload;
mod readers;
mod recall;
mod view;

pub use coverage::{PeerCoverage, PeerPosition, peer_coverage, settled_seq};
pub use delivery::{DeliveryMode, MAX_MESSAGE_LIFETIME, MAX_QUEUE_LIFETIME, RING_SIZE, preferred_instance};
pub use hosted_agent::{AgentAnswer, WorkSenders, answer_id, message_words, progress_payload, refusal_id};
pub use inbox::{
    Inbox, InboxId, InboxMessage, InboxSeq, InvalidMessageId, MessageContent, MessageId, MessageKind,
    SenderState,
};
pub use payload::{DeviceCopies, InvalidPayload, MAX_PAYLOAD_BYTES, SentPayload};
pub use readers::SealedReaders;
pub use recall::{MAX_RECALLED, RECALL_WINDOW, RecallError, SentMessageState, check_recall};
pub use view::{MAX_PAGE, MAX_PAGE_BYTES, PageLimit, PageView, fit_page};
