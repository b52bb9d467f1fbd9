//! What an AG-UI client sends to start or resume a run.
//!
//! Clients send the whole history every time. Names are `camelCase` or `snake_case`, and null is a missing value. Unknown
//! fields are ignored. Limits of size and count are those of the request.

mod content;
mod error;
mod reader;

use guildhall_domain::front::RuntimeMode;
use serde_json::Value;

pub use self::content::{ImageReference, MessagePart};
pub use self::error::InvalidInput;
use self::reader::Reader;
use crate::agui::event::Dialect;

/// Longest thread id and run id, in characters.
pub const MAX_ID_CHARS: usize = 128;

/// The input of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunAgentInput {
    pub thread_id: String,
    pub run_id: String,
    pub parent_run_id: Option<String>,
    pub dialect: Dialect,
    /// Any JSON; none if it is empty.
    pub state: Option<Value>,
    pub messages: Vec<InputMessage>,
    /// Tools of the front end, each with a name.
    pub tools: Vec<Value>,
    pub context: Vec<ContextItem>,
    pub runtime_mode: RuntimeMode,
    /// `forwardedProps.client_time`, unchecked.
    pub client_time: Option<String>,
    pub resume: Vec<ResumeEntry>,
}

/// A message of the history.
#[derive(Debug, Clone, PartialEq)]
pub struct InputMessage {
    pub id: String,
    pub role: InputRole,
    /// Parts of a user's message, unchecked: old messages may have parts that we refuse in new ones.
    content: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputRole {
    User,
    /// system or developer.
    Instruction,
    /// assistant, tool, reasoning or activity: the answer of an agent.
    Agent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextItem {
    pub description: String,
    pub value: String,
}

/// An answer to an interrupt.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumeEntry {
    /// The id of the approval.
    pub interrupt_id: String,
    pub answer: ResumeAnswer,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ResumeAnswer {
    Resolved {
        payload: Option<Value>,
    },
    /// The person did not answer.
    Cancelled,
}

/// The text of a new turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// The id of the last message in it.
    pub id: String,
    pub text: String,
    pub images: Vec<ImageReference>,
}

impl RunAgentInput {
    /// Reads an input.
    pub fn parse(input: &Value) -> Result<Self, InvalidInput> {
        let input = Reader::of(input, "RunAgentInput")?;
        let forwarded = input.optional_object("forwardedProps")?;
        let forwarded_text = |name| match &forwarded {
            Some(forwarded) => forwarded.optional_text(name),
            None => Ok(None),
        };
        let runtime_mode = match forwarded_text("runtimeMode")? {
            None => RuntimeMode::Chat,
            Some(name) => RuntimeMode::from_name(&name).map_err(|_| InvalidInput::RuntimeMode)?,
        };
        Ok(Self {
            thread_id: visible("threadId", input.required_text("threadId")?)?,
            run_id: visible("runId", input.required_text("runId")?)?,
            parent_run_id: input.optional_text("parentRunId")?,
            dialect: Dialect::of(input.optional_text("protocolVersion")?.as_deref()),
            state: input.get("state").filter(|state| **state != serde_json::json!({})).cloned(),
            messages: input.list("messages", message)?,
            tools: input.list("tools", |tool| {
                tool.required_text("name")?;
                Ok(tool.value())
            })?,
            context: input.list("context", |item| {
                let (description, value) = (item.required_text("description")?, item.required_text("value")?);
                Ok(ContextItem { description, value })
            })?,
            runtime_mode,
            client_time: forwarded_text("clientTime")?,
            resume: input.list("resume", resume_entry)?,
        })
    }

    /// Returns what the user has added: the user's messages after the last one that the server knows. An agent's message
    /// that the server does not know is context, and so is what stands before it. None if there is nothing new.
    ///
    /// Known are the ids of the thread's user messages and the ids that [`command_of`](super::fold::command_of) finds a
    /// command of the thread in.
    pub fn new_message(&self, is_known: impl Fn(&str) -> bool) -> Result<Option<NewMessage>, InvalidInput> {
        let is_old = |message: &InputMessage| message.role == InputRole::Agent || is_known(&message.id);
        let start = self.messages.iter().rposition(is_old).map_or(0, |last| last + 1);
        let mut new: Option<NewMessage> = None;
        for message in self.messages[start..].iter().filter(|message| message.role == InputRole::User) {
            let new = new.get_or_insert_with(|| NewMessage {
                id: String::new(),
                text: String::new(),
                images: Vec::new(),
            });
            new.id.clone_from(&message.id);
            for part in content::parts(&message.content)? {
                match part {
                    MessagePart::Text(text) => append_paragraph(&mut new.text, &text),
                    MessagePart::Image(image) => new.images.push(image),
                }
            }
        }
        match new {
            Some(new) if new.text.trim().is_empty() && new.images.is_empty() => {
                Err(InvalidInput::EmptyMessage)
            }
            new => Ok(new),
        }
    }
}

fn append_paragraph(text: &mut String, paragraph: &str) {
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(paragraph);
}

fn visible(name: &'static str, text: String) -> Result<String, InvalidInput> {
    let is_visible = |character: char| !character.is_control() && !character.is_whitespace();
    let count = text.chars().count();
    if (1..=MAX_ID_CHARS).contains(&count) && text.chars().all(is_visible) {
        Ok(text)
    } else {
        Err(InvalidInput::Id(name))
    }
}

fn message(message: &Reader<'_>) -> Result<InputMessage, InvalidInput> {
    let role = match message.required_text("role")?.as_str() {
        "user" => InputRole::User,
        "system" | "developer" => InputRole::Instruction,
        "assistant" | "tool" | "reasoning" | "activity" => InputRole::Agent,
        other => return Err(InvalidInput::Role(other.chars().take(32).collect())),
    };
    let content = match role {
        InputRole::User => message.get("content").cloned().unwrap_or_default(),
        InputRole::Instruction | InputRole::Agent => Value::Null,
    };
    Ok(InputMessage { id: message.required_text("id")?, role, content })
}

fn resume_entry(entry: &Reader<'_>) -> Result<ResumeEntry, InvalidInput> {
    let answer = match entry.required_text("status")?.as_str() {
        "resolved" => ResumeAnswer::Resolved { payload: entry.get("payload").cloned() },
        "cancelled" => ResumeAnswer::Cancelled,
        _ => return Err(InvalidInput::ResumeStatus),
    };
    Ok(ResumeEntry { interrupt_id: entry.required_text("interruptId")?, answer })
}
