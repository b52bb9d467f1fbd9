//! Starts a server and shuts it down gracefully.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use guildhall_api::{App, DenialLog, DrainOutcome, Listeners, Parts, WaitingRequests};
use guildhall_bus::Bus;
use guildhall_domain::access::principal::Slug;
use guildhall_domain::access::signing::RotationPolicy;
use guildhall_domain::ids::ReplicaId;
use guildhall_domain::profiles::template::ProfileTemplates;
use guildhall_identity::payload_seal::PayloadSealer;
use guildhall_identity::seal::Kek;
use guildhall_launcher::Launcher;
use guildhall_launcher::secrets::{FileStore, GitCredentialStore, SecretStore};
use guildhall_runtime::reconcile::Reconcilers;
use guildhall_runtime::{Clock, Tasks};
use guildhall_service::access::auth::Auth;
use guildhall_service::access::signing::Signing;
use guildhall_service::access::tenants::Tenants;
use guildhall_service::access::users::Users;
use guildhall_service::approvals::policies::check_policies;
use guildhall_service::front::FrontParts;
use guildhall_service::front::agent_inboxes::AgentInboxes;
use guildhall_service::front::attachments::Attachments;
use guildhall_service::journal::Journals;
use guildhall_service::ops::health::{Health, ReplicaIdentity};
use guildhall_service::profiles::credentials::Credentials;
use guildhall_service::run_steps::held_runs::HeldRuns;
use guildhall_service::run_steps::offers::Offers;
use guildhall_service::{
    Deps, ServiceError, access, agents, approvals, front, identity, messages, ops, profiles, retention,
    runners, runs, sessions, webhooks,
};
use guildhall_store::{Store, replicas};
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::background::{start_group_reconcilers, start_housekeeping, start_relations, start_webhooks};
use crate::gateway::Addresses;
use crate::http_parts::{access_rules, authority_watches, limits, rates, sockets, streams, trusted_proxies};
use crate::messages::{start_answers, start_expiry};
use crate::settings::{Settings, bus_options};
use crate::start_error::StartError;
use crate::stores::{Stores, prepare_stores};
use crate::{COMMIT, Config, attachments, config, gateway, issuer, launcher, metrics};

/// How long shutdown waits for background tasks. All of them select on the stop signal.
const TASK_SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// How long each step of deregistering may take. Other replicas notice a missing replica without it.
const DEREGISTER_TIMEOUT: Duration = Duration::from_secs(2);

/// A running server. One process can run several, as tests do.
#[derive(Debug)]
pub struct Server {
    addresses: Addresses,
    identity: ReplicaIdentity,
    health: Arc<Health>,
    store: Store,
    bus: Bus,
    tasks: Tasks,
    accepting: CancellationToken,
    drained: watch::Receiver<Option<DrainOutcome>>,
    drain_delay: Duration,
    launcher: Option<Arc<dyn Launcher>>,
    agent_inboxes: AgentInboxes,
}

impl Server {
    /// Checks everything that [`Server::start`] refuses before it connects to an engine. Changes nothing.
    pub async fn check(config: &Config) -> Result<(), StartError> {
        for address in std::iter::once(config.http.listen).chain(config.http.tls_listen) {
            match TcpListener::bind(address).await {
                // Perhaps a server with this configuration is running.
                Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {}
                bound => drop(bound.map_err(listen_error(address))?),
            }
        }
        Settings::new(config, config.http.listen).map(drop)
    }

