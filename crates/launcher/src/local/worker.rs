//! The thread that starts, looks at and ends the processes of a place.

use std::collections::{BTreeSet, HashMap};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use guildhall_domain::ids::AttemptId;
use rustix::process::Signal;
use tracing::{info, warn};

use super::files::{Attempt, Files};
use super::processes::{self, Identity, Life};
use super::{Ask, Lifetime, Options, tree};
use crate::{End, Launch, LaunchError, Seen};

/// A process of another server is seen dead before that server has written down how it ended. One that has not in this
/// time is gone too.
const TOLD_WITHIN: Duration = Duration::from_secs(3);

/// When the server ends and its runners with it, they have this long to end by themselves.
const CLOSE_WITHIN: Duration = Duration::from_millis(1500);

#[derive(Debug)]
pub(super) struct Worker {
    files: Files,
    options: Options,
    /// The processes that this server started: how they end is told to their parent alone.
    children: HashMap<AttemptId, Child>,
    /// Since when others' processes are seen dead.
    seen_dead: HashMap<AttemptId, Instant>,
    /// Nothing is started any more: it would have to end at once.
    is_closed: bool,
}

impl Worker {
    pub(super) fn new(files: Files, options: Options) -> Self {
        Self { files, options, children: HashMap::new(), seen_dead: HashMap::new(), is_closed: false }
    }

    /// Ends what was to end with a server that was killed.
    pub(super) fn begin(&mut self) {
        if self.options.lifetime == Lifetime::OfServer {
            self.end_all();
        }
    }

    pub(super) fn answer(&mut self, ask: Ask) {
        match ask {
            Ask::Launch(launch, answer) => {
                let _nobody_waits = answer.send(self.launch(&launch));
            }
            Ask::Look(attempt, answer) => {
                let _nobody_waits = answer.send(self.look(attempt));
            }
            Ask::End(attempt, answer) => {
                let _nobody_waits = answer.send(self.end(attempt));
            }
            Ask::Close(answer) => {
                if self.options.lifetime == Lifetime::OfServer {
                    self.is_closed = true;
                    self.ask_to_end();
                    self.end_all();
                }
                let _nobody_waits = answer.send(());
            }
        }
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), LaunchError> {
        if self.is_closed {
            return Err(LaunchError::Closed);
        }
        let attempt = self.files.attempt(launch.attempt);
        attempt.make().map_err(LaunchError::io("make", "the attempt's folder"))?;
        let _held = attempt.lock().map_err(|_held| LaunchError::Busy)?;
        if attempt.end().is_some() || find(&attempt).is_some() {
            return Ok(());
        }
        self.files.prune();
        attempt.write_enrolment(&launch.enrolment).map_err(LaunchError::io("write", "the enrolment"))?;
        let mut child = self
            .command(launch, &attempt)?
            .spawn()
            .map_err(LaunchError::io("start", "the runner's program"))?;
        let identity = Identity::of(child.id()).ok_or_else(|| std::io::Error::other("it is gone"));
        if let Err(error) = identity.and_then(|identity| attempt.note_process(&identity)) {
            // One that nobody would find again must not run.
            let _already_gone = child.kill();
            let _buried = child.wait();
            return Err(LaunchError::io("note", "the runner's process")(error));
        }
        info!(attempt = %launch.attempt, pid = child.id(), "started a runner for the profile {}", launch.profile.as_str());
        self.children.insert(launch.attempt, child);
        Ok(())
    }

    fn command(&self, launch: &Launch, attempt: &Attempt) -> Result<Command, LaunchError> {
        let options = &self.options;
        // Each becomes the next: the process stays the same. A session of its own has no terminal, so that neither Ctrl-C
        // in the server's is for it, nor can an agent write to it.
        let mut words = options.limits.words();
        if options.lifetime == Lifetime::OfServer {
            // The kernel tells the runner when this thread is gone.
            words.extend(["setpriv", "--pdeathsig=TERM", "--"].map(str::to_owned));
        }
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg("setsid").arg(&options.runner);
        command.arg("--url").arg(&options.url);
        command.arg("--enrolment-file").arg(attempt.enrolment());
        command.arg("--name").arg(launch.attempt.to_string());
        command.arg("--profile").arg(launch.profile.as_str());
        command.arg("--state").arg(self.files.storage());
        command.arg("--one-shot").arg("--idle-seconds").arg(options.idle.as_secs().to_string());
        match launch.run {
            Some(run) => command.arg("--run").arg(run.to_string()),
            None => command.arg("--claim-seconds").arg(options.claim_within.as_secs().to_string()),
        };
        match &options.out_of_reach {
            Some(out_of_reach) => command.args(out_of_reach.words(&self.files, options)),
            None => command.arg("--uncontained"),
        };
        if let Some(source) = self.files.profile(launch.tenant, &launch.profile)? {
            command.arg("--profiles").arg(attempt.copy_profile(launch, &source)?);
        }
        let log = attempt.log().and_then(|log| Ok((log.try_clone()?, log)));
        let (errors, log) = log.map_err(LaunchError::io("open", "the runner's log"))?;
        // Nothing of ours goes along but what was chosen: a secret of the server is not the runner's to know.
        command.env_clear().envs(options.environment.iter().map(|(name, value)| (name, value)));
        command.env(tree::MARK, launch.attempt.to_string()).env("HOME", attempt.folder());
        command.current_dir(attempt.folder()).stdin(Stdio::null()).stdout(log).stderr(errors);
        Ok(command)
    }

