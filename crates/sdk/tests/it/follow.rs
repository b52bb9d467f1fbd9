use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use guildhall_domain::FailureKind;
use guildhall_domain::ids::TenantId;
use guildhall_sdk::{AuditStreamItem, TokenFuture, TokenSource};

use crate::support::{client, response, scripted_server};

const UNAUTHENTICATED: &str = r#"{"type":"t","title":"t","status":401,"detail":"no","failureKind":"unauthenticated","message":"no",
    "retry":"after-change","traceId":"0"}"#;

/// Hands out a new token each time.
#[derive(Debug, Default)]
struct NumberedTokens(AtomicU32);

impl TokenSource for NumberedTokens {
    fn token(&self) -> TokenFuture<'_> {
        let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        Box::pin(async move { Ok(format!("token-{number}").into()) })
    }
}

fn stream(events: &[String]) -> String {
    let events = events.concat();
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}")
}

fn entry(incarnation: u8, seq: i64) -> String {
    format!(
        "event: entry\ndata: {{\"v\":1,\"seq\":{seq},\"id\":\"ent_1\",\"action\":\"a.b\",\"body\":{{\"b\":1,\"a\":2}},\
         \"recordedAt\":\"2026-01-02T03:04:05.100Z\",\"new\":true,\"bodyHash\":null,\"hash\":null}}\nid: {incarnation}-{seq}\n\n"
    )
}

fn closed() -> String {
    "event: closed\ndata: {\"v\":1}\n\n".to_owned()
}

fn gap() -> String {
    "event: gap\ndata: {\"v\":1,\"recovered\":false}\n\n".to_owned()
}

#[tokio::test]
async fn entries_are_returned_once_across_reconnects() {
    let (url, heads) = scripted_server(vec![
        // Starts before the requested position, and breaks off within an event.
        stream(&[entry(1, 1), entry(1, 2), entry(1, 3), "event: entry\ndata: {".to_owned()]),
        // A server that ignores the cursor.
        stream(&[entry(1, 2), entry(1, 3), entry(1, 4), closed()]),
        response(502, "a proxy"),
        // A restored database.
        stream(&[gap(), entry(2, 1), "event: newer\ndata: ?\n\n".to_owned(), entry(2, 2)]),
        response(401, UNAUTHENTICATED),
    ]);
    let client = client(&url).with_tokens(Arc::new(NumberedTokens::default()));
    let mut follow = client.audit_follow(TenantId::generate(), 1);
    let mut items = Vec::new();
    let error =
        loop {
            match follow.next().await {
                Ok(AuditStreamItem::Entry(entry)) => {
                    assert!(entry.text().contains(
                        r#""body":{"b":1,"a":2},"recordedAt":"2026-01-02T03:04:05.100Z","new":true"#
                    ));
                    items.push(entry.view.seq.to_string());
                }
                Ok(AuditStreamItem::Restored) => items.push("restored".to_owned()),
                Ok(AuditStreamItem::Disconnected(_)) => items.push("disconnected".to_owned()),
                Err(error) => break error,
            }
        };
    assert_eq!(error.kind(), Some(FailureKind::Unauthenticated));
    items.retain(|item| item != "disconnected");
    assert_eq!(items, ["2", "3", "4", "restored", "1", "2"]);

    let heads: Vec<String> = heads.iter().take(5).collect();
    let cursors: Vec<Option<&str>> =
        heads.iter().map(|head| head.split("last-event-id: ").nth(1)?.lines().next()).collect();
    assert_eq!(cursors, [None, Some("1-3"), Some("1-4"), Some("1-4"), Some("2-2")]);
    for (number, head) in heads.iter().enumerate() {
        assert!(head.contains(&format!("authorization: bearer token-{}\r\n", number + 1)), "{head}");
    }
}

#[tokio::test]
async fn follower_waits_for_the_retry_after_of_the_server() {
    let limited = UNAUTHENTICATED
        .replace("after-change", "later")
        .replace("\"traceId\"", "\"retryAfterMs\":900,\"traceId\"");
    let (url, _heads) = scripted_server(vec![response(429, &limited), stream(&[entry(1, 1)])]);
    let client = client(&url).with_tokens(Arc::new(NumberedTokens::default()));
    let mut follow = client.audit_follow(TenantId::generate(), 0);
    assert!(matches!(follow.next().await, Ok(AuditStreamItem::Disconnected(_))));
    let began = std::time::Instant::now();
    assert!(matches!(follow.next().await, Ok(AuditStreamItem::Entry(_))));
    assert!(began.elapsed() >= std::time::Duration::from_millis(900), "waited {:?}", began.elapsed());
}
