//! Events of runs, page by page.

use guildhall_domain::ids::RunId;
use guildhall_protocol::rest::runs::EventView;
use reqwest::RequestBuilder;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::follow::RunFollower;
use crate::{Client, ClientError};

/// An event, read and as it was sent. What is handed on is the text: reading it may lose what this client does not
/// know.
#[derive(Debug, Clone)]
pub struct RunEvent {
    pub view: EventView,
    raw: Box<RawValue>,
}

impl RunEvent {
    /// Returns the event as the server wrote it, on one line.
    #[must_use]
    pub fn text(&self) -> &str {
        self.raw.get()
    }

    fn read(raw: Box<RawValue>) -> Result<Self, serde_json::Error> {
        Ok(Self { view: serde_json::from_str(raw.get())?, raw })
    }
}

/// Some events, in order.
#[derive(Debug, Clone)]
pub struct RunEventPage {
    /// The run that they are of; none where a session has none yet.
    pub run: Option<RunId>,
    pub events: Vec<RunEvent>,
    /// Where the run ends now.
    pub last_seq: i64,
    /// The number to go on after.
    pub next_after_seq: i64,
    pub has_more: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawPage {
    run_id: Option<String>,
    events: Vec<Box<RawValue>>,
    last_seq: i64,
    next_after_seq: i64,
    has_more: bool,
}

impl Client {
    /// Reads events after a number; 0 is the beginning, and 1000 is the most that a page holds.
    pub async fn run_events(
        &self,
        run: RunId,
        after_seq: i64,
        limit: u32,
    ) -> Result<RunEventPage, ClientError> {
        let query = [("afterSeq", after_seq), ("limit", i64::from(limit))];
        self.event_page(self.query(&["runs", &run.to_string(), "events"], &query)).await
    }

    /// Follows a run: yields every event after a number, once, and waits for more. Asks for nothing yet.
    #[must_use]
    pub fn follow_run(&self, run: RunId, after_seq: i64) -> RunFollower {
        RunFollower::new(self.clone(), run, after_seq)
    }

    pub(crate) async fn event_page(&self, request: RequestBuilder) -> Result<RunEventPage, ClientError> {
        let page: RawPage = self.call(request).await?;
        let run = page.run_id.map(|run| run.parse()).transpose();
        let events = page.events.into_iter().map(RunEvent::read).collect::<Result<_, _>>();
        Ok(RunEventPage {
            run: run.map_err(|_| self.bad_answer("its runId is not a run's"))?,
            events: events.map_err(|error| self.not_understood(&error))?,
            last_seq: page.last_seq,
            next_after_seq: page.next_after_seq,
            has_more: page.has_more,
        })
    }
}
