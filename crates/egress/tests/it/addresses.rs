//! Addresses of this machine and network in all notations that a URL allows.

use std::net::{Ipv6Addr, SocketAddr};

use guildhall_egress::{BlockedAddress, EgressError, EgressOptions, Request};

use crate::support::{ScriptedResponse, Server, dev_options, egress, options};

/// Notations of loopback addresses. Each has been accepted by some client.
const LOOPBACK_NOTATIONS: &[&str] = &[
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "127.1.2.3",
    "2130706433",
    "0x7f000001",
    "0x7F.0x0.0x0.0x1",
    "0x7f.1",
    "017700000001",
    "0177.0.0.1",
    "0177.0.0.01",
    "00000177.0.0.1",
    "%31%32%37.0.0.1",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
    "１２７．０．０．１",
    "0",
    "0.0.0.0",
    "0x0",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:127.0.0.1]",
    "[::127.0.0.1]",
    "[::7f00:1]",
    "[::ffff:0:127.0.0.1]",
    "[2002:7f00:1::]",
    "[2002:7f00:1::1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]",
    "[2001:0:4136:e378:8000:63bf:80ff:fffe]",
    "[2a00:1450::5efe:7f00:1]",
];

/// Internal addresses.
const INTERNAL_ADDRESSES: &[&str] = &[
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "[::ffff:169.254.169.254]",
    "[64:ff9b::a9fe:a9fe]",
    "[fd00:ec2::254]",
    "168.63.129.16",
    "100.100.100.200",
    "192.0.0.192",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "198.18.0.1",
    "192.0.2.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "[fe80::1]",
    "[fec0::1]",
    "[fc00::1]",
    "[ff02::1]",
    "[2001:db8::1]",
];

/// Notations with a zone, which are invalid in a URL.
const ZONES: &[&str] = &["[::1%25lo]", "[::1%lo]", "[fe80::1%25eth0]", "[fe80::1%251]"];

#[tokio::test]
async fn all_notations_of_internal_addresses_are_blocked() {
    let victim = Server::start(ScriptedResponse::Text("secret")).await;
    let victim_v6 = Server::start_at(
        SocketAddr::from((Ipv6Addr::LOCALHOST, victim.port())),
        ScriptedResponse::Text("secret"),
    )
    .await;
    let egress = egress(&options());
    for host in LOOPBACK_NOTATIONS.iter().chain(INTERNAL_ADDRESSES) {
        let request = Request::get(&victim.url_as(host, "/latest/meta-data/")).expect(host);
        let checked = egress.check(&request).expect_err(host);
        assert!(matches!(checked, EgressError::Blocked { .. }), "{host}: {checked:?}");
        let error = egress.send(request).await.expect_err(host);
        assert!(matches!(error, EgressError::Blocked { .. }), "{host}: {error:?}");
    }
    for host in ZONES {
        let error = Request::get(&victim.url_as(host, "/")).expect_err(host);
        assert!(matches!(error, EgressError::InvalidRequest(_)), "{host}: {error:?}");
    }
    assert_eq!(victim.connections().await, 0);
    if let Some(victim_v6) = victim_v6 {
        assert_eq!(victim_v6.connections().await, 0);
    }
}

#[tokio::test]
async fn dev_options_allow_loopback() {
    let server = Server::start(ScriptedResponse::Text("hello")).await;
    let egress = egress(&dev_options());
    for host in ["127.0.0.1", "localhost", "2130706433", "[::ffff:127.0.0.1]"] {
        let request = Request::get(&server.url_as(host, "/")).expect("a URL");
        let response = egress.send(request).await.expect(host);
        assert_eq!(
            (response.status.as_u16(), response.body.as_slice()),
            (200, b"hello".as_slice()),
            "{host}"
        );
    }
    assert_eq!(server.connections().await, 4);
}

#[tokio::test]
async fn dev_options_block_the_internal_network() {
    let egress = egress(&dev_options());
    for host in ["169.254.169.254", "10.0.0.1", "0.0.0.0", "[64:ff9b::7f00:1]", "[::127.0.0.1]"] {
        let request = Request::get(&format!("http://{host}/")).expect("a URL");
        let error = egress.send(request).await.expect_err(host);
        assert!(matches!(error, EgressError::Blocked { .. }), "{host}: {error:?}");
    }
}

#[tokio::test]
async fn only_the_allowed_range_can_be_called() {
    let allowed =
        Server::start_at("127.0.0.2:0".parse().expect("an address"), ScriptedResponse::Text("allowed")).await;
    let allowed = allowed.expect("127.0.0.0/8 is this machine");
    let allow = vec!["127.0.0.2/32".parse().expect("a range")];
    let egress = egress(&EgressOptions { allow, ..options() });
    let request = Request::get(&allowed.url("/")).expect("a URL");
    assert_eq!(egress.send(request).await.expect("allowed").body, b"allowed");
    for host in ["127.0.0.1", "127.0.0.3", "localhost"] {
        let error =
            egress.send(Request::get(&allowed.url_as(host, "/")).expect("a URL")).await.expect_err(host);
        let EgressError::Blocked { reason, .. } = error else { panic!("{host}: {error:?}") };
        assert_eq!(reason, BlockedAddress::Loopback);
    }
}

#[tokio::test]
async fn blocked_call_error_names_host_reason_and_setting() {
    let request = Request::get("http://169.254.169.254/latest/?token=hunter2").expect("a URL");
    let error = egress(&options()).send(request).await.expect_err("refused");
    assert_eq!(
        error.to_string(),
        "blocked the call to 169.254.169.254: it is at a link-local address; an operator can allow its range with \
         `egress.allow`"
    );
}