    /// Starts a server: binds the port, migrates the database, then serves. Fails fast.
    #[expect(clippy::too_many_lines, reason = "one line for each part of the server")]
    pub async fn start(config: &Config) -> Result<Self, StartError> {
        let ((settings, listeners, addresses), metrics) = (open_ports(config).await?, metrics::install()?);
        let (Stores { store, owner }, bus) = (open_stores(config, &settings).await?, open_bus(config).await?);

        let (tasks, clock, accepting) = (Tasks::new(), Clock::system(), CancellationToken::new());
        let (identity, reconcilers) = (identity(&clock, config), Reconcilers::new(clock.clone()));
        start_housekeeping(config, &settings, &identity, &store, &clock, &tasks, &reconcilers)?;
        let attachments = start_attachments(config, &settings, &store, &clock, &tasks, &reconcilers)?;
        let deps = Deps {
            journals: Journals::start(&store, &bus, &tasks),
            offers: Offers::start(&store, &bus, &tasks),
            held_runs: HeldRuns::start(&store, &bus, &tasks),
            run_timeouts: config.runs.timeouts(),
            run_bounds: Arc::new(settings.run_bounds),
            event_quota: config.runs.event_quota(),
            bundle_limits: config.runs.bundle_limits(),
            rates: rates(&config.limits, &store),
            credentials: credentials(config, addresses.plain, settings.templates, &clock)?,
            store: store.clone(),
            owner_store: owner,
            clock: clock.clone(),
            payload_sealer: Arc::new(PayloadSealer::new(&settings.kek)),
            signing: open_signing(config, settings.kek, settings.rotation, &store, &clock).await?,
            server_address: settings.public_url.address(),
            public_url: (!config.http.public_url.is_empty()).then(|| settings.public_url.origin()),
            audit_key: settings.audit_key.map(|key| key.public()),
        };
        let (auth, runs, approvals) = (open_auth(&deps), runs::open(&deps), approvals::open(&deps));
        let profiles = profiles::open(&deps, settings.address_rules.clone(), config.secrets.validate_within);
        start_group_reconcilers(config, &deps, &profiles, &tasks, &reconcilers);
        start_expiry(&deps.owner_store, settings.message_lifetimes, &tasks, &reconcilers)
            .await
            .map_err(StartError::Owner)?;
        let messages = messages::open(messages::MessageParts {
            store: &store,
            clock: &clock,
            bus: &bus,
            tasks: &tasks,
            issuer: settings.issuer.as_ref().map(|issuer| issuer.authority.name().clone()),
            lifetime: settings.message_lifetimes.durable,
            queue_lifetime: settings.message_lifetimes.queue,
            rates: &deps.rates,
        });
        let growth = messages.webhook_growth.clone();
        start_webhooks(&deps, settings.egress, growth, &tasks, &reconcilers);
        let relations = start_relations(&deps, &tasks, &reconcilers);
        let gateway_url = gateway::url(config, settings.issuer.as_ref(), &settings.public_url, addresses);
        let access_rules = access_rules(config, &settings.public_url, addresses, settings.issuer.as_ref());
        let aids = identity::open(&deps, &auth, settings.issuer, config.aun.registration);
        let parts = FrontParts { runs: &runs, approvals: &approvals, identity: &aids, attachments };
        let front = front::open(&deps, parts);
        let agent_inboxes = front.agent_inboxes.clone();
        issuer::start_agent_keys(&aids, &tasks, &reconcilers);
        start_answers(front.answer_messages(&deps, &aids, &messages, &tasks), &tasks, &reconcilers);
        let starter = launcher::start(config, deps.credentials.launcher.clone(), &deps, &reconcilers, &tasks);
        let health = start_health(&identity, &deps, &bus, reconcilers, &tasks).await;

        let oidc = settings.oidc.map(|provider| provider.open(&settings.public_url, &auth, &clock));
        let watches = authority_watches(config, &deps, &tasks);
        let app = App::new(Parts {
            gateway_url,
            access_rules,
            sockets: sockets(config, &tasks, watches.clone(), &accepting),
            streams: streams(config, &tasks, watches, &accepting),
            waiting_requests: WaitingRequests::new(config.http.max_connections.get()),
            ops: ops::open(&deps, Arc::clone(&health)),
            profiles,
            relations,
            runners: runners::open(&deps, &runs, starter),
            sessions: sessions::open(&deps, &runs),
            front,
            approvals,
            runs,
            agents: agents::open(&deps),
            webhooks: webhooks::open(&deps, settings.address_rules),
            retention: retention::open(&deps, config.retention.technical_after),
            messages,
            identity: aids,
            access: access::open(&deps, auth, oidc),
            clock: clock.clone(),
            denials: DenialLog::default(),
            limits: limits(config),
            metrics,
            trusted_proxies: trusted_proxies(&config.http),
            closing: accepting.clone(),
        });
        let drained = serve(config, &tasks, listeners, app, accepting.clone());
        info!(replica.id = %identity.replica, address = %addresses.plain, "serving on {}", addresses.plain);
        let (drain_delay, launcher) = (config.http.drain_delay, deps.credentials.launcher);
        Ok(Self {
            addresses,
            identity,
            health,
            store,
            bus,
            tasks,
            accepting,
            drained,
            drain_delay,
            launcher,
            agent_inboxes,
        })
    }

    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.addresses.plain
    }

    /// Returns the address for TLS, where there is one.
    #[must_use]
    pub fn tls_address(&self) -> Option<SocketAddr> {
        self.addresses.tls
    }

    #[must_use]
    pub fn replica(&self) -> ReplicaId {
        self.identity.replica
    }

    /// Creates the first user, who is the operator. Returns false where a user exists already.
    pub async fn create_first_user(&self, name: &str, password: &SecretString) -> Result<bool, ServiceError> {
        Ok(Users::new(self.store.clone(), Clock::system()).create_first(name, password).await?.is_some())
    }

    /// Creates the first user, as [`Server::create_first_user`] does, and a tenant with a demo agent that
    /// this user owns, for `guildhall dev`. Returns false where a user exists already.
    pub async fn create_first_owner(
        &self,
        name: &str,
        password: &SecretString,
        tenant: &Slug,
    ) -> Result<bool, ServiceError> {
        let Some(owner) =
            Users::new(self.store.clone(), Clock::system()).create_first(name, password).await?
        else {
            return Ok(false);
        };
        let tenant = Tenants::new(self.store.clone()).create_first(owner, tenant).await?;
        let demo = agents::create_demo(&self.store, tenant, owner).await?;
        self.agent_inboxes.create_first(demo).await?;
        Ok(true)
    }

    /// Waits until the server has to shut down because one of its tasks panicked.
    pub async fn wait_for_failure(&self) {
        self.tasks.stop().cancelled().await;
    }

    /// Shuts down in this order: report not ready, stop accepting, finish open requests, stop background tasks.
    /// Returns whether every accepted request was answered.
    pub async fn shutdown(mut self) -> bool {
        info!(replica.id = %self.identity.replica, "shutting down: readiness reports not ready");
        self.health.begin_drain();
        // Runners that end with the server are stopped while it still answers their requests.
        let closing_launcher = async {
            if let Some(launcher) = &self.launcher {
                launcher.close().await;
            }
        };
        let draining = async {
            tokio::time::sleep(self.drain_delay).await;
            self.accepting.cancel();
            self.drained
                .wait_for(Option::is_some)
                .await
                .is_ok_and(|outcome| *outcome == Some(DrainOutcome::Complete))
        };
        let ((), drained) = tokio::join!(closing_launcher, draining);
        if !drained {
            warn!("some requests were still open when http.drain_timeout was over");
        }
        let remaining = self.tasks.shutdown(TASK_SHUTDOWN_TIMEOUT).await;
        let deregister = replicas::delete(&self.store, self.identity.replica);
        if !matches!(tokio::time::timeout(DEREGISTER_TIMEOUT, deregister).await, Ok(Ok(()))) {
            warn!("cannot deregister this replica: other replicas will remove it");
        }
        self.bus.close(DEREGISTER_TIMEOUT).await;
        let _ignored = tokio::time::timeout(DEREGISTER_TIMEOUT, self.store.close()).await;
        drained && remaining.is_empty() && !self.tasks.panicked()
    }
}

