//! Names that resolve to internal addresses, immediately or later (DNS rebinding).

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use guildhall_egress::{BlockedAddress, EgressError, EgressOptions, Request, Resolver};

use crate::support::{ScriptedResolver, ScriptedResponse, Server, egress, egress_with, options};

/// An allowed address without a listener. It stands for a public one: tests call only this machine.
const ALLOWED: &str = "127.0.0.9";

/// An attacker's server on an allowed address, and a victim on the same port of 127.0.0.1.
async fn attacker_and_victim() -> (Server, Server, EgressOptions) {
    let at = |text: &str| text.parse::<IpAddr>().expect("an address");
    let (attacker, victim) = Server::start_pair(
        (at("127.0.0.2"), ScriptedResponse::Text("attacker")),
        (at("127.0.0.1"), ScriptedResponse::Text("secret")),
    )
    .await;
    let allow = vec!["127.0.0.2/32".parse().expect("a range")];
    (attacker, victim, EgressOptions { allow, ..options() })
}

fn blocked_reason(error: EgressError) -> BlockedAddress {
    let EgressError::Blocked { reason, host } = error else { panic!("expected a blocked call: {error:?}") };
    assert_eq!(host, "rebind.example");
    reason
}

#[tokio::test]
async fn name_with_an_internal_address_is_blocked() {
    let victim = Server::start(ScriptedResponse::Text("secret")).await;
    for (address, reason) in [
        ("127.0.0.1", BlockedAddress::Loopback),
        ("::1", BlockedAddress::Loopback),
        ("::ffff:127.0.0.1", BlockedAddress::Loopback),
        ("0.0.0.0", BlockedAddress::Unspecified),
        ("10.0.0.1", BlockedAddress::Private),
        ("169.254.169.254", BlockedAddress::LinkLocal),
        ("fd00:ec2::254", BlockedAddress::Private),
        ("64:ff9b::7f00:1", BlockedAddress::Loopback),
    ] {
        let egress = egress_with(&options(), &ScriptedResolver::new(&[address]));
        let request = Request::get(&victim.url_as("rebind.example", "/")).expect("a URL");
        egress.check(&request).expect("a name is checked when it is called");
        assert_eq!(blocked_reason(egress.send(request).await.expect_err(address)), reason, "{address}");
    }
    assert_eq!(victim.connections().await, 0);
}

#[tokio::test]
async fn system_resolver_is_checked() {
    let victim = Server::start(ScriptedResponse::Text("secret")).await;
    for host in ["localhost", "LOCALHOST"] {
        let request = Request::get(&victim.url_as(host, "/")).expect("a URL");
        let error = egress(&options()).send(request).await.expect_err(host);
        assert!(
            matches!(error, EgressError::Blocked { reason: BlockedAddress::Loopback, .. }),
            "{host}: {error:?}"
        );
    }
    assert_eq!(victim.connections().await, 0);
}

/// Time of check, time of use: a guard that resolves, checks and lets the client resolve again would check the allowed
/// address and connect to the other one.
#[tokio::test]
async fn rebinding_before_the_first_connection_is_blocked() {
    let victim = Server::start(ScriptedResponse::Text("secret")).await;
    let resolver = ScriptedResolver::new(&[ALLOWED, "127.0.0.1"]);
    let allow = vec![format!("{ALLOWED}/32").parse().expect("a range")];
    let options = EgressOptions { connect_timeout: Duration::from_millis(300), allow, ..options() };
    let egress = egress_with(&options, &resolver);
    let request = Request::get(&victim.url_as("rebind.example", "/")).expect("a URL");

    let error = egress.send(request.clone()).await.expect_err("unreachable");
    assert!(matches!(error, EgressError::Unreachable { .. } | EgressError::TimedOut { .. }), "{error:?}");
    assert_eq!(resolver.queries(), 1, "one lookup per call");

    assert_eq!(blocked_reason(egress.send(request).await.expect_err("refused")), BlockedAddress::Loopback);
    assert_eq!(resolver.queries(), 2);
    assert_eq!(victim.connections().await, 0);
}

#[tokio::test]
async fn rebinding_after_a_successful_call_is_blocked() {
    let (attacker, victim, options) = attacker_and_victim().await;
    let resolver = ScriptedResolver::new(&["127.0.0.2", "127.0.0.1"]);
    let egress = egress_with(&options, &resolver);
    let request = Request::get(&victim.url_as("rebind.example", "/")).expect("a URL");

    assert_eq!(egress.send(request.clone()).await.expect("responses").body, b"attacker");
    assert_eq!(resolver.queries(), 1, "the checked address was called");
    for _ in 0..3 {
        assert_eq!(
            blocked_reason(egress.send(request.clone()).await.expect_err("refused")),
            BlockedAddress::Loopback
        );
    }
    assert_eq!((attacker.connections().await, victim.connections().await), (1, 0));
}

/// A name server that alternates with every query, and many concurrent calls.
#[tokio::test]
async fn concurrent_calls_never_reach_loopback() {
    let (_attacker, victim, options) = attacker_and_victim().await;
    let flips: Vec<&str> =
        (0..200).map(|turn| if turn % 2 == 0 { "127.0.0.2" } else { "127.0.0.1" }).collect();
    let egress = egress_with(&options, &ScriptedResolver::new(&flips));
    let calls =
        (0..200).map(|_| egress.send(Request::get(&victim.url_as("rebind.example", "/")).expect("a URL")));
    let mut responses = 0;
    for result in join_all(calls).await {
        match result {
            Ok(response) => {
                assert_eq!(response.body, b"attacker");
                responses += 1;
            }
            Err(error) => assert_eq!(blocked_reason(error), BlockedAddress::Loopback),
        }
    }
    assert_eq!((responses, victim.connections().await), (100, 0));
}

/// The attacker's address does not respond, so that the client would try the next one.
#[tokio::test]
async fn one_blocked_address_blocks_the_call() {
    let (attacker, victim, options) = attacker_and_victim().await;
    for addresses in
        ["127.0.0.2 127.0.0.1", "127.0.0.1 127.0.0.2", "2d00::1 127.0.0.1", "127.0.0.2 ::ffff:10.0.0.1"]
    {
        let egress = egress_with(&options, &ScriptedResolver::new(&[addresses]));
        let request = Request::get(&victim.url_as("rebind.example", "/")).expect("a URL");
        blocked_reason(egress.send(request).await.expect_err(addresses));
    }
    assert_eq!((attacker.connections().await, victim.connections().await), (0, 0));
}

#[tokio::test]
async fn name_without_addresses_is_unreachable() {
    let egress = egress_with(&options(), &ScriptedResolver::new(&[""]));
    let error =
        egress.send(Request::get("http://nobody.example/").expect("a URL")).await.expect_err("unknown");
    assert!(matches!(&error, EgressError::Unreachable { host, .. } if host == "nobody.example"), "{error:?}");
}

/// A name server that never responds.
struct SilentResolver;

impl Resolver for SilentResolver {
    fn resolve<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        std::future::pending().boxed()
    }
}

#[tokio::test]
async fn silent_name_server_times_out() {
    let limit = Duration::from_millis(200);
    let egress =
        egress_with(&EgressOptions { connect_timeout: limit, ..options() }, &Arc::new(SilentResolver));
    let error =
        egress.send(Request::get("http://mute.example/").expect("a URL")).await.expect_err("no response");
    assert!(
        matches!(&error, EgressError::TimedOut { limit: reported, .. } if *reported == limit),
        "{error:?}"
    );
}
