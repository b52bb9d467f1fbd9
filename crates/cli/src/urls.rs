//! Engine addresses given as flags.

use anyhow::Result;
use url::Url;

use crate::failure::Usage;

const SCHEMES: [&str; 5] = ["postgres", "postgresql", "nats", "tls", "ws"];

/// Refuses an address that holds a password. Arguments can be read by every process of the machine.
pub(crate) fn refuse_passwords<'a>(addresses: impl IntoIterator<Item = &'a Option<String>>) -> Result<()> {
    for address in addresses.into_iter().flatten() {
        // Checked here and not while parsing: the parser's message would repeat the address.
        let url = Url::parse(address).ok().filter(|url| SCHEMES.contains(&url.scheme()));
        let Some(url) = url else {
            let form =
                "an engine's address looks like postgres://user@host:port/database or nats://host:port";
            return Err(Usage(form).into());
        };
        if url.password().is_some() {
            let refused = "an argument can be read by every process of this machine, so it may not hold a password\n  \
                 set GUILDHALL_POSTGRES_URL or GUILDHALL_NATS_URL in the environment instead";
            return Err(Usage(refused).into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_an_argument_is_refused_without_being_repeated() {
        let given = Some("postgres://me:hunter2@127.0.0.1/db".to_owned());
        let error = format!("{:?}", refuse_passwords([&None, &given]).expect_err("refused"));
        assert!(error.contains("GUILDHALL_POSTGRES_URL") && !error.contains("hunter2"), "{error}");
        let without_scheme = Some("me:hunter2@127.0.0.1/db".to_owned());
        let error = format!("{:?}", refuse_passwords([&without_scheme]).expect_err("refused"));
        assert!(!error.contains("hunter2"), "{error}");
        refuse_passwords([&Some("postgres://me@127.0.0.1/db".to_owned())])
            .expect("no password, no objection");
    }
}
