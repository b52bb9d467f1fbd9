//! Starts everything.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use guildhall_domain::ids::TenantId;
use guildhall_domain::journal::{Journal, Stream};
use guildhall_engines::{Nats, RestartPolicy, StateDir};
use guildhall_testkit::{EngineUrls, FakeModel, TestDb, subject_prefix};
use reqwest::Method;
use secrecy::ExposeSecret;
use serde_json::json;

use super::api::Api;
use super::postgres_pair::PostgresPair;
use super::replicas::{REPLICAS, StormReplicas};
use super::runners::StormRunners;
use super::secrets_disk::SecretsDisk;
use super::{Storm, StormSize, StormTenant};
use crate::runner_faults::agent::Agent;
use crate::support::cluster::{PASSWORD, create_first_user};

/// Tenants that are created at the same time.
const CONCURRENT_TENANTS: usize = 4;

impl Storm {
    pub(super) async fn start(size: StormSize) -> Self {
        // PostgreSQL runs as another user.
        let traversable = Permissions::from_mode(0o711);
        let folder = tempfile::Builder::new().prefix("guildhall-storm-").permissions(traversable).tempdir();
        let folder = folder.expect("a folder");
        let postgres = PostgresPair::start(folder.path()).await;
        let state = StateDir::open(&folder.path().join("nats")).expect("a new folder is not locked");
        let nats = Arc::new(Nats::start(&state, RestartPolicy::OnDemand).expect("NATS starts"));
        let urls = EngineUrls {
            postgres: postgres.url("guildhall"),
            postgres_admin: postgres.url("postgres"),
            nats: nats.url(),
        };
        let db = TestDb::migrated(urls).await;
        let secrets = SecretsDisk::mount(folder.path());
        let replicas = StormReplicas::start(folder.path(), environment(&db, &nats, &secrets));
        let api = Api::new(replicas.ports.clone());
        wait_ready(&api).await;
        create_first_user(&db);
        let access = sign_in(&api).await;
        let create = |number: usize| {
            let has_runner = number < size.runners + size.appenders;
            let agent = if number < size.codex_runners { Agent::Codex } else { Agent::Script };
            create_tenant(&api, &access, number, has_runner.then_some(agent))
        };
        let tenants: Vec<_> = (0..size.tenants()).map(create).collect();
        let tenants: Vec<_> = stream::iter(tenants).buffered(CONCURRENT_TENANTS).collect().await;
        let servers: Vec<_> = (0..REPLICAS).map(|replica| api.url(replica, "")).collect();
        let model = FakeModel::start().await;
        let runners =
            StormRunners::start(folder.path(), &servers, &tenants[..size.runners], &model.base_url());
        Self {
            size,
            api,
            tenants,
            keys: Default::default(),
            probes: Default::default(),
            outages: Default::default(),
            stop: Default::default(),
            writers_done: Default::default(),
            runners,
            _model: model,
            replicas,
            secrets,
            nats,
            db,
            postgres,
            _state: state,
            folder,
        }
    }
}

fn environment(db: &TestDb, nats: &Nats, secrets: &SecretsDisk) -> Vec<(String, String)> {
    let settings = [
        ("POSTGRES_URL", db.url().expose_secret().to_owned()),
        ("POSTGRES_MAX_CONNECTIONS", "15".to_owned()),
        ("NATS_URL", nats.url().expose_secret().to_owned()),
        ("NATS_SUBJECT_PREFIX", subject_prefix()),
        ("TELEMETRY_LOG_FILTER", "warn".to_owned()),
        ("IDENTITY_KEY_ENCRYPTION_KEY", "0".repeat(64)),
        ("SECRETS_FOLDER", secrets.folder().display().to_string()),
        ("RUNS_LEASE", "8s".to_owned()),
        ("RUNS_LEASE_GRACE", "1s".to_owned()),
        ("RUNS_TEND_EVERY", "500ms".to_owned()),
        ("RUNS_SANDBOX", "danger-full-access".to_owned()),
    ];
    settings.into_iter().map(|(name, value)| (format!("GUILDHALL_{name}"), value)).collect()
}

async fn wait_ready(api: &Api) {
    let deadline = Instant::now() + Duration::from_secs(120);
    for replica in 0..REPLICAS {
        loop {
            let ready = api.request(replica, Method::GET, "/health/readiness", "");
            if matches!(api.try_send(ready).await, Some((200, _))) {
                break;
            }
            assert!(Instant::now() < deadline, "replica {replica} is not ready");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn sign_in(api: &Api) -> String {
    let body = json!({ "name": "operator", "password": PASSWORD });
    let (status, tokens) = api.send(Method::POST, "/api/v1/auth/login", "", None, &body).await;
    assert_eq!(status, 200, "{tokens}");
    tokens["accessToken"].as_str().expect("a token").to_owned()
}

/// Creates a tenant, with an enrolment for runners of an agent.
async fn create_tenant(api: &Api, access: &str, number: usize, runner: Option<Agent>) -> StormTenant {
    let slug = format!("tenant-{number}");
    let body = json!({ "slug": slug, "name": slug });
    let created = api.create("/api/v1/tenants", access, &slug, &body).await;
    let id = created["id"].as_str().expect("an id").to_owned();
    let secret = async |kind: &str, body| {
        let path = format!("/api/v1/tenants/{id}/{kind}");
        let created = api.create(&path, access, &format!("{kind}-{slug}"), &body).await;
        created["secret"].as_str().expect("a secret").to_owned()
    };
    let bearer = secret("keys", json!({ "name": "writer", "role": "operator" })).await;
    let enrolment = match runner {
        Some(agent) => {
            secret("enrolments", json!({ "name": "runners", "profile": agent.profile_name() })).await
        }
        None => String::new(),
    };
    let agent = runner.unwrap_or(Agent::Script);
    let owner = id.parse::<TenantId>().expect("an id").as_uuid();
    StormTenant { id, stream: Stream { journal: Journal::Audit, owner }, bearer, agent, enrolment }
}
