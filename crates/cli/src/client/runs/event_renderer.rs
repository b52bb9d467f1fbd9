//! Renders events for a terminal: streamed text, one line per tool call, and the outcome.

use guildhall_domain::approvals::approval::BlockingQuestion;
use guildhall_domain::runs::event;
use guildhall_protocol::rest::runs::EventView;
use serde_json::Value;

use super::tool_output::ToolQueue;
use crate::output::{sanitize_line, sanitize_text};

/// Characters shown of a tool call.
const MAX_TOOL_CHARS: usize = 100;

/// Tracks the cursor position and the part of the current message that is already printed.
#[derive(Debug, Default)]
pub(crate) struct EventRenderer {
    cursor: Cursor,
    /// Id of the message whose deltas came last.
    item: String,
    /// Text of that message so far.
    printed: String,
    /// The running tools, if a tool is printed when it ends, with the tail of its output.
    open_tools: Option<ToolQueue>,
    /// Principal of the user, if it is known.
    viewer: Option<String>,
}

/// Where the cursor is.
#[derive(Debug, Default, PartialEq, Eq)]
enum Cursor {
    #[default]
    LineStart,
    InText,
    /// After a tool call that has not ended; its status is printed on the same line.
    AfterTool(String),
}

impl EventRenderer {
    /// Returns a renderer that prints a tool when it has ended, with the tail of its output.
    pub(crate) fn with_folded_tools() -> Self {
        Self { open_tools: Some(ToolQueue::default()), ..Self::default() }
    }

    /// Sets who reads the output: their answers are theirs.
    pub(crate) fn set_viewer(&mut self, principal: String) {
        self.viewer = Some(principal);
    }

    pub(crate) fn viewer(&self) -> Option<&str> {
        self.viewer.as_deref()
    }

    pub(crate) fn is_at_line_start(&self) -> bool {
        self.cursor == Cursor::LineStart
    }

