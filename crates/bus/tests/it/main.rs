//! The bus on a real NATS.

#![allow(clippy::expect_used, reason = "a helper that fails shall fail its test, saying what it relied on")]

use std::time::Duration;

use guildhall_bus::{Bus, BusError, BusOptions};
use guildhall_testkit::{PrivateEngines, nats_url, subject_prefix};
use secrecy::SecretString;

fn options(url: SecretString) -> BusOptions {
    BusOptions { url, subject_prefix: subject_prefix() }
}

#[tokio::test]
async fn a_round_trip_proves_that_the_bus_works() {
    let bus = Bus::connect(&options(nats_url())).await.expect("prepared");
    bus.round_trip(Duration::from_secs(2)).await.expect("answered");
}

#[tokio::test]
async fn a_round_trip_fails_while_nats_is_away_and_works_again_after() {
    let engines = PrivateEngines::start();
    let bus = Bus::connect(&options(engines.nats.url())).await.expect("prepared");
    bus.round_trip(Duration::from_secs(2)).await.expect("answered");
    engines.nats.kill();
    let error = bus.round_trip(Duration::from_millis(500)).await.expect_err("away");
    assert!(matches!(error, BusError::Unavailable), "{error:?}");
    engines.nats.up().expect("started");
    for _ in 0..100 {
        if bus.round_trip(Duration::from_secs(1)).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the bus did not come back within 5 s");
}

#[tokio::test]
async fn hints_reach_the_same_prefix_and_no_other() {
    let (ours, theirs) = (options(nats_url()), options(nats_url()));
    let (one, other) =
        (Bus::connect(&ours).await.expect("prepared"), Bus::connect(&ours).await.expect("prepared"));
    let stranger = Bus::connect(&theirs).await.expect("prepared");
    let mut heard = other.subscribe("a.b").await.expect("subscribed");
    let mut strange = stranger.subscribe("a.b").await.expect("subscribed");
    // A round trip on the same connection proves that the subscription has reached NATS.
    other.round_trip(Duration::from_secs(2)).await.expect("answered");
    stranger.round_trip(Duration::from_secs(2)).await.expect("answered");
    one.publish("a.b", b"7".to_vec()).await;
    let hint = tokio::time::timeout(Duration::from_secs(2), heard.next()).await.expect("in time");
    assert_eq!(hint, Some(b"7".to_vec()));
    let nothing = tokio::time::timeout(Duration::from_millis(200), strange.next()).await;
    assert!(nothing.is_err(), "another installation heard it");
}

#[tokio::test]
async fn a_wrong_password_is_no_way_in() {
    let mut url = url::Url::parse(secrecy::ExposeSecret::expose_secret(&nats_url())).expect("an address");
    url.set_password(Some("guessed")).expect("set");
    let bus = Bus::connect(&options(String::from(url).into())).await.expect("prepared");
    let error = bus.round_trip(Duration::from_secs(1)).await.expect_err("refused");
    assert!(matches!(error, BusError::Unavailable), "{error:?}");
}

#[tokio::test]
async fn what_cannot_be_used_is_refused_without_repeating_a_secret() {
    let error = Bus::connect(&options("nats://me:hunter2@[broken".into())).await.expect_err("refused");
    assert!(!format!("{error} {error:?}").contains("hunter2"));
    for prefix in ["", "a.b", "a b", "gh.>", "*"] {
        let options = BusOptions { url: nats_url(), subject_prefix: prefix.to_owned() };
        let error = Bus::connect(&options).await.expect_err("refused");
        assert!(matches!(error, BusError::Prefix(_)), "{prefix}: {error:?}");
    }
}
