//! The message list that an AG-UI client builds from frames.

use serde_json::{Value, json};

use super::frame_stream::Frame;

/// A message of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageMessage {
    pub(super) id: String,
    pub(super) role: &'static str,
    /// The text, the arguments of a tool call, or its result.
    pub(super) content: String,
}

impl PageMessage {
    /// Returns the message as the client sends it with its next run.
    pub(super) fn to_json(&self) -> Value {
        json!({ "id": self.id, "role": self.role, "content": self.content })
    }
}

/// As the official client does it: a start adds a message, and a piece is added to the message with its id. A start of a
/// message that exists adds nothing, so that a text that is sent twice is in the message twice.
#[derive(Debug, Default)]
pub(super) struct MessageList(pub(super) Vec<PageMessage>);

impl MessageList {
    pub(super) fn of(frames: &[Frame]) -> Self {
        let mut list = Self::default();
        frames.iter().for_each(|frame| list.apply(&frame.data));
        list
    }

    fn apply(&mut self, event: &Value) {
        let text = |name: &str| event[name].as_str().unwrap_or_default();
        match text("type") {
            "RUN_STARTED" => {
                for message in event["input"]["messages"].as_array().into_iter().flatten() {
                    let content = message["content"].as_str().unwrap_or_default();
                    if self.find(message["id"].as_str().unwrap_or_default()).is_none() {
                        self.append(message["id"].as_str().unwrap_or_default(), "user", content);
                    }
                }
            }
            "TEXT_MESSAGE_START" => self.append(text("messageId"), "assistant", ""),
            "TEXT_MESSAGE_CONTENT" => self.append(text("messageId"), "assistant", text("delta")),
            "TOOL_CALL_START" => self.append(text("toolCallId"), "assistant", ""),
            "TOOL_CALL_ARGS" => self.append(text("toolCallId"), "assistant", text("delta")),
            // The client adds results without a look at their ids.
            "TOOL_CALL_RESULT" => self.push(text("messageId"), "tool", text("content")),
            _ => {}
        }
    }

    fn find(&mut self, id: &str) -> Option<&mut PageMessage> {
        self.0.iter_mut().find(|message| message.id == id)
    }

    fn append(&mut self, id: &str, role: &'static str, text: &str) {
        match self.find(id) {
            Some(message) => message.content.push_str(text),
            None => self.push(id, role, text),
        }
    }

    fn push(&mut self, id: &str, role: &'static str, text: &str) {
        self.0.push(PageMessage { id: id.to_owned(), role, content: text.to_owned() });
    }

    pub(super) fn without_ids(&self) -> Vec<(&'static str, String)> {
        self.0.iter().map(|message| (message.role, message.content.clone())).collect()
    }

    pub(super) fn repeated_ids(&self) -> Vec<String> {
        let is_repeated =
            |index: &usize| self.0[..*index].iter().any(|message| message.id == self.0[*index].id);
        (0..self.0.len()).filter(is_repeated).map(|index| self.0[index].id.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames() -> Vec<Frame> {
        let frame = |id: &str, data: Value| Frame { id: id.to_owned(), data };
        vec![
            frame(
                "1",
                json!({ "type": "RUN_STARTED", "input": { "messages": [{ "id": "u", "content": "go" }] } }),
            ),
            frame("2", json!({ "type": "TEXT_MESSAGE_START", "messageId": "a" })),
            frame("3", json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "one " })),
            frame("4", json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "two" })),
            frame("5", json!({ "type": "TOOL_CALL_RESULT", "messageId": "r", "content": "done" })),
        ]
    }

    #[test]
    fn list_has_the_text_of_all_pieces() {
        let list = MessageList::of(&frames());
        let expected = [("user", "go"), ("assistant", "one two"), ("tool", "done")];
        assert_eq!(list.without_ids(), expected.map(|(role, text)| (role, text.to_owned())));
        assert_eq!(list.repeated_ids(), Vec::<String>::new());
    }

    #[test]
    fn repeated_frames_are_doubled_in_the_list() {
        let list = MessageList::of(&[frames(), frames()].concat());
        let expected = [("user", "go"), ("assistant", "one twoone two"), ("tool", "done"), ("tool", "done")];
        assert_eq!(list.without_ids(), expected.map(|(role, text)| (role, text.to_owned())));
        assert_eq!(list.repeated_ids(), ["r"]);
    }
}
