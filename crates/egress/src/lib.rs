//! Outbound HTTP: every outbound call of the server goes through [`Egress`].
//!
//! Whoever configures a webhook or an issuer names an address that the server will call from inside its network. To
//! prevent server-side request forgery, a call goes only to globally routable unicast addresses, unless an operator
//! allowed a range (`egress.allow`).
//!
//! - The decision is a pure function in [`address`]: may this address be called under these rules?
//! - It is applied where the connection is made. A name is resolved once per connection, every address of the response
//!   is checked, one blocked address blocks the call, and the client connects only to the checked addresses. Later
//!   responses for the same name (DNS rebinding) are checked in the same way. An address literal in the URL never
//!   reaches a resolver; it is checked before the call, in the canonical form that the URL parser makes of all
//!   notations (`2130706433`, `0x7f.1`, `[::ffff:127.0.0.1]`).
//! - Redirects are returned and not followed, proxy variables are ignored, there are no cookies, a response is limited
//!   in size and time, and an incomplete response is an error.
//!
//! Only `http` and `https` are allowed, without credentials in the URL. Any port may be called: the rules restrict
//! hosts, and on a public host every port is public. Certificates are verified with the system's roots; `SSL_CERT_FILE`
//! names another bundle, for an issuer with a private authority.
//!
//! Why reqwest's resolver hook and not http-acl-reqwest 0.14: in our comparison the library accepted multicast,
//! site-local and unassigned IPv6 addresses, could not allow one private range without loopback, and rejected every
//! NAT64 address. Its source also shows that it drops blocked addresses silently (so that "blocked" looks like
//! "unreachable"), resolves on the async threads and puts header values into its errors. The hook needs thirty lines,
//! and we can read and test the address table.
//!
//! Address rules cannot detect internal networks with public addresses, NAT64 with an operator's own prefix, and this
//! machine's own public address. Where that matters, add a network policy.
//!
//! [`Connector`] opens plain TCP connections and creates a client for long streams, under the same rules. [`pinned_client`] has no address rules: it is for a URL
//! that an operator configured, and nobody else can change.
//!
//! This crate does not know the purpose of a call, and never retries.

pub mod address;
mod client;
mod connect;
mod error;
mod pinned;
mod request;
mod resolve;
mod response;

pub use address::{AddressRules, BlockedAddress};
pub use client::{Egress, EgressOptions, blocked_address};
pub use connect::{ConnectError, Connector};
pub use error::{EgressError, RequestError};
pub use ipnet::IpNet;
pub use pinned::pinned_client;
pub use request::Request;
pub use reqwest::header::HeaderMap;
pub use reqwest::{Method, StatusCode};
pub use resolve::{Resolver, SystemResolver};
pub use response::{Response, ResponseHead};
