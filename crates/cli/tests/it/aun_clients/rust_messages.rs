//! The Rust client on two replicas.

use std::sync::Arc;

use guildhall_identity::e2ee::OpenError;
use guildhall_identity::pki::{Curve, EcKey, Signer};
use guildhall_protocol::rpc::auth::{Login1Params, RekeyParams};
use guildhall_protocol::rpc::typed;
use guildhall_sdk::messages::{
    InboxItem, MessengerError, PeerKeyError, SealChoice, SealKind, SendOptions, UnreadableReason,
};

use super::replicas::{AunReplicas, Registration};
use super::rust_device::{
    RustAid, RustDevice, endpoint, next_item, next_message, public_key, read_all, text,
};

/// Two replicas; Alice's device is connected to the first, Bobby's to the second.
struct Pair {
    replicas: AunReplicas,
    alice: RustDevice,
    bobby: RustDevice,
}

impl Pair {
    async fn start() -> Self {
        let replicas = AunReplicas::start(Registration::Open, 2).await;
        let (alice, bobby) =
            (RustAid::register(&replicas, "alice").await, RustAid::register(&replicas, "bobby").await);
        let alice = RustDevice::start(&alice, &[replicas.url(0)]);
        let bobby = RustDevice::start(&bobby, &[replicas.url(1)]);
        Self { replicas, alice, bobby }
    }
}

fn texts(items: &[InboxItem]) -> Vec<String> {
    let text = |item: &InboxItem| match item {
        InboxItem::Message(message) => message.payload["text"].as_str().unwrap_or("-").to_owned(),
        InboxItem::Recall(_) => "recalled".to_owned(),
        InboxItem::Unreadable(message) => format!("unreadable: {}", message.reason),
        InboxItem::CaughtUp | InboxItem::Disconnected(_) => "-".to_owned(),
    };
    items.iter().map(text).collect()
}

// covers: A24
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sealed_messages_reach_every_device_over_two_replicas() {
    let Pair { replicas, alice, bobby } = Pair::start().await;
    let phone = RustDevice::start(&bobby.owner, &[replicas.url(0)]);
    let (mut inbox, mut of_phone) = (bobby.messenger.follow(), phone.messenger.follow());
    assert!(read_all(&mut inbox).await.is_empty() && read_all(&mut of_phone).await.is_empty());
    let mut marks = alice.messenger.delivery_marks();
    for (choice, seal) in [
        (SealChoice::Sealed, SealKind::V2),
        (SealChoice::SealedV1, SealKind::V1),
        (SealChoice::NotSealed, SealKind::NotSealed),
    ] {
        let options = SendOptions::default().with_seal(choice);
        let sent = alice.try_send(&bobby.owner.aid, "hello", &options).await.expect("sent");
        assert_eq!(sent.seal, seal);
        for inbox in [&mut inbox, &mut of_phone] {
            let message = next_message(inbox).await;
            assert_eq!((message.seq, &message.message_id), (sent.seq, &sent.message_id));
            assert_eq!((&message.from, &message.to), (&alice.owner.aid, &bobby.owner.aid));
            assert_eq!((message.seal, message.payload), (seal, text("hello")));
            assert_eq!(message.sealed_at.is_some(), seal != SealKind::NotSealed);
            inbox.ack(message.seq).await.expect("stored");
        }
    }
    let mark = loop {
        let mark = marks.next().await.expect("connected");
        if mark.seq == 3 {
            break mark;
        }
    };
    assert_eq!(mark.by, bobby.owner.aid);
    let stored = replicas.sql().await.texts("SELECT payload FROM inbox_messages WHERE kind <> 'plain'").await;
    assert!(!stored.is_empty() && stored.iter().all(|payload| !payload.contains("hello")), "{stored:?}");
    bobby.send(&alice.owner.aid, "and back").await;
    assert_eq!(next_message(&mut alice.messenger.follow()).await.payload, text("and back"));
}

// covers: A4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarted_consumer_continues_without_gap_or_repeat() {
    let Pair { replicas, alice, bobby } = Pair::start().await;
    let urls = [replicas.url(0), replicas.url(1)];
    // Keys are published, then the device is away.
    assert!(read_all(&mut bobby.messenger.follow()).await.is_empty());
    bobby.messenger.socket().close().await;
    for number in 1..=230 {
        alice.send(&bobby.owner.aid, &number.to_string()).await;
    }
    let owner = bobby.owner.clone();
    let (mut received, mut bobby) = (Vec::new(), bobby);
    for (round, confirmed) in [7, 1, 150].into_iter().enumerate() {
        bobby = bobby.restart(&owner, &urls).await;
        let mut inbox = bobby.messenger.follow();
        for _ in 0..confirmed {
            let item = next_item(&mut inbox).await;
            let seq = item.seq().expect("a seq");
            received.push(item);
            inbox.ack(seq).await.expect("stored");
        }
        // Not confirmed: it comes again after the restart.
        next_item(&mut inbox).await;
        if round == 1 {
            replicas.kill_first();
        }
    }
    let bobby = bobby.restart(&owner, &urls).await;
    let mut inbox = bobby.messenger.follow().with_auto_ack();
    received.extend(read_all(&mut inbox).await);
    let expected: Vec<String> = (1..=230).map(|number| number.to_string()).collect();
    assert_eq!(texts(&received), expected);
    assert_eq!(bobby.messenger.store().position("default").expect("read"), 230);
}

