//! Mints run tokens without a claim.

use std::time::Duration;

use guildhall_domain::access::signing::RotationPolicy;
use guildhall_domain::ids::{RunId, RunnerId};
use guildhall_domain::journal::Epoch;
use guildhall_domain::runners::enrolment::RunGrant;
use guildhall_identity::seal::Kek;
use guildhall_runtime::Clock;
use guildhall_service::access::signing::Signing;
use guildhall_service::runners::tokens::{RUN_TOKEN_LIFETIME, RunnerTokens};
use guildhall_store::{Store, StoreOptions};
use jiff::SignedDuration;
use secrecy::{ExposeSecret, SecretString};

use super::KEK;
use super::cluster::Cluster;

impl Cluster {
    /// Returns the token service as a third replica would have it.
    pub(crate) async fn runner_tokens(&self) -> RunnerTokens {
        let timeout = Duration::from_secs(5);
        let store = Store::new(&StoreOptions {
            url: self.db.url(),
            max_connections: 2,
            acquire_timeout: timeout,
            statement_timeout: timeout,
        });
        let (store, clock) = (store.expect("a URL"), Clock::system());
        let hours = SignedDuration::from_hours;
        let policy =
            RotationPolicy::new(hours(30 * 24), hours(1), RUN_TOKEN_LIFETIME).expect("a valid policy");
        let kek = Kek::from_hex(&SecretString::from(KEK)).expect("a key");
        let signing = Signing::new(store.clone(), clock.clone(), "guildhall.local".to_owned(), kek, policy);
        signing.reconcile().await.expect("keys");
        RunnerTokens::new(store, clock, signing)
    }

    /// Mints a token of a registered runner for an invented run. Returns the token and its grant.
    pub(crate) async fn mint_run_token(&self, enrolment_secret: &str) -> (String, RunGrant) {
        let tokens = self.runner_tokens().await;
        let enrolment = tokens.enrolment(enrolment_secret).await.expect("an enrolment");
        let runner: RunnerId =
            self.first.register_runner_with(enrolment_secret).await.parse().expect("a runner id");
        let tenant = enrolment.tenant.expect("an enrolment of a tenant");
        let grant = enrolment.grant(tenant, RunId::generate(), Epoch::new(3), runner);
        let minted = tokens.mint(&grant).expect("minted");
        (minted.token.expose_secret().to_owned(), grant)
    }
}
