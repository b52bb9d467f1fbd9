//! The one way out: every outbound HTTP call of the server goes through [`Egress`].
//!
//! Who names a webhook or an issuer names an address that *our* machine will call, from inside our network. So a call
//! goes only to globally routable unicast addresses, unless an operator opened a range on purpose (`egress.allow`).
//!
//! - The decision is pure and stands in [`address`]: may this address be called under these rules?
//! - It is asked where the connection is made. A name is resolved once a connection, every address of the answer is
//!   judged, one refused address refuses the answer, and the connection goes to the judged addresses. What the name
//!   answers later (DNS rebinding) meets the same question. An address written in the URL never reaches a resolver;
//!   it is judged before the call, in the one form that the URL parser makes of all notations (`2130706433`,
//!   `0x7f.1`, `[::ffff:127.0.0.1]`).
//! - Redirects come back as they are, proxies of the environment are ignored, cookies do not exist, an answer is
//!   bounded in bytes and in time, and a half answer is an error.
//!
//! Only `http` and `https`, no credentials in the URL. Any port may be called: the rules say to whom a call may go,
//! and on a public host every port is public. Certificates are checked against the system's roots; `SSL_CERT_FILE`
//! names another bundle, for an issuer under a private authority.
//!
//! Why reqwest's resolver hook and not http-acl-reqwest 0.14: tried side by side, the library let multicast,
//! site-local and unassigned IPv6 addresses pass, could not open one private range without opening loopback too, and
//! refused every NAT64 address. By its source it also drops refused addresses silently (so that "refused" looks like
//! "unreachable"), resolves on the async threads and puts header values into its errors. The hook needs thirty lines,
//! and the table of addresses is ours to read and test.
//!
//! What no address rule can see: networks that use public addresses inside, NAT64 under an operator's own prefix, and
//! this machine's own public address. Where that matters, a network policy stands behind this crate.
//!
//! This crate deliberately does not know why a call is made, and repeats none.

pub mod address;
mod client;
mod error;
mod request;
mod resolve;
mod response;

pub use address::{AddressRules, Refusal};
pub use client::{Egress, EgressOptions};
pub use error::{EgressError, RequestFault};
pub use ipnet::IpNet;
pub use request::Request;
pub use reqwest::header::HeaderMap;
pub use reqwest::{Method, StatusCode};
pub use resolve::{Resolver, SystemResolver};
pub use response::Response;
