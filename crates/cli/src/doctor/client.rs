//! The way to a server that somebody is signed in to.

use guildhall_domain::FailureKind;
use guildhall_domain::ops::capability::Protocol;
use guildhall_domain::ops::checkup::Step;
use guildhall_protocol::rest::ops::capabilities::CapabilitiesView;
use guildhall_sdk::ClientError;
use tokio::net::{TcpStream, lookup_host};
use url::Url;

use super::check::{Check, Finding, Looking, QUICK, Trouble};
use crate::client::session::{Common, Session};
use crate::kept::NotSignedIn;

pub(super) const CHECKS: &[Check<Client>] = &[
    check("context", &[], |client| Box::pin(async { client.context() })),
    check("server-name", &["context"], |client| Box::pin(client.server_name())),
    check("server-connects", &["server-name"], |client| Box::pin(client.server_connects())),
    check("server-guildhall", &["server-connects"], |client| Box::pin(client.server_guildhall())),
    check("server-version", &["server-guildhall"], |client| Box::pin(client.server_version())),
    check("signed-in", &["server-guildhall"], |client| Box::pin(client.signed_in())),
    check("token-refresh", &["signed-in"], |client| Box::pin(client.token_refresh())),
];

const fn check(
    id: &'static str,
    needs: &'static [&'static str],
    look: for<'a> fn(&'a mut Client) -> Looking<'a>,
) -> Check<Client> {
    Check { step: Step { id, needs }, within: QUICK, look }
}

/// What is known of the way by now.
pub(super) struct Client {
    asked: Option<String>,
    session: Option<Session>,
    addresses: Vec<std::net::SocketAddr>,
    capabilities: Option<CapabilitiesView>,
}

fn not_seen() -> Trouble {
    Trouble::new("an earlier check left nothing to look at", "guildhall doctor")
}

impl Client {
    pub(super) fn new(asked: Option<String>) -> Self {
        let asked = asked.or_else(|| std::env::var_os("GUILDHALL_CONTEXT")?.into_string().ok());
        Self { asked, session: None, addresses: Vec::new(), capabilities: None }
    }

    fn context(&mut self) -> Finding {
        let opened = Common { context: self.asked.clone(), json: false }.open();
        let session = opened.map_err(|error| {
            let fix = if error.is::<NotSignedIn>() { "guildhall login" } else { "guildhall context ls" };
            Trouble::new(error.to_string().lines().next().unwrap_or_default(), fix)
        })?;
        let said = format!("{}: {} at {}", session.context_name, session.context.name, session.context.url);
        self.session = Some(session);
        Ok(said)
    }

    fn session(&self) -> Result<&Session, Trouble> {
        self.session.as_ref().ok_or_else(not_seen)
    }

    fn place(&self) -> Result<(String, u16), Trouble> {
        let url = Url::parse(&self.session()?.context.url).ok();
        let place = url.and_then(|url| Some((url.host_str()?.to_owned(), url.port_or_known_default()?)));
        place.ok_or_else(|| {
            Trouble::new("the context's address cannot be read", "guildhall login --url ADDRESS")
        })
    }

    async fn server_name(&mut self) -> Finding {
        let (host, port) = self.place()?;
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        match lookup_host((bare.as_str(), port)).await.map(Iterator::collect::<Vec<_>>) {
            Ok(found) if !found.is_empty() => {
                self.addresses = found;
                Ok(format!("{host} has an address"))
            }
            Ok(_) | Err(_) => {
                let what = format!("nobody knows an address of {host}");
                Err(Trouble::new(what, format!("getent hosts {bare}   # check the name and your network")))
            }
        }
    }

    async fn server_connects(&mut self) -> Finding {
        let (host, port) = self.place()?;
        match TcpStream::connect(self.addresses.as_slice()).await {
            Ok(_) => Ok(format!("something listens on {host}:{port}")),
            Err(error) => {
                let kind = error.kind();
                let what = format!("cannot connect to {host}:{port}: {kind}");
                let local = self.addresses.iter().all(|address| address.ip().is_loopback());
                let fix = if local {
                    "guildhall dev".to_owned()
                } else {
                    format!("nc -vz {host} {port}   # ask those who run the server")
                };
                Err(Trouble::new(what, fix))
            }
        }
    }

    async fn server_guildhall(&mut self) -> Finding {
        let session = self.session()?;
        let url = session.context.url.clone();
        let live = session.client.live().await.map_err(|error| other(&error, &url))?;
        match session.client.capabilities().await {
            Ok(capabilities) => self.capabilities = Some(capabilities),
            // A server that tells nobody else; the next checks ask with a token.
            Err(error) if error.kind() == Some(FailureKind::Unauthenticated) => {}
            Err(error) => return Err(other(&error, &url)),
        }
        Ok(format!("Guildhall {} answers at {url}", live.build.version))
    }

    async fn server_version(&mut self) -> Finding {
        let capabilities = match &self.capabilities {
            Some(capabilities) => capabilities.clone(),
            None => match self.session()?.client.capabilities_with_token().await {
                Ok(capabilities) => capabilities,
                Err(_) => {
                    return Ok("the server tells its versions to those who are signed in alone".to_owned());
                }
            },
        };
        let ours = Protocol::CURRENT.as_str();
        if capabilities.protocol.supported.iter().any(|theirs| theirs == ours) {
            return Ok(format!("both speak {ours}"));
        }
        let theirs = capabilities.protocol.supported.join(", ");
        let what = format!("the server speaks {theirs}, this command speaks {ours}");
        Err(Trouble::new(what, "guildhall --version   # then install the version of the server"))
    }

    async fn signed_in(&mut self) -> Finding {
        let session = self.session()?;
        match session.client.whoami().await {
            Ok(whoami) => Ok(format!("you are {} ({})", session.context.name, whoami.principal)),
            Err(error) => Err(signed_out(&error, session)),
        }
    }

    async fn token_refresh(&mut self) -> Finding {
        let session = self.session()?;
        match session.tokens.exchange().await {
            Ok(()) => Ok("the server exchanged your refresh token for a new one".to_owned()),
            Err(error) => Err(signed_out(&error, session)),
        }
    }
}

fn other(error: &ClientError, url: &str) -> Trouble {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    Trouble::new(format!("{error}{cause}"), format!("curl -sv {url}health/live   # is a Guildhall there?"))
}

fn signed_out(error: &ClientError, session: &Session) -> Trouble {
    let (name, context) = (&session.context_name, &session.context);
    let said = error.to_string();
    let what = said.lines().next().unwrap_or_default();
    if let Some((_, step)) = said.split_once("next: `").filter(|_| !matches!(error, ClientError::Failed(_))) {
        return Trouble::new(what, step.split('`').next().unwrap_or(step));
    }
    let fix = format!("guildhall login --url {} --name {} --context {name}", context.url, context.name);
    Trouble::new(what, fix)
}
