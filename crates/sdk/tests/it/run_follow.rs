use std::sync::Arc;

use guildhall_domain::FailureKind;
use guildhall_domain::ids::RunId;
use guildhall_sdk::RunFollowed;
use secrecy::SecretString;

use crate::support::{answer, client, problem, scripted};

fn page(run: RunId, seqs: &[i64], last_seq: i64) -> String {
    let events = seqs.iter().map(|seq| {
        format!(
            r#"{{"v":1,"seq":{seq},"type":"assistant_message","eventId":"e{seq}","commandId":null,"payload":{{"b":1,"a":2}},"erased":false,"recordedAt":"2026-01-02T03:04:05Z","new":true}}"#
        )
    });
    let next = seqs.last().copied().unwrap_or(last_seq);
    let (events, has_more) = (events.collect::<Vec<_>>().join(","), next < last_seq);
    answer(
        200,
        &format!(
            r#"{{"runId":"{run}","events":[{events}],"lastSeq":{last_seq},"nextAfterSeq":{next},"hasMore":{has_more}}}"#
        ),
    )
}

#[tokio::test]
async fn every_event_comes_once_in_order_whatever_happens_to_the_server() {
    let run = RunId::generate();
    let (url, heads) = scripted(vec![
        // Begins before what was asked for.
        page(run, &[1, 2, 3], 4),
        answer(502, "a proxy"),
        // Another server that forgot where we are.
        page(run, &[2, 3, 4], 4),
        page(run, &[], 4),
        page(run, &[5, 6], 6),
        // A database that was restored.
        page(run, &[], 2),
        page(run, &[1, 2], 2),
        answer(401, &problem(401, "unauthenticated", "")),
    ]);
    let client = client(&url).with_tokens(Arc::new(SecretString::from("a-token")));
    let mut follow = client.follow_run(run, 1);
    let mut seen = Vec::new();
    let error = loop {
        match follow.next().await {
            Ok(RunFollowed::Event(event)) => {
                assert!(event.text().contains(r#""payload":{"b":1,"a":2}"#) && event.text().contains("new"));
                seen.push(event.view.seq.to_string());
            }
            Ok(RunFollowed::CaughtUp) => seen.push("caught up".to_owned()),
            Ok(RunFollowed::Restored) => seen.push("restored".to_owned()),
            Ok(RunFollowed::Away(_)) => seen.push("away".to_owned()),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), Some(FailureKind::Unauthenticated));
    let expected = ["2", "3", "away", "4", "caught up", "5", "6", "restored", "1", "2", "caught up"];
    assert_eq!(seen, expected);
    let asked: Vec<String> = heads
        .iter()
        .take(8)
        .filter_map(|head| Some(head.split("afterseq=").nth(1)?.split('&').next()?.to_owned()))
        .collect();
    assert_eq!(asked, ["1", "3", "3", "4", "4", "6", "0", "2"]);
}
