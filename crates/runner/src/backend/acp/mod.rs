//! Any agent that speaks the Agent Client Protocol: one child process, a message a line on its standard streams.
//!
//! Written against version 1 of the protocol and Qwen Code 0.24.4. What an agent says that we do not know passes on;
//! what it asks for that we do not know is refused. It is offered neither our files nor a terminal.

mod home;
mod known;
mod leave;
mod session;
mod terms;
mod tool;
mod translate;
mod trouble;
mod turn;
mod wire;

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::BoxFuture;
use guildhall_domain::FailureKind;
use tokio::sync::mpsc;

use super::{Backend, BackendFailure, Begin, Capabilities, Control, Refusal, Setting, Sink, Thread, TurnEnd};
use home::Home;
use session::Session;
use turn::Turn;

/// How long an agent may take to end by itself.
const FINISH_WITHIN: Duration = Duration::from_secs(5);

/// Which agent, and which model behind it.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The program, by its full path or a name on the search path, and its arguments.
    pub command: Vec<String>,
    pub model: Option<String>,
    /// Where the provider answers. It is not repeated in failures.
    pub base_url: Option<String>,
    /// What else stands in its environment. Nothing secret.
    pub env: BTreeMap<String, String>,
    /// Files of its home, by their path there.
    pub settings: BTreeMap<String, String>,
    /// How long it may say nothing at all while it waits for its model.
    pub silent_at_most: Duration,
}

/// An agent that runs, or is about to.
#[derive(Debug)]
pub struct Acp {
    setting: Setting,
    profile: Profile,
    session: Option<Session>,
}

impl Acp {
    #[must_use]
    pub fn new(setting: Setting, profile: Profile) -> Self {
        Self { setting, profile, session: None }
    }

    async fn start(&mut self, begin: Begin, sink: &Sink) -> Result<Thread, BackendFailure> {
        // One process at a time: the old one ends before the new one opens its files.
        self.session = None;
        terms::enforceable(&self.setting)?;
        let home = Home::prepare(&self.setting, &self.profile).map_err(|error| {
            let words = format!("cannot write the agent's settings: {}", error.kind());
            BackendFailure::new(FailureKind::InfraFailed, words)
        })?;
        let session = Session::open(&self.setting, &self.profile, &home, begin, sink).await?;
        let thread = Thread(session.thread().to_owned());
        self.session = Some(session);
        Ok(thread)
    }

    async fn work(&mut self, words: &str, sink: &Sink, control: &mut mpsc::Receiver<Control>) -> TurnEnd {
        let end = match &mut self.session {
            Some(session) => match Turn::start(session, &self.setting, &self.profile, words, sink).await {
                Ok(turn) => turn.run(control).await,
                Err(failure) => TurnEnd::Failed(failure),
            },
            None => TurnEnd::Failed(BackendFailure::dead("the agent does not run")),
        };
        refuse_the_rest(control);
        if matches!(&end, TurnEnd::Failed(failure) if failure.died)
            && let Some(session) = self.session.take()
        {
            session.bury(sink).await;
        }
        end
    }
}

/// Refuses what came after the end.
fn refuse_the_rest(control: &mut mpsc::Receiver<Control>) {
    while let Ok(wish) = control.try_recv() {
        match wish {
            Control::Steer { taken, .. } => drop(taken.send(Err(Refusal::NoTurn))),
            Control::Interrupt => {}
        }
    }
}

impl Backend for Acp {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: "acp",
            steers: false,
            interrupts: true,
            resumes: true,
            asks: true,
            unplugs: false,
            lives_apart: true,
        }
    }

    fn begin<'a>(
        &'a mut self,
        begin: Begin,
        sink: &'a Sink,
    ) -> BoxFuture<'a, Result<Thread, BackendFailure>> {
        Box::pin(self.start(begin, sink))
    }

    fn turn<'a>(
        &'a mut self,
        words: &'a str,
        sink: &'a Sink,
        control: &'a mut mpsc::Receiver<Control>,
    ) -> BoxFuture<'a, TurnEnd> {
        Box::pin(self.work(words, sink, control))
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            if let Some(session) = self.session {
                session.finish(FINISH_WITHIN).await;
            }
        })
    }

    fn process(&self) -> Option<u32> {
        self.session.as_ref().map(Session::process)
    }
}
