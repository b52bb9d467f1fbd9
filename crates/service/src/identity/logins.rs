//! Logins of AIDs: two steps that prove a key, and the tokens after them.
//!
//! The first step stores nothing: its challenge is signed, and the client brings it back. So both steps may reach different
//! replicas, and clients that prove nothing leave nothing behind.

use std::sync::Arc;

use guildhall_domain::access::principal::{LoginKind, TokenKind};
use guildhall_domain::access::refresh::TokenFamily;
use guildhall_domain::identity::{
    AID_TOKEN_LIFETIME, Aid, AidSession, IssuedCertificate, LoginChallengeError, OwnedAid, RenewalDenied,
    check_login_certificate,
};
use guildhall_domain::ids::{LoginId, PrincipalId};
use guildhall_identity::access_token::AccessClaims;
use guildhall_identity::login_challenge::{generate_nonce, nonce_hash};
use guildhall_identity::opaque::{OpaqueSecret, OpaqueSecretKind};
use guildhall_identity::pki::{CertificateError, P256PublicKey, ParsedCertificate, pem_to_der};
use guildhall_store::{Tx, aid_certificates, aid_logins, aids, logins, used_login_nonces};
use jiff::SignedDuration;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use uuid::Uuid;

use super::aids::{Aids, record};
use super::error::{AidLoginError, IdentityError};
use super::issuer::Issuer;
use crate::ServiceError;
use crate::access::auth::Auth;
use crate::access::timestamps::saturating_add;

/// The lifetime of a login of an AID, however often it is refreshed. It ends with the certificate if that is earlier.
const LOGIN_LIFETIME: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The longest nonce of a client. The official ones send 16 characters.
const MAX_CLIENT_NONCE: usize = 256;

/// The response to the first step.
#[derive(Debug, Clone)]
pub struct StartedLogin {
    pub request_id: String,
    pub nonce: String,
    /// The certificate of the server in PEM.
    pub auth_certificate: String,
    /// Its signature over the nonce of the client.
    pub server_signature: Vec<u8>,
}

/// The second step: a challenge and a signature that covers its nonce.
#[derive(Debug, Clone)]
pub struct SignedChallenge {
    pub aid: Aid,
    pub request_id: String,
    pub nonce: String,
    /// In base64.
    pub signature: String,
}

/// The tokens of a login.
#[derive(Debug, Clone)]
pub struct AidTokens {
    pub access: SecretString,
    pub refresh: SecretString,
    pub expires_in: SignedDuration,
}

/// A login with its tokens.
#[derive(Debug, Clone)]
pub struct CompletedLogin {
    pub tokens: AidTokens,
    /// The newest certificate, where the login was with an older one.
    pub newer_certificate: Option<IssuedCertificate>,
}

/// A signed challenge that was verified. Its AID is locked until the transaction ends.
struct VerifiedChallenge {
    tx: Tx,
    aid: OwnedAid,
    presented: IssuedCertificate,
}

/// Logs AIDs in.
#[derive(Debug, Clone)]
pub struct AidLogins {
    auth: Auth,
    aids: Aids,
    issuer: Arc<Issuer>,
}

impl AidLogins {
    #[must_use]
    pub fn new(auth: Auth, aids: Aids, issuer: Arc<Issuer>) -> Self {
        Self { auth, aids, issuer }
    }

    /// Starts a login, a renewal or a new key with a certificate in PEM. The server proves itself by signing the nonce of
    /// the client.
    pub async fn start(
        &self,
        aid: &Aid,
        certificate: &str,
        client_nonce: &str,
    ) -> Result<StartedLogin, ServiceError> {
        if client_nonce.is_empty() || client_nonce.len() > MAX_CLIENT_NONCE {
            return Err(AidLoginError::ClientNonce.into());
        }
        let now = self.auth.clock.now();
        let der = pem_to_der(certificate).map_err(AidLoginError::from)?;
        let presented = self.issuer.authority.verify(&der, now).map_err(AidLoginError::from)?;
        if presented.common_name != aid.to_string() {
            return Err(AidLoginError::from(CertificateError::OtherAid).into());
        }
        let found = aid_certificates::find_by_serial(&self.auth.store, &presented.serial).await?;
        let stored = found.filter(|found| found.fingerprint == presented.fingerprint);
        let stored = stored.ok_or(AidLoginError::Certificate(CertificateError::NotAnAid))?;
        let newest = aids::find(&self.auth.store, aid).await?.ok_or(ServiceError::NOT_FOUND)?;
        check_login_certificate(&stored, &newest.certificate, now).map_err(AidLoginError::from)?;
        let (challenge, request_id) = self.issuer.login_challenges.issue(aid, &stored.serial, now);
        Ok(StartedLogin {
            request_id,
            nonce: challenge.nonce,
            auth_certificate: self.issuer.auth_certificate().to_owned(),
            server_signature: self.issuer.sign_nonce(client_nonce).map_err(IdentityError::from)?,
        })
    }

