//! TCP connections to checked addresses.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use guildhall_egress::{AddressRules, BlockedAddress, ConnectError, Connector};
use tokio::net::TcpListener;
use url::Host;

use crate::support::ScriptedResolver;

fn host(text: &str) -> Host<String> {
    Host::parse(text).expect("a host")
}

/// Allows one address that stands for a public one: tests call only this machine.
fn rules() -> AddressRules {
    AddressRules { allow: vec!["127.0.0.2/32".parse().expect("a range")], ..AddressRules::default() }
}

fn connector(responses: &[&str]) -> (Connector, Arc<ScriptedResolver>) {
    let resolver = ScriptedResolver::new(responses);
    (Connector::with_resolver(rules(), Arc::clone(&resolver) as _), resolver)
}

async fn listen(address: [u8; 4]) -> (TcpListener, u16) {
    let listener = TcpListener::bind((Ipv4Addr::from(address), 0)).await.expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    (listener, port)
}

fn blocked_reason(error: ConnectError) -> BlockedAddress {
    let ConnectError::Blocked(reason) = error else { panic!("expected a blocked connection: {error:?}") };
    reason
}

#[tokio::test]
async fn connect_uses_the_checked_address_and_resolves_once() {
    let (_listener, port) = listen([127, 0, 0, 2]).await;
    let (connector, resolver) = connector(&["127.0.0.2", "127.0.0.1"]);
    let stream = connector.connect(&host("rebind.example"), port).await.expect("connects");
    assert_eq!(stream.peer_addr().expect("connected").ip(), IpAddr::from([127, 0, 0, 2]));
    assert_eq!(resolver.queries(), 1);

    let error = connector.connect(&host("rebind.example"), port).await.expect_err("rebound");
    assert_eq!(blocked_reason(error), BlockedAddress::Loopback);
    assert_eq!(resolver.queries(), 2);
}

#[tokio::test]
async fn connect_refuses_a_name_with_one_blocked_address() {
    let (_listener, port) = listen([127, 0, 0, 2]).await;
    for addresses in ["127.0.0.2 127.0.0.1", "10.0.0.1 127.0.0.2", "127.0.0.2 ::ffff:169.254.169.254"] {
        let error = connector(&[addresses]).0.connect(&host("mixed.example"), port).await;
        blocked_reason(error.expect_err(addresses));
    }
}

#[tokio::test]
async fn connect_refuses_blocked_literals_in_every_notation() {
    let (_listener, port) = listen([127, 0, 0, 1]).await;
    for (literal, reason) in [
        ("127.0.0.1", BlockedAddress::Loopback),
        ("2130706433", BlockedAddress::Loopback),
        ("0x7f.1", BlockedAddress::Loopback),
        ("[::1]", BlockedAddress::Loopback),
        ("[::ffff:127.0.0.1]", BlockedAddress::Loopback),
        ("0.0.0.0", BlockedAddress::Unspecified),
        ("169.254.169.254", BlockedAddress::LinkLocal),
        ("[::ffff:169.254.169.254]", BlockedAddress::LinkLocal),
        ("[fd00:ec2::254]", BlockedAddress::Private),
        ("168.63.129.16", BlockedAddress::CloudPlatform),
    ] {
        let (connector, resolver) = connector(&["127.0.0.2"]);
        let error = connector.connect(&host(literal), port).await.expect_err(literal);
        assert_eq!(blocked_reason(error), reason, "{literal}");
        assert_eq!(resolver.queries(), 0, "{literal} is no name");
    }
}

#[tokio::test]
async fn connect_tries_the_next_checked_address() {
    let (_listener, port) = listen([127, 0, 0, 2]).await;
    let allow = vec!["127.0.0.2/31".parse().expect("a range")];
    let rules = AddressRules { allow, ..AddressRules::default() };
    let resolver = ScriptedResolver::new(&["127.0.0.3 127.0.0.2"]);
    let stream = Connector::with_resolver(rules, resolver).connect(&host("two.example"), port).await;
    assert_eq!(stream.expect("connects").peer_addr().expect("connected").ip(), IpAddr::from([127, 0, 0, 2]));
}

#[tokio::test]
async fn error_of_a_closed_port_contains_no_address() {
    let (listener, port) = listen([127, 0, 0, 2]).await;
    drop(listener);
    let error = connector(&["127.0.0.2"]).0.connect(&host("closed.example"), port).await.expect_err("closed");
    assert!(matches!(error, ConnectError::Unreachable(_)), "{error:?}");
    assert!(!error.to_string().contains("127."), "{error}");
}