/// Starts to serve HTTP. The returned channel gets the outcome when all connections are closed.
fn serve(
    config: &Config,
    tasks: &Tasks,
    listeners: Listeners,
    app: App,
    stop_accepting: CancellationToken,
) -> watch::Receiver<Option<DrainOutcome>> {
    let drain_timeout = config.http.drain_timeout;
    let (drained_sender, drained) = watch::channel(None);
    tasks.spawn("http", async move {
        let outcome = guildhall_api::serve(listeners, app, stop_accepting, drain_timeout).await;
        drained_sender.send_replace(Some(outcome));
    });
    drained
}

fn start_attachments(
    config: &Config,
    settings: &Settings,
    store: &Store,
    clock: &Clock,
    tasks: &Tasks,
    reconcilers: &Reconcilers,
) -> Result<Attachments, StartError> {
    let (config, origin) = (&config.attachments, settings.public_url.origin());
    let options = attachments::options(config, &settings.kek, origin)?;
    Ok(attachments::start(config, options, store, clock, tasks, reconcilers))
}

fn listen_error(address: SocketAddr) -> impl FnOnce(std::io::Error) -> StartError {
    move |source| StartError::Listen { address, source }
}

/// Binds a port. Returns the address, which has a port even where the configured one is 0.
async fn listen(configured: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let listener = TcpListener::bind(configured).await.map_err(listen_error(configured))?;
    let address = listener.local_addr().map_err(listen_error(configured))?;
    Ok((listener, address))
}

