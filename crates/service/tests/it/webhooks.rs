//! The sender of webhooks against names that resolve to internal addresses.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use guildhall_domain::access::principal::{PrincipalKind, Slug};
use guildhall_domain::ids::{PrincipalId, TenantId, WebhookEventId, WebhookId};
use guildhall_domain::webhooks::event::WebhookEventType;
use guildhall_domain::webhooks::url::WebhookUrl;
use guildhall_egress::{Egress, EgressOptions, Resolver};
use guildhall_identity::payload_seal::PayloadSealer;
use guildhall_identity::seal::Kek;
use guildhall_identity::webhook_secret::WebhookSecret;
use guildhall_runtime::Clock;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_service::webhooks::queue::SendEvents;
use guildhall_service::webhooks::sender::Sender;
use guildhall_store::principals::NewPrincipal;
use guildhall_store::webhook_events::{self, NewWebhookEvent};
use guildhall_store::webhooks::{self, NewWebhook};
use guildhall_store::{Store, principals, tenants};
use guildhall_testkit::TestDb;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::store;

/// Resolves every name to the same addresses, and records the names.
struct FixedResolver {
    addresses: Vec<IpAddr>,
    asked: Mutex<Vec<String>>,
}

impl Resolver for FixedResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.asked.lock().expect("the lock is not poisoned").push(name.to_owned());
        Box::pin(async { Ok(self.addresses.clone()) })
    }
}

struct SenderFixture {
    store: Store,
    sealer: Arc<PayloadSealer>,
    tenant: TenantId,
    webhook: WebhookId,
}

impl SenderFixture {
    /// Creates a webhook, and enqueues an event for it.
    async fn new(db: &TestDb, url: &str) -> Self {
        let (store, sealer) = (store(db.url()), Arc::new(PayloadSealer::new(&Kek::generate())));
        let (tenant, webhook, created_by) =
            (TenantId::generate(), WebhookId::generate(), PrincipalId::generate());
        let slug: Slug = "acme".parse().expect("a slug");
        let url = WebhookUrl::parse(url).expect("a URL");
        let secret = WebhookSecret::generate();
        let sealed_secret = sealer.seal_webhook_secret(webhook.as_uuid(), &secret).expect("sealed");
        let mut tx = store.begin().await.expect("a transaction");
        let principal =
            NewPrincipal { id: created_by, kind: PrincipalKind::Person, name: "ada", is_operator: false };
        principals::insert(&mut tx, &principal).await.expect("inserted");
        assert!(tenants::insert(&mut tx, tenant, &slug, "Acme").await.expect("inserted"));
        let new = NewWebhook {
            id: webhook,
            tenant,
            agent: None,
            url: &url,
            events: WebhookEventType::OF_TENANT,
            description: "",
            sealed_secret: &sealed_secret,
            created_by,
        };
        webhooks::insert(&mut tx, &new).await.expect("inserted");
        let event = NewWebhookEvent {
            event: WebhookEventId::generate(),
            event_type: WebhookEventType::Test,
            lane: None,
            body: "{}".to_owned(),
            message: None,
        };
        assert_eq!(webhook_events::insert(&mut tx, webhook, &[event]).await.expect("enqueued"), 1);
        tx.commit().await.expect("committed");
        Self { store, sealer, tenant, webhook }
    }

    /// Makes one attempt with these options. Returns the message of its failure.
    async fn attempt(&self, options: EgressOptions, resolver: &Arc<FixedResolver>) -> Option<String> {
        let resolver = Arc::<FixedResolver>::clone(resolver);
        let egress = Egress::with_resolver(&options, resolver).expect("this machine has root certificates");
        let sender = Sender::new(self.store.clone(), Clock::system(), Arc::clone(&self.sealer), options);
        let stop = CancellationToken::new();
        let queue = SendEvents::new(self.store.clone(), sender.with_egress(egress), stop);
        queue.round().await.expect("a round");
        let found = webhooks::find(&self.store, self.tenant, self.webhook).await.expect("found");
        found.expect("a webhook").last_failure.map(|failure| failure.message)
    }
}

#[tokio::test]
async fn name_that_resolves_to_an_internal_address_is_not_called() {
    let public: IpAddr = Ipv4Addr::new(8, 8, 8, 8).into();
    let loopback: IpAddr = Ipv4Addr::LOCALHOST.into();
    let metadata: IpAddr = Ipv4Addr::new(169, 254, 169, 254).into();
    for (addresses, kind) in [
        (vec![loopback], "a loopback address"),
        (vec![metadata], "a link-local address"),
        (vec![public, loopback], "a loopback address"),
        (vec!["::ffff:10.0.0.1".parse().expect("an address")], "a private address"),
    ] {
        let db = TestDb::new().await;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let fixture = SenderFixture::new(&db, &format!("https://rebound.example:{port}/hook")).await;
        let resolver = Arc::new(FixedResolver { addresses, asked: Mutex::default() });
        let message = fixture.attempt(EgressOptions::default(), &resolver).await.expect("it failed");
        let expected = format!("blocked the call to rebound.example: it is at {kind}");
        assert!(message.starts_with(&expected), "{message}");
        assert_eq!(*resolver.asked.lock().expect("the lock is not poisoned"), ["rebound.example"]);
        let connection = futures::FutureExt::now_or_never(listener.accept());
        assert!(connection.is_none(), "the listener was connected");
    }
}

/// The same call where the operator allows the address: it reaches the listener, so the test above can fail.
#[tokio::test]
async fn name_of_an_allowed_address_is_called() {
    let db = TestDb::new().await;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let fixture = SenderFixture::new(&db, &format!("https://rebound.example:{port}/hook")).await;
    let resolver =
        Arc::new(FixedResolver { addresses: vec![Ipv4Addr::LOCALHOST.into()], asked: Mutex::default() });
    let options = EgressOptions { allow_loopback: true, ..EgressOptions::default() };
    // It closes the connection, which is not TLS.
    let accept = async { drop(listener.accept().await.expect("a connection")) };
    let (message, ()) = tokio::join!(fixture.attempt(options, &resolver), accept);
    let message = message.expect("it failed");
    assert!(message.starts_with("cannot reach rebound.example"), "{message}");
}
