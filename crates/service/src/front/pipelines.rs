//! Pipelines of turns: which agent does a turn, and what it is told with it.

use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::role::Right;
use guildhall_domain::access::thread_owner::ThreadOwner;
use guildhall_domain::agents::pipeline::Pipeline;
use guildhall_domain::agents::turn_pipeline::TurnPipeline;
use guildhall_domain::agents::{Agent, AgentKey, AutomationKey, IdOrSlug};
use guildhall_domain::front::time_zone::{TimeZoneName, event_time_zone};
use guildhall_domain::runs::message::message_text;
use guildhall_store::{agents, automations, principals};
use serde_json::{Value, json};

use super::error::FrontError;
use crate::ServiceError;
use crate::deps::Deps;

/// Where the pipeline of a turn comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PipelineSource<'a> {
    /// The settings of the agent.
    Agent,
    /// A stored automation. A turn without a message has its prompt.
    Automation(&'a AutomationKey),
}

/// The agent of a turn, and how the turn is done.
#[derive(Debug)]
pub(super) struct TurnSetup {
    pub(super) agent: Agent,
    pipeline: Pipeline,
    /// The message of a turn that has none.
    prompt: Option<String>,
    /// Why no new turn may start.
    refusal: Option<FrontError>,
}

impl TurnSetup {
    /// Checks that a new turn may start. Turns that exist are found in any case.
    pub(super) fn check_enabled(&mut self) -> Result<(), ServiceError> {
        self.refusal.take().map_or(Ok(()), |refusal| Err(refusal.into()))
    }

    /// Adds to a payload what the agent is told with the turn.
    pub(super) fn complete(
        &self,
        payload: &mut Value,
        zone: &TimeZoneName,
        has_images: bool,
    ) -> Result<(), ServiceError> {
        if let Some(prompt) = self.prompt.as_ref().filter(|_| message_text(payload).is_none()) {
            payload["prompt"] = json!(prompt);
        }
        let message = match message_text(payload) {
            Some(message) => message,
            None if has_images => "",
            None => return Err(FrontError::NoMessage.into()),
        };
        payload[TurnPipeline::FIELD] = json!(self.pipeline.turn(message));
        payload["timeZone"] = json!(zone.as_str());
        Ok(())
    }
}

/// Finds the agent and the pipeline of a turn.
pub(super) async fn load<R: Right>(
    deps: &Deps,
    caller: &ThreadOwner<R>,
    agent: Option<&AgentKey>,
    source: PipelineSource<'_>,
) -> Result<TurnSetup, ServiceError> {
    match source {
        PipelineSource::Agent => {
            let agent = load_agent(deps, caller, agent).await?;
            let refusal = (!agent.enabled).then(|| FrontError::AgentDisabled(agent.slug.clone()));
            Ok(TurnSetup { pipeline: agent.settings.pipeline.clone(), agent, prompt: None, refusal })
        }
        // An automation may give the agent more tools than its own pipeline.
        PipelineSource::Automation(_) if caller.only_agent().is_some() => Err(ServiceError::NOT_FOUND),
        PipelineSource::Automation(key) => {
            let tenant = caller.tenant();
            let id = match key {
                IdOrSlug::Id(id) => Some(*id),
                IdOrSlug::Slug(slug) => automations::find_id_by_slug(&deps.store, tenant, slug).await?,
            };
            let found = automations::find(&deps.store, id.ok_or(ServiceError::NOT_FOUND)?).await?;
            let automation = found.filter(|found| found.tenant == tenant).ok_or(ServiceError::NOT_FOUND)?;
            let own = load_agent(deps, caller, Some(&AgentKey::Id(automation.agent))).await?;
            if let Some(named) = agent
                && load_agent(deps, caller, Some(named)).await?.id != own.id
            {
                return Err(FrontError::OtherAgent.into());
            }
            let refusal = if own.enabled {
                (!automation.enabled).then_some(FrontError::AutomationDisabled(automation.slug))
            } else {
                Some(FrontError::AgentDisabled(own.slug.clone()))
            };
            let settings = automation.settings;
            Ok(TurnSetup { agent: own, pipeline: settings.pipeline, prompt: Some(settings.prompt), refusal })
        }
    }
}

/// Returns the agent that a request names, or the one of the caller, or the default of the tenant.
pub(super) async fn load_agent<R: Right>(
    deps: &Deps,
    caller: &ThreadOwner<R>,
    key: Option<&AgentKey>,
) -> Result<Agent, ServiceError> {
    let (store, tenant) = (&deps.store, caller.tenant());
    let own = caller.only_agent().map(AgentKey::Id);
    let id = match key.or(own.as_ref()) {
        Some(AgentKey::Id(id)) => *id,
        Some(AgentKey::Slug(slug)) => {
            agents::find_id_by_slug(store, tenant, slug).await?.ok_or(ServiceError::NOT_FOUND)?
        }
        None => agents::find_default_id(store, tenant).await?.ok_or(FrontError::NoDefaultAgent)?,
    };
    caller.check_agent(id)?;
    let found = agents::find(store, id).await?;
    found.filter(|agent| agent.tenant == tenant).ok_or(ServiceError::NOT_FOUND)
}

/// Returns the time zone of a caller's events: that of the device, or else the setting of the caller.
pub(super) async fn time_zone(
    deps: &Deps,
    caller: &Caller,
    device: Option<&TimeZoneName>,
) -> Result<TimeZoneName, ServiceError> {
    let setting = match device {
        Some(_) => None,
        None => principals::find_time_zone(&deps.store, caller.principal).await?,
    };
    Ok(event_time_zone(None, device.map(TimeZoneName::as_str), setting.as_deref()))
}
