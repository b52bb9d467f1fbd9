//! Attack: a name that leads inside, at once or on the second look (DNS rebinding).

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use guildhall_egress::{EgressError, EgressOptions, Refusal, Request, Resolver};

use crate::support::{Answer, Script, Server, egress, egress_with, options};

/// An address that the rules of a test allow and where nobody listens. It stands for a public one: a test calls
/// nothing outside of this machine.
const ALLOWED: &str = "127.0.0.9";

/// An attacker's server on an address that may be called, and a victim behind the same port of 127.0.0.1.
async fn attacker_and_victim() -> (Server, Server, EgressOptions) {
    let at = |text: &str| text.parse::<IpAddr>().expect("an address");
    let (attacker, victim) = Server::start_pair(
        (at("127.0.0.2"), Answer::Text("attacker")),
        (at("127.0.0.1"), Answer::Text("secret")),
    )
    .await;
    let allow = vec!["127.0.0.2/32".parse().expect("a range")];
    (attacker, victim, EgressOptions { allow, ..options() })
}

fn refusal(error: EgressError) -> Refusal {
    let EgressError::Refused { reason, host } = error else { panic!("expected a refusal: {error:?}") };
    assert_eq!(host, "rebind.example");
    reason
}

#[tokio::test]
async fn a_name_at_an_address_inside_is_refused() {
    let victim = Server::start(Answer::Text("secret")).await;
    for (address, reason) in [
        ("127.0.0.1", Refusal::Loopback),
        ("::1", Refusal::Loopback),
        ("::ffff:127.0.0.1", Refusal::Loopback),
        ("0.0.0.0", Refusal::Unspecified),
        ("10.0.0.1", Refusal::Private),
        ("169.254.169.254", Refusal::LinkLocal),
        ("fd00:ec2::254", Refusal::Private),
        ("64:ff9b::7f00:1", Refusal::Loopback),
    ] {
        let egress = egress_with(&options(), &Script::new(&[address]));
        let request = Request::get(&victim.url_as("rebind.example", "/")).expect("a URL");
        egress.check(&request).expect("a name is judged when it is called");
        assert_eq!(refusal(egress.send(request).await.expect_err(address)), reason, "{address}");
    }
    assert_eq!(victim.connections().await, 0);
}

#[tokio::test]
async fn the_systems_resolver_is_judged_too() {
    let victim = Server::start(Answer::Text("secret")).await;
    for host in ["localhost", "LOCALHOST"] {
        let request = Request::get(&victim.url_as(host, "/")).expect("a URL");
        let error = egress(&options()).send(request).await.expect_err(host);
        assert!(matches!(error, EgressError::Refused { reason: Refusal::Loopback, .. }), "{host}: {error:?}");
    }
    assert_eq!(victim.connections().await, 0);
}

/// The classic: a guard that resolves, checks and then lets the client resolve again asks twice for one call. It would
/// check the allowed answer and connect to the other.
#[tokio::test]
async fn a_name_that_is_allowed_first_and_inside_then_reaches_nothing_inside() {
    let victim = Server::start(Answer::Text("secret")).await;
    let script = Script::new(&[ALLOWED, "127.0.0.1"]);
    let allow = vec![format!("{ALLOWED}/32").parse().expect("a range")];
    let options = EgressOptions { connect_timeout: Duration::from_millis(300), allow, ..options() };
    let egress = egress_with(&options, &script);
    let request = Request::get(&victim.url_as("rebind.example", "/")).expect("a URL");

    let error = egress.send(request.clone()).await.expect_err("nobody is there");
    assert!(matches!(error, EgressError::Unreachable { .. } | EgressError::TimedOut { .. }), "{error:?}");
    assert_eq!(script.asked(), 1, "one call, one question");

    assert_eq!(refusal(egress.send(request).await.expect_err("refused")), Refusal::Loopback);
    assert_eq!(script.asked(), 2);
    assert_eq!(victim.connections().await, 0);
}

#[tokio::test]
async fn a_name_that_answered_and_turns_to_loopback_reaches_no_loopback() {
    let (attacker, victim, options) = attacker_and_victim().await;
    let script = Script::new(&["127.0.0.2", "127.0.0.1"]);
    let egress = egress_with(&options, &script);
    let request = Request::get(&victim.url_as("rebind.example", "/")).expect("a URL");

    assert_eq!(egress.send(request.clone()).await.expect("answered").body, b"attacker");
    assert_eq!(script.asked(), 1, "the address that was judged is the one that was called");
    for _ in 0..3 {
        assert_eq!(refusal(egress.send(request.clone()).await.expect_err("refused")), Refusal::Loopback);
    }
    assert_eq!((attacker.connections().await, victim.connections().await), (1, 0));
}

/// A name server that flips with every question, and many calls at once.
#[tokio::test]
async fn no_race_of_many_calls_reaches_loopback() {
    let (_attacker, victim, options) = attacker_and_victim().await;
    let flips: Vec<&str> =
        (0..200).map(|turn| if turn % 2 == 0 { "127.0.0.2" } else { "127.0.0.1" }).collect();
    let egress = egress_with(&options, &Script::new(&flips));
    let calls =
        (0..200).map(|_| egress.send(Request::get(&victim.url_as("rebind.example", "/")).expect("a URL")));
    let mut answered = 0;
    for result in join_all(calls).await {
        match result {
            Ok(response) => {
                assert_eq!(response.body, b"attacker");
                answered += 1;
            }
            Err(error) => assert_eq!(refusal(error), Refusal::Loopback),
        }
    }
    assert_eq!((answered, victim.connections().await), (100, 0));
}

/// The attacker's address does not answer, so that the client goes on to the next one.
#[tokio::test]
async fn one_refused_address_refuses_the_whole_answer() {
    let (attacker, victim, options) = attacker_and_victim().await;
    for answer in
        ["127.0.0.2 127.0.0.1", "127.0.0.1 127.0.0.2", "2d00::1 127.0.0.1", "127.0.0.2 ::ffff:10.0.0.1"]
    {
        let egress = egress_with(&options, &Script::new(&[answer]));
        let request = Request::get(&victim.url_as("rebind.example", "/")).expect("a URL");
        refusal(egress.send(request).await.expect_err(answer));
    }
    assert_eq!((attacker.connections().await, victim.connections().await), (0, 0));
}

#[tokio::test]
async fn a_name_without_an_address_is_unreachable() {
    let egress = egress_with(&options(), &Script::new(&[""]));
    let error =
        egress.send(Request::get("http://nobody.example/").expect("a URL")).await.expect_err("unknown");
    assert!(matches!(&error, EgressError::Unreachable { host, .. } if host == "nobody.example"), "{error:?}");
}

/// A name server that never answers.
struct Mute;

impl Resolver for Mute {
    fn resolve<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        std::future::pending().boxed()
    }
}

#[tokio::test]
async fn a_name_server_that_never_answers_times_out() {
    let limit = Duration::from_millis(200);
    let egress = egress_with(&EgressOptions { connect_timeout: limit, ..options() }, &Arc::new(Mute));
    let error =
        egress.send(Request::get("http://mute.example/").expect("a URL")).await.expect_err("no answer");
    assert!(matches!(&error, EgressError::TimedOut { limit: said, .. } if *said == limit), "{error:?}");
}
