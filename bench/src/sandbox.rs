//! Time that the sandbox adds before the first output of an agent's command, compared with the same command without a
//! sandbox, and throughput of the model proxy, compared with a direct connection.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use guildhall_domain::runs::policy::{Approval, Network, Sandbox as SandboxMode};
use guildhall_runner::backend::script::ScriptBackend;
use guildhall_runner::backend::{Backend, BackendConfig, BackendEvent, EventSink, ThreadStart};
use guildhall_runner::model_proxy::ModelCaps;
use guildhall_runner::sandbox::{
    AgentUser, Containment, Sandbox, SandboxLimits, ToolVariables, find_bwrap, find_tools, give_to_agent,
};
use tokio::sync::mpsc;

use crate::model_proxy;
use crate::percentile::percentile;

/// Commands of each kind; the two kinds alternate.
const COMMANDS: usize = 100;

pub(crate) fn run() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let added = measure_start().await?;
        let ratios = model_proxy::measure().await?;
        println!("sandbox_start_ms={:.1}", added.as_secs_f64() * 1000.0);
        println!("model_proxy_unpaced_ratio={:.2}", ratios.unpaced);
        println!("model_proxy_ratio={:.2}", ratios.paced);
        Ok(())
    })
}

/// Returns the difference of the medians.
async fn measure_start() -> Result<Duration> {
    let folder = tempfile::Builder::new().prefix("guildhall-bench-").tempdir()?;
    let sandbox = Sandbox {
        bwrap: find_bwrap()?,
        helper: std::env::current_exe()?.with_file_name("guildhall-runner"),
        tools: find_tools(&ToolVariables::of_this_process(), &[]),
        limits: SandboxLimits::default(),
        protected: Vec::new(),
    };
    ensure!(sandbox.helper.is_file(), "build the runner: cargo build --release -p guildhall-runner");
    let contained = Containment::Sandboxed(Arc::new(sandbox));
    let mut with_sandbox = Agent::start(&folder.path().join("contained"), contained).await?;
    let mut without = Agent::start(&folder.path().join("uncontained"), Containment::Uncontained).await?;
    let (mut contained_times, mut direct_times) = (Vec::new(), Vec::new());
    for _ in 0..COMMANDS {
        direct_times.push(without.time_to_first_output().await?);
        contained_times.push(with_sandbox.time_to_first_output().await?);
    }
    let [direct, contained] = [&mut direct_times, &mut contained_times].map(|times| percentile(times, 50));
    println!(
        "first output of a command: {direct:.1?} without a sandbox, {contained:.1?} in a sandbox (medians of \
         {COMMANDS}; 99th percentile in a sandbox {:.1?})",
        percentile(&mut contained_times, 99)
    );
    Ok(contained.saturating_sub(direct))
}

/// The script backend, whose tool calls are plain commands.
struct Agent {
    backend: ScriptBackend,
    sink: EventSink,
    events: mpsc::Receiver<BackendEvent>,
}

impl Agent {
    async fn start(folder: &Path, containment: Containment) -> Result<Self> {
        let workspace = folder.join("workspace");
        std::fs::create_dir_all(&workspace)?;
        let user = match containment {
            Containment::Sandboxed(_) => {
                give_to_agent(&workspace, AgentUser::default())?;
                AgentUser::for_workspace(&workspace)?
            }
            Containment::Uncontained => None,
        };
        let config = BackendConfig {
            workspace,
            state: folder.join("state"),
            sandbox: SandboxMode::WorkspaceWrite,
            approval: Approval::Never,
            network: Network::Disabled,
            secrets: Vec::new(),
            turn_timeout: Duration::from_secs(30),
            containment,
            user,
            allowed_hosts: Vec::new(),
            model_caps: ModelCaps::default(),
            instructions: None,
            cache: None,
            max_tool_calls: 20,
        };
        let (sink, events) = EventSink::new();
        let mut backend = ScriptBackend::new(config);
        backend.start(ThreadStart::New, &sink).await.map_err(|error| anyhow::anyhow!("{error:?}"))?;
        Ok(Self { backend, sink, events })
    }

    /// Runs a turn with one command. Returns the time from the start of the turn to the command's output.
    async fn time_to_first_output(&mut self) -> Result<Duration> {
        let Self { backend, sink, events } = self;
        let (_controls, mut control) = mpsc::channel(1);
        let prompt = "run:echo ready".into();
        let (began, mut first_output) = (Instant::now(), None);
        let reading = async {
            while let Some(event) = events.recv().await {
                if matches!(event, BackendEvent::ToolOutput { .. }) && first_output.is_none() {
                    first_output = Some(began.elapsed());
                }
            }
        };
        tokio::select! {
            // The events of the turn are read before its end is noticed.
            biased;
            () = reading => {}
            _outcome = backend.run_turn(&prompt, sink, &mut control) => {}
        }
        let first_output = first_output.context("the command printed nothing");
        while events.try_recv().is_ok() {}
        first_output
    }
}
