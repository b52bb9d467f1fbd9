//! AIDs: reserved by operators, registered by clients, renewed and revoked by their owners.

use std::net::IpAddr;
use std::sync::Arc;

use guildhall_domain::access::authorized::InstallationOperator;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::principal::PrincipalKind;
use guildhall_domain::identity::{
    Aid, AidName, AidOwner, IssuedCertificate, OwnedAid, RESERVATION_LIFETIME, RegistrationMode, Reservation,
    RevocationReason, registration_owner,
};
use guildhall_domain::ids::{AgentId, PrincipalId};
use guildhall_identity::pki::{EcKey, LeafRequest, P256PublicKey, ParsedCertificate};
use guildhall_runtime::Clock;
use guildhall_store::principals::{self, NewPrincipal};
use guildhall_store::{Store, Tx, agent_inboxes, aid_certificates, aid_logins, aid_reservations, aids};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::agent_keys::AgentKeys;
use super::error::IdentityError;
use super::issuer::Issuer;
use super::transparency;
use crate::ServiceError;
use crate::access::audit::{self, AuditEvent, AuditLog};
use crate::access::timestamps::saturating_add;

/// Creates, lists, renews and revokes AIDs.
#[derive(Debug, Clone)]
pub struct Aids {
    store: Store,
    clock: Clock,
    issuer: Arc<Issuer>,
    registration: RegistrationMode,
    pub(super) agent_keys: AgentKeys,
}

impl Aids {
    #[must_use]
    pub fn new(store: Store, clock: Clock, issuer: Arc<Issuer>, registration: RegistrationMode) -> Self {
        let agent_keys = AgentKeys::new(store.clone(), Arc::clone(&issuer.keys));
        Self { store, clock, issuer, registration, agent_keys }
    }

    /// Returns the time, for the states of certificates.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Reserves a name, so that one address can register it for some minutes. The AID belongs to this user, or else to a principal of
    /// its own without any right.
    pub async fn reserve(
        &self,
        caller: &InstallationOperator,
        name: AidName,
        address: IpAddr,
        owner: Option<PrincipalId>,
    ) -> Result<Reservation, ServiceError> {
        name.check_available().map_err(IdentityError::from)?;
        let (mut tx, now) = (self.store.begin().await?, self.clock.now());
        let aid = self.aid(name.clone());
        if aids::lock(&mut tx, &aid).await?.is_some() {
            return Err(IdentityError::Exists.into());
        }
        check_owner(&mut tx, owner).await?;
        let lifetime = SignedDuration::try_from(RESERVATION_LIFETIME).unwrap_or_default();
        let reservation = Reservation { name, address, owner, expires_at: saturating_add(now, lifetime) };
        aid_reservations::put(&mut tx, &reservation, now).await?;
        let owner = owner.map(|owner| owner.to_string());
        let detail = json!({ "address": address, "owner": owner, "expiresAt": reservation.expires_at });
        record(&mut tx, "aid.reserved", Some(caller.principal), &aid, detail).await?;
        tx.commit().await?;
        Ok(reservation)
    }

    /// Creates an AID with a certificate for a key: SubjectPublicKeyInfo in base64. It belongs to this user, or else to the caller.
    pub async fn create(
        &self,
        caller: &InstallationOperator,
        name: AidName,
        public_key: &str,
        owner: Option<PrincipalId>,
    ) -> Result<IssuedCertificate, ServiceError> {
        let key = P256PublicKey::from_base64(public_key).map_err(IdentityError::from)?;
        let mut tx = self.store.begin().await?;
        check_owner(&mut tx, owner).await?;
        let owner = owner.unwrap_or(caller.principal);
        self.insert(tx, &self.aid(name), owner, &key, Some(caller.principal)).await
    }

    /// Registers an AID for a client that nobody has authenticated. A reservation is used up.
    pub async fn register(
        &self,
        aid: &Aid,
        public_key: &str,
        client: IpAddr,
    ) -> Result<IssuedCertificate, ServiceError> {
        let key = P256PublicKey::from_base64(public_key).map_err(IdentityError::from)?;
        if aid.issuer() != self.issuer.authority.name() {
            return Err(IdentityError::OtherIssuer.into());
        }
        let mut tx = self.store.begin().await?;
        let reservation = aid_reservations::lock(&mut tx, aid.name()).await?;
        let owner = registration_owner(self.registration, reservation.as_ref(), client, self.clock.now());
        let owner = match owner.map_err(IdentityError::from)? {
            AidOwner::Existing(owner) => owner,
            AidOwner::New => insert_agent(&mut tx, aid).await?,
        };
        aid_reservations::delete(&mut tx, aid.name()).await?;
        self.insert(tx, aid, owner, &key, None).await
    }

