//! The methods that store and hand out public keys of devices.

use std::collections::BTreeMap;

use guildhall_domain::identity::Aid;
use guildhall_domain::messages::keys::{Prekey, SignedPrekey};
use guildhall_protocol::rpc::message_v2::{
    BootstrapParams, BootstrapResult, CertificateBody, DeviceKeyBody, GetPrekeyParams, GetPrekeyResult,
    PrekeyBody, PutPeerKeyParams, StoredResult,
};
use guildhall_service::ServiceError;
use guildhall_service::identity::pki::certificate_pem;
use guildhall_service::messages::{MessageError, RecipientKeys};

use super::call_error::CallError;
use super::session::ClientSession;
use crate::edge::input::parse;

/// Sources of keys.
const DEVICE_KEY: &str = "peer_device_prekey";
const CERTIFICATE_KEY: &str = "aid_master";

pub(super) async fn put_prekey(
    session: &ClientSession,
    params: PrekeyBody,
) -> Result<StoredResult, CallError> {
    let prekey = Prekey {
        device: params.device_id,
        id: params.prekey_id,
        public_key: params.public_key,
        signature: params.signature,
        created_at_ms: params.created_at,
        cert_fingerprint: params.cert_fingerprint,
    };
    session.app.messages.keys.put_prekey(session.inbox_client()?, prekey).await?;
    Ok(StoredResult { success: true })
}

pub(super) async fn get_prekey(
    session: &ClientSession,
    params: GetPrekeyParams,
) -> Result<GetPrekeyResult, CallError> {
    let aid: Aid = parse("aid", &params.aid)?;
    let found = session.app.messages.keys.prekeys(session.inbox_client()?, &aid).await?;
    let device_prekeys: Vec<PrekeyBody> = found.into_iter().map(prekey_body).collect();
    Ok(GetPrekeyResult {
        found: !device_prekeys.is_empty(),
        prekey: device_prekeys.first().cloned(),
        device_prekeys,
    })
}

fn prekey_body(prekey: Prekey) -> PrekeyBody {
    PrekeyBody {
        prekey_id: prekey.id,
        public_key: prekey.public_key,
        signature: prekey.signature,
        created_at: prekey.created_at_ms,
        cert_fingerprint: prekey.cert_fingerprint,
        device_id: prekey.device,
    }
}

pub(super) async fn put_peer_key(
    session: &ClientSession,
    params: PutPeerKeyParams,
) -> Result<StoredResult, CallError> {
    let client = session.inbox_client()?;
    if params.peer_aid.is_some_and(|aid| aid != client.aid.to_string()) {
        return Err(ServiceError::from(MessageError::OtherAid).into());
    }
    let key = SignedPrekey {
        device: client.instance.device().to_owned(),
        id: params.spk_id,
        public_key: params.spk_pk,
        signature: params.spk_signature,
        signed_at: params.spk_timestamp,
    };
    session.app.messages.keys.put_signed_prekey(client, key).await?;
    Ok(StoredResult { success: true })
}

pub(super) async fn bootstrap(
    session: &ClientSession,
    params: BootstrapParams,
) -> Result<BootstrapResult, CallError> {
    let aid: Aid = parse("peer_aid", &params.peer_aid)?;
    let RecipientKeys { certificate, identity_key, devices, is_hosted } =
        session.app.messages.keys.recipient(session.inbox_client()?, &aid).await?;
    let device = |key: Option<SignedPrekey>| DeviceKeyBody {
        aid: aid.to_string(),
        device_id: key.as_ref().map(|key| key.device.clone()).unwrap_or_default(),
        ik_pk: identity_key.clone(),
        key_source: if key.is_some() { DEVICE_KEY } else { CERTIFICATE_KEY }.to_owned(),
        spk_id: key.as_ref().map(|key| key.id.clone()),
        spk_pk: key.as_ref().map(|key| key.public_key.clone()),
        spk_signature: key.as_ref().map(|key| key.signature.clone()),
        spk_timestamp: key.map(|key| key.signed_at),
    };
    let peer_devices = if devices.is_empty() {
        vec![device(None)]
    } else {
        devices.into_iter().map(|found| device(Some(found.key))).collect()
    };
    let body = CertificateBody { cert_pem: certificate_pem(&certificate) };
    Ok(BootstrapResult {
        peer_aid: aid.to_string(),
        peer_devices,
        audit_recipients: Vec::new(),
        certs: BTreeMap::from([(aid.to_string(), body)]),
        hosted: is_hosted,
    })
}
