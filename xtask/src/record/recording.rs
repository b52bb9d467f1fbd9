//! The output of commands with timestamps.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;

/// Simulated time to type a command.
const TYPING: Duration = Duration::from_millis(800);

/// Output with timestamps. Only typing takes time between commands.
#[derive(Default)]
pub(super) struct Recording {
    time: Duration,
    chunks: Vec<(Duration, String)>,
}

impl Recording {
    /// Records the typed text and starts the command.
    pub(super) fn start(&mut self, typed: &str, command: &mut Command) -> Result<Child> {
        let prompt = if self.chunks.is_empty() { "$ " } else { "\n$ " };
        self.chunks.push((self.time, prompt.to_owned()));
        self.time += TYPING;
        self.chunks.push((self.time, format!("{typed}\n")));
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
        command.spawn().with_context(|| format!("cannot run {typed}"))
    }

    pub(super) fn read_until_ready(&mut self, dev: &mut Child) -> Result<()> {
        self.record(dev, |text| text.contains("Press Ctrl-C to stop."))
    }

    pub(super) fn read_to_end(&mut self, child: &mut Child) -> Result<()> {
        self.record(child, |_| false)?;
        let status = child.wait()?;
        if !status.success() {
            bail!("a recorded command failed ({status}):\n{}", self.text());
        }
        Ok(())
    }

    fn text(&self) -> String {
        self.chunks.iter().map(|(_, chunk)| chunk.as_str()).collect()
    }

    /// Records each chunk of output until `is_done` accepts the text so far, or the output ends.
    fn record(&mut self, child: &mut Child, is_done: impl Fn(&str) -> bool) -> Result<()> {
        let (start, offset) = (Instant::now(), self.time);
        let out = child.stdout.as_mut().context("stdout is not piped")?;
        let (mut buffer, mut text) = ([0; 4096], String::new());
        loop {
            let count = out.read(&mut buffer)?;
            if count == 0 {
                return Ok(());
            }
            let chunk = String::from_utf8_lossy(&buffer[..count]).into_owned();
            self.time = offset + start.elapsed();
            text.push_str(&chunk);
            self.chunks.push((self.time, chunk));
            if is_done(&text) {
                return Ok(());
            }
        }
    }

    /// Writes `NAME.cast` for asciinema, and `NAME.txt`.
    pub(super) fn write(&self, folder: &Path, name: &str, title: &str) -> Result<()> {
        fs::create_dir_all(folder)?;
        let mut cast = json!({ "version": 2, "width": 120, "height": 32, "title": title }).to_string();
        for (at, chunk) in &self.chunks {
            let terminal_output = chunk.replace('\n', "\r\n");
            cast.push_str(&format!("\n{}", json!([at.as_secs_f64(), "o", terminal_output])));
        }
        fs::write(folder.join(format!("{name}.cast")), cast + "\n")?;
        fs::write(folder.join(format!("{name}.txt")), self.text())?;
        println!("wrote {name}.cast and {name}.txt in {}", folder.display());
        Ok(())
    }
}