    /// Lists the AIDs of the caller by name, or all of them for an operator.
    pub async fn list(
        &self,
        caller: &Caller,
        after: &str,
        limit: u32,
    ) -> Result<Vec<OwnedAid>, ServiceError> {
        if !caller.can_hold_permissions() {
            return Err(ServiceError::NOT_FOUND);
        }
        let owner = (!caller.is_operator).then_some(caller.principal);
        Ok(aids::list(&self.store, owner, after, limit).await?)
    }

    pub async fn get(&self, caller: &Caller, aid: &Aid) -> Result<OwnedAid, ServiceError> {
        let found = aids::find(&self.store, aid).await?;
        found.filter(|found| may_manage(caller, found.owner)).ok_or(ServiceError::NOT_FOUND)
    }

    /// Issues a new certificate for the same key. A revoked key gets none, and an hour must be over since the last one.
    pub async fn renew(&self, caller: &Caller, aid: &Aid) -> Result<IssuedCertificate, ServiceError> {
        let (mut tx, found) = self.lock(caller, aid).await?;
        let issued = self.renew_in(&mut tx, &found, Some(caller.principal), self.clock.now()).await?;
        tx.commit().await?;
        Ok(issued)
    }

    /// Revokes the key of an AID, in all of its certificates, and its logins. Where the server has the key, it is removed. Revoking again
    /// changes nothing.
    pub async fn revoke(
        &self,
        caller: &Caller,
        aid: &Aid,
        reason: RevocationReason,
    ) -> Result<OwnedAid, ServiceError> {
        let (mut tx, found) = self.lock(caller, aid).await?;
        let key = found.certificate.key_fingerprint;
        let revoked = aid_certificates::revoke(&mut tx, aid, key, self.clock.now(), reason).await?;
        let logins = aid_logins::revoke_by_aid(&mut tx, aid).await?;
        if revoked > 0 {
            let detail = json!({ "certificates": revoked, "logins": logins, "reason": reason.as_str() });
            record(&mut tx, "aid.revoked", Some(caller.principal), aid, detail).await?;
        }
        let agent = agent_inboxes::find_agent(&mut tx, aid).await?;
        tx.commit().await?;
        if let Some(agent) = agent {
            self.agent_keys.remove_revoked(agent).await;
        }
        self.get(caller, aid).await
    }

    /// Returns the AID of a name.
    #[must_use]
    pub fn aid(&self, name: AidName) -> Aid {
        Aid::new(name, self.issuer.authority.name().clone())
    }

    /// Locks an AID that the caller manages, so that its newest certificate stays the newest.
    async fn lock(&self, caller: &Caller, aid: &Aid) -> Result<(Tx, OwnedAid), ServiceError> {
        let mut tx = self.store.begin().await?;
        let found = aids::lock(&mut tx, aid).await?;
        let found = found.filter(|found| may_manage(caller, found.owner)).ok_or(ServiceError::NOT_FOUND)?;
        Ok((tx, found))
    }

    /// Registers the AID of an agent whose key the server holds. The agent owns it.
    pub(crate) async fn insert_hosted(
        &self,
        tx: &mut Tx,
        name: AidName,
        agent: AgentId,
        key: &EcKey,
        actor: Option<PrincipalId>,
    ) -> Result<Aid, ServiceError> {
        let (aid, owner) = (self.aid(name), PrincipalId::from_uuid(agent.as_uuid()));
        let key = P256PublicKey::of(key).map_err(IdentityError::from)?;
        self.insert_in(tx, &aid, owner, &key, actor).await?;
        Ok(aid)
    }

