//! AIDs and their certificates.

use std::net::IpAddr;

use guildhall_domain::identity::{Aid, AidName, RevocationReason};
use guildhall_domain::ids::PrincipalId;
use guildhall_protocol::rest::identity::{
    AidView, AidsView, CreateAid, ReservationView, ReserveAid, RevokeAid,
};
use reqwest::Method;

use crate::{Client, ClientError};

impl Client {
    /// Creates an AID for a P-256 key (SubjectPublicKeyInfo in base64). It belongs to this user, or else to you. Requires an operator.
    pub async fn create_aid(
        &self,
        name: &AidName,
        public_key: &str,
        owner: Option<PrincipalId>,
    ) -> Result<AidView, ClientError> {
        let owner = owner.map(|owner| owner.to_string());
        let body = CreateAid { name: name.to_string(), public_key: public_key.to_owned(), owner };
        self.call(self.request(Method::POST, &["aids"]).json(&body)).await
    }

    /// Reserves a name for one address. The AID will belong to this user, or else to a principal of its own. Requires an operator.
    pub async fn reserve_aid(
        &self,
        name: &AidName,
        address: IpAddr,
        owner: Option<PrincipalId>,
    ) -> Result<ReservationView, ClientError> {
        let owner = owner.map(|owner| owner.to_string());
        let body = ReserveAid { name: name.to_string(), address: address.to_string(), owner };
        self.call(self.request(Method::POST, &["aid-reservations"]).json(&body)).await
    }

    /// Lists at most 100 AIDs by name, optionally only those after an AID: your own, or all for an operator.
    pub async fn list_aids(&self, after: Option<&Aid>, limit: u32) -> Result<AidsView, ClientError> {
        let mut query = vec![("limit", limit.to_string())];
        query.extend(after.map(|aid| ("cursor", aid.to_string())));
        self.call(self.query(&["aids"], &query)).await
    }

    pub async fn get_aid(&self, aid: &Aid) -> Result<AidView, ClientError> {
        self.call(self.request(Method::GET, &["aids", &aid.to_string()])).await
    }

    /// Issues a new certificate for the same key.
    pub async fn renew_aid(&self, aid: &Aid) -> Result<AidView, ClientError> {
        self.call(self.request(Method::POST, &["aids", &aid.to_string(), "renew"])).await
    }

    /// Revokes the key of an AID, in all of its certificates.
    pub async fn revoke_aid(&self, aid: &Aid, reason: RevocationReason) -> Result<AidView, ClientError> {
        let body = RevokeAid { reason: reason.as_str().to_owned() };
        self.call(self.request(Method::POST, &["aids", &aid.to_string(), "revoke"]).json(&body)).await
    }
}
