//! Signing keys of access tokens: creation, publication, rotation and deletion. All replicas share them.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use guildhall_domain::access::signing::{KeyRing, RotationPolicy, SigningKey};
use guildhall_domain::ids::SigningKeyId;
use guildhall_domain::ops::rate::RateKey;
use guildhall_identity::access_token::{AccessClaims, AccessTokenSigner, TokenError, VerifyingKeys, verify};
use guildhall_identity::name_tag::NameTagger;
use guildhall_identity::seal::Kek;
use guildhall_identity::signing_key::{PrivateKey, PublicKey, jwks};
use guildhall_runtime::Clock;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::Store;
use guildhall_store::signing_keys::{self, StoredSigningKey};
use guildhall_store::unknown_names::NameSlot;
use secrecy::SecretString;
use serde_json::Value;

use crate::ServiceError;
use crate::access::error::{AccessError, SigningError};

/// How often the keys are reconciled; much shorter than their overlap.
pub const RECONCILE_INTERVAL: Duration = Duration::from_secs(30);

/// Tokens with an unknown key reload the keys at most this often.
const MIN_RELOAD_INTERVAL: Duration = Duration::from_secs(1);

/// The signing keys, as this replica last loaded them.
#[derive(Debug)]
pub struct Signing {
    store: Store,
    clock: Clock,
    issuer: String,
    name_tags: NameTagger,
    kek: Kek,
    policy: RotationPolicy,
    loaded: RwLock<Arc<LoadedKeys>>,
    reloaded_at: Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct LoadedKeys {
    ring: KeyRing,
    signers: Vec<(SigningKeyId, AccessTokenSigner)>,
    verifying: VerifyingKeys,
    published: Value,
}

impl Signing {
    #[must_use]
    pub fn new(store: Store, clock: Clock, issuer: String, kek: Kek, policy: RotationPolicy) -> Arc<Self> {
        Arc::new(Self {
            store,
            clock,
            issuer,
            name_tags: NameTagger::new(&kek),
            kek,
            policy,
            loaded: RwLock::default(),
            reloaded_at: Mutex::default(),
        })
    }

    /// Signs a token with the current key.
    pub fn sign(&self, claims: &AccessClaims) -> Result<SecretString, ServiceError> {
        let loaded = self.loaded();
        let signing = loaded.ring.signing_key(self.clock.now()).map(|key| key.id);
        let signer = loaded.signers.iter().find(|(id, _)| Some(*id) == signing).map(|(_, signer)| signer);
        signer.and_then(|signer| signer.sign(claims).ok()).ok_or(AccessError::CannotSign.into())
    }

    /// Returns the tag of an unknown name, the same on every replica.
    #[must_use]
    pub fn name_tag(&self, name: &str) -> String {
        self.name_tags.tag(name)
    }

    /// Returns the key that counts sign-in attempts with a name.
    #[must_use]
    pub fn account_key(&self, name: &str) -> RateKey {
        RateKey::Account(self.name_tags.tag_number(name))
    }

    /// Returns the slot that counts failed sign-ins if nobody has the name.
    pub(crate) fn name_slot(&self, name: &str) -> NameSlot {
        NameSlot::from_tag(self.name_tags.tag_number(name))
    }

    /// Verifies a token. An unknown key reloads the keys: it may be new.
    pub async fn verify(&self, token: &str) -> Result<AccessClaims, ServiceError> {
        match verify(token, &self.loaded().verifying, &self.issuer, self.clock.now()) {
            Err(TokenError::UnknownKey(_)) if self.may_reload() => {
                self.reload().await.map_err(ServiceError::from)?;
                verify(token, &self.loaded().verifying, &self.issuer, self.clock.now())
            }
            outcome => outcome,
        }
        .map_err(|_| ServiceError::Unauthenticated)
    }

    /// Returns the public keys as a JWKS document.
    #[must_use]
    pub fn public_jwks(&self) -> Value {
        self.loaded().published.clone()
    }

    /// Creates and deletes keys as the rotation policy requires, on one replica at a time; then reloads them.
    pub async fn reconcile(&self) -> Result<(), SigningError> {
        let mut tx = self.store.begin().await?;
        let now = self.clock.now();
        let stored = signing_keys::lock(&mut tx).await?;
        let plan = KeyRing::new(stored.iter().map(|stored| stored.key)).plan(self.policy, now);
        if let Some(schedule) = plan.create {
            let private = PrivateKey::generate(SigningKeyId::generate())?;
            let new = StoredSigningKey {
                key: SigningKey { id: private.id(), schedule },
                public_key: private.public().bytes.to_vec(),
                sealed_private_key: private.seal(&self.kek)?,
            };
            signing_keys::insert(&mut tx, &new).await?;
        }
        signing_keys::delete(&mut tx, &plan.delete).await?;
        tx.commit().await?;
        self.reload().await
    }

    /// Returns whether an unknown key may reload the keys now. Anyone can invent key ids, so the queries to PostgreSQL
    /// are limited.
    fn may_reload(&self) -> bool {
        let mut last = self.reloaded_at.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| last.elapsed() > MIN_RELOAD_INTERVAL);
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }

    async fn reload(&self) -> Result<(), SigningError> {
        let stored = signing_keys::list(&self.store).await?;
        let ring = KeyRing::new(stored.iter().map(|stored| stored.key));
        let published: Vec<SigningKeyId> =
            ring.published_keys(self.policy, self.clock.now()).map(|key| key.id).collect();
        let (mut signers, mut public): (Vec<_>, Vec<PublicKey>) = (Vec::new(), Vec::new());
        for key in stored.iter().filter(|stored| published.contains(&stored.key.id)) {
            let private = PrivateKey::open(key.key.id, &self.kek, &key.sealed_private_key)?;
            public.push(private.public());
            signers.push((key.key.id, AccessTokenSigner::new(&private, &self.issuer)));
        }
        let loaded =
            LoadedKeys { ring, signers, published: jwks(&public), verifying: VerifyingKeys::new(public) };
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(loaded);
        Ok(())
    }

    fn loaded(&self) -> Arc<LoadedKeys> {
        Arc::clone(&self.loaded.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The reconciler of the signing keys.
#[derive(Debug)]
pub struct ReconcileSigningKeys(pub Arc<Signing>);

impl Reconciler for ReconcileSigningKeys {
    type Error = SigningError;
    const NAME: &'static str = "signing-keys";

    async fn round(&self) -> Result<(), SigningError> {
        self.0.reconcile().await
    }
}