/// Binds the ports, that for TLS where one is configured, and checks the settings.
async fn open_ports(config: &Config) -> Result<(Settings, Listeners, Addresses), StartError> {
    let (plain, address) = listen(config.http.listen).await?;
    let settings = Settings::new(config, address)?;
    let (Some(configured), Some(files)) = (config.http.tls_listen, &settings.tls) else {
        let addresses = Addresses { plain: address, tls: None };
        return Ok((settings, Listeners { plain, tls: None }, addresses));
    };
    let (listener, tls_address) = listen(configured).await?;
    info!(address = %tls_address, "listening on {tls_address} for TLS");
    let listeners = Listeners { plain, tls: Some(files.listener(listener)?) };
    Ok((settings, listeners, Addresses { plain: address, tls: Some(tls_address) }))
}

/// Starts to probe the engines.
async fn start_health(
    identity: &ReplicaIdentity,
    deps: &Deps,
    bus: &Bus,
    reconcilers: Reconcilers,
    tasks: &Tasks,
) -> Arc<Health> {
    let (clock, store, secrets) = (deps.clock.clone(), deps.store.clone(), deps.credentials.secrets.clone());
    let health = Health::new(identity.clone(), clock, store, bus.clone(), secrets, reconcilers);
    health.start_probes(tasks).await;
    health
}

/// Prepares the signing keys. A new installation gets its first key here, before the first token is signed.
async fn open_signing(
    config: &Config,
    kek: Kek,
    rotation: RotationPolicy,
    store: &Store,
    clock: &Clock,
) -> Result<Arc<Signing>, StartError> {
    let signing = Signing::new(store.clone(), clock.clone(), config.identity.issuer.clone(), kek, rotation);
    signing.reconcile().await?;
    Ok(signing)
}

fn open_auth(deps: &Deps) -> Auth {
    Auth::new(deps.store.clone(), deps.clock.clone(), Arc::clone(&deps.signing))
}

/// Opens the secret store and the launcher, in which runs find the credentials of their profiles.
fn credentials(
    config: &Config,
    address: SocketAddr,
    templates: ProfileTemplates,
    clock: &Clock,
) -> Result<Credentials, StartError> {
    let store = open_secrets(config, clock)?;
    let launcher = launcher::open(config, address, store.clone())?;
    let secrets = store.map(|store| Arc::new(store) as Arc<dyn SecretStore>);
    let folder = Some(&config.secrets.folder).filter(|folder| !folder.is_empty());
    let git = folder.map(|folder| GitCredentialStore::open(Path::new(folder))).transpose()?;
    Ok(Credentials { secrets, git, launcher, templates: Arc::new(templates) })
}

/// Opens the folder for credentials, where one is configured. Fails where other users can read it.
fn open_secrets(config: &Config, clock: &Clock) -> Result<Option<FileStore>, StartError> {
    if config.secrets.folder.is_empty() {
        return Ok(None);
    }
    let store = FileStore::open(Path::new(&config.secrets.folder))?;
    store.sweep(clock.now())?;
    Ok(Some(store))
}

/// Opens the stores, and checks the stored policies against the configuration.
async fn open_stores(config: &Config, settings: &Settings) -> Result<Stores, StartError> {
    let stores = prepare_stores(config).await?;
    check_policies(&stores.store, settings.public_url.address()).await?;
    issuer::claim(&stores.store, settings.issuer.as_ref()).await?;
    Ok(stores)
}

async fn open_bus(config: &Config) -> Result<Bus, StartError> {
    Ok(Bus::connect(&bus_options(config)).await?)
}

fn identity(clock: &Clock, config: &Config) -> ReplicaIdentity {
    ReplicaIdentity {
        replica: ReplicaId::generate(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: COMMIT.to_owned(),
        started_at: clock.now(),
        known_migration: Store::known_migration(),
        secrets: config::secret_keys().map(|name| (name.clone(), config.is_set(&name))).collect(),
    }
}
