//! How an agent reaches its model: through the model proxy of the runner, or directly if it is not contained.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use guildhall_domain::FailureKind;
use guildhall_domain::profiles::Profile;
use guildhall_domain::runs::policy::Network;
use guildhall_egress::Connector;
use secrecy::SecretString;
use tempfile::TempDir;
use url::Url;

use super::{BackendConfig, BackendFailure};
use crate::model_proxy::{
    ANTHROPIC_ROUTES, CHAT_ROUTES, CredentialHeader, ExceededCap, GEMINI_ROUTES, HostRules, ModelProxy,
    ModelProxyConfig, ModelRoute, RESPONSES_ROUTES,
};
use crate::sandbox::{Containment, PROXY_PORT};

/// The value that a contained agent has in place of the credential, because some agents do not start without one.
const PLACEHOLDER: &str = "held-by-the-model-proxy";

/// The HTTP API of a model provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelApi {
    /// Responses of OpenAI.
    Responses,
    /// Chat completions of OpenAI.
    Chat,
    /// Messages of Anthropic.
    Messages,
    /// Generation of content by Gemini.
    Gemini,
}

impl ModelApi {
    /// Returns the API that an agent uses which reads its credential from this variable.
    #[must_use]
    pub fn of_variable(name: &str, default: Self) -> Self {
        match name {
            _ if name.starts_with("ANTHROPIC_") => Self::Messages,
            _ if name.starts_with("GEMINI_") => Self::Gemini,
            _ => default,
        }
    }

    /// Returns the requests that the proxy forwards.
    fn routes(self) -> &'static [ModelRoute] {
        match self {
            Self::Responses => RESPONSES_ROUTES,
            Self::Chat => CHAT_ROUTES,
            Self::Messages => ANTHROPIC_ROUTES,
            Self::Gemini => GEMINI_ROUTES,
        }
    }

    fn credential_header(self) -> CredentialHeader {
        match self {
            Self::Responses | Self::Chat => CredentialHeader::Bearer,
            Self::Messages => CredentialHeader::XApiKey,
            Self::Gemini => CredentialHeader::XGoogApiKey,
        }
    }

    fn default_url(self) -> &'static str {
        match self {
            Self::Responses | Self::Chat => Profile::OPENAI_URL,
            Self::Messages => Profile::ANTHROPIC_URL,
            Self::Gemini => Profile::GEMINI_URL,
        }
    }
}

/// The model provider of a profile.
#[derive(Debug, Clone)]
pub struct ModelProvider {
    pub api: ModelApi,
    /// Without it, the public URL of the API.
    pub base_url: Option<String>,
}

/// What an agent is told about its model.
#[derive(Debug, Clone, Default)]
pub struct ModelEndpoint {
    /// Without it, the agent uses its default.
    pub base_url: Option<String>,
    /// The variables with the credential.
    pub secrets: Vec<(String, SecretString)>,
    /// Variables with the HTTP proxy for other hosts.
    pub proxy_environment: Vec<(String, String)>,
    /// The socket of the model proxy.
    pub socket: Option<PathBuf>,
}

/// The running model proxy of a backend. It outlives the agent's process, because its budget is of the whole run.
#[derive(Debug, Default)]
pub(super) struct AgentModelProxy {
    running: Option<(ModelProxy, TempDir, ModelEndpoint)>,
}

impl AgentModelProxy {
    /// Returns the endpoint for the agent. Starts the proxy if the agent is contained.
    pub(super) async fn endpoint(
        &mut self,
        config: &BackendConfig,
        provider: Option<&ModelProvider>,
    ) -> Result<ModelEndpoint, BackendFailure> {
        if let Containment::Uncontained = config.containment {
            let base_url = provider.and_then(|provider| provider.base_url.clone());
            return Ok(ModelEndpoint {
                base_url,
                secrets: config.secrets.clone(),
                ..ModelEndpoint::default()
            });
        }
        if provider.is_none() && config.network == Network::Disabled {
            return Ok(ModelEndpoint::default());
        }
        if self.running.is_none() {
            self.running = Some(start(config, provider).await?);
        }
        Ok(self.running.as_ref().map(|(_, _, endpoint)| endpoint.clone()).unwrap_or_default())
    }

    /// Waits until a cap of the run is passed.
    pub(super) async fn exceeded(&self) -> BackendFailure {
        let Some((proxy, ..)) = &self.running else { return std::future::pending().await };
        let message = match proxy.exceeded().await {
            ExceededCap::Tokens => "the run has used its tokens",
            ExceededCap::Requests => "the run has used its model requests",
            ExceededCap::Bytes => "the run has used its bytes of model traffic",
        };
        BackendFailure { kind: FailureKind::BudgetExceeded, ..BackendFailure::died(message) }
    }
}

async fn start(
    config: &BackendConfig,
    provider: Option<&ModelProvider>,
) -> Result<(ModelProxy, TempDir, ModelEndpoint), BackendFailure> {
    let failed = |what: &str| BackendFailure::new(FailureKind::InfraFailed, what.to_owned());
    let (api, base_url) = match provider {
        Some(ModelProvider { api, base_url }) => (*api, base_url.as_deref().unwrap_or(api.default_url())),
        None => (ModelApi::Responses, Profile::OPENAI_URL),
    };
    let base_url = Url::parse(base_url).map_err(|_| failed("the profile has an invalid base URL"))?;
    let path = base_url.path().trim_end_matches('/').to_owned();
    let proxy = ModelProxyConfig {
        base_url,
        credential: config.secrets.first().map(|(_, value)| value.clone()),
        credential_header: api.credential_header(),
        // Without a provider only other hosts are reachable.
        routes: if provider.is_some() { api.routes() } else { &[] },
        caps: config.model_caps,
        hosts: match config.network {
            Network::Disabled => HostRules::None,
            Network::AllowList => HostRules::AllowList(config.allowed_hosts.clone()),
            Network::Enabled => HostRules::Public,
        },
        connector: Connector::default(),
    };
    // Short, because the path of a socket has at most 107 bytes.
    let private = Permissions::from_mode(0o700);
    let dir = tempfile::Builder::new().prefix("guildhall-").permissions(private).tempdir();
    let dir = dir.map_err(|_| failed("cannot create a directory for the model proxy"))?;
    let socket = dir.path().join("model.sock");
    let running = ModelProxy::start(proxy, &socket).await;
    let running = running.map_err(|error| failed(&format!("cannot start the model proxy: {error}")))?;
    let placeholder = |(name, _): &(String, SecretString)| (name.clone(), SecretString::from(PLACEHOLDER));
    let endpoint = ModelEndpoint {
        base_url: Some(format!("http://127.0.0.1:{PROXY_PORT}{path}")),
        secrets: config.secrets.iter().map(placeholder).collect(),
        proxy_environment: proxy_environment(config.network),
        socket: Some(socket),
    };
    Ok((running, dir, endpoint))
}

/// Returns the variables with which programs find the HTTP proxy for other hosts.
fn proxy_environment(network: Network) -> Vec<(String, String)> {
    let url = format!("http://127.0.0.1:{PROXY_PORT}");
    let names: &[&str] = match network {
        Network::Disabled => &[],
        Network::AllowList | Network::Enabled => &["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"],
    };
    let direct = [("NO_PROXY", "127.0.0.1,localhost"), ("no_proxy", "127.0.0.1,localhost")];
    let direct = direct.iter().filter(|_| !names.is_empty());
    names
        .iter()
        .map(|name| ((*name).to_owned(), url.clone()))
        .chain(direct.map(|(name, hosts)| ((*name).to_owned(), (*hosts).to_owned())))
        .collect()
}
