//! What an AG-UI client sends to start or resume a run.
//!
//! Clients send the whole history every time. Names are `camelCase` or `snake_case`, and null is a missing value. Unknown
//! fields are ignored. Limits of size and count are those of the request, but for what is stored with each run.

mod content;
mod error;
mod reader;
mod resume;

use guildhall_domain::front::RuntimeMode;
use guildhall_domain::front::client_time::ClientTime;
use guildhall_domain::front::external_id::ExternalId;
use serde::Serialize;
use serde_json::Value;

pub use self::content::{ImageReference, MessagePart};
pub use self::error::InvalidInput;
use self::reader::Reader;
pub use self::resume::ResumeEntry;
use crate::agui::event::AguiVersion;
use crate::rest::front::agent_runs::parse_client_time;

/// Answers in one input. A turn has no more open questions.
pub const MAX_RESUMED: usize = 16;

/// Size of the tools, as JSON: that of a whole input of the Agent Run Input Protocol. Each run stores them.
pub const MAX_TOOLS_BYTES: usize = 256 * 1024;

/// The input of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct AguiRunInput {
    pub thread_id: ExternalId,
    pub run_id: ExternalId,
    pub parent_run_id: Option<ExternalId>,
    pub version: AguiVersion,
    /// Any JSON; none if it is empty.
    pub state: Option<Value>,
    pub messages: Vec<InputMessage>,
    /// Tools of the front end, each with a name.
    pub tools: Vec<Value>,
    pub context: Vec<ContextItem>,
    pub runtime_mode: RuntimeMode,
    /// None if it is missing or not valid: AG-UI does not define it.
    pub client_time: Option<ClientTime>,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContextItem {
    pub description: String,
    pub value: String,
}

/// The text of a new turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// The id of the last message in it.
    pub id: ExternalId,
    pub text: String,
    pub images: Vec<ImageReference>,
}

impl AguiRunInput {
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
        let client_time = forwarded.as_ref().and_then(|forwarded| forwarded.get("clientTime"));
        let client_time = client_time.and_then(|time| parse_client_time(time).ok());
        let resume = input.list("resume", resume::resume_entry)?;
        if resume.len() > MAX_RESUMED {
            return Err(InvalidInput::TooManyAnswers);
        }
        Ok(Self {
            thread_id: visible("threadId", input.required_text("threadId")?)?,
            run_id: visible("runId", input.required_text("runId")?)?,
            parent_run_id: input
                .optional_text("parentRunId")?
                .map(|id| visible("parentRunId", id))
                .transpose()?,
            version: AguiVersion::of(input.optional_text("protocolVersion")?.as_deref()),
            state: input.get("state").filter(|state| **state != serde_json::json!({})).cloned(),
            messages: input.list("messages", message)?,
            tools: tools(&input)?,
            context: input.list("context", |item| {
                let (description, value) = (item.required_text("description")?, item.required_text("value")?);
                Ok(ContextItem { description, value })
            })?,
            runtime_mode,
            client_time,
            resume,
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
            let id: ExternalId = message.id.parse().map_err(|_| InvalidInput::MessageId)?;
            let new = new.get_or_insert_with(|| NewMessage {
                id: id.clone(),
                text: String::new(),
                images: Vec::new(),
            });
            new.id = id;
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

/// Returns the tools of the front end, as they came.
fn tools(input: &Reader<'_>) -> Result<Vec<Value>, InvalidInput> {
    let tools = input.list("tools", |tool| {
        tool.required_text("name")?;
        Ok(tool.value())
    })?;
    let bytes: usize = tools.iter().map(|tool| tool.to_string().len()).sum();
    if bytes > MAX_TOOLS_BYTES { Err(InvalidInput::TooManyTools) } else { Ok(tools) }
}

fn append_paragraph(text: &mut String, paragraph: &str) {
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(paragraph);
}

fn visible(name: &'static str, text: String) -> Result<ExternalId, InvalidInput> {
    let is_visible = !text.chars().any(char::is_whitespace);
    text.parse().ok().filter(|_| is_visible).ok_or(InvalidInput::Id(name))
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
