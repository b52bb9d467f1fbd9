//! Attachments: a cluster that stores them, uploads, and what sessions do with them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use guildhall_domain::access::caller::{Caller, TenantRole};
use guildhall_domain::access::principal::TokenKind;
use guildhall_domain::access::role::Role;
use guildhall_domain::access::role::rights::RunsWrite;
use guildhall_domain::access::thread_owner::ThreadOwner;
use guildhall_domain::front::attachment::{Attachment, AttachmentLimits, AttachmentOwner};
use guildhall_domain::ids::{PrincipalId, SessionId, TenantId};
use guildhall_identity::attachment_key::AttachmentKey;
use guildhall_identity::seal::Kek;
use guildhall_runtime::Clock;
use guildhall_service::front::attachments::{AttachmentOptions, Attachments};
use guildhall_store::attachments::add_session;
use guildhall_store::{Store, StoreOptions};
use guildhall_testkit::{Stopwatch, TestDb};
use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::cluster::{Cluster, SignedInUser};
use super::runs::text;
use super::{KEK, Setup, TestResponse, TestServer, read_response};

pub(crate) const UPLOADS: &str = "/api/v1/agent/attachments";
/// The origin of signed URLs, the same for all replicas.
pub(crate) const PUBLIC_URL: &str = "http://127.0.0.1:7117";
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// An image with one pixel.
pub(crate) const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";

/// Two replicas with one folder, and a tenant that the operator owns.
pub(crate) struct AttachmentFixture {
    pub(crate) cluster: Cluster,
    pub(crate) tenant: String,
    pub(crate) folder: TempDir,
}

impl AttachmentFixture {
    pub(crate) async fn new() -> Self {
        Self::with(&[]).await
    }

