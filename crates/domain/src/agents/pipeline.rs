//! How turns are done. A turn has two stages: the router picks a worker, and the worker does the turn.

use serde::{Deserialize, Deserializer, Serialize};

use super::instructions::Instructions;
use super::pipeline_text::{ContextEntry, Keyword, ToolName, WorkerName};
use super::turn_pipeline::TurnPipeline;

/// The name of the worker of a pipeline that defines none for a turn.
pub const DEFAULT_WORKER: &str = "default";

/// What a worker is told, and which turns it is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Worker {
    pub name: WorkerName,
    /// The router picks the worker for a message that contains one of them. Without keywords it takes what no other
    /// worker takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<Keyword>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    pub instructions: Option<Instructions>,
}

/// How turns are done: by which workers, with what context, and with which tools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pipeline {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<Worker>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<ContextEntry>,
    /// Tools that the agent may ask to use. Questions about others are denied. None: all tools.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "not_null")]
    pub enabled_tools: Option<Vec<ToolName>>,
}

/// Refuses null: whoever sends `enabledTools: null` may mean all tools or none.
fn not_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// What the router picked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route<'a> {
    /// None: the pipeline has no worker for the message.
    pub worker: Option<&'a Worker>,
    /// The keyword that the message contains.
    pub keyword: Option<&'a Keyword>,
}

impl<'a> Route<'a> {
    #[must_use]
    pub fn worker_name(&self) -> &'a str {
        self.worker.map_or(DEFAULT_WORKER, |worker| worker.name.as_str())
    }
}

/// Why a pipeline is invalid. Values are not repeated, because they may be long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPipeline {
    #[error("workers: use at most {} workers, each with a name of its own", Pipeline::MAX_WORKERS)]
    Workers,
    #[error("workers: a worker has at most {} keywords", Pipeline::MAX_KEYWORDS)]
    Keywords,
    #[error(
        "context: use at most {} entries, with descriptions of 1 to {} characters and values of at most {} bytes, without control characters",
        Pipeline::MAX_CONTEXT,
        ContextEntry::MAX_DESCRIPTION_CHARS,
        ContextEntry::MAX_VALUE_BYTES
    )]
    Context,
    #[error("enabledTools: use at most {} names", Pipeline::MAX_TOOLS)]
    Tools,
    #[error("the pipeline has more than {} bytes as JSON", Pipeline::MAX_BYTES)]
    TooLarge,
}

impl Pipeline {
    /// It is stored with each turn.
    pub const MAX_BYTES: usize = 64 * 1024;
    pub const MAX_WORKERS: usize = 16;
    pub const MAX_KEYWORDS: usize = 32;
    pub const MAX_CONTEXT: usize = 32;
    pub const MAX_TOOLS: usize = 64;

    /// Returns whether it says nothing.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Checks what the types of the fields do not.
    pub fn validate(&self) -> Result<(), InvalidPipeline> {
        let is_repeated = |(index, worker): (usize, &Worker)| {
            self.workers[..index].iter().any(|other| other.name == worker.name)
        };
        if self.workers.len() > Self::MAX_WORKERS || self.workers.iter().enumerate().any(is_repeated) {
            return Err(InvalidPipeline::Workers);
        }
        if self.workers.iter().any(|worker| worker.keywords.len() > Self::MAX_KEYWORDS) {
            return Err(InvalidPipeline::Keywords);
        }
        if self.context.len() > Self::MAX_CONTEXT || !self.context.iter().all(ContextEntry::is_valid) {
            return Err(InvalidPipeline::Context);
        }
        let has_too_many = |tools: &Vec<ToolName>| tools.len() > Self::MAX_TOOLS;
        if self.enabled_tools.as_ref().is_some_and(has_too_many) {
            return Err(InvalidPipeline::Tools);
        }
        if serde_json::json!(self).to_string().len() > Self::MAX_BYTES {
            return Err(InvalidPipeline::TooLarge);
        }
        Ok(())
    }

    /// Picks the worker for a message: the first one with a keyword that the message contains, or else the first one
    /// without keywords.
    #[must_use]
    pub fn route(&self, message: &str) -> Route<'_> {
        let message = message.to_lowercase();
        let found = self.workers.iter().find_map(|worker| {
            let keyword = worker.keywords.iter().find(|keyword| keyword.occurs_in(&message))?;
            Some(Route { worker: Some(worker), keyword: Some(keyword) })
        });
        let rest = || self.workers.iter().find(|worker| worker.keywords.is_empty());
        found.unwrap_or_else(|| Route { worker: rest(), keyword: None })
    }
}

