//! The order of the chain: the answer to a call that breaks several rules is that of the first one.

use super::*;

/// What is wrong with a call, in the order of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Violation {
    Replayed,
    InGroup,
    NoGrant,
    NotDeclared,
    ScopeNotGranted,
    Changed,
    Arguments,
    Refused,
    RevokedMeanwhile,
    NotOnDevice,
}

const CHAIN: [Violation; 10] = [
    Violation::Replayed,
    Violation::InGroup,
    Violation::NoGrant,
    Violation::NotDeclared,
    Violation::ScopeNotGranted,
    Violation::Changed,
    Violation::Arguments,
    Violation::Refused,
    Violation::RevokedMeanwhile,
    Violation::NotOnDevice,
];

/// Returns the answer to a call; none for one that gets none.
fn expected(violation: Violation) -> Option<ToolOutcome> {
    Some(match violation {
        Violation::Replayed => return None,
        Violation::InGroup => denied(DenialReason::NotSupportedInGroup),
        Violation::NoGrant
        | Violation::ScopeNotGranted
        | Violation::Changed
        | Violation::RevokedMeanwhile => denied(DenialReason::ScopeNotGranted),
        Violation::NotDeclared => denied(DenialReason::ToolNotDeclared),
        Violation::Arguments => failed(ToolErrorCode::InvalidArguments),
        Violation::Refused => denied(DenialReason::UserRefused),
        Violation::NotOnDevice => failed(ToolErrorCode::Unavailable),
    })
}

/// Handles a call of high sensitivity with these violations. Returns its answer, and how many times a person was asked.
async fn handle_with(violations: &[Violation]) -> (Option<ToolOutcome>, usize) {
    let has = |violation| violations.contains(&violation);
    let scopes: &[&str] =
        if has(Violation::ScopeNotGranted) { &["notification:send"] } else { &["location:read"] };
    let fixture = Fixture::new(scopes);
    fixture.answer(if has(Violation::Refused) { PromptAnswer::Refuse } else { PromptAnswer::Allow });
    let mut call = fixture.call(if has(Violation::NotOnDevice) { "absent" } else { "locate" });
    if has(Violation::Replayed) {
        let group = ReceivedCall { kind: ConversationKind::Group, ..fixture.received(&call) };
        fixture.guard.handle(group).await.expect("an answer");
    }
    if has(Violation::Changed) {
        let changed = BTreeSet::from([call.tool.clone()]);
        fixture.guard.set_grant(&fixture.agent, grant(scopes, "1.0.0").without_tools(changed));
    }
    if has(Violation::NotDeclared) {
        call.tool = "delete_file".to_owned();
    }
    if has(Violation::Arguments) {
        call.arguments = json!({});
    }
    let name = if has(Violation::NoGrant) { "stranger" } else { "helper" };
    let agent: Aid = format!("{name}.guild.example").parse().expect("an AID");
    let kind = if has(Violation::InGroup) { ConversationKind::Group } else { ConversationKind::Direct };
    let received = ReceivedCall { agent: &agent, kind, ..fixture.received(&call) };
    let are_up_to_date = async {
        if has(Violation::RevokedMeanwhile) {
            fixture.guard.revoke(&agent);
        }
    };
    let answer = match fixture.guard.handle_with(received, are_up_to_date).await {
        Ok(outcome) => Some(outcome),
        Err(GuardError::Replayed(_)) => None,
        Err(error) => panic!("{error:?}"),
    };
    (answer, fixture.prompts())
}

// covers: M22
#[tokio::test]
async fn first_broken_rule_of_the_chain_is_the_answer() {
    for pair in CHAIN.windows(2) {
        let (answer, prompts) = handle_with(pair).await;
        assert_eq!(answer, expected(pair[0]), "{pair:?}");
        let is_asked = CHAIN.iter().position(|violation| *violation == pair[0])
            >= CHAIN.iter().position(|violation| *violation == Violation::Refused);
        assert_eq!(prompts, usize::from(is_asked), "{pair:?}: nobody is asked about what may not run");
    }
    for violation in CHAIN {
        assert_eq!(handle_with(&[violation]).await.0, expected(violation), "{violation:?}");
    }
}

#[tokio::test]
async fn allowed_call_waits_for_grants_that_are_up_to_date() {
    let mut fixture = Fixture::with_all();
    fixture.guard = fixture.guard.with_prompt_timeout(Duration::from_millis(50));
    fixture.answer(PromptAnswer::Allow);
    let (allowed, offline) = (fixture.call("locate"), fixture.call("locate"));
    let are_up_to_date =
        async { assert_eq!((fixture.prompts(), fixture.runs()), (1, 0), "after the answer") };
    let outcome = fixture.guard.handle_with(fixture.received(&allowed), are_up_to_date).await;
    assert!(matches!(outcome, Ok(ToolOutcome::Done(_))), "{outcome:?}");
    let outcome = fixture.guard.handle_with(fixture.received(&offline), std::future::pending()).await;
    assert_eq!(outcome.expect("an answer"), failed(ToolErrorCode::PlatformError), "too late to run");
    assert_eq!(fixture.runs(), 1);
}

#[tokio::test]
async fn refused_call_does_not_run_when_it_comes_again() {
    let fixture = Fixture::with_all();
    let call = fixture.call("notify");
    let outcome = fixture.guard.refuse(fixture.received(&call)).expect("an answer");
    assert_eq!(outcome, failed(ToolErrorCode::PlatformError));
    let again = fixture.guard.handle(fixture.received(&call)).await;
    assert!(matches!(again, Err(GuardError::Replayed(_))), "{again:?}");
    assert_eq!((fixture.runs(), fixture.statuses()), (0, vec![AuditStatus::Error]));
}