    fn look(&mut self, id: AttemptId) -> Result<Seen, LaunchError> {
        let attempt = self.files.attempt(id);
        if let Some(end) = attempt.end() {
            self.children.remove(&id);
            self.seen_dead.remove(&id);
            return Ok(Seen::Ended(end));
        }
        let Some(identity) = find(&attempt) else { return Ok(Seen::Absent) };
        let end = match self.children.get_mut(&id).map(Child::try_wait) {
            Some(Ok(Some(status))) => Some(read(status)),
            Some(Ok(None)) => None,
            Some(Err(_)) | None => self.end_of_anothers(id, &identity),
        };
        let Some(end) = end else {
            attempt.cut_log(self.options.log_bytes).map_err(LaunchError::io("cut", "the runner's log"))?;
            return Ok(Seen::Running);
        };
        self.bury(id, &attempt, end)
    }

    /// Says how a process ended that another server started, once it is certain that it has.
    fn end_of_anothers(&mut self, id: AttemptId, identity: &Identity) -> Option<End> {
        match identity.life() {
            Life::Alive => None,
            Life::Zombie | Life::Gone => {
                let since = *self.seen_dead.entry(id).or_insert_with(Instant::now);
                (since.elapsed() > TOLD_WITHIN).then_some(End::Unseen)
            }
        }
    }

    /// Ends what a dead runner left, and then says that it is dead.
    fn bury(&mut self, id: AttemptId, attempt: &Attempt, end: End) -> Result<Seen, LaunchError> {
        if !tree::end_leftovers(id, &self.files.storage(), &self.living()) {
            warn!(attempt = %id, "what a dead runner left cannot be ended; it is tried again");
            return Ok(Seen::Running);
        }
        attempt.note_end(&end).map_err(LaunchError::io("note", "the runner's end"))?;
        self.children.remove(&id);
        self.seen_dead.remove(&id);
        info!(attempt = %id, ?end, "a runner has ended");
        Ok(Seen::Ended(end))
    }

    fn end(&mut self, id: AttemptId) -> Result<Seen, LaunchError> {
        let attempt = self.files.attempt(id);
        let ended = attempt.end().is_some();
        let Some(identity) = find(&attempt).filter(|_| !ended) else { return self.look(id) };
        if !tree::end(&identity) {
            return Ok(Seen::Running);
        }
        let status = self.children.get_mut(&id).and_then(|child| child.wait().ok());
        self.bury(id, &attempt, status.map_or(End::Unseen, read))
    }

    /// Returns the runners of this place that live.
    fn living(&self) -> BTreeSet<u32> {
        let attempts = self.files.attempts().into_iter().map(|attempt| self.files.attempt(attempt));
        let open = attempts.filter(|attempt| attempt.end().is_none());
        let alive = open.filter_map(|attempt| attempt.process()).filter(|id| id.life() == Life::Alive);
        alive.map(|identity| identity.pid).collect()
    }

    fn open(&self) -> Vec<AttemptId> {
        let is_open = |attempt: &AttemptId| self.files.attempt(*attempt).end().is_none();
        self.files.attempts().into_iter().filter(is_open).collect()
    }

    /// Asks every runner to end, and gives them a moment.
    fn ask_to_end(&mut self) {
        let open: Vec<Identity> =
            self.open().iter().filter_map(|attempt| find(&self.files.attempt(*attempt))).collect();
        for identity in &open {
            identity.signal(Signal::TERM);
        }
        let deadline = Instant::now() + CLOSE_WITHIN;
        while open.iter().any(|identity| identity.life() == Life::Alive) && Instant::now() < deadline {
            sleep(Duration::from_millis(10));
        }
    }

    fn end_all(&mut self) {
        for attempt in self.open() {
            if let Err(error) = self.end(attempt) {
                warn!(%attempt, error = &error as &dyn std::error::Error, "cannot end a runner");
            }
        }
    }
}

/// Finds the process of an attempt: as it was noted, or by its arguments where a kill came before the note.
pub(super) fn find(attempt: &Attempt) -> Option<Identity> {
    if let Some(noted) = attempt.process() {
        return Some(noted);
    }
    let found = processes::with_argument(&attempt.enrolment())?;
    let _found_again_next_time = attempt.note_process(&found);
    Some(found)
}

fn read(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(code),
        (None, Some(signal)) => End::Killed(signal),
        (None, None) => End::Unseen,
    }
}
