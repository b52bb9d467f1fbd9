//! Run tokens, made as a claim makes them.

use std::time::Duration;

use guildhall_domain::access::signing::RotationPolicy;
use guildhall_domain::ids::{RunId, RunnerId};
use guildhall_domain::journal::Epoch;
use guildhall_domain::runners::enrolment::RunGrant;
use guildhall_identity::seal::Kek;
use guildhall_runtime::Clock;
use guildhall_service::access::auth::{Auth, LONGEST_LIFETIME};
use guildhall_service::access::signing::Signing;
use guildhall_store::{Store, StoreOptions};
use jiff::SignedDuration;
use secrecy::{ExposeSecret, SecretString};

use super::KEK;
use super::people::World;

impl World {
    /// Returns what a third replica would know of who is who.
    pub(crate) async fn auth(&self) -> Auth {
        let within = Duration::from_secs(5);
        let store = Store::new(&StoreOptions {
            url: self.db.url(),
            max_connections: 2,
            acquire_timeout: within,
            statement_timeout: within,
        });
        let (store, clock) = (store.expect("an address"), Clock::system());
        let hours = SignedDuration::from_hours;
        let policy = RotationPolicy::new(hours(30 * 24), hours(1), LONGEST_LIFETIME).expect("sound");
        let kek = Kek::from_hex(&SecretString::from(KEK)).expect("a key");
        let signing = Signing::new(store.clone(), clock.clone(), "guildhall.local".to_owned(), kek, policy);
        signing.tend().await.expect("keys");
        Auth::new(store, clock, signing)
    }

    /// Claims a made-up run under an enrolment: the token and what it was made for.
    pub(crate) async fn run_token(&self, enrolment_secret: &str) -> (String, RunGrant) {
        let auth = self.auth().await;
        let enrolment = auth.enrolment(enrolment_secret).await.expect("an enrolment");
        let grant = enrolment.claimed(
            enrolment.tenant.expect("a tenant's"),
            RunId::generate(),
            Epoch::new(3),
            RunnerId::generate(),
        );
        let minted = auth.mint_run_token(&grant).expect("minted");
        (minted.token.expose_secret().to_owned(), grant)
    }
}