// covers: A24
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn device_that_the_server_adds_is_refused() {
    let Pair { replicas, alice, bobby } = Pair::start().await;
    bobby.messenger.publish_keys().await.expect("published");
    let mut sql = replicas.sql().await;
    // A key that somebody else has signed: Alice, for the want of a third one.
    let planted = "INSERT INTO e2ee_signed_prekeys (inbox, device, spk_id, public_key, signature, signed_at, key_fingerprint)
        SELECT own.inbox, 'planted', other.spk_id, other.public_key, other.signature, other.signed_at, own.key_fingerprint
        FROM e2ee_signed_prekeys AS own, e2ee_signed_prekeys AS other
        WHERE own.inbox <> other.inbox AND own.inbox = (SELECT id FROM inboxes WHERE aid = 'bobby.guild.test')";
    alice.messenger.publish_keys().await.expect("published");
    sql.execute(planted).await;
    let refused = alice.try_send(&bobby.owner.aid, "secret", &SendOptions::default()).await;
    let Err(MessengerError::Peer { aid, source }) = refused else { panic!("{refused:?}") };
    assert_eq!(aid, bobby.owner.aid);
    assert!(
        matches!(&*source, PeerKeyError::UnsignedDevice { device, .. } if device == "planted"),
        "{source:?}"
    );
    assert_eq!(sql.number("SELECT count(*) FROM inbox_messages").await, 0);
    sql.execute("DELETE FROM e2ee_signed_prekeys WHERE device = 'planted'").await;
    alice.send(&bobby.owner.aid, "secret").await;
}

// covers: A24
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_identity_key_is_refused_until_it_is_accepted() {
    let Pair { replicas, alice, bobby } = Pair::start().await;
    let mut inbox = alice.messenger.follow();
    bobby.send(&alice.owner.aid, "first contact").await;
    assert_eq!(next_message(&mut inbox).await.payload, text("first contact"));
    let old = bobby.owner.clone();
    let renewed = rekey(&replicas, &old).await;
    let bobby = bobby.restart(&renewed, &[replicas.url(1)]).await;

    let refused = alice.try_send(&renewed.aid, "secret", &SendOptions::default()).await;
    let Err(MessengerError::KeyChanged(change)) = refused else { panic!("{refused:?}") };
    let fingerprint =
        |key: &EcKey| guildhall_identity::pki::P256PublicKey::of(key).expect("a key").fingerprint();
    assert_eq!((change.pinned, change.found), (fingerprint(&old.key), fingerprint(&renewed.key)));
    bobby.send(&alice.owner.aid, "with the new key").await;
    let InboxItem::Unreadable(unreadable) = next_item(&mut inbox).await else { panic!("not believed") };
    assert_eq!(unreadable.reason, UnreadableReason::KeyChanged((*change).clone()));

    alice.messenger.accept_key(&change).expect("stored");
    alice.send(&renewed.aid, "secret").await;
    assert_eq!(next_message(&mut bobby.messenger.follow()).await.payload, text("secret"));
    bobby.send(&alice.owner.aid, "believed").await;
    assert_eq!(next_message(&mut inbox).await.payload, text("believed"));
}

/// Gives an AID another key.
async fn rekey(replicas: &AunReplicas, owner: &RustAid) -> RustAid {
    replicas.age_certificate(&owner.aid.to_string()).await;
    let (server, key) = (endpoint(&[replicas.url(0)]), EcKey::generate(Curve::P256).expect("a key"));
    let (aid, new_public_key) = (owner.aid.to_string(), public_key(&key));
    let params = Login1Params {
        aid: aid.clone(),
        cert: owner.certificate.clone(),
        client_nonce: "bm9uY2Ugb2YgY2xpZW50".to_owned(),
    };
    let started = server.call_once::<typed::AidLogin1>(&params).await.expect("started");
    let message = format!("{}{new_public_key}", started.nonce);
    let signature = base64::Engine::encode(
        &base64::engine::general_purpose::STANDARD,
        owner.key.sign(message.as_bytes()).expect("signed"),
    );
    let params =
        RekeyParams { aid, request_id: started.request_id, nonce: started.nonce, new_public_key, signature };
    let certificate = server.call_once::<typed::Rekey>(&params).await.expect("another key").cert;
    RustAid { certificate, key: Arc::new(key), ..owner.clone() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damaged_message_is_reported_and_the_next_ones_arrive() {
    let Pair { replicas, alice, bobby } = Pair::start().await;
    assert!(read_all(&mut bobby.messenger.follow()).await.is_empty());
    for words in ["one", "two", "three", "four"] {
        alice.send(&bobby.owner.aid, words).await;
    }
    let mut sql = replicas.sql().await;
    let change = "UPDATE inbox_messages SET payload = regexp_replace(payload, '\"ciphertext\":\"...', '\"ciphertext\":\"AAA') WHERE seq = 2";
    sql.execute(change).await;
    sql.execute("UPDATE inbox_messages SET payload = '{\"type\":\"e2ee.p2p_encrypted\"}' WHERE seq = 3")
        .await;
    let mut inbox = bobby.messenger.follow();
    let items = read_all(&mut inbox).await;
    let [
        InboxItem::Message(one),
        InboxItem::Unreadable(two),
        InboxItem::Unreadable(three),
        InboxItem::Message(four),
    ] = items.as_slice()
    else {
        panic!("{items:?}")
    };
    assert_eq!((&one.payload, &four.payload), (&text("one"), &text("four")));
    assert!(matches!(two.reason, UnreadableReason::Sealed(OpenError::Envelope(_))), "{:?}", two.reason);
    assert!(matches!(three.reason, UnreadableReason::Sealed(OpenError::Envelope(_))), "{:?}", three.reason);
    assert_eq!((two.seq, three.seq, &*two.from), (2, 3, "alice.guild.test"));
}
