//! Records the first run of a new user: real commands on a new state folder, with the time of each output.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;
use tempfile::TempDir;

use crate::command::{cargo, root, step, target};

/// The recorded commands. The server keeps running during the others.
const SERVER: &str = "guildhall dev";
const COMMANDS: [(&str, &[&str]); 2] = [
    ("guildhall login", &["login"]),
    (
        "guildhall runs create --profile demo \"tidy my notes\" --watch",
        &["runs", "create", "--profile", "demo", "tidy my notes", "--watch"],
    ),
];

/// Simulated time to type a command.
const TYPING: Duration = Duration::from_millis(800);

/// Writes `docs/recording/first-run.cast` for asciinema, and the same as text.
pub(crate) fn run() -> Result<()> {
    step("build", &mut cargo(["build", "--package", "guildhall-cli", "--package", "guildhall-runner"]))?;
    let folder = tempfile::Builder::new().prefix("guildhall-record-").tempdir()?;
    let mut recording = Recording::default();
    let mut dev = recording.start(&folder, SERVER, &["dev"])?;
    let result = recording.read_until_ready(&mut dev).and_then(|()| {
        COMMANDS.into_iter().try_for_each(|(typed, args)| {
            let mut child = recording.start(&folder, typed, args)?;
            recording.read_to_end(&mut child)
        })
    });
    stop(&mut dev)?;
    result?;
    recording.write(&root().join("docs/recording"))
}

/// Output with timestamps. Only typing takes time between commands.
#[derive(Default)]
struct Recording {
    time: Duration,
    chunks: Vec<(Duration, String)>,
}

impl Recording {
    fn start(&mut self, folder: &TempDir, typed: &str, args: &[&str]) -> Result<Child> {
        let prompt = if self.chunks.is_empty() { "$ " } else { "\n$ " };
        self.chunks.push((self.time, prompt.to_owned()));
        self.time += TYPING;
        self.chunks.push((self.time, format!("{typed}\n")));
        Command::new(target().join("debug/guildhall"))
            .args(args)
            .current_dir(folder.path())
            .env("XDG_CONFIG_HOME", folder.path().join("config"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {typed}"))
    }

    fn read_until_ready(&mut self, dev: &mut Child) -> Result<()> {
        self.record(dev, |text| text.contains("Press Ctrl-C to stop."))
    }

    fn read_to_end(&mut self, child: &mut Child) -> Result<()> {
        self.record(child, |_| false)?;
        let status = child.wait()?;
        if !status.success() {
            bail!("a recorded command failed ({status})");
        }
        Ok(())
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

    fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        let mut cast =
            json!({ "version": 2, "width": 120, "height": 32, "title": "The first run" }).to_string();
        for (at, chunk) in &self.chunks {
            let terminal_output = chunk.replace('\n', "\r\n");
            cast.push_str(&format!("\n{}", json!([at.as_secs_f64(), "o", terminal_output])));
        }
        fs::write(folder.join("first-run.cast"), cast + "\n")?;
        let text: String = self.chunks.iter().map(|(_, chunk)| chunk.as_str()).collect();
        fs::write(folder.join("first-run.txt"), text)?;
        println!("wrote {}/first-run.cast and first-run.txt", folder.display());
        Ok(())
    }
}

/// Stops `guildhall dev` with SIGINT, as Ctrl-C does.
fn stop(dev: &mut Child) -> Result<()> {
    Command::new("kill").args(["-INT", &dev.id().to_string()]).status()?;
    dev.wait()?;
    Ok(())
}
