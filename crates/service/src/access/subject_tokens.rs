//! Tokens for external subjects: a tenant's application vouches for its own end user, with its service key.

use guildhall_domain::access::authorized::Authorized;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::principal::{PrincipalKind, TokenKind};
use guildhall_domain::access::role::Permission;
use guildhall_domain::access::role::rights::SubjectsVouch;
use guildhall_domain::access::subject::{Subject, SubjectScope};
use guildhall_domain::agents::AgentKey;
use guildhall_domain::ids::{AgentId, PrincipalId, TenantId};
use guildhall_identity::access_token::AccessClaims;
use guildhall_store::principals::NewPrincipal;
use guildhall_store::{Store, agents, external_subjects, principals};
use jiff::{SignedDuration, Timestamp};
use metrics::counter;
use secrecy::SecretString;
use serde_json::json;
use uuid::Uuid;

use crate::ServiceError;
use crate::access::audit::{self, AuditEvent};
use crate::access::auth::Auth;
use crate::access::timestamps::saturating_add;

/// The lifetime of a subject's token. Revoking the service key that minted it ends it earlier.
const SUBJECT_LIFETIME: SignedDuration = SignedDuration::from_mins(15);

/// A token for one external subject.
#[derive(Debug, Clone)]
pub struct SubjectToken {
    pub principal: PrincipalId,
    pub access: SecretString,
    pub access_expires_at: Timestamp,
}

impl Auth {
    /// Mints a token for a subject; the first token creates its principal. The caller must be a service key. With an agent
    /// of the tenant, the subject may use its own threads with it.
    pub async fn mint_subject_token(
        &self,
        caller: &Authorized<SubjectsVouch>,
        subject: &Subject,
        name: Option<&str>,
        agent: Option<&AgentKey>,
    ) -> Result<SubjectToken, ServiceError> {
        let (key, tenant) = (caller.service_key()?, caller.tenant());
        let agent = match agent {
            Some(agent) => Some(self.find_agent(tenant, agent).await?),
            None => None,
        };
        let found = external_subjects::find(&self.store, tenant, subject).await?;
        let principal = match found {
            Some(principal) => principal,
            None => create_subject(&self.store, caller, subject, name).await?,
        };
        let now = self.clock.now();
        let access_expires_at = saturating_add(now, SUBJECT_LIFETIME);
        let access = self.signing.sign(&AccessClaims {
            id: Uuid::now_v7(),
            principal,
            kind: TokenKind::External,
            login: None,
            key: Some(key),
            tenant: Some(tenant),
            agent,
            run: None,
            issued_at: now,
            expires_at: access_expires_at,
        })?;
        counter!("guildhall_subject_tokens_total").increment(1);
        Ok(SubjectToken { principal, access, access_expires_at })
    }

    async fn find_agent(&self, tenant: TenantId, key: &AgentKey) -> Result<AgentId, ServiceError> {
        let found = match key {
            AgentKey::Id(id) => Some(*id),
            AgentKey::Slug(slug) => agents::find_id_by_slug(&self.store, tenant, slug).await?,
        };
        let id = found.ok_or(ServiceError::NOT_FOUND)?;
        let owner = agents::find_tenant(&self.store, id).await?;
        owner.filter(|owner| *owner == tenant).map(|_| id).ok_or(ServiceError::NOT_FOUND)
    }

    /// Authenticates a subject's token while its service key is valid. Subjects have no role in a tenant.
    pub(crate) async fn authenticate_subject(&self, claims: &AccessClaims) -> Result<Caller, ServiceError> {
        let (Some(tenant), Some(key)) = (claims.tenant, claims.key) else {
            return Err(ServiceError::Unauthenticated);
        };
        let role = external_subjects::find_key_role(&self.store, claims.principal, tenant, key).await?;
        if !role.is_some_and(|role| role.allows(Permission::SubjectsVouch)) {
            return Err(ServiceError::Unauthenticated);
        }
        Ok(Caller {
            principal: claims.principal,
            kind: TokenKind::External,
            login: None,
            key: Some(key),
            tenant: None,
            subject: Some(SubjectScope { tenant, agent: claims.agent }),
            expires_at: claims.expires_at,
            is_operator: false,
        })
    }
}

/// Creates the principal of a subject. Of two concurrent calls, one creates it and both return it.
async fn create_subject(
    store: &Store,
    caller: &Authorized<SubjectsVouch>,
    subject: &Subject,
    name: Option<&str>,
) -> Result<PrincipalId, ServiceError> {
    let tenant = caller.tenant();
    let id = PrincipalId::generate();
    let mut tx = store.begin().await?;
    let name = name.unwrap_or(subject.as_str());
    let external = NewPrincipal { id, kind: PrincipalKind::External, name, is_operator: false };
    principals::insert(&mut tx, &external).await?;
    if !external_subjects::insert(&mut tx, tenant, subject, id).await? {
        tx.rollback().await?;
        return external_subjects::find(store, tenant, subject).await?.ok_or(ServiceError::NOT_FOUND);
    }
    let detail = json!({ "subject": subject.as_str() });
    audit::record(&mut tx, &AuditEvent::by_member(caller, "subject.created", id.to_string(), detail)).await?;
    tx.commit().await?;
    Ok(id)
}
