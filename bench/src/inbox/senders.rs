//! Many sockets that send durable messages as fast as they are acknowledged.

use std::time::{Duration, Instant};

use anyhow::Result;
use futures::future::try_join_all;
use guildhall_sdk::socket::SocketClient;
use serde_json::json;

use super::TEXT_BYTES;

const ROUND: Duration = Duration::from_secs(4);

pub(super) struct Senders {
    clients: Vec<SocketClient>,
    recipients: Vec<String>,
    text: String,
}

impl Senders {
    pub(super) fn new(clients: Vec<SocketClient>, recipients: Vec<String>) -> Self {
        Self { clients, recipients, text: "x".repeat(TEXT_BYTES) }
    }

    /// Sends for some time. Returns the messages that were acknowledged in a second.
    pub(super) async fn round(&mut self) -> Result<f64> {
        let began = Instant::now();
        let sending = self.clients.iter().enumerate().map(async |(number, client)| {
            let mut sent = 0;
            while began.elapsed() < ROUND {
                let recipient = &self.recipients[(number + sent) % self.recipients.len()];
                send(client, recipient, &self.text).await?;
                sent += 1;
            }
            anyhow::Ok(sent)
        });
        let sent: usize = try_join_all(sending).await?.into_iter().sum();
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        Ok(sent as f64 / began.elapsed().as_secs_f64())
    }
}

/// Sends one message. Returns its id.
pub(super) async fn send(client: &SocketClient, recipient: &str, text: &str) -> Result<String> {
    let payload = json!({ "type": "text", "text": text });
    let params = json!({ "to": recipient, "payload": payload });
    let result = client.call_raw("message.send", params).await?;
    Ok(result["message_id"].as_str().unwrap_or_default().to_owned())
}