    /// Returns the text to print for an event; it may end in the middle of a line.
    pub(crate) fn render(&mut self, event: &EventView) -> String {
        let Some(payload) = &event.payload else { return String::new() };
        match event.r#type.as_str() {
            event::USER_MESSAGE => self.whole_line(&format!("> {}", first_line(field(payload, "text")))),
            event::ASSISTANT_DELTA => self.delta(payload),
            event::ASSISTANT_MESSAGE => self.message(payload),
            event::TOOL_CALL => self.tool(payload),
            event::COMMAND_OUTPUT => self.output(payload),
            event::TERMINAL_STATUS => self.end(payload),
            event::ERROR => self.whole_line(&format!("  error: {}", field(payload, "message"))),
            event::ARTIFACT => self.whole_line(&format!("  artifact: {}", field(payload, "path"))),
            event::BACKEND_STATUS | event::RUN_STATUS | event::COMMAND_STATUS => {
                status_note(payload).map_or(String::new(), |note| self.whole_line(&note))
            }
            event::APPROVAL_REQUESTED => self.whole_line(&format_question(payload)),
            event::APPROVAL_STATUS => {
                let text = format_approval_status(payload, self.viewer());
                text.map_or(String::new(), |text| self.whole_line(&format!("  {text}")))
            }
            // Event types newer than this client: see `runs events`.
            _ => String::new(),
        }
    }

    /// Returns the line feed that moves the cursor to a line start, if one is needed.
    pub(crate) fn end_line(&mut self) -> &'static str {
        match std::mem::take(&mut self.cursor) {
            Cursor::LineStart => "",
            Cursor::InText | Cursor::AfterTool(_) => "\n",
        }
    }

    fn whole_line(&mut self, text: &str) -> String {
        format!("{}{}\n", self.end_line(), sanitize_line(text))
    }

    /// Deltas are printed one after the other.
    fn delta(&mut self, payload: &Value) -> String {
        let (text, item) = (field(payload, "text"), field(payload, "itemId"));
        let continues = !self.printed.is_empty() && self.item == item;
        let prefix = if continues { "" } else { self.end_line() };
        if !continues {
            item.clone_into(&mut self.item);
            self.printed.clear();
        }
        self.printed.push_str(text);
        format!("{prefix}{}", self.text(text))
    }

    /// The complete message prints only what its deltas did not.
    fn message(&mut self, payload: &Value) -> String {
        let (text, item) = (field(payload, "text"), field(payload, "itemId"));
        let continues = !self.printed.is_empty() && self.item == item;
        let printed = std::mem::take(&mut self.printed);
        let (prefix, rest) = match text.strip_prefix(printed.as_str()).filter(|_| continues) {
            Some(rest) => ("", rest),
            None => (self.end_line(), text),
        };
        let rest = self.text(rest);
        format!("{prefix}{rest}{}", self.end_line())
    }

    fn text(&mut self, text: &str) -> String {
        let prefix = match &self.cursor {
            Cursor::LineStart | Cursor::InText => "",
            Cursor::AfterTool(_) => self.end_line(),
        };
        if !text.is_empty() {
            self.cursor = if text.ends_with('\n') { Cursor::LineStart } else { Cursor::InText };
        }
        format!("{prefix}{}", sanitize_text(text))
    }

    /// Without folding, tool output is not printed: see `runs events`.
    fn output(&mut self, payload: &Value) -> String {
        if let Some(tools) = &mut self.open_tools {
            tools.add_output(tool_call_id(payload), field(payload, "text"), payload["whole"] == true);
        }
        String::new()
    }

    fn end(&mut self, payload: &Value) -> String {
        let open: Vec<_> = self.open_tools.iter_mut().flat_map(ToolQueue::take_all).collect();
        let unfinished = open.into_iter().map(|tool| {
            format!("{}{}", self.whole_line(&format!("  tool {} ...", tool.name)), tool.format_tail())
        });
        let unfinished: String = unfinished.collect();
        format!("{unfinished}{}", self.whole_line(&format_outcome(payload)))
    }

    fn tool(&mut self, payload: &Value) -> String {
        match &mut self.open_tools {
            None => self.tool_on_one_line(payload),
            Some(tools) if is_tool_running(payload) => {
                tools.start(tool_call_id(payload), tool_name(payload));
                String::new()
            }
            Some(tools) => {
                let tool = tools.end(tool_call_id(payload));
                let name = tool.as_ref().map_or_else(|| tool_name(payload), |tool| tool.name.clone());
                let line = self.whole_line(&format!("  tool {name} ... {}", tool_status(payload)));
                format!("{line}{}", tool.map_or(String::new(), |tool| tool.format_tail()))
            }
        }
    }

    /// Prints the tool when it starts, and its status on the same line when it ends.
    fn tool_on_one_line(&mut self, payload: &Value) -> String {
        let call = tool_call_id(payload);
        let same_line = self.cursor == Cursor::AfterTool(call.to_owned());
        let start = if same_line {
            String::new()
        } else {
            format!("{}{}", self.end_line(), sanitize_line(&format!("  tool {} ...", tool_name(payload))))
        };
        if is_tool_running(payload) {
            self.cursor = Cursor::AfterTool(call.to_owned());
            return start;
        }
        self.cursor = Cursor::LineStart;
        format!("{start} {}\n", sanitize_line(&tool_status(payload)))
    }
}

/// Says what the agent asks for, and how to read it.
fn format_question(payload: &Value) -> String {
    let (tool, id) = (field(payload, "tool"), field(payload, "approvalId"));
    format!("  asks to use {tool}: `guildhall approvals show {id}` shows the question")
}

