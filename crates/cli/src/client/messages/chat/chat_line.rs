//! The lines of a chat.

/// How far a message has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeliveryState {
    /// It is one of the peer.
    Received,
    Sending,
    /// The server has it.
    Stored,
    /// A device of the peer has confirmed it.
    Delivered,
    Failed,
}

/// A line above the prompt. Its texts cannot control the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChatLine {
    Message {
        state: DeliveryState,
        time: String,
        name: String,
        /// What is unusual about it, such as that it was not sealed.
        note: Option<&'static str>,
        text: String,
    },
    Notice(String),
}

impl DeliveryState {
    /// Returns the mark at the start of the line: always three columns.
    pub(super) fn mark(self) -> &'static str {
        match self {
            Self::Received => "   ",
            Self::Sending => "·  ",
            Self::Stored => "✓  ",
            Self::Delivered => "✓✓ ",
            Self::Failed => "!  ",
        }
    }
}

impl ChatLine {
    /// Returns the line without colours.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Message { state, time, name, note, text } => {
                let note = note.map_or(String::new(), |note| format!(" ({note})"));
                format!("{}{time} {name}{note}: {text}", state.mark())
            }
            Self::Notice(text) => format!("   {text}"),
        }
    }
}
