//! Starts a server and ends it in good order.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use guildhall_api::{Access, App, Drained, Limits, Parts, Refusals, StreamLimits, Streams};
use guildhall_bus::{Bus, BusError, BusOptions};
use guildhall_domain::access::principal::Slug;
use guildhall_domain::access::signing::{InvalidPolicy, RotationPolicy};
use guildhall_domain::ids::ReplicaId;
use guildhall_identity::seal::{Kek, SealError};
use guildhall_launcher::secrets::{FileStore, SecretError, SecretStore};
use guildhall_launcher::{LaunchError, Launcher};
use guildhall_runtime::reconcile::Reconcilers;
use guildhall_runtime::telemetry::metrics::Metrics;
use guildhall_runtime::{Clock, Tasks};
use guildhall_service::ServiceError;
use guildhall_service::access::audit::Audit;
use guildhall_service::access::audit_seal::AuditSeal;
use guildhall_service::access::auth::{Auth, LONGEST_LIFETIME};
use guildhall_service::access::authority::Watches;
use guildhall_service::access::invitations::Invitations;
use guildhall_service::access::keys::Keys;
use guildhall_service::access::projects::Projects;
use guildhall_service::access::signing::{self, Signing, SigningError, TendSigning};
use guildhall_service::access::tenants::Tenants;
use guildhall_service::access::users::Users;
use guildhall_service::journal::Journals;
use guildhall_service::ops::health::{Health, Identity};
use guildhall_service::ops::idempotency_keys::FORGET_EVERY;
use guildhall_service::ops::idempotency_keys::IdempotencyKeys;
use guildhall_service::ops::outbox::{self, Handler, Outbox, Pace};
use guildhall_service::ops::rate_windows::RateWindows;
use guildhall_service::ops::rates::{Policy, Rates};
use guildhall_service::ops::replicas::Replicas;
use guildhall_service::profiles::{Credentials, Profiles, SettleValidations};
use guildhall_service::runners::Runners;
use guildhall_service::runners::enrolments::Enrolments;
use guildhall_service::runners::jobs::RunnerJobs;
use guildhall_service::runs::reconcile::RunParts;
use guildhall_service::runs::reconcile::TendRuns;
use guildhall_service::runs::{Offers, Runs};
use guildhall_store::{MigrateError, Store, StoreError, StoreOptions, replicas, schema_state};
use jiff::SignedDuration;
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::outside::{self, OutsideError};
use crate::public_url::{InvalidPublicUrl, PublicUrl};
use crate::{COMMIT, Config, config, launching};

/// Background tasks listen for the stop; longer than this none of them needs.
const TASKS_END_WITHIN: Duration = Duration::from_secs(5);

/// A signing key signs for a month.
const SIGN_FOR: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The next key is published this long before it signs: longer than anyone keeps a list of keys.
const OVERLAP: SignedDuration = SignedDuration::from_hours(1);

