//! Deserializes a list of networks such as `10.1.0.0/16`.

use guildhall_egress::IpNet;
use serde::Deserializer;
use serde::de::Error;

pub(super) fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    let parse = |text: String| {
        let message = || format!("invalid network `{text}`: write it as 10.1.0.0/16");
        text.parse().map_err(|_| D::Error::custom(message()))
    };
    super::list::list(deserializer)?.into_iter().map(parse).collect()
}
