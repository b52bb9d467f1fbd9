//! Commands of runs.

use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::runs::command::CommandKind;
use guildhall_protocol::rest::runs::commands::{CommandView, CommandsView, CreateCommand, ResultView};
use reqwest::Method;
use serde_json::json;

use crate::client::with_idempotency_key;
use crate::{Client, ClientError};

impl Client {
    /// Submits a command with a prompt.
    pub async fn submit_command(
        &self,
        run: RunId,
        kind: CommandKind,
        prompt: &str,
        idempotency_key: Option<&str>,
    ) -> Result<CommandView, ClientError> {
        let body = CreateCommand {
            r#type: kind.to_string(),
            payload: json!({ "prompt": prompt }),
            idempotency_key: None,
        };
        let request = self.request(Method::POST, &["runs", &run.to_string(), "commands"]).json(&body);
        self.call(with_idempotency_key(request, idempotency_key)).await
    }

    /// Lists the commands of a run with a higher `seq`, in order: one page.
    pub async fn list_commands(&self, run: RunId, after_seq: i32) -> Result<CommandsView, ClientError> {
        self.call(self.query(&["runs", &run.to_string(), "history"], &[("afterSeq", after_seq)])).await
    }

    pub async fn get_command(&self, run: RunId, command: CommandId) -> Result<CommandView, ClientError> {
        let segments = ["runs", &run.to_string(), "commands", &command.to_string()];
        self.call(self.request(Method::GET, &segments)).await
    }

    pub async fn command_result(&self, run: RunId, command: CommandId) -> Result<ResultView, ClientError> {
        let segments = ["runs", &run.to_string(), "commands", &command.to_string(), "result"];
        self.call(self.request(Method::GET, &segments)).await
    }

    /// Requests the cancellation of a command; its run stays open. Idempotent.
    pub async fn cancel_command(&self, command: CommandId) -> Result<CommandView, ClientError> {
        self.call(self.request(Method::POST, &["commands", &command.to_string(), "cancel"])).await
    }
}