/// Saying goodbye is worth this long and no longer: the others notice anyway.
const GOODBYE_WITHIN: Duration = Duration::from_secs(2);

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot listen on {address}: choose another address with --listen, or stop what uses it")]
    Listen {
        address: SocketAddr,
        #[source]
        source: std::io::Error,
    },
    #[error("cannot use PostgreSQL: check postgres.url (GUILDHALL_POSTGRES_URL) and that it runs")]
    Store(#[from] StoreError),
    #[error("the database is not ready for this server")]
    Migrate(#[from] MigrateError),
    #[error("cannot use NATS: check nats.url (GUILDHALL_NATS_URL)")]
    Bus(#[from] BusError),
    #[error(
        "identity.key_encryption_key (GUILDHALL_IDENTITY_KEY_ENCRYPTION_KEY) is not usable: make one with `openssl rand -hex 32`"
    )]
    Kek(#[from] SealError),
    #[error("the times of the signing keys do not go together")]
    Rotation(#[from] InvalidPolicy),
    #[error("cannot look after the signing keys")]
    Signing(#[from] SigningError),
    #[error("the configuration of runs is not usable")]
    Runs(#[from] config::InvalidRuns),
    #[error("the folder for credentials, secrets.folder (GUILDHALL_SECRETS_FOLDER), is not usable")]
    Secrets(#[from] SecretError),
    #[error(transparent)]
    PublicUrl(#[from] InvalidPublicUrl),
    #[error(transparent)]
    Outside(#[from] OutsideError),
    #[error("cannot start runners: check the section launcher, or set launcher.kind to none")]
    Launcher(#[from] LaunchError),
    #[error("cannot collect metrics")]
    Metrics(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A running server. Several may run in one process, as tests do.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    identity: Identity,
    health: Arc<Health>,
    store: Store,
    bus: Bus,
    tasks: Tasks,
    accepting: CancellationToken,
    drained: watch::Receiver<Option<Drained>>,
    drain_delay: Duration,
    launcher: Option<Arc<dyn Launcher>>,
}

impl Server {
    /// Starts a server: takes the port, migrates, then serves. Fails fast where it cannot.
    pub async fn start(config: &Config) -> Result<Self, StartError> {
        let listener = listen(config.http.listen).await?;
        let address = listener.local_addr().map_err(|source| at(config.http.listen)(source))?;
        let public = PublicUrl::new(&config.http.public_url, address)?;
        let metrics = Metrics::install().map_err(|error| StartError::Metrics(Box::new(error)))?;
        let store = prepare_store(config).await?;
        let subject_prefix = config.nats.subject_prefix.clone();
        let bus = Bus::connect(&BusOptions { url: config.nats.url.clone(), subject_prefix }).await?;

        let (tasks, clock) = (Tasks::new(), Clock::system());
        let identity = identity(&clock, config);
        let reconcilers = Reconcilers::new(clock.clone());
        let every = config.housekeeping.replicas_every;
        reconcilers.start(&tasks, every, heartbeat(&identity, &store, every));
        let signing = signing(config, &store, &clock).await?;
        reconcilers.start(&tasks, signing::LOOK_EVERY, TendSigning(Arc::clone(&signing)));
        keep_house(config, &store, &tasks, &reconcilers);
        let journals = Journals::start(&store, &bus, &tasks);
        let auth = Auth::new(store.clone(), clock.clone(), Arc::clone(&signing));
        let offers = Offers::start(&bus, &tasks);
        let runs =
            Runs::new(store.clone(), journals.clone(), offers, config.runs.times(), config.runs.bounds()?);
        let (runs, Credentials { secrets, launcher }) = with_credentials(config, address, &clock, runs)?;
        reconcilers.start(&tasks, config.sessions.collect_every, launching::collector(config, &runs));
        let profiles = profiles(config, &store, &runs, secrets)?;
        reconcilers.start(&tasks, config.secrets.settle_every, SettleValidations(profiles.clone()));
        reconcilers.start(&tasks, config.runs.tend_every, TendRuns(runs.clone()));
        let starting = launching::start(&config.launcher, launcher.clone(), &runs, &reconcilers, &tasks);
        let health = Health::new(identity.clone(), clock.clone(), store.clone(), bus.clone(), reconcilers);
        health.watch(&tasks).await;

        let accepting = CancellationToken::new();
        let app = App::new(Parts {
            oidc: outside::oidc(config, &public, &auth, &clock)?,
            access: access(config, &public, address),
            audit: Audit::new(store.clone(), journals),
            streams: streams(config, &auth, &tasks, &accepting),
            auth: auth.clone(),
            enrolments: Enrolments::new(store.clone()),
            health: Arc::clone(&health),
            invitations: Invitations::new(store.clone(), clock),
            keys: Keys::new(store.clone()),
            profiles,
            projects: Projects::new(store.clone()),
            runner_jobs: RunnerJobs::new(runs.clone(), starting),
            runners: Runners::new(runs.clone(), auth),
            runs,
            signing,
            tenants: Tenants::new(store.clone()),
            users: Users::new(store.clone()),
            metrics,
            limits: limits(&config.http),
            rates: Rates::new(store.clone(), policy(&config.limits)),
            refusals: Refusals::default(),
            closing: accepting.clone(),
        });
        let drain_delay = config.http.drain_delay;
        let drained = serve(config, &tasks, listener, app, accepting.clone());
        info!(replica.id = %identity.replica, %address, "serving on {address}");
        Ok(Self { address, identity, health, store, bus, tasks, accepting, drained, drain_delay, launcher })
    }

    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    #[must_use]
    pub fn replica(&self) -> ReplicaId {
        self.identity.replica
    }

    /// Makes the first user, who operates the installation. Returns whether there was none.
    pub async fn create_first_user(&self, name: &str, password: &SecretString) -> Result<bool, ServiceError> {
        Ok(Users::new(self.store.clone()).create_first(name, password).await?.is_some())
    }

    /// Makes the first user, as [`Server::create_first_user`] does, and a tenant of theirs: what a developer's first run
    /// needs. Returns whether there was no user.
    pub async fn create_first_owner(
        &self,
        name: &str,
        password: &SecretString,
        tenant: &Slug,
    ) -> Result<bool, ServiceError> {
        let Some(owner) = Users::new(self.store.clone()).create_first(name, password).await? else {
            return Ok(false);
        };
        Tenants::new(self.store.clone()).create_first(owner, tenant).await?;
        Ok(true)
    }

    /// Waits until the server must end because a part of it panicked.
    pub async fn failed(&self) {
        self.tasks.stop().cancelled().await;
    }

    /// Ends the server: readiness first, then the door, then what is still at work, then the background.
    /// Returns whether everything that was accepted got its answer.
    pub async fn shutdown(mut self) -> bool {
        info!(replica.id = %self.identity.replica, "shutting down: readiness says no from now on");
        self.health.begin_drain();
        // Runners that end with the server are asked to while it still answers them.
        let ending = async {
            if let Some(launcher) = &self.launcher {
                launcher.close().await;
            }
        };
        let draining = async {
            tokio::time::sleep(self.drain_delay).await;
            self.accepting.cancel();
            self.drained.wait_for(Option::is_some).await.is_ok_and(|seen| *seen == Some(Drained::Whole))
        };
        let ((), drained) = tokio::join!(ending, draining);
        if !drained {
            warn!("some requests were still at work when the drain time was up");
        }
        let left = self.tasks.shutdown(TASKS_END_WITHIN).await;
        let goodbye = replicas::leave(&self.store, self.identity.replica);
        if !matches!(tokio::time::timeout(GOODBYE_WITHIN, goodbye).await, Ok(Ok(()))) {
            warn!("could not take this replica off the list; the others will");
        }
        self.bus.close(GOODBYE_WITHIN).await;
        let _busy = tokio::time::timeout(GOODBYE_WITHIN, self.store.close()).await;
        drained && left.is_empty() && !self.tasks.panicked()
    }
}

/// Opens the door. What is returned says when it has closed, and how.
fn serve(
    config: &Config,
    tasks: &Tasks,
    listener: TcpListener,
    app: App,
    stop_accepting: CancellationToken,
) -> watch::Receiver<Option<Drained>> {
    let drain_timeout = config.http.drain_timeout;
    let (say_drained, drained) = watch::channel(None);
    tasks.spawn("http", async move {
        let outcome = guildhall_api::serve(listener, app, stop_accepting, drain_timeout).await;
        say_drained.send_replace(Some(outcome));
    });
    drained
}

/// Starts what comes round by itself and that nothing else needs to know of.
fn keep_house(config: &Config, store: &Store, tasks: &Tasks, reconcilers: &Reconcilers) {
    let every = &config.housekeeping;
    let sealer = AuditSeal { store: store.clone(), stop: tasks.stop() };
    reconcilers.start(tasks, every.audit_seal_every, sealer);
    let forgetful = IdempotencyKeys { store: store.clone(), stop: tasks.stop() };
    reconcilers.start(tasks, FORGET_EVERY, forgetful);
    if let Some(outbox) = Outbox::new(store.clone(), handlers(), Pace::USUAL, tasks.stop()) {
        reconcilers.start(tasks, outbox::EVERY, outbox);
    }
    reconcilers.start(tasks, RunParts::EVERY, RunParts(store.clone()));
    let sweeper = RateWindows { store: store.clone(), stop: tasks.stop() };
    reconcilers.start(tasks, every.rate_windows_every, sweeper);
}

fn at(address: SocketAddr) -> impl FnOnce(std::io::Error) -> StartError {
    move |source| StartError::Listen { address, source }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(at(address))
}

pub(crate) async fn prepare_store(config: &Config) -> Result<Store, StartError> {
    let store = Store::new(&StoreOptions {
        url: config.postgres.url.clone(),
        max_connections: config.postgres.max_connections.get(),
        acquire_timeout: config.postgres.acquire_timeout,
        statement_timeout: config.postgres.statement_timeout,
    })?;
    store.migrate(config.postgres.migrate_within).await?;
    let durability = schema_state::durability(&store).await?;
    if !durability.holds() {
        warn!(?durability, "PostgreSQL may lose what it has confirmed: turn fsync and synchronous_commit on");
    }
    Ok(store)
}

/// Returns who performs effects of the outbox. Nobody yet: webhooks and Kubernetes objects are to come.
fn handlers() -> Vec<Arc<dyn Handler>> {
    Vec::new()
}

/// Prepares the signing keys: the first token of a new installation must find one.
async fn signing(config: &Config, store: &Store, clock: &Clock) -> Result<Arc<Signing>, StartError> {
    let policy = RotationPolicy::new(SIGN_FOR, OVERLAP, LONGEST_LIFETIME)?;
    let kek = Kek::from_hex(&config.identity.key_encryption_key)?;
    let signing = Signing::new(store.clone(), clock.clone(), config.identity.issuer.clone(), kek, policy);
    signing.tend().await?;
    Ok(signing)
}

/// Opens what has credentials for runs, and lets runs look into it.
fn with_credentials(
    config: &Config,
    address: SocketAddr,
    clock: &Clock,
    runs: Runs,
) -> Result<(Runs, Credentials), StartError> {
    let kept = open_secrets(config, clock)?;
    let launcher = launching::open(config, address, kept.clone())?;
    let secrets = kept.map(|kept| Arc::new(kept) as Arc<dyn SecretStore>);
    let credentials = Credentials { secrets, launcher };
    Ok((runs.with_credentials(credentials.clone()), credentials))
}

/// Opens the folder for credentials, where there is one. One that others can read ends the start.
fn open_secrets(config: &Config, clock: &Clock) -> Result<Option<FileStore>, StartError> {
    if config.secrets.folder.is_empty() {
        return Ok(None);
    }
    let kept = FileStore::open(Path::new(&config.secrets.folder))?;
    kept.sweep(clock.now())?;
    Ok(Some(kept))
}

fn profiles(
    config: &Config,
    store: &Store,
    runs: &Runs,
    secrets: Option<Arc<dyn SecretStore>>,
) -> Result<Profiles, StartError> {
    let (rules, within) = (outside::address_rules(config)?, config.secrets.validate_within);
    Ok(Profiles::new(store.clone(), runs.clone(), secrets, rules, within))
}

fn identity(clock: &Clock, config: &Config) -> Identity {
    Identity {
        replica: ReplicaId::generate(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: COMMIT.to_owned(),
        started_at: clock.now(),
        known_migration: Store::known_migration(),
        secrets: config::secrets().map(|name| (name.clone(), config.is_set(&name))).collect(),
    }
}

fn heartbeat(identity: &Identity, store: &Store, every: Duration) -> Replicas {
    Replicas {
        store: store.clone(),
        id: identity.replica,
        version: identity.version.clone(),
        started_at: identity.started_at,
        every,
    }
}

/// The address that the server listens on is always a name for it, and so is its public one.
fn access(config: &Config, public: &PublicUrl, address: SocketAddr) -> Access {
    let listening = (!address.ip().is_unspecified()).then(|| address.ip().to_string());
    Access {
        require_auth: config.access.require_auth,
        hosts: config.access.allow_hosts.iter().cloned().chain(listening).chain(public.host()).collect(),
        origins: config.access.allow_origins.clone(),
        public_origin: Some(public.origin()),
    }
}

fn limits(http: &config::Http) -> Limits {
    Limits {
        body_bytes: http.max_body_bytes.get(),
        request_timeout: http.request_timeout,
        concurrent_requests: http.max_concurrent_requests.get(),
        connections: http.max_connections.get(),
        header_timeout: http.header_timeout,
    }
}

/// A stream has a connection, or a part of one: there are never more of them than there may be connections.
fn streams(config: &Config, auth: &Auth, tasks: &Tasks, accepting: &CancellationToken) -> Streams {
    let limits =
        StreamLimits { each: config.http.max_streams_each.get(), all: config.http.max_connections.get() };
    let watches = Watches::new(auth.clone(), tasks.clone());
    Streams::new(tasks.clone(), watches, limits, accepting.clone())
}

fn policy(limits: &config::Limits) -> Policy {
    Policy { sign_in: limits.sign_in, mutation: limits.mutation, read: limits.read, prompt: limits.prompt }
}
