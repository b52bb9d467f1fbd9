//! Tokens for external subjects: a tenant's application vouches for its own end user, with its service key.

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::principal::{PrincipalKind, TokenKind};
use guildhall_domain::access::role::Right;
use guildhall_domain::access::subject::Subject;
use guildhall_domain::ids::{PrincipalId, TenantId};
use guildhall_identity::access::Claims;
use guildhall_store::principals::NewPrincipal;
use guildhall_store::{Store, external_subjects, principals};
use jiff::{SignedDuration, Timestamp};
use metrics::counter;
use secrecy::SecretString;
use serde_json::json;
use uuid::Uuid;

use crate::ServiceError;
use crate::access::audit;
use crate::access::auth::{Auth, add};
use crate::access::tenants::event;

/// How long a subject's token holds. It ends with the key that it was minted with, too.
const SUBJECT_LIFETIME: SignedDuration = SignedDuration::from_mins(15);

/// A token for one external subject.
#[derive(Debug, Clone)]
pub struct SubjectToken {
    pub principal: PrincipalId,
    pub access: SecretString,
    pub access_expires_at: Timestamp,
}

impl Auth {
    /// Mints a token for a subject, who becomes a principal when first heard of. For service keys.
    pub async fn mint_subject_token(
        &self,
        caller: &Caller,
        tenant: TenantId,
        subject: &Subject,
        name: Option<&str>,
    ) -> Result<SubjectToken, ServiceError> {
        let key = caller.require_key(tenant, Right::SubjectsVouch)?;
        let known = external_subjects::find(&self.store, tenant, subject).await?;
        let principal = match known {
            Some(principal) => principal,
            None => meet(&self.store, caller, tenant, subject, name).await?,
        };
        let now = self.clock.now();
        let access_expires_at = add(now, SUBJECT_LIFETIME);
        let access = self.signing.sign(&Claims {
            id: Uuid::now_v7(),
            principal,
            kind: TokenKind::External,
            login: None,
            key: Some(key),
            tenant: Some(tenant),
            run: None,
            issued_at: now,
            expires_at: access_expires_at,
        })?;
        counter!("guildhall_subject_tokens_total").increment(1);
        Ok(SubjectToken { principal, access, access_expires_at })
    }

    /// Finds the subject behind a token that the key in it still vouches for. They have no role anywhere.
    pub(crate) async fn external_caller(&self, claims: &Claims) -> Result<Caller, ServiceError> {
        let (Some(tenant), Some(key)) = (claims.tenant, claims.key) else {
            return Err(ServiceError::Unauthenticated);
        };
        let role = external_subjects::vouched_by(&self.store, claims.principal, tenant, key).await?;
        if !role.is_some_and(|role| role.allows(Right::SubjectsVouch)) {
            return Err(ServiceError::Unauthenticated);
        }
        Ok(Caller {
            principal: claims.principal,
            kind: TokenKind::External,
            login: None,
            key: Some(key),
            tenant: None,
            subject_of: Some(tenant),
            expires_at: claims.expires_at,
            is_operator: false,
        })
    }
}

/// Makes the principal of a subject. Of two who meet the same one at once, one makes it and both have it.
async fn meet(
    store: &Store,
    caller: &Caller,
    tenant: TenantId,
    subject: &Subject,
    name: Option<&str>,
) -> Result<PrincipalId, ServiceError> {
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
    audit::record(&mut tx, &event(caller, tenant, "subject.created", id.to_string(), detail)).await?;
    tx.commit().await?;
    Ok(id)
}
