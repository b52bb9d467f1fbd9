//! Checks of the connection to the server of a context.

use guildhall_domain::FailureKind;
use guildhall_domain::ops::capability::Protocol;
use guildhall_domain::ops::checks::CheckSpec;
use guildhall_protocol::rest::ops::capabilities::CapabilitiesView;
use guildhall_sdk::ClientError;
use tokio::net::{TcpStream, lookup_host};
use url::Url;

use super::check::{CHECK_TIMEOUT, Check, CheckFuture, CheckResult};
use super::problem::Problem;
use crate::client::connection::{CommonArgs, Connection};
use crate::config_dir::NotSignedIn;

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
    run: for<'a> fn(&'a mut Client) -> CheckFuture<'a>,
) -> Check<Client> {
    Check { spec: CheckSpec { id, needs }, timeout: CHECK_TIMEOUT, run }
}

/// The results so far.
pub(super) struct Client {
    context_name: Option<String>,
    connection: Option<Connection>,
    addresses: Vec<std::net::SocketAddr>,
    capabilities: Option<CapabilitiesView>,
}

impl Client {
    pub(super) fn new(context_name: Option<String>) -> Self {
        let context_name = context_name.or_else(|| std::env::var_os("GUILDHALL_CONTEXT")?.into_string().ok());
        Self { context_name, connection: None, addresses: Vec::new(), capabilities: None }
    }

    fn context(&mut self) -> CheckResult {
        let connected = CommonArgs { context: self.context_name.clone(), json: false }.connect();
        let connection = connected.map_err(|error| {
            let fix = if error.is::<NotSignedIn>() { "guildhall login" } else { "guildhall context ls" };
            Problem::new(error.to_string().lines().next().unwrap_or_default(), fix)
        })?;
        let (name, context) = (&connection.context_name, &connection.context);
        let detail = format!("{name}: {} at {}", context.name, context.url);
        self.connection = Some(connection);
        Ok(detail)
    }

    fn connection(&self) -> Result<&Connection, Problem> {
        self.connection.as_ref().ok_or_else(Problem::missing_input)
    }

    fn host_and_port(&self) -> Result<(String, u16), Problem> {
        let url = Url::parse(&self.connection()?.context.url).ok();
        let host_and_port =
            url.and_then(|url| Some((url.host_str()?.to_owned(), url.port_or_known_default()?)));
        host_and_port
            .ok_or_else(|| Problem::new("the URL of the context is not valid", "guildhall login --url URL"))
    }

    async fn server_name(&mut self) -> CheckResult {
        let (host, port) = self.host_and_port()?;
        let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        match lookup_host((name.as_str(), port)).await.map(Iterator::collect::<Vec<_>>) {
            Ok(found) if !found.is_empty() => {
                self.addresses = found;
                Ok(format!("the name {host} resolves"))
            }
            Ok(_) | Err(_) => {
                let detail = format!("cannot resolve the name {host}");
                Err(Problem::new(detail, format!("getent hosts {name}   # check the name and your network")))
            }
        }
    }

    async fn server_connects(&mut self) -> CheckResult {
        let (host, port) = self.host_and_port()?;
        match TcpStream::connect(self.addresses.as_slice()).await {
            Ok(_) => Ok(format!("{host}:{port} accepts connections")),
            Err(error) => {
                let kind = error.kind();
                let detail = format!("cannot connect to {host}:{port}: {kind}");
                let local = self.addresses.iter().all(|address| address.ip().is_loopback());
                let fix = if local {
                    "guildhall dev".to_owned()
                } else {
                    format!("nc -vz {host} {port}   # or ask the operator of the server")
                };
                Err(Problem::new(detail, fix))
            }
        }
    }

    async fn server_guildhall(&mut self) -> CheckResult {
        let connection = self.connection()?;
        let url = connection.context.url.clone();
        let live = connection.client.live().await.map_err(|error| not_guildhall(&error, &url))?;
        match connection.client.capabilities().await {
            Ok(capabilities) => self.capabilities = Some(capabilities),
            // The server requires a token for its capabilities; the next checks send one.
            Err(error) if error.kind() == Some(FailureKind::Unauthenticated) => {}
            Err(error) => return Err(not_guildhall(&error, &url)),
        }
        Ok(format!("Guildhall {} responds at {url}", live.build.version))
    }

    async fn server_version(&mut self) -> CheckResult {
        let capabilities = match &self.capabilities {
            Some(capabilities) => capabilities.clone(),
            None => match self.connection()?.client.capabilities_with_token().await {
                Ok(capabilities) => capabilities,
                Err(_) => {
                    return Ok(
                        "not checked: the server shows its versions only to signed-in users".to_owned()
                    );
                }
            },
        };
        let ours = Protocol::CURRENT.to_string();
        if capabilities.protocol.supported.contains(&ours) {
            return Ok(format!("both support {ours}"));
        }
        let theirs = capabilities.protocol.supported.join(", ");
        let detail = format!("the server supports {theirs}, this command supports {ours}");
        Err(Problem::new(detail, "guildhall --version   # then install the version of the server"))
    }

    async fn signed_in(&mut self) -> CheckResult {
        let connection = self.connection()?;
        match connection.client.whoami().await {
            Ok(whoami) => Ok(format!("signed in as {} ({})", connection.context.name, whoami.principal)),
            Err(error) => Err(not_signed_in(&error, connection)),
        }
    }

    async fn token_refresh(&mut self) -> CheckResult {
        let connection = self.connection()?;
        match connection.tokens.refresh().await {
            Ok(()) => Ok("the tokens were refreshed".to_owned()),
            Err(error) => Err(not_signed_in(&error, connection)),
        }
    }
}

fn not_guildhall(error: &ClientError, url: &str) -> Problem {
    Problem::with_cause(error, format!("curl -sv {url}health/live   # is this a Guildhall server?"))
}

fn not_signed_in(error: &ClientError, connection: &Connection) -> Problem {
    let (name, context) = (&connection.context_name, &connection.context);
    let text = error.to_string();
    let detail = text.lines().next().unwrap_or_default();
    // A local error names its own command.
    if let Some((_, step)) = text.split_once("next: `").filter(|_| !matches!(error, ClientError::Failed(_))) {
        return Problem::new(detail, step.split('`').next().unwrap_or(step));
    }
    let fix = format!("guildhall login --url {} --name {} --context {name}", context.url, context.name);
    Problem::new(detail, fix)
}
