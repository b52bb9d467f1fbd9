//! The questions of a tenant that wait for an answer, as they are asked.

use std::collections::VecDeque;
use std::time::Duration;

use guildhall_domain::ids::{ApprovalId, TenantId};
use guildhall_protocol::rest::approvals::ApprovalView;
use guildhall_sdk::{ApprovalFilter, Client, ClientError};

use super::known_questions::{KnownQuestions, ReadRange};

/// How long a request waits on the server.
const WAIT: Duration = Duration::from_secs(20);

/// The pause before the next request to an unreachable server.
const RETRY_DELAY: Duration = Duration::from_secs(2);

const PAGE_SIZE: u32 = 100;

/// Pages that are read: a thousand questions are more than people answer in one sitting.
const MAX_PAGES: usize = 10;

/// Yields each open question once, oldest first.
pub(super) struct PendingQuestions<'a> {
    client: &'a Client,
    tenant: TenantId,
    known: KnownQuestions,
    queue: VecDeque<ApprovalView>,
    /// Where the last list ends; none before the first.
    position: Option<String>,
    is_unreachable: bool,
}

impl<'a> PendingQuestions<'a> {
    pub(super) fn new(client: &'a Client, tenant: TenantId) -> Self {
        let (known, queue) = (KnownQuestions::default(), VecDeque::new());
        Self { client, tenant, known, queue, position: None, is_unreachable: false }
    }

    /// Waits for the next question. An error is final.
    pub(super) async fn next(&mut self) -> Result<ApprovalView, ClientError> {
        loop {
            if let Some(question) = self.queue.pop_front() {
                return Ok(question);
            }
            let read = self.read().await;
            self.report_outage(read).await?;
        }
    }

    /// Waits until a question is not open any more, and returns it. An error is final. Dropping the future loses nothing.
    pub(super) async fn wait_for_end(&mut self, id: ApprovalId) -> Result<ApprovalView, ClientError> {
        // Not that of the list: questions that are asked meanwhile are still to be read.
        let mut position = self.position.clone();
        loop {
            let read = self.client.get_approval(id).await;
            if let Some(ended) =
                self.report_outage(read).await?.filter(|approval| approval.status != "pending")
            {
                return Ok(ended);
            }
            let waited = self.wait_for_change(position.as_deref()).await;
            if let Some(changed) = self.report_outage(waited).await? {
                position = Some(changed);
            }
        }
    }

    /// Waits for a change of any question of the tenant. Returns the position after it.
    async fn wait_for_change(&self, position: Option<&str>) -> Result<String, ClientError> {
        let filter = ApprovalFilter { limit: 1, ..open_questions() };
        let list = match position {
            Some(position) => self.client.wait_for_approvals(self.tenant, filter, position, WAIT).await?,
            None => self.client.list_approvals(self.tenant, filter).await?,
        };
        Ok(list.position)
    }

    /// Reads the open questions; from the second time on, when something has changed. Pages that were read before are not
    /// read again: the newest page, which the wait returns, has what is new.
    async fn read(&mut self) -> Result<(), ClientError> {
        let mut filter = open_questions();
        let mut page = match &self.position {
            Some(position) => self.client.wait_for_approvals(self.tenant, filter, position, WAIT).await?,
            None => self.client.list_approvals(self.tenant, filter).await?,
        };
        if self.position.as_ref() == Some(&page.position) {
            return Ok(());
        }
        let (position, mut open) = (page.position, page.approvals);
        filter.before = next_page(page.next_cursor);
        for _ in 1..MAX_PAGES {
            if filter.before.is_none() || self.known.contains_any(open.iter().map(id)) {
                break;
            }
            page = self.client.list_approvals(self.tenant, filter).await?;
            filter.before = next_page(page.next_cursor);
            open.append(&mut page.approvals);
        }
        self.position = Some(position);
        let range = if filter.before.is_none() { ReadRange::All } else { ReadRange::Newest };
        let new = self.known.update(open.iter().map(id), range);
        self.queue.extend(open.into_iter().rev().filter(|question| new.contains(&question.approval_id)));
        Ok(())
    }

    /// Reports an unreachable server once, and its return once. Returns `None` if a retry may succeed.
    async fn report_outage<T>(&mut self, result: Result<T, ClientError>) -> Result<Option<T>, ClientError> {
        let was_unreachable = std::mem::take(&mut self.is_unreachable);
        match result {
            Ok(value) => {
                if was_unreachable {
                    eprintln!("the server is reachable again");
                }
                Ok(Some(value))
            }
            Err(error) if error.is_transient() => {
                self.is_unreachable = true;
                if !was_unreachable {
                    eprintln!("{error}; retrying");
                }
                tokio::time::sleep(RETRY_DELAY).await;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

fn id(question: &ApprovalView) -> &str {
    &question.approval_id
}

fn next_page(cursor: Option<String>) -> Option<ApprovalId> {
    cursor.and_then(|cursor| cursor.parse().ok())
}

fn open_questions() -> ApprovalFilter {
    ApprovalFilter { run: None, session: None, answerable: false, all: false, before: None, limit: PAGE_SIZE }
}
