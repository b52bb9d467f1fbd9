//! What was said in a conversation, day by day.

use std::collections::BTreeMap;

use guildhall_domain::access::role::rights::RunsRead;
use guildhall_domain::access::thread_owner::ThreadOwner;
use guildhall_domain::agents::AgentKey;
use guildhall_domain::front::attachment::AttachmentReference;
use guildhall_domain::front::external_id::ExternalId;
use guildhall_domain::ids::{CommandId, RunId, SessionId};
use guildhall_domain::journal::Seq;
use guildhall_domain::runs::event::EventBody;
use guildhall_domain::runs::message::message_text;
use guildhall_store::journal::{self, Scope};
use guildhall_store::runs;
use guildhall_store::threads::{self, ThreadMessage};
use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::Value;

use super::agent_runs::AgentRuns;
use crate::ServiceError;
use crate::deps::Deps;

/// Messages of one day. The first ones of a day with more are left out.
const MAX_MESSAGES: u32 = 1_000;

/// The messages of one day of a conversation, oldest first. Days are those of UTC.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadDay {
    /// The client's id of the conversation.
    pub thread: String,
    pub messages: Vec<DayMessage>,
    /// Messages before the first one.
    pub older: u64,
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct DayMessage {
    /// The turn.
    pub command: CommandId,
    pub at: Timestamp,
    pub body: DayMessageBody,
}

#[derive(Debug, Clone, PartialEq)]
pub enum DayMessageBody {
    /// What a person has sent.
    User {
        /// The client's id of the message; none if the turn was not sent by an application.
        id: Option<String>,
        text: String,
        images: Vec<AttachmentReference>,
    },
    /// The reply of a turn. The text is empty if the agent has said nothing, or if it was erased.
    Reply { text: String, ui_hints: Option<Value> },
}

/// Reads conversations.
#[derive(Debug, Clone)]
pub struct History {
    deps: Deps,
    agent_runs: AgentRuns,
}

impl History {
    pub(super) fn new(deps: Deps, agent_runs: AgentRuns) -> Self {
        Self { deps, agent_runs }
    }

    /// Returns the newest day of a conversation of the caller, or the newest one before a day. Without a thread it is the
    /// conversation that the caller has used last; none if there is none.
    pub async fn day(
        &self,
        caller: &ThreadOwner<RunsRead>,
        agent: Option<&AgentKey>,
        thread: Option<&ExternalId>,
        before: Option<Date>,
    ) -> Result<Option<ThreadDay>, ServiceError> {
        let Some((thread, session)) = self.find_thread(caller, agent, thread).await? else { return Ok(None) };
        let found = threads::list_day(&self.deps.store, session, before, MAX_MESSAGES).await?;
        let older = found.first().map_or(0, |first| u64::try_from(first.seq - 1).unwrap_or_default());
        let mut replies = self.read_replies(&found).await?;
        let message = |message: ThreadMessage| DayMessage {
            command: message.command,
            at: message.at,
            body: match message.payload {
                Some(payload) => user_message(&payload),
                None => replies.remove(&message.command).unwrap_or_else(empty_reply),
            },
        };
        Ok(Some(ThreadDay { thread, messages: found.into_iter().map(message).collect(), older }))
    }

    async fn find_thread(
        &self,
        caller: &ThreadOwner<RunsRead>,
        agent: Option<&AgentKey>,
        thread: Option<&ExternalId>,
    ) -> Result<Option<(String, SessionId)>, ServiceError> {
        if let Some(thread) = thread {
            let session = self.agent_runs.find(caller, agent, thread).await?;
            return Ok(Some((thread.to_string(), session.ok_or(ServiceError::NOT_FOUND)?)));
        }
        let agent = match agent {
            Some(agent) => Some(self.agent_runs.agent(caller, Some(agent)).await?.id),
            None => caller.only_agent(),
        };
        let found = threads::find_latest(&self.deps.store, caller.principal, caller.tenant(), agent).await?;
        Ok(found.map(|thread| (thread.id, thread.session)))
    }

    /// Reads the replies of completed turns: two statements for each run.
    async fn read_replies(
        &self,
        messages: &[ThreadMessage],
    ) -> Result<BTreeMap<CommandId, DayMessageBody>, ServiceError> {
        let mut turns: BTreeMap<RunId, Vec<Scope>> = BTreeMap::new();
        for reply in messages.iter().filter(|message| message.payload.is_none()) {
            turns.entry(reply.run).or_default().push(Scope::Command(reply.command));
        }
        let (store, mut replies) = (&self.deps.store, BTreeMap::new());
        for (run, scopes) in turns {
            let folds = journal::load_folds(store, run, &scopes).await?;
            let commands: BTreeMap<Seq, CommandId> = folds
                .iter()
                .filter_map(|(scope, fold)| match scope {
                    Scope::Command(command) => Some((fold.reply()?.seq, *command)),
                    Scope::Run => None,
                })
                .collect();
            let seqs: Vec<Seq> = commands.keys().copied().collect();
            for entry in journal::list_by_seqs(store, runs::stream(run), &seqs).await? {
                let body = entry.body.as_deref().and_then(|body| serde_json::from_str(body).ok());
                if let (Some(command), Some(body)) = (commands.get(&entry.seq), body) {
                    replies.insert(*command, reply(&body));
                }
            }
        }
        Ok(replies)
    }
}

fn user_message(payload: &str) -> DayMessageBody {
    let payload: Value = serde_json::from_str(payload).unwrap_or_default();
    let text = message_text(&payload).unwrap_or_default().to_owned();
    let (id, images) = (payload["clientMessageId"].as_str(), AttachmentReference::list_in(&payload));
    DayMessageBody::User { id: id.map(str::to_owned), text, images }
}

fn reply(body: &EventBody) -> DayMessageBody {
    DayMessageBody::Reply {
        text: body.payload["text"].as_str().unwrap_or_default().to_owned(),
        ui_hints: body.payload.get("uiHints").cloned(),
    }
}

fn empty_reply() -> DayMessageBody {
    DayMessageBody::Reply { text: String::new(), ui_hints: None }
}