    /// Completes a login. The signature covers the nonce and the time of the client, as it wrote both.
    pub async fn complete(
        &self,
        signed: &SignedChallenge,
        client_time: &str,
    ) -> Result<CompletedLogin, ServiceError> {
        let message = format!("{}:{client_time}", signed.nonce);
        let VerifiedChallenge { mut tx, aid, presented } =
            self.verify_signed_challenge(signed, message.as_bytes()).await?;
        let (login, now) = (LoginId::generate(), self.auth.clock.now());
        let (refresh, hash) = OpaqueSecret::generate(OpaqueSecretKind::Refresh, login.as_uuid());
        let expires_at = saturating_add(now, LOGIN_LIFETIME).min(aid.certificate.not_after);
        let family = TokenFamily::new(hash.as_bytes().to_vec(), now, expires_at);
        if !logins::insert(&mut tx, login, aid.owner, LoginKind::Aid, &family).await? {
            return Err(AidLoginError::Disabled.into());
        }
        aid_logins::insert(&mut tx, login, &signed.aid).await?;
        let detail = json!({ "login": login.to_string(), "serial": presented.serial.to_string() });
        record(&mut tx, "aid.logged_in", Some(aid.owner), &signed.aid, detail).await?;
        tx.commit().await?;
        let is_older = presented.serial != aid.certificate.serial;
        Ok(CompletedLogin {
            tokens: self.tokens(aid.owner, login, refresh)?,
            newer_certificate: is_older.then_some(aid.certificate),
        })
    }

    /// Exchanges a refresh token. Reuse of an exchanged one revokes the login, which closes its connections. A client that
    /// names its AID gets no tokens of another one.
    pub async fn refresh(
        &self,
        presented: &SecretString,
        aid: Option<&Aid>,
    ) -> Result<AidTokens, ServiceError> {
        if let Some(aid) = aid {
            let parsed = OpaqueSecret::parse(presented.expose_secret());
            let login = LoginId::from_uuid(parsed.map_err(|_| ServiceError::Unauthenticated)?.id);
            let session = aid_logins::find_session(&self.auth.store, login).await?;
            if session.is_some_and(|session| session.aid != *aid) {
                return Err(ServiceError::Unauthenticated);
            }
        }
        let rotated = self.auth.rotate(presented, LoginKind::Aid).await?;
        self.tokens(rotated.principal, rotated.login, rotated.refresh)
    }

    /// Issues a new certificate for the same key. A certificate that is younger than an hour is returned as it is.
    pub async fn renew(&self, signed: &SignedChallenge) -> Result<IssuedCertificate, ServiceError> {
        let VerifiedChallenge { mut tx, aid, .. } =
            self.verify_signed_challenge(signed, signed.nonce.as_bytes()).await?;
        let now = self.auth.clock.now();
        match aid.certificate.check_renewal(now) {
            Err(RenewalDenied::TooEarly) => {
                tx.commit().await?;
                return Ok(aid.certificate);
            }
            checked => checked.map_err(IdentityError::from)?,
        }
        let key = public_key(&aid.certificate)?;
        let issued = self.aids.issue(&mut tx, &signed.aid, &key, now).await?;
        let detail = json!({ "serial": issued.serial.to_string(), "notAfter": issued.not_after });
        record(&mut tx, "aid.renewed", Some(aid.owner), &signed.aid, detail).await?;
        tx.commit().await?;
        Ok(issued)
    }