/// Says how a question ended: who answered it, or why nobody can any more. None for the delivery of an answer.
pub(crate) fn format_approval_status(payload: &Value, viewer: Option<&str>) -> Option<String> {
    let name = |by: &str| if viewer == Some(by) { "you".to_owned() } else { by.to_owned() };
    let deciders = payload["by"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let by = deciders.map(name).collect::<Vec<_>>().join(", ");
    match field(payload, "status") {
        "decided" => Some(format!("answered: {} by {by}", field(payload, "effect"))),
        "expired" => Some("denied: nobody answered in time".to_owned()),
        "withdrawn" => Some(format!("question withdrawn: {}", field(payload, "reason"))),
        _ => None,
    }
}

/// Formats the outcome of a command or a run.
pub(crate) fn format_outcome(payload: &Value) -> String {
    let status = field(payload, "terminalStatus");
    let outcome = if payload["scope"] == "run" { format!("run {status}") } else { status.to_owned() };
    if let Ok(BlockingQuestion(question)) = field(payload, "message").parse() {
        return format!("{outcome}: the agent has stopped; it goes on when {question} is answered");
    }
    match (payload["failureKind"].as_str(), payload["message"].as_str()) {
        (Some(kind), Some(message)) if kind != status => format!("{outcome} ({kind}): {message}"),
        (_, Some(message)) => format!("{outcome}: {message}"),
        (_, None) => outcome,
    }
}

/// Returns the first line of a text, marked if there are more.
fn first_line(text: &str) -> String {
    let text = text.trim();
    match text.split_once('\n') {
        Some((first, _)) => format!("{} …", first.trim_end()),
        None => text.to_owned(),
    }
}

/// Returns a short description of a tool call.
pub(crate) fn tool_name(payload: &Value) -> String {
    let name = ["toolName", "method", "type"].into_iter().find_map(|name| payload[name].as_str());
    let command = payload["command"].as_str().map(|command| command.lines().next().unwrap_or_default());
    let text = match (name, command) {
        (Some(name), Some(command)) => format!("{name}: {command}"),
        (Some(text), None) | (None, Some(text)) => text.to_owned(),
        (None, None) => tool_call_id(payload).to_owned(),
    };
    text.chars().take(MAX_TOOL_CHARS).collect()
}

/// Returns the status of a tool call, with its exit code if it has one.
pub(crate) fn tool_status(payload: &Value) -> String {
    let status = payload["status"].as_str().unwrap_or("started");
    match payload["exitCode"].as_i64() {
        Some(code) => format!("{status}, exit {code}"),
        None => status.to_owned(),
    }
}

pub(crate) fn is_tool_running(payload: &Value) -> bool {
    !matches!(
        event::ParsedEvent::new(event::TOOL_CALL, None, payload).content,
        event::EventContent::ToolEnded { .. }
    )
}

fn tool_call_id(payload: &Value) -> &str {
    payload["callId"].as_str().unwrap_or_else(|| field(payload, "itemId"))
}

/// Describes a status change that explains a pause of the run.
fn status_note(payload: &Value) -> Option<String> {
    let runner = field(payload, "runnerId");
    match (payload["phase"].as_str(), payload["reason"].as_str(), payload["status"].as_str()) {
        (Some(event::RUN_CLAIMED), _, _) => Some(format!("  {runner} claimed the run")),
        (Some(event::LEASE_RECOVERED), _, _) => {
            Some(format!("  {runner} took over the run from {}", field(payload, "recoveredFrom")))
        }
        (Some("transport-disconnected"), _, _) => {
            Some("  the runner lost its connection to the model".to_owned())
        }
        (Some("transport-connected"), _, _) => {
            Some("  the runner is connected to the model again".to_owned())
        }
        (_, Some("runner-lost"), _) => Some(format!("  {runner} was lost; the run waits for another runner")),
        (_, Some("released"), _) => Some(format!("  {runner} released the run")),
        (_, _, Some("cancelling")) => Some("  cancelling".to_owned()),
        _ => None,
    }
}

fn field<'a>(payload: &'a Value, name: &str) -> &'a str {
    payload[name].as_str().unwrap_or_default()
}

#[cfg(test)]
#[path = "event_renderer_tests.rs"]
mod tests;
