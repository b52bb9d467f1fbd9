//! What all routes share: access rules, client addresses, authentication, input, HTML pages, rate limits, layers, streams and the
//! accept loop.

pub(crate) mod access_rules;
pub(crate) mod app;
pub(crate) mod body_error;
pub(crate) mod browser_caller;
pub(crate) mod caller;
pub(crate) mod client_address;
pub(crate) mod cookies;
pub(crate) mod credential;
pub(crate) mod csrf;
pub(crate) mod denials;
pub(crate) mod error;
pub(crate) mod html;
pub(crate) mod input;
pub(crate) mod issuer_hosts;
pub(crate) mod languages;
pub(crate) mod layers;
pub(crate) mod long_poll;
pub(crate) mod page_target;
pub(crate) mod rates;
pub(crate) mod read_limit;
pub(crate) mod relation_events;
pub(crate) mod serve;
pub(crate) mod stream;
pub(crate) mod tls;
