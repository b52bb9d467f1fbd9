//! Fixtures: rows inserted without the rules of the service.

use guildhall_domain::ids::{PrincipalId, RunId, RunnerId, SessionId, TenantId};
use guildhall_testkit::TestDb;

/// Inserts a run of a new tenant, and a runner that may hold it.
pub(crate) async fn insert_run(db: &TestDb) -> (RunId, RunnerId) {
    let (run, runner) = (RunId::generate(), RunnerId::generate());
    let (tenant, session, who) = (TenantId::generate(), SessionId::generate(), PrincipalId::generate());
    let [run_id, runner_id, tenant, session, who] =
        [run.as_uuid(), runner.as_uuid(), tenant.as_uuid(), session.as_uuid(), who.as_uuid()];
    let sql = format!(
        "INSERT INTO principals (id, kind, name) VALUES ('{who}', 'person', 'p');
         INSERT INTO tenants (id, slug, name) VALUES ('{tenant}', 't-{run_id}', 't');
         INSERT INTO sessions (id, tenant, project, backend_profile, created_by)
         VALUES ('{session}', '{tenant}', 'p', 'demo', '{who}');
         INSERT INTO runs (id, tenant, session, ordinal, project, provider, backend_profile, workspace_ref,
             execution_policy, created_by)
         VALUES ('{run_id}', '{tenant}', '{session}', 1, 'p', 'local', 'demo', '{{}}', '{{}}', '{who}');
         INSERT INTO enrolments (id, tenant, principal, name, hash, expires_at)
         VALUES ('{who}', '{tenant}', '{who}', 'e', decode(repeat('00', 32), 'hex'), now() + interval '1 day');
         INSERT INTO runners (id, tenant, enrolment, name, placement, backend_profiles)
         VALUES ('{runner_id}', '{tenant}', '{who}', 'r', '{{}}', '{{}}')"
    );
    db.sql().await.execute(sql).await;
    (run, runner)
}
