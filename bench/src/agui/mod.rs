//! AG-UI compared with the API of runs: time to the first text of a turn, and memory of an open stream.

mod latency;
mod memory;
mod runner;
mod statements;
mod thread;

use anyhow::Result;

use crate::growth::Counters;
use crate::installation::Installation;

pub(crate) use runner::{RUNNER, serve as serve_turns};

pub(crate) fn run() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if cfg!(debug_assertions) {
        println!("warning: debug build, the figures are not meaningful");
    }
    let counted = Installation::start_with(|postgres| runtime.block_on(Counters::enable(postgres)))?;
    runtime.block_on(statements::print(&counted))?;
    drop(counted);
    let latencies = runtime.block_on(latency::measure())?;
    let [plain, agui] = runtime.block_on(memory::measure())?;
    println!("plain_stream_bytes={plain}");
    println!("agui_stream_bytes={agui}");
    println!("agui_open_stream_latency_ratio={:.2}", latencies.to_open_stream);
    println!("agui_latency_ratio={:.2}", latencies.to_new_stream);
    Ok(())
}
