//! Pages of run events.

use guildhall_domain::ids::RunId;
use guildhall_protocol::rest::runs::EventView;
use reqwest::RequestBuilder;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{Client, ClientError};

/// A run event, parsed and as raw text. Forward the text: parsing drops fields that this client does not know.
#[derive(Debug, Clone)]
pub struct RunEvent {
    pub view: EventView,
    raw: Box<RawValue>,
}

impl RunEvent {
    /// Returns the event exactly as the server sent it, on one line.
    #[must_use]
    pub fn text(&self) -> &str {
        self.raw.get()
    }

    fn parse(raw: Box<RawValue>) -> Result<Self, serde_json::Error> {
        Ok(Self { view: serde_json::from_str(raw.get())?, raw })
    }
}

/// A page of run events, in order.
#[derive(Debug, Clone)]
pub struct RunEventPage {
    /// The run of the events; `None` if the session has no run yet.
    pub run: Option<RunId>,
    pub events: Vec<RunEvent>,
    /// The last sequence number of the run.
    pub last_seq: i64,
    /// The `after_seq` of the next page.
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
    /// Reads a page of at most 1000 events after a sequence number; 0 is the beginning.
    pub async fn run_events(
        &self,
        run: RunId,
        after_seq: i64,
        limit: u32,
    ) -> Result<RunEventPage, ClientError> {
        let query = [("afterSeq", after_seq), ("limit", i64::from(limit))];
        self.event_page(self.query(&["runs", &run.to_string(), "events"], &query)).await
    }

    pub(crate) async fn event_page(&self, request: RequestBuilder) -> Result<RunEventPage, ClientError> {
        let page: RawPage = self.call(request).await?;
        let run = page.run_id.map(|run| run.parse()).transpose();
        let events = page.events.into_iter().map(RunEvent::parse).collect::<Result<_, _>>();
        Ok(RunEventPage {
            run: run.map_err(|_| self.invalid_response("runId is not a run id"))?,
            events: events.map_err(|error| self.parse_error(&error))?,
            last_seq: page.last_seq,
            next_after_seq: page.next_after_seq,
            has_more: page.has_more,
        })
    }
}