    /// Renews the certificate of an AID whose key the server holds, if it has less than this left.
    pub(crate) async fn renew_hosted(&self, aid: &Aid, left: SignedDuration) -> Result<(), ServiceError> {
        let (mut tx, now) = (self.store.begin().await?, self.clock.now());
        let found = aids::lock(&mut tx, aid).await?.ok_or(ServiceError::NOT_FOUND)?;
        if found.certificate.not_after > saturating_add(now, left) {
            // Another replica was faster.
            return Ok(tx.rollback().await?);
        }
        self.renew_in(&mut tx, &found, None, now).await?;
        Ok(tx.commit().await?)
    }

    async fn renew_in(
        &self,
        tx: &mut Tx,
        found: &OwnedAid,
        actor: Option<PrincipalId>,
        now: Timestamp,
    ) -> Result<IssuedCertificate, ServiceError> {
        let current = &found.certificate;
        current.check_renewal(now).map_err(IdentityError::from)?;
        let parsed = ParsedCertificate::from_der(&current.der);
        let key = parsed.map_err(|_| ServiceError::NOT_FOUND)?.public_key;
        let issued = self.issue(tx, &current.aid, &key, now).await?;
        let detail = json!({ "serial": issued.serial.to_string(), "notAfter": issued.not_after });
        record(tx, "aid.renewed", actor, &current.aid, detail).await?;
        Ok(issued)
    }

    async fn insert(
        &self,
        mut tx: Tx,
        aid: &Aid,
        owner: PrincipalId,
        key: &P256PublicKey,
        actor: Option<PrincipalId>,
    ) -> Result<IssuedCertificate, ServiceError> {
        let issued = self.insert_in(&mut tx, aid, owner, key, actor).await?;
        tx.commit().await?;
        Ok(issued)
    }

    async fn insert_in(
        &self,
        tx: &mut Tx,
        aid: &Aid,
        owner: PrincipalId,
        key: &P256PublicKey,
        actor: Option<PrincipalId>,
    ) -> Result<IssuedCertificate, ServiceError> {
        aid.name().check_available().map_err(IdentityError::from)?;
        if !aids::insert(tx, aid, owner).await? {
            return Err(IdentityError::Exists.into());
        }
        let issued = self.issue(tx, aid, key, self.clock.now()).await?;
        let detail = json!({ "owner": owner.to_string(), "serial": issued.serial.to_string() });
        record(tx, "aid.created", actor, aid, detail).await?;
        Ok(issued)
    }

    pub(super) async fn issue(
        &self,
        tx: &mut Tx,
        aid: &Aid,
        key: &P256PublicKey,
        now: Timestamp,
    ) -> Result<IssuedCertificate, ServiceError> {
        let request = LeafRequest { aid, public_key: key, now };
        let issued = self.issuer.authority.issue(&request).map_err(IdentityError::from)?;
        aid_certificates::insert(tx, &issued, now).await?;
        // Nobody gets a certificate that is not in the log.
        transparency::append(tx, &[(&issued.serial, &issued.der)], now).await?;
        Ok(issued)
    }
}

/// An AID is managed by its owner and by operators. For everyone else it does not exist.
fn may_manage(caller: &Caller, owner: PrincipalId) -> bool {
    caller.can_hold_permissions() && (caller.is_operator || caller.principal == owner)
}

/// Fails unless the owner is a user who is not disabled.
async fn check_owner(tx: &mut Tx, owner: Option<PrincipalId>) -> Result<(), ServiceError> {
    let Some(owner) = owner else { return Ok(()) };
    match principals::find_kind(tx, owner).await? {
        Some(PrincipalKind::Person) => Ok(()),
        Some(_) | None => Err(IdentityError::NoSuchOwner.into()),
    }
}

/// Creates the principal of an agent that registered itself. It has no role anywhere.
async fn insert_agent(tx: &mut Tx, aid: &Aid) -> Result<PrincipalId, ServiceError> {
    let id = PrincipalId::generate();
    let name = aid.to_string();
    principals::insert(tx, &NewPrincipal { id, kind: PrincipalKind::Agent, name: &name, is_operator: false })
        .await?;
    Ok(id)
}

pub(super) async fn record(
    tx: &mut Tx,
    action: &'static str,
    actor: Option<PrincipalId>,
    aid: &Aid,
    detail: Value,
) -> Result<(), ServiceError> {
    let event = AuditEvent { log: AuditLog::Installation, action, actor, object: aid.to_string(), detail };
    audit::record(tx, &event).await
}
