//! The keys that sign access tokens: made, published, used and let go, the same on every replica.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use guildhall_domain::access::signing::{KeyRing, RotationPolicy, SigningKey};
use guildhall_domain::ids::SigningKeyId;
use guildhall_identity::access::{Claims, Signer, TokenError, VerifyingKeys, verify};
use guildhall_identity::name_tag::NameTags;
use guildhall_identity::seal::Kek;
use guildhall_identity::signing_key::{PrivateKey, PublicKey, jwks};
use guildhall_runtime::Clock;
use guildhall_runtime::reconcile::Reconciler;
use guildhall_store::signing_keys::{self, StoredKey};
use guildhall_store::{Store, StoreError};
use secrecy::SecretString;
use serde_json::Value;

use crate::ServiceError;

/// Keys are looked after this often; far shorter than their overlap.
pub const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Unknown keys make a replica look at most this often.
const RELOAD_EVERY: Duration = Duration::from_secs(1);

/// The signing keys as this replica knows them.
#[derive(Debug)]
pub struct Signing {
    store: Store,
    clock: Clock,
    issuer: String,
    name_tags: NameTags,
    kek: Kek,
    policy: RotationPolicy,
    known: RwLock<Arc<Known>>,
    reloaded_at: Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct Known {
    ring: KeyRing,
    signers: Vec<(SigningKeyId, Signer)>,
    verifying: VerifyingKeys,
    published: Value,
}

/// Why the keys could not be looked after.
#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot use a stored signing key: was identity.key_encryption_key changed?")]
    Key(#[from] guildhall_identity::signing_key::KeyError),
    #[error("cannot seal a new signing key")]
    Seal(#[from] guildhall_identity::seal::SealError),
}

impl Signing {
    #[must_use]
    pub fn new(store: Store, clock: Clock, issuer: String, kek: Kek, policy: RotationPolicy) -> Arc<Self> {
        Arc::new(Self {
            store,
            clock,
            issuer,
            name_tags: NameTags::new(&kek),
            kek,
            policy,
            known: RwLock::default(),
            reloaded_at: Mutex::default(),
        })
    }

    /// Signs a token with the key whose turn it is.
    pub fn sign(&self, claims: &Claims) -> Result<SecretString, ServiceError> {
        let known = self.known();
        let signing = known.ring.signing(self.clock.now()).map(|key| key.id);
        let signer = known.signers.iter().find(|(id, _)| Some(*id) == signing).map(|(_, signer)| signer);
        signer.and_then(|signer| signer.sign(claims).ok()).ok_or(ServiceError::CannotSign)
    }

    /// Returns the tag of a name that belongs to nobody, the same on every replica.
    #[must_use]
    pub fn name_tag(&self, name: &str) -> String {
        self.name_tags.tag(name)
    }

    /// Checks a token. A key that was published since the last look is looked up once.
    pub async fn verify(&self, token: &str) -> Result<Claims, ServiceError> {
        match verify(token, &self.known().verifying, &self.issuer, self.clock.now()) {
            Err(TokenError::UnknownKey(_)) if self.may_reload() => {
                self.load().await.map_err(ServiceError::from)?;
                verify(token, &self.known().verifying, &self.issuer, self.clock.now())
            }
            outcome => outcome,
        }
        .map_err(|_| ServiceError::Unauthenticated)
    }

    /// Returns the public keys as a JWKS document.
    #[must_use]
    pub fn published(&self) -> Value {
        self.known().published.clone()
    }

    /// Brings the keys in order, on one replica at a time, and takes over what there is.
    pub async fn tend(&self) -> Result<(), SigningError> {
        let mut tx = self.store.begin().await?;
        let now = self.clock.now();
        let stored = signing_keys::lock(&mut tx).await?;
        let plan = KeyRing::new(stored.iter().map(|stored| stored.key)).plan(self.policy, now);
        if let Some(schedule) = plan.make {
            let private = PrivateKey::generate(SigningKeyId::generate())?;
            let new = StoredKey {
                key: SigningKey { id: private.id(), schedule },
                public_key: private.public().bytes.to_vec(),
                sealed_private_key: private.seal(&self.kek)?,
            };
            signing_keys::insert(&mut tx, &new).await?;
        }
        signing_keys::delete(&mut tx, &plan.delete).await?;
        tx.commit().await?;
        self.load().await
    }

    /// Returns whether the keys may be read again for a token that names an unknown one. Anyone can invent a key's
    /// name; PostgreSQL must not be asked for each.
    fn may_reload(&self) -> bool {
        let mut last = self.reloaded_at.lock().unwrap_or_else(PoisonError::into_inner);
        let may = last.is_none_or(|last| last.elapsed() > RELOAD_EVERY);
        if may {
            *last = Some(Instant::now());
        }
        may
    }

    async fn load(&self) -> Result<(), SigningError> {
        let stored = signing_keys::list(&self.store).await?;
        let ring = KeyRing::new(stored.iter().map(|stored| stored.key));
        let published: Vec<SigningKeyId> =
            ring.published(self.policy, self.clock.now()).map(|key| key.id).collect();
        let (mut signers, mut public): (Vec<_>, Vec<PublicKey>) = (Vec::new(), Vec::new());
        for key in stored.iter().filter(|stored| published.contains(&stored.key.id)) {
            let private = PrivateKey::open(key.key.id, &self.kek, &key.sealed_private_key)?;
            public.push(private.public());
            signers.push((key.key.id, Signer::new(&private, &self.issuer)));
        }
        let known = Known { ring, signers, published: jwks(&public), verifying: VerifyingKeys::new(public) };
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
        Ok(())
    }

    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The reconciler that looks after the keys.
#[derive(Debug)]
pub struct TendSigning(pub Arc<Signing>);

impl Reconciler for TendSigning {
    type Error = SigningError;
    const NAME: &'static str = "signing-keys";

    async fn round(&self) -> Result<(), SigningError> {
        self.0.tend().await
    }
}
