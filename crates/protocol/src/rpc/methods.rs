//! The table of methods.

use guildhall_domain::FailureKind;
use guildhall_domain::ops::rate::Tier;
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use super::{auth, h2a, message, message_v2, meta};

/// Who may call a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everybody, also before `auth.connect`. Counted by address.
    Public,
    /// A connection that is authenticated.
    Connected,
}

/// Which calls of one client are handled one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// All calls of the connection.
    Connection,
}

/// One row of the method table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MethodSpec {
    pub name: &'static str,
    pub summary: &'static str,
    pub access: Access,
    /// The rate limit that a call counts against.
    pub tier: Option<Tier>,
    pub order: Order,
    /// Failures besides those of every method.
    pub failures: &'static [FailureKind],
}

/// A method with its types.
pub trait RpcMethod {
    const METHOD: Method;
    type Params: Serialize + DeserializeOwned + ToSchema;
    type Result: Serialize + DeserializeOwned + ToSchema;
}

macro_rules! method_table {
    ($($(#[doc = $summary:literal])+ $variant:ident: $name:literal, $params:ty => $result:ty, $access:ident, $tier:expr, $order:ident, [$($failure:ident),*];)+) => {
        /// A method of the socket.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Method { $($(#[doc = $summary])+ $variant,)+ }

        impl Method {
            /// All methods in table order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the row of this method.
            #[must_use]
            pub fn spec(self) -> MethodSpec {
                match self {
                    $(Self::$variant => MethodSpec {
                        name: $name,
                        summary: concat!($($summary),+).trim_ascii(),
                        access: Access::$access,
                        tier: $tier,
                        order: Order::$order,
                        failures: &[$(FailureKind::$failure),*],
                    },)+
                }
            }
        }

        /// A type for each method, for typed calls.
        pub mod typed {
            use super::{Method, RpcMethod, auth, h2a, message, message_v2, meta};

            $($(#[doc = $summary])+
            #[derive(Debug, Clone, Copy)]
            pub struct $variant;

            impl RpcMethod for $variant {
                const METHOD: Method = Method::$variant;
                type Params = $params;
                type Result = $result;
            })+
        }

        /// Visits the types of every method.
        pub(super) fn visit_types(visitor: &mut impl TypeVisitor) {
            $(visitor.visit::<typed::$variant>();)+
        }
    };
}

/// Visits the types of every method, for documents.
pub(super) trait TypeVisitor {
    fn visit<M: RpcMethod>(&mut self);
}

method_table! {
    /// Register an AID and get its first certificate.
    CreateAid: "auth.create_aid", auth::CreateAidParams => auth::CreateAidResult,
        Public, Some(Tier::SignIn), Connection, [TenantPolicyDenied, Conflict, NotFound];
    /// Start a login, a renewal or a new key: the server proves itself and gives a nonce to sign.
    AidLogin1: "auth.aid_login1", auth::Login1Params => auth::Login1Result,
        Public, Some(Tier::SignIn), Connection, [SignInFailed, NotFound];
    /// Log in with the signed nonce and get tokens.
    AidLogin2: "auth.aid_login2", auth::Login2Params => auth::Login2Result,
        Public, Some(Tier::SignIn), Connection, [SignInFailed, NotFound];
    /// Exchange a refresh token for new tokens. Using one twice ends the login.
    RefreshToken: "auth.refresh_token", auth::RefreshTokenParams => auth::RefreshTokenResult,
        Public, Some(Tier::SignIn), Connection, [];
    /// Get a new certificate for the same key.
    RenewCert: "auth.renew_cert", auth::RenewCertParams => auth::IssuedCertResult,
        Public, Some(Tier::SignIn), Connection, [SignInFailed, Conflict, NotFound];
    /// Get a certificate for another key. The sessions of the AID end.
    Rekey: "auth.rekey", auth::RekeyParams => auth::IssuedCertResult,
        Public, Some(Tier::SignIn), Connection, [SignInFailed, Conflict, NotFound];
    /// Authenticate the connection with an access token.
    Connect: "auth.connect", auth::ConnectParams => auth::ConnectResult,
        Public, None, Connection, [Unauthenticated, Conflict, Overloaded];
    /// Send a message to the inbox of an AID.
    Send: "message.send", message::SendParams => message::SendResult, Connected, Some(Tier::Mutation), Connection,
        [NotFound, TenantPolicyDenied, PayloadTooLarge, IdempotencyConflict, Forbidden, InvalidInput, Conflict, StaleKeys,
         RelationRequired];
    /// Read the inbox after a seq.
    Pull: "message.pull", message::PullParams => message::PullResult, Connected, Some(Tier::Read), Connection, [Forbidden];
    /// Confirm messages up to a seq.
    Ack: "message.ack", message::AckParams => message::AckResult, Connected, Some(Tier::Mutation), Connection, [Forbidden];
    /// Remove the content of messages that were sent within the last two minutes.
    Recall: "message.recall", message::RecallParams => message::RecallResult, Connected, Some(Tier::Mutation), Connection,
        [Forbidden];
    /// Ask which AIDs have a connection.
    QueryOnline: "message.query_online", message::QueryOnlineParams => message::QueryOnlineResult,
        Connected, Some(Tier::Read), Connection, [Forbidden];
    /// List the senders of the inbox.
    Peers: "message.peers", message_v2::PeersParams => message_v2::PeersResult, Connected, Some(Tier::Read), Connection,
        [Forbidden];
    /// Read the inbox after a seq: of one sender, or of all.
    PullV2: "message.v2.pull", message_v2::PullV2Params => message_v2::PullV2Result, Connected, Some(Tier::Read), Connection,
        [Forbidden, NotFound, TenantPolicyDenied];
    /// Confirm messages up to a seq: of one sender, or of all.
    AckV2: "message.v2.ack", message_v2::AckV2Params => message_v2::AckV2Result, Connected, Some(Tier::Mutation), Connection,
        [Forbidden, NotFound, TenantPolicyDenied];
    /// Store the key of this device, second version of end-to-end encryption.
    PutPeerKey: "message.v2.put_peer_pk", message_v2::PutPeerKeyParams => message_v2::StoredResult,
        Connected, Some(Tier::Mutation), Connection, [Forbidden, InvalidInput];
    /// Get the keys that a message is sealed for, second version of end-to-end encryption.
    Bootstrap: "message.v2.bootstrap", message_v2::BootstrapParams => message_v2::BootstrapResult,
        Connected, Some(Tier::Read), Connection, [Forbidden, NotFound, TenantPolicyDenied, Conflict];
    /// Store the prekey of this device, first version of end-to-end encryption.
    PutPrekey: "message.e2ee.put_prekey", message_v2::PrekeyBody => message_v2::StoredResult,
        Connected, Some(Tier::Mutation), Connection, [Forbidden, InvalidInput];
    /// Get the prekeys of an AID's devices, first version of end-to-end encryption.
    GetPrekey: "message.e2ee.get_prekey", message_v2::GetPrekeyParams => message_v2::GetPrekeyResult,
        Connected, Some(Tier::Read), Connection, [Forbidden, NotFound, TenantPolicyDenied];
    /// List what the owner of the AID has granted to agents. Changes follow as `event/h2a.relation_changed`.
    Relations: "h2a.relations", meta::NoParams => h2a::RelationsResult, Connected, Some(Tier::Read), Connection, [];
    /// Check that the server answers.
    Ping: "meta.ping", meta::NoParams => meta::Pong, Public, None, Connection, [];
    /// Show the state of this connection.
    Status: "meta.status", meta::NoParams => meta::ConnectionStatus, Connected, Some(Tier::Read), Connection, [];
    /// Get the signed list of trusted root certificates.
    TrustRoots: "meta.trust_roots", meta::NoParams => meta::TrustRoots, Connected, Some(Tier::Read), Connection, [NotFound];
}

impl Method {
    /// Finds a method by its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|method| method.spec().name == name)
    }

    /// Returns the prefixes of all methods, in the order of the table.
    #[must_use]
    pub fn namespaces() -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for method in Self::ALL {
            let (namespace, _) = method.spec().name.split_once('.').unwrap_or_default();
            if !found.iter().any(|known| known == namespace) {
                found.push(namespace.to_owned());
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_are_found() {
        let names: BTreeSet<_> = Method::ALL.iter().map(|method| method.spec().name).collect();
        assert_eq!(names.len(), Method::ALL.len());
        for method in Method::ALL {
            assert_eq!(Method::from_name(method.spec().name), Some(*method));
        }
        assert_eq!(Method::from_name("meta.Ping"), None);
        assert_eq!(Method::namespaces(), ["auth", "message", "h2a", "meta"]);
    }

    #[test]
    fn public_methods_are_counted_by_address_except_ping_and_connect() {
        let uncounted: Vec<_> = Method::ALL
            .iter()
            .filter(|method| {
                method.spec().access == Access::Public && method.spec().tier != Some(Tier::SignIn)
            })
            .collect();
        // A connect is counted for its principal, once the token has shown it.
        assert_eq!(uncounted, [&Method::Connect, &Method::Ping]);
    }
}
