//! Commands of runs, for those who send them.

use guildhall_domain::ids::{CommandId, RunId};
use guildhall_domain::runs::command::CommandKind;
use guildhall_protocol::rest::runs::commands::{CommandView, CreateCommand, ResultView};
use reqwest::Method;
use serde_json::json;

use crate::client::keyed;
use crate::{Client, ClientError};

impl Client {
    /// Submits a command with these words.
    pub async fn submit_command(
        &self,
        run: RunId,
        kind: CommandKind,
        words: &str,
        idempotency_key: Option<&str>,
    ) -> Result<CommandView, ClientError> {
        let body = CreateCommand { r#type: kind.to_string(), payload: json!({ "prompt": words }) };
        let request = self.request(Method::POST, &["runs", &run.to_string(), "commands"]).json(&body);
        self.call(keyed(request, idempotency_key)).await
    }

    pub async fn show_command(&self, run: RunId, command: CommandId) -> Result<CommandView, ClientError> {
        let segments = ["runs", &run.to_string(), "commands", &command.to_string()];
        self.call(self.request(Method::GET, &segments)).await
    }

    pub async fn command_result(&self, run: RunId, command: CommandId) -> Result<ResultView, ClientError> {
        let segments = ["runs", &run.to_string(), "commands", &command.to_string(), "result"];
        self.call(self.request(Method::GET, &segments)).await
    }

    /// Asks a command to end; its run stays open. Asking again changes nothing.
    pub async fn cancel_command(&self, command: CommandId) -> Result<CommandView, ClientError> {
        self.call(self.request(Method::POST, &["commands", &command.to_string(), "cancel"])).await
    }
}