impl Pipeline {
    /// Returns the pipeline of a turn with a message.
    #[must_use]
    pub fn turn(&self, message: &str) -> TurnPipeline {
        let route = self.route(message);
        let instructions = route.worker.and_then(|worker| worker.instructions.as_ref());
        TurnPipeline {
            worker: route.worker_name().to_owned(),
            keyword: route.keyword.map(ToString::to_string),
            instructions: instructions.map(|text| text.as_str().to_owned()),
            context: self.context.clone(),
            enabled_tools: self
                .enabled_tools
                .as_ref()
                .map(|tools| tools.iter().map(ToString::to_string).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::agents::pipeline_text::InvalidPipelineText;

    fn pipeline() -> Pipeline {
        let workers = json!({ "workers": [
            { "name": "calendar", "keywords": ["meeting", "日程"] },
            { "name": "code", "keywords": ["bug", "pull request"], "instructions": "Write tests." },
            { "name": "talk" },
            { "name": "never" },
        ] });
        serde_json::from_value(workers).expect("a valid pipeline")
    }

    #[test]
    fn router_picks_the_first_worker_with_a_keyword_of_the_message() {
        let pipeline = pipeline();
        for (message, worker, keyword) in [
            ("Create a MEETING about the bug", "calendar", Some("meeting")),
            ("帮我创建一个日程", "calendar", Some("日程")),
            ("see my pull request", "code", Some("pull request")),
            ("a bug.", "code", Some("bug")),
            ("debugging is a buggy word", "talk", None),
            ("", "talk", None),
        ] {
            let route = pipeline.route(message);
            assert_eq!(
                (route.worker_name(), route.keyword.map(Keyword::as_str)),
                (worker, keyword),
                "{message}"
            );
        }
    }

    #[test]
    fn message_without_a_worker_has_the_default_worker() {
        let none = Pipeline::default();
        assert_eq!(none.route("hello"), Route { worker: None, keyword: None });
        assert_eq!(none.route("hello").worker_name(), "default");
    }

    #[test]
    fn null_is_no_list_of_tools_and_no_instructions() {
        for value in [
            json!({ "enabledTools": null }),
            json!({ "workers": null }),
            json!({ "workers": [{ "name": "a1", "instructions": null }] }),
        ] {
            assert!(serde_json::from_value::<Pipeline>(value.clone()).is_err(), "{value}");
        }
    }

    #[test]
    fn pipeline_that_breaks_a_rule_is_refused() {
        for (value, error) in [
            (json!({ "workers": [{ "name": "a1" }, { "name": "a1" }] }), InvalidPipeline::Workers),
            (
                json!({ "workers": (0..17).map(|n| json!({ "name": format!("w{n}") })).collect::<Vec<_>>() }),
                InvalidPipeline::Workers,
            ),
            (json!({ "workers": [{ "name": "a1", "keywords": vec!["k"; 33] }] }), InvalidPipeline::Keywords),
            (json!({ "context": [{ "description": "", "value": "x" }] }), InvalidPipeline::Context),
            (
                json!({ "context": [{ "description": "d", "value": "x".repeat(8193) }] }),
                InvalidPipeline::Context,
            ),
            (
                json!({ "context": vec![json!({ "description": "d", "value": "" }); 33] }),
                InvalidPipeline::Context,
            ),
            (json!({ "context": [{ "description": "d", "value": "a\0b" }] }), InvalidPipeline::Context),
            (json!({ "enabledTools": vec!["shell"; 65] }), InvalidPipeline::Tools),
            (
                json!({ "context": vec![json!({ "description": "d", "value": "x".repeat(8192) }); 8] }),
                InvalidPipeline::TooLarge,
            ),
        ] {
            let pipeline: Pipeline = serde_json::from_value(value).expect("valid texts");
            assert_eq!(pipeline.validate(), Err(error));
        }
        for (value, error) in [
            (json!({ "workers": [{ "name": "A b" }] }), InvalidPipelineText::WorkerName),
            (json!({ "workers": [{ "name": "a1", "keywords": [" "] }] }), InvalidPipelineText::Keyword),
            (json!({ "enabledTools": [""] }), InvalidPipelineText::Tool),
        ] {
            let read = serde_json::from_value::<Pipeline>(value).expect_err("an invalid text");
            assert!(read.to_string().starts_with(&error.to_string()), "{read}");
        }
    }

    #[test]
    fn turn_has_what_its_worker_is_told() {
        let mut pipeline = pipeline();
        pipeline.context = vec![ContextEntry { description: "team".to_owned(), value: "web".to_owned() }];
        pipeline.enabled_tools = Some(vec!["shell".to_owned().try_into().expect("a name")]);
        let turn = pipeline.turn("fix the bug");
        let payload = json!({ "prompt": "fix the bug", "pipeline": turn });
        assert_eq!(
            payload["pipeline"],
            json!({
                "worker": "code", "keyword": "bug", "instructions": "Write tests.",
                "context": [{ "description": "team", "value": "web" }], "enabledTools": ["shell"],
            })
        );
        assert_eq!(TurnPipeline::of_payload(&payload), Some(turn.clone()));
        assert!(turn.is_enabled("shell") && !turn.is_enabled("browser"));
        assert!(Pipeline::default().turn("hello").is_enabled("browser"), "all tools by default");
        assert_eq!(TurnPipeline::of_payload(&json!({})), None);
    }

    proptest! {
        #[test]
        fn picked_keyword_is_in_the_message(message in "(?i)[a-z .]{0,20}(bug|meeting|日程)?[a-z .]{0,20}") {
            let pipeline = pipeline();
            let route = pipeline.route(&message);
            prop_assert!(route.worker.is_some());
            if let Some(keyword) = route.keyword {
                prop_assert!(message.to_lowercase().contains(keyword.as_str()));
            }
        }

        #[test]
        fn keyword_between_spaces_is_found(before in "[a-z]{0,8}", after in "[a-z]{0,8}") {
            let text = format!("{before} bug {after}");
            let pipeline = pipeline();
            prop_assert_eq!(pipeline.route(&text).worker_name(), "code");
        }
    }
}
