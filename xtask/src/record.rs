//! Records the first run: the real commands, on a new state folder, with the time of every piece of what they print.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::json;
use tempfile::TempDir;

use crate::command::{cargo, root, step, target};

/// What a reader types. The first goes on while the others run.
const DEV: &str = "guildhall dev";
const THEN: [(&str, &[&str]); 2] = [
    ("guildhall login", &["login"]),
    (
        "guildhall runs create --profile demo \"tidy my notes\" --watch",
        &["runs", "create", "--profile", "demo", "tidy my notes", "--watch"],
    ),
];

/// How long a recorded person takes to type a command.
const TYPING: Duration = Duration::from_millis(800);

/// Writes `docs/recording/first-run.cast`, which asciinema plays, and the same as text.
pub(crate) fn run() -> Result<()> {
    step("build", &mut cargo(["build", "--package", "guildhall-cli", "--package", "guildhall-runner"]))?;
    let folder = tempfile::Builder::new().prefix("guildhall-record-").tempdir()?;
    let mut tape = Tape::default();
    let mut dev = tape.begin(&folder, DEV, &["dev"])?;
    let recorded = tape.until_ready(&mut dev).and_then(|()| {
        THEN.into_iter().try_for_each(|(typed, args)| {
            let mut child = tape.begin(&folder, typed, args)?;
            tape.read_to_the_end(&mut child)
        })
    });
    end(&mut dev)?;
    recorded?;
    tape.write(&root().join("docs/recording"))
}

/// What was printed, and when. Time stands still between commands but for the typing.
#[derive(Default)]
struct Tape {
    at: Duration,
    pieces: Vec<(Duration, String)>,
}

impl Tape {
    fn begin(&mut self, folder: &TempDir, typed: &str, args: &[&str]) -> Result<Child> {
        let prompt = if self.pieces.is_empty() { "$ " } else { "\n$ " };
        self.pieces.push((self.at, prompt.to_owned()));
        self.at += TYPING;
        self.pieces.push((self.at, format!("{typed}\n")));
        Command::new(target().join("debug/guildhall"))
            .args(args)
            .current_dir(folder.path())
            .env("XDG_CONFIG_HOME", folder.path().join("config"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {typed}"))
    }

    fn until_ready(&mut self, dev: &mut Child) -> Result<()> {
        self.listen(dev, |said| said.contains("Ctrl-C ends everything."))
    }

    fn read_to_the_end(&mut self, child: &mut Child) -> Result<()> {
        self.listen(child, |_| false)?;
        let status = child.wait()?;
        if !status.success() {
            bail!("a recorded command failed ({status})");
        }
        Ok(())
    }

    /// Notes each piece as it comes, until one pleases or there are no more.
    fn listen(&mut self, child: &mut Child, pleases: impl Fn(&str) -> bool) -> Result<()> {
        let (began, from) = (Instant::now(), self.at);
        let out = child.stdout.as_mut().context("its output is piped")?;
        let (mut buffer, mut said) = ([0; 4096], String::new());
        loop {
            let count = out.read(&mut buffer)?;
            if count == 0 {
                return Ok(());
            }
            let piece = String::from_utf8_lossy(&buffer[..count]).into_owned();
            self.at = from + began.elapsed();
            said.push_str(&piece);
            self.pieces.push((self.at, piece));
            if pleases(&said) {
                return Ok(());
            }
        }
    }

    fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        let mut cast =
            json!({ "version": 2, "width": 120, "height": 32, "title": "The first run" }).to_string();
        for (at, piece) in &self.pieces {
            let shown = piece.replace('\n', "\r\n");
            cast.push_str(&format!("\n{}", json!([at.as_secs_f64(), "o", shown])));
        }
        fs::write(folder.join("first-run.cast"), cast + "\n")?;
        let text: String = self.pieces.iter().map(|(_, piece)| piece.as_str()).collect();
        fs::write(folder.join("first-run.txt"), text)?;
        println!("wrote {}/first-run.cast and first-run.txt", folder.display());
        Ok(())
    }
}

/// Ends `guildhall dev` as Ctrl-C does.
fn end(dev: &mut Child) -> Result<()> {
    Command::new("kill").args(["-INT", &dev.id().to_string()]).status()?;
    dev.wait()?;
    Ok(())
}
