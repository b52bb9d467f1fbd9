//! Tests of the bus on a real NATS.

#![allow(clippy::expect_used, reason = "a failing helper fails its test")]

use std::time::Duration;

use guildhall_bus::{Bus, BusError, BusOptions};
use guildhall_testkit::{PrivateEngines, nats_url, subject_prefix};
use secrecy::SecretString;

fn options(url: SecretString) -> BusOptions {
    BusOptions { url, subject_prefix: subject_prefix() }
}

#[tokio::test]
async fn round_trip_succeeds() {
    let bus = Bus::connect(&options(nats_url())).await.expect("connected");
    bus.round_trip(Duration::from_secs(30)).await.expect("a reply");
}

#[tokio::test]
async fn round_trip_fails_while_nats_is_down_and_recovers() {
    let engines = PrivateEngines::start();
    let bus = Bus::connect(&options(engines.nats.url())).await.expect("connected");
    bus.round_trip(Duration::from_secs(30)).await.expect("a reply");
    engines.nats.kill();
    let error = bus.round_trip(Duration::from_millis(500)).await.expect_err("away");
    assert!(matches!(error, BusError::Unavailable), "{error:?}");
    engines.nats.restart().expect("started");
    for _ in 0..100 {
        if bus.round_trip(Duration::from_secs(1)).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the bus did not come back within 5 s");
}

#[tokio::test]
async fn hints_reach_only_the_same_prefix() {
    let (ours, theirs) = (options(nats_url()), options(nats_url()));
    let (one, other) =
        (Bus::connect(&ours).await.expect("connected"), Bus::connect(&ours).await.expect("connected"));
    let foreign_bus = Bus::connect(&theirs).await.expect("connected");
    let mut received = other.subscribe("a.b").await.expect("subscribed");
    let mut foreign = foreign_bus.subscribe("a.b").await.expect("subscribed");
    // A round trip on the same connection ensures that NATS has processed the subscription.
    other.round_trip(Duration::from_secs(30)).await.expect("a reply");
    foreign_bus.round_trip(Duration::from_secs(30)).await.expect("a reply");
    one.publish("a.b", b"7".to_vec()).await;
    let hint = tokio::time::timeout(Duration::from_secs(30), received.next()).await.expect("in time");
    assert_eq!(hint, Some(b"7".to_vec()));
    let nothing = tokio::time::timeout(Duration::from_millis(200), foreign.next()).await;
    assert!(nothing.is_err(), "another installation received it");
}

#[tokio::test]
async fn wrong_password_is_rejected() {
    let mut url = url::Url::parse(secrecy::ExposeSecret::expose_secret(&nats_url())).expect("an address");
    url.set_password(Some("guessed")).expect("set");
    let bus = Bus::connect(&options(String::from(url).into())).await.expect("connected");
    let error = bus.round_trip(Duration::from_secs(1)).await.expect_err("refused");
    assert!(matches!(error, BusError::Unavailable), "{error:?}");
}

#[tokio::test]
async fn invalid_options_are_rejected_without_printing_secrets() {
    let error = Bus::connect(&options("nats://me:hunter2@[broken".into())).await.expect_err("refused");
    assert!(!format!("{error} {error:?}").contains("hunter2"));
    for prefix in ["", "a.b", "a b", "gh.>", "*"] {
        let options = BusOptions { url: nats_url(), subject_prefix: prefix.to_owned() };
        let error = Bus::connect(&options).await.expect_err("refused");
        assert!(matches!(error, BusError::InvalidPrefix(_)), "{prefix}: {error:?}");
    }
}
