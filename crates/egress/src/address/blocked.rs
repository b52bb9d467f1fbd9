//! Kinds of blocked addresses.

/// The kind of an address that may not be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum BlockedAddress {
    #[error("a loopback address")]
    Loopback,
    #[error("a private address")]
    Private,
    #[error("a link-local address")]
    LinkLocal,
    /// Carrier-grade NAT (RFC 6598), also used inside clouds.
    #[error("a shared carrier address")]
    CarrierShared,
    #[error("a multicast address")]
    Multicast,
    #[error("the broadcast address")]
    Broadcast,
    #[error("an unspecified address")]
    Unspecified,
    #[error("a documentation address")]
    Documentation,
    #[error("a benchmarking address")]
    Benchmarking,
    #[error("a reserved address")]
    Reserved,
    /// Transition formats that nobody needs for calls and that can hide an internal IPv4 address.
    #[error("an IPv4 address inside an IPv6 address")]
    EmbeddedIpv4,
    /// A public address that a cloud platform serves internally.
    #[error("an address of the cloud platform")]
    CloudPlatform,
    #[error("the name of a cloud's metadata service")]
    MetadataName,
}