    pub(crate) async fn with(settings: &[(&'static str, &str)]) -> Self {
        let fixture = Self::without_tenant(settings).await;
        let tenant = fixture.cluster.create_tenant("acme").await;
        Self { tenant, ..fixture }
    }

    pub(crate) async fn without_tenant(settings: &[(&'static str, &str)]) -> Self {
        let (db, folder) = (TestDb::new().await, tempfile::tempdir().expect("a folder"));
        let setup = Setup::new(&db).with("attachments.folder", folder.path().join("objects").display());
        let setup = settings.iter().fold(setup, |setup, (key, value)| setup.with(key, value));
        let setup = setup.with("http.public_url", PUBLIC_URL);
        let cluster = Cluster::with_setup(setup, db).await;
        Self { cluster, tenant: String::new(), folder }
    }

    pub(crate) async fn upload(&self) -> Value {
        let uploaded = upload(&self.cluster.first, &self.cluster.operator.token, "image/png", PNG).await;
        assert_eq!(uploaded.status, 201, "{}", uploaded.text);
        uploaded.body
    }

    /// Returns the names of the stored objects.
    pub(crate) fn objects(&self) -> Vec<String> {
        let folder = self.folder.path().join("objects").join(&self.tenant);
        let mut names = file_names(&folder);
        names.sort();
        names
    }

    pub(crate) fn owner(&self, user: &SignedInUser) -> AttachmentOwner {
        let tenant = self.tenant.parse().expect("an id");
        AttachmentOwner { tenant, principal: user.principal.parse().expect("an id") }
    }

    /// Returns the service as a replica has it, without a storage.
    pub(crate) fn service(&self) -> Attachments {
        let limits = AttachmentLimits { max_bytes: 1, max_unreferenced_bytes: 1 };
        let (key, origin) = (Arc::new(key()), PUBLIC_URL.to_owned());
        let options = AttachmentOptions { storage: None, key, limits, url_lifetime: HOUR, origin };
        Attachments::new(self.store(), Clock::system(), options)
    }

    pub(crate) fn store(&self) -> Store {
        let timeout = Duration::from_secs(30);
        let (acquire_timeout, statement_timeout) = (timeout, timeout);
        let url = self.cluster.db.url();
        let options = StoreOptions { url, max_connections: 2, acquire_timeout, statement_timeout };
        Store::new(&options).expect("a store")
    }

    /// Creates a session, and returns its id.
    pub(crate) async fn create_session(&self) -> SessionId {
        let body = json!({ "tenantId": "acme", "projectId": "acme/web", "backendProfile": "demo" });
        let created =
            self.cluster.first.post_as("/api/v1/sessions", &self.cluster.operator.token, body).await;
        assert!(created.status.is_success(), "{}", created.text);
        text(&created.body, "sessionId").parse().expect("an id")
    }

    /// Lets a session use an attachment.
    pub(crate) async fn reference(&self, attachment: &Attachment, session: SessionId) {
        let mut tx = self.store().begin().await.expect("a transaction");
        assert!(add_session(&mut tx, attachment.id, session).await.expect("referenced"));
        tx.commit().await.expect("committed");
    }

    /// Changes a row of an attachment.
    pub(crate) async fn update(&self, attachment: &Value, change: &str) {
        let id = text(attachment, "id");
        let sql = format!("UPDATE attachments SET {change} WHERE id = '{}'", &id[4..]);
        self.cluster.db.sql().await.execute(sql).await;
    }
}

fn file_names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

pub(crate) fn key() -> AttachmentKey {
    AttachmentKey::new(&Kek::from_hex(&SecretString::from(KEK)).expect("a key"))
}

/// Uploads to the tenant `acme`.
pub(crate) async fn upload(
    server: &TestServer,
    token: &str,
    content_type: &str,
    body: &[u8],
) -> TestResponse {
    upload_to(server, "acme", token, content_type, body).await
}

pub(crate) async fn upload_to(
    server: &TestServer,
    tenant: &str,
    token: &str,
    content_type: &str,
    body: &[u8],
) -> TestResponse {
    let request = server.client.post(server.url(&format!("{UPLOADS}?tenantId={tenant}"))).bearer_auth(token);
    let request = request.header("content-type", content_type).body(body.to_vec());
    read_response(request.send().await.expect("a response")).await
}

/// Returns the path and the query of a signed URL.
pub(crate) fn path_of(attachment: &Value) -> String {
    let url = text(attachment, "url");
    url[url.find("/api/").expect("a path")..].to_owned()
}

impl AttachmentFixture {
    pub(crate) fn caller(&self, user: &SignedInUser, tenant: TenantId) -> ThreadOwner<RunsWrite> {
        let caller = Caller {
            principal: user.principal.parse::<PrincipalId>().expect("an id"),
            kind: TokenKind::User,
            login: None,
            key: None,
            tenant: Some(TenantRole { tenant, role: Role::Owner }),
            subject: None,
            expires_at: Timestamp::MAX,
            is_operator: false,
        };
        ThreadOwner::new(caller, tenant).expect("an owner writes")
    }

    /// Resolves the URL of an attachment of the operator.
    pub(crate) async fn resolved(&self, attachment: &Value) -> Attachment {
        let caller = self.caller(&self.cluster.operator, self.tenant.parse().expect("an id"));
        self.service().resolve(&caller, &text(attachment, "url")).await.expect("resolved")
    }
}

impl AttachmentFixture {
    pub(crate) async fn delete_session(&self, session: SessionId) {
        let sql = format!("DELETE FROM sessions WHERE id = '{}'", session.as_uuid());
        self.cluster.db.sql().await.execute(sql).await;
    }

    /// Waits until these attachments are left.
    pub(crate) async fn wait_for_rows(&self, ids: &[String]) {
        let (mut sql, began) = (self.cluster.db.sql().await, Stopwatch::start());
        loop {
            let rows =
                sql.texts("SELECT 'att_' || replace(id::text, '-', '') FROM attachments ORDER BY 1").await;
            if rows == sorted(ids) {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{rows:?} instead of {ids:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

pub(crate) fn sorted(ids: &[String]) -> Vec<String> {
    let mut ids = ids.to_vec();
    ids.sort();
    ids
}