    /// Issues a certificate for another key, in base64. Everything that was logged in with the old one ends.
    pub async fn rekey(
        &self,
        signed: &SignedChallenge,
        new_public_key: &str,
    ) -> Result<IssuedCertificate, ServiceError> {
        let key = P256PublicKey::from_base64(new_public_key).map_err(IdentityError::from)?;
        let message = format!("{}{new_public_key}", signed.nonce);
        let VerifiedChallenge { mut tx, aid, .. } =
            self.verify_signed_challenge(signed, message.as_bytes()).await?;
        let now = self.auth.clock.now();
        aid.certificate.check_renewal(now).map_err(IdentityError::from)?;
        if aid_certificates::had_key(&mut tx, &signed.aid, key.fingerprint()).await? {
            return Err(IdentityError::EarlierKey.into());
        }
        let issued = self.aids.issue(&mut tx, &signed.aid, &key, now).await?;
        let ended = aid_logins::revoke_by_aid(&mut tx, &signed.aid).await?;
        let detail = json!({ "serial": issued.serial.to_string(), "logins": ended });
        record(&mut tx, "aid.rekeyed", Some(aid.owner), &signed.aid, detail).await?;
        tx.commit().await?;
        Ok(issued)
    }

    /// Finds the login of an access token, with its current state.
    pub async fn authenticate(&self, token: &SecretString) -> Result<AidSession, ServiceError> {
        let claims = self.auth.signing.verify(token.expose_secret()).await?;
        let login = claims.login.filter(|_| claims.kind == TokenKind::Agent);
        let login = login.ok_or(ServiceError::Unauthenticated)?;
        let session = aid_logins::find_session(&self.auth.store, login).await?;
        session.filter(|session| session.owner == claims.principal).ok_or(ServiceError::Unauthenticated)
    }

    /// Checks a signed challenge and uses its nonce up. The AID stays locked, so that a concurrent revocation comes before
    /// or after everything that follows.
    async fn verify_signed_challenge(
        &self,
        signed: &SignedChallenge,
        message: &[u8],
    ) -> Result<VerifiedChallenge, ServiceError> {
        let now = self.auth.clock.now();
        let challenge =
            self.issuer.login_challenges.verify(&signed.request_id).map_err(AidLoginError::from)?;
        challenge.check(&signed.aid, &signed.nonce, now).map_err(AidLoginError::from)?;
        let found = aid_certificates::find_by_serial(&self.auth.store, &challenge.serial).await?;
        let presented = found
            .filter(|found| found.aid == signed.aid)
            .ok_or(AidLoginError::Challenge(LoginChallengeError::OtherAid))?;
        let verified = public_key(&presented)?.verify_base64(message, &signed.signature);
        verified.map_err(AidLoginError::from)?;
        let mut tx = self.auth.store.begin().await?;
        let aid = aids::lock(&mut tx, &signed.aid).await?.ok_or(ServiceError::NOT_FOUND)?;
        check_login_certificate(&presented, &aid.certificate, now).map_err(AidLoginError::from)?;
        let hash = nonce_hash(&signed.nonce);
        if !used_login_nonces::insert(&mut tx, &hash, challenge.expires_at, now).await? {
            return Err(AidLoginError::UsedNonce.into());
        }
        Ok(VerifiedChallenge { tx, aid, presented })
    }

    fn tokens(
        &self,
        owner: PrincipalId,
        login: LoginId,
        refresh: SecretString,
    ) -> Result<AidTokens, ServiceError> {
        let now = self.auth.clock.now();
        // Not shorter near the end of the login, which is checked with every use: clients would refresh without a pause.
        let access = self.auth.signing.sign(&AccessClaims {
            id: Uuid::now_v7(),
            principal: owner,
            kind: TokenKind::Agent,
            login: Some(login),
            key: None,
            tenant: None,
            agent: None,
            run: None,
            issued_at: now,
            expires_at: saturating_add(now, AID_TOKEN_LIFETIME),
        })?;
        Ok(AidTokens { access, refresh, expires_in: AID_TOKEN_LIFETIME })
    }
}

/// Returns a nonce for the challenge of a connection.
#[must_use]
pub fn connection_nonce() -> String {
    generate_nonce()
}

fn public_key(certificate: &IssuedCertificate) -> Result<P256PublicKey, ServiceError> {
    let parsed = ParsedCertificate::from_der(&certificate.der);
    Ok(parsed.map_err(AidLoginError::from)?.public_key)
}
