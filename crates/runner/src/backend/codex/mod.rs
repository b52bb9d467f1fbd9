//! Codex, driven through its app-server: one child process, a message a line on its standard streams.
//!
//! Written against 0.166.0. What it says that we do not know passes on; what it asks for that we do not know is refused.

mod home;
mod item;
mod leave;
mod session;
mod terms;
mod translate;
mod trouble;
mod turn;
mod wire;

use std::path::PathBuf;
use std::time::Duration;

use futures::future::BoxFuture;
use guildhall_domain::FailureKind;
use tokio::sync::mpsc;

use super::{Backend, BackendFailure, Begin, Capabilities, Control, Setting, Sink, Thread, TurnEnd};
use home::Home;
use session::Session;
use turn::Turn;

/// How long Codex may take to end by itself.
const FINISH_WITHIN: Duration = Duration::from_secs(5);

/// Which Codex, and which model behind it.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The native program.
    pub program: PathBuf,
    /// Without it, whichever Codex takes by itself.
    pub model: Option<String>,
    /// Where the provider answers. It is not repeated in failures.
    pub base_url: String,
    /// The name of the secret that holds the provider's credential, where the provider wants one.
    pub credential: Option<String>,
    /// How often Codex asks the provider again before it gives up.
    pub retries: u32,
}

/// A Codex that runs, or is about to.
#[derive(Debug)]
pub struct Codex {
    setting: Setting,
    profile: Profile,
    session: Option<Session>,
}

impl Codex {
    #[must_use]
    pub fn new(setting: Setting, profile: Profile) -> Self {
        Self { setting, profile, session: None }
    }

    async fn start(&mut self, begin: Begin, sink: &Sink) -> Result<Thread, BackendFailure> {
        // One process at a time: the old one ends before the new one opens its files.
        self.session = None;
        terms::enforceable(&self.setting)?;
        let home = Home::prepare(&self.setting, &self.profile).map_err(|error| {
            BackendFailure::new(
                FailureKind::InfraFailed,
                format!("cannot write codex's configuration: {}", error.kind()),
            )
        })?;
        let session = Session::open(&self.setting, &self.profile, &home, begin, sink).await?;
        let thread = Thread(session.thread().to_owned());
        self.session = Some(session);
        Ok(thread)
    }

    async fn work(&mut self, words: &str, sink: &Sink, control: &mut mpsc::Receiver<Control>) -> TurnEnd {
        let end = match &mut self.session {
            Some(session) => match Turn::start(session, &self.setting, words, sink).await {
                Ok(turn) => turn.run(control).await,
                Err(failure) => TurnEnd::Failed(failure),
            },
            None => TurnEnd::Failed(BackendFailure::dead("codex does not run")),
        };
        turn::refuse_the_rest(control);
        if matches!(&end, TurnEnd::Failed(failure) if failure.died)
            && let Some(session) = self.session.take()
        {
            session.bury(sink).await;
        }
        end
    }
}

impl Backend for Codex {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: "codex",
            steers: true,
            interrupts: true,
            resumes: true,
            asks: true,
            unplugs: true,
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
