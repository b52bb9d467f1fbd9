use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::ids::{CommandId, RunId, RunnerId};
use guildhall_domain::runs::Ending;
use guildhall_sdk::runner::{Claim, ClaimAgain, PollFrom, RunnerClient};
use secrecy::SecretString;

use crate::support::{answer, client, problem, scripted};

fn grant(run: RunId, runner: RunnerId, token: &str) -> String {
    let at = "2026-01-02T03:04:05Z";
    format!(
        r#"{{"runToken":"{token}","tokenExpiresAt":"{at}","epoch":3,"runnerId":"{runner}","leaseExpiresAt":"{at}",
        "leaseMs":30000,"threadId":"t-1","recoveredFrom":null,"run":{{"runId":"{run}","tenantId":"t","sessionId":"s",
        "projectId":"p","workspaceRef":{{"kind":"empty"}},"providerId":"local","backendProfile":"demo",
        "executionPolicy":{{}},"traceSink":null,"status":"claimed","terminalStatus":null,"failureKind":null,
        "message":null,"createdBy":"prn","createdAt":"{at}","endedAt":null,"lastSeq":1,"openCommandIds":[],"lease":null,
        "liveness":{{"phase":"idle","active":false,"lastSeq":1,"lastEventAgeMs":null,"nextStep":"n","nextStepAt":null,
        "recoveryActions":[],"sentence":"s"}},"usage":{{"inputTokens":0,"cachedInputTokens":0,"outputTokens":0,
        "activeMs":0,"toolCalls":0}}}}}}"#
    )
}

fn bearer(head: &str) -> String {
    head.split("authorization: bearer ")
        .nth(1)
        .and_then(|rest| rest.lines().next())
        .expect("a token")
        .to_owned()
}

#[tokio::test]
async fn a_held_run_uses_the_token_of_its_last_renewal_and_prints_none() {
    let (run, runner) = (RunId::generate(), RunnerId::generate());
    let work = r#"{"commands":[],"steers":[],"cancelCommandIds":[],"runStatus":"claimed","cancelSeq":7,"nextAfterSeq":2}"#;
    let renewed = format!(r#"{{"released":false,"grant":{}}}"#, grant(run, runner, "token-two"));
    let (url, heads) = scripted(vec![
        answer(200, &grant(run, runner, "token-one")),
        answer(200, work),
        answer(200, &renewed),
        answer(200, work),
        answer(409, &problem(409, "runner-lease-conflict", "")),
    ]);
    let client = RunnerClient::new(client(&url), SecretString::from("enrolment-token"));
    let claim = client.claim(run, runner, ClaimAgain::Yes).await.expect("granted");
    let Claim::Granted { held, grant } = claim else { panic!("not granted: {claim:?}") };
    assert_eq!((grant.runner, grant.epoch, grant.lease), (runner, 3, Duration::from_secs(30)));

    let other = held.clone();
    let work = other.poll(PollFrom::default(), Duration::from_secs(3600)).await.expect("work");
    held.renew().await.expect("renewed");
    other.poll(PollFrom::after(&work), Duration::ZERO).await.expect("work");
    let lost = other.finish(CommandId::generate(), &Ending::COMPLETED, None).await.expect_err("lost");
    assert_eq!((lost.kind(), lost.is_passing()), (Some(FailureKind::RunnerLeaseConflict), false));

    let heads: Vec<String> = heads.iter().take(5).collect();
    let bearers: Vec<String> = heads.iter().map(|head| bearer(head)).collect();
    assert_eq!(bearers, ["enrolment-token", "token-one", "token-one", "token-two", "token-two"]);
    assert!(heads[1].contains("afterseq=0&cancelseq=0&wait=20000 "), "{}", heads[1]);
    assert!(heads[3].contains("afterseq=2&cancelseq=7&wait=0 "), "{}", heads[3]);
    let printed = format!("{client:?} {held:?} {grant:?}");
    assert!(!printed.contains("enrolment-token") && !printed.contains("token-"), "{printed}");
}

#[tokio::test]
async fn a_claim_that_is_not_granted_says_who_has_the_run_or_that_it_is_over() {
    let (run, owner) = (RunId::generate(), RunnerId::generate());
    let held = format!(r#","owner":"{owner}","leaseExpiresAt":"2026-01-02T03:04:05Z""#);
    let (url, _heads) = scripted(vec![
        answer(409, &problem(409, "runner-lease-conflict", &held)),
        answer(409, &problem(409, "conflict", "")),
        answer(404, &problem(404, "not-found", "")),
        // Not the words of a server that we know: an error, and no guess.
        answer(409, &problem(409, "runner-lease-conflict", "")),
    ]);
    let client = RunnerClient::new(client(&url), SecretString::from("enrolment-token"));
    let claim = async || client.claim(run, RunnerId::generate(), ClaimAgain::No).await;
    let until = "2026-01-02T03:04:05Z".parse().expect("a time");
    let refused = claim().await.expect("an outcome");
    assert!(
        matches!(&refused, Claim::Held { owner: by, lease_expires_at } if (*by, *lease_expires_at) == (owner, until)),
        "{refused:?}"
    );
    assert!(matches!(claim().await, Ok(Claim::Ended)));
    for kind in [FailureKind::NotFound, FailureKind::RunnerLeaseConflict] {
        assert_eq!(claim().await.expect_err("an error").kind(), Some(kind));
    }
}
