//! The comparison of relations with new versions of a manifest.

use guildhall_domain::ids::{AgentId, PrincipalId, TenantId};
use guildhall_store::relation_checks::{self, RelationCheck};
use guildhall_store::{Store, memberships};
use guildhall_testkit::TestDb;
use uuid::Uuid;

use crate::store;

/// Relations that one page compares.
const PAGE: u32 = 2;

struct Fixture {
    db: TestDb,
    store: Store,
    tenant: TenantId,
    agent: AgentId,
}

impl Fixture {
    /// An agent with as many versions of its manifest, and with six relations of numbered users.
    async fn new(versions: u32, published: bool) -> Self {
        let db = TestDb::new().await;
        let store = store(db.url());
        let (tenant, agent) = (TenantId::generate(), AgentId::generate());
        let (tenant_id, agent_id) = (tenant.as_uuid(), agent.as_uuid());
        let insert = format!(
            "INSERT INTO tenants (id, slug, name) VALUES ('{tenant_id}', 'acme', 'acme');
             INSERT INTO principals (id, kind, name) VALUES ('{agent_id}', 'agent', 'helper');
             INSERT INTO principals (id, kind, name)
             SELECT ('00000000-0000-7000-8000-00000000000' || number)::uuid, 'person', number FROM generate_series(1, 6) AS number;
             INSERT INTO agents (id, tenant, slug) VALUES ('{agent_id}', '{tenant_id}', 'helper');
             INSERT INTO agent_manifests (agent, version, canonical, hash, contract, consent, created_by)
             SELECT '{agent_id}', version, version::text, sha256(convert_to(version::text, 'UTF8')),
                 CASE WHEN version > 1 THEN 'breaking' END, CASE WHEN version > 1 THEN 're-consent' END, '{agent_id}'
             FROM generate_series(1, {versions}) AS version;
             UPDATE agents SET manifest_version = {versions}, published = {published};
             INSERT INTO relations (id, agent, principal, manifest_version, manifest_hash, revision)
             SELECT id, '{agent_id}', id, 1, sha256('1'), 0 FROM principals WHERE kind = 'person'"
        );
        db.sql().await.execute(insert).await;
        Self { db, store, tenant, agent }
    }

    async fn start(&self, version: i64) {
        let mut tx = self.store.begin().await.expect("a transaction");
        relation_checks::start(&mut tx, self.agent, version).await.expect("started");
        tx.commit().await.expect("committed");
    }

    /// Compares a page. Returns its version and the numbers of its users; none if nothing is left.
    async fn page(&self) -> Option<(i64, Vec<String>)> {
        let mut tx = self.store.begin().await.expect("a transaction");
        let check: RelationCheck = relation_checks::claim(&mut tx).await.expect("claimed")?;
        let found = relation_checks::list_relations(&mut tx, &check, PAGE).await.expect("listed");
        let last = found.last().map(|relation| relation.id);
        let next = check.position.next(last, found.len() < PAGE as usize);
        relation_checks::advance(&mut tx, &check, next).await.expect("advanced");
        tx.commit().await.expect("committed");
        let number = |id: Uuid| id.as_u128() & 0xf;
        Some((
            check.version,
            found.iter().map(|found| number(found.principal.as_uuid()).to_string()).collect(),
        ))
    }

    async fn pages(&self) -> Vec<(i64, Vec<String>)> {
        let mut pages = Vec::new();
        while let Some(page) = self.page().await {
            pages.push(page);
        }
        pages
    }
}

fn page(version: i64, users: &[&str]) -> (i64, Vec<String>) {
    (version, users.iter().map(|user| (*user).to_owned()).collect())
}

// covers: M14
#[tokio::test]
async fn newer_manifest_goes_on_where_the_comparison_was() {
    let fixture = Fixture::new(4, true).await;
    fixture.start(2).await;
    assert_eq!(fixture.page().await, Some(page(2, &["1", "2"])));
    assert_eq!(fixture.page().await, Some(page(2, &["3", "4"])));
    fixture.start(3).await;
    assert_eq!(fixture.page().await, Some(page(3, &["5", "6"])), "the newest relations are reached");
    // The third one comes after the comparison has wrapped around.
    assert_eq!(fixture.page().await, Some(page(3, &[])));
    assert_eq!(fixture.page().await, Some(page(3, &["1", "2"])));
    fixture.start(4).await;
    let rest = [page(4, &["3", "4"]), page(4, &["5", "6"]), page(4, &[]), page(4, &["1", "2"]), page(4, &[])];
    assert_eq!(fixture.pages().await, rest, "each once, up to where it began");
    fixture.start(4).await;
    let whole = [page(4, &["1", "2"]), page(4, &["3", "4"]), page(4, &["5", "6"]), page(4, &[])];
    assert_eq!(fixture.pages().await, whole, "after the end, from the first one");
}

#[tokio::test]
async fn member_who_comes_back_starts_a_comparison_of_hidden_agents() {
    let fixture = Fixture::new(2, false).await;
    let member = PrincipalId::from_uuid(Uuid::from_u128(0x7000_8000_0000_0000_0003));
    let role = guildhall_domain::access::role::Role::Viewer;
    let join = async || {
        let mut tx = fixture.store.begin().await.expect("a transaction");
        memberships::upsert(&mut tx, fixture.tenant, member, role).await.expect("a member");
        tx.commit().await.expect("committed");
    };
    join().await;
    assert_eq!(fixture.pages().await.len(), 4);
    // They were told, so another role starts nothing.
    let told = "INSERT INTO relation_notices (relation, manifest_version, manifest_hash, principal, kind, scopes, revision) \
                SELECT id, 2, manifest_hash, principal, 'reauth-required', '[]', 1 FROM relations";
    fixture.db.sql().await.execute(told).await;
    join().await;
    assert_eq!(fixture.pages().await, []);
    let published = "DELETE FROM relation_notices; UPDATE agents SET published = true";
    fixture.db.sql().await.execute(published).await;
    join().await;
    assert_eq!(fixture.pages().await, [], "everybody sees a published agent");
}
