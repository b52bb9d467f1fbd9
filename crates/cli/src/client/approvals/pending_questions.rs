//! The questions of a tenant that wait for an answer.
//!
//! Polls the list. The interface hides that, so that a request that waits on the server can replace it.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use guildhall_domain::ids::{ApprovalId, TenantId};
use guildhall_protocol::rest::approvals::ApprovalView;
use guildhall_sdk::{ApprovalFilter, Client, ClientError};

/// The pause between two requests.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

const PAGE_SIZE: u32 = 100;

/// Pages that are read: a thousand questions are more than people answer in one sitting.
const MAX_PAGES: usize = 10;

/// Yields each open question once, oldest first.
pub(super) struct PendingQuestions<'a> {
    client: &'a Client,
    tenant: TenantId,
    /// Ids of the open questions that were read.
    known: BTreeSet<String>,
    queue: VecDeque<ApprovalView>,
    is_first_poll: bool,
    is_unreachable: bool,
}

impl<'a> PendingQuestions<'a> {
    pub(super) fn new(client: &'a Client, tenant: TenantId) -> Self {
        let (known, queue) = (BTreeSet::new(), VecDeque::new());
        Self { client, tenant, known, queue, is_first_poll: true, is_unreachable: false }
    }

    /// Waits for the next question. An error is final.
    pub(super) async fn next(&mut self) -> Result<ApprovalView, ClientError> {
        loop {
            if let Some(question) = self.queue.pop_front() {
                return Ok(question);
            }
            if !std::mem::take(&mut self.is_first_poll) {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            let polled = self.poll().await;
            self.report_outage(polled)?;
        }
    }

    /// Waits until a question is not open any more, and returns it. An error is final.
    pub(super) async fn wait_for_end(&mut self, id: ApprovalId) -> Result<ApprovalView, ClientError> {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let read = self.client.get_approval(id).await;
            if let Some(ended) = self.report_outage(read)?.filter(|approval| approval.status != "pending") {
                return Ok(ended);
            }
        }
    }

    async fn poll(&mut self) -> Result<(), ClientError> {
        let mut filter = ApprovalFilter { run: None, all: false, before: None, limit: PAGE_SIZE };
        let mut open = Vec::new();
        for _ in 0..MAX_PAGES {
            let page = self.client.list_approvals(self.tenant, filter).await?;
            open.extend(page.approvals);
            filter.before = page.next_cursor.and_then(|cursor| cursor.parse().ok());
            if filter.before.is_none() {
                break;
            }
        }
        let ids = open.iter().map(|question| question.approval_id.clone()).collect();
        let known = std::mem::replace(&mut self.known, ids);
        self.queue.extend(open.into_iter().rev().filter(|question| !known.contains(&question.approval_id)));
        Ok(())
    }

    /// Reports an unreachable server once, and its return once. Returns `None` if a retry may succeed.
    fn report_outage<T>(&mut self, result: Result<T, ClientError>) -> Result<Option<T>, ClientError> {
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
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
