//! Client libraries, examples and official clients of other projects: compares what is generated with the API document, builds the packages as they are
//! published, and tests them against a real server.

mod command_sequence;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use tempfile::TempDir;

use crate::command::{build_workspace, cargo, program, root, step, tools};
use crate::dev_server::DevServer;
use command_sequence::{CommandSequence, run_sequences};

#[derive(Args, Default)]
pub(crate) struct SdksArgs {
    /// Write the generated files instead of checking and testing them
    #[arg(long)]
    write: bool,
}

/// The generated files, below `sdks`.
const TYPESCRIPT_SCHEMA: &str = "typescript/src/schema.ts";
const PYTHON_PACKAGE: &str = "python/src/guildhall_client";
const PYTHON_GENERATED: [&str; 2] = ["models.py", "operations.py"];

/// Journals whose streams the official verifier of AG-UI must accept.
const GENERATED_JOURNALS: &str = "10000";

/// Tells the test of an example on which port its page must be.
const PAGE_PORT: &str = "GUILDHALL_TEST_PAGE_PORT";

const MISSING_TOOLS: &str = "`.ci/setup` installs what the client libraries need";

pub(crate) fn run(args: &SdksArgs) -> Result<()> {
    if args.write {
        return write_generated().context(MISSING_TOOLS);
    }
    check_generated()?;
    build_workspace()?;
    let page = free_port()?;
    let mut command = Command::new(program("guildhall"));
    let server =
        DevServer::start(command.env("GUILDHALL_ACCESS_ALLOW_ORIGINS", format!("http://127.0.0.1:{page}")))?;
    let output = tempfile::tempdir()?;
    let mut sequences = vec![typescript(&server)?, python(&server, &output)?, python_types(&output)];
    for folder in ["examples/chat-web", "examples/copilotkit", "interop/agui"] {
        sequences.push(npm_test(folder, &server, page)?);
    }
    sequences.push(generated_streams(&output));
    run_sequences(sequences).context(MISSING_TOOLS)
}

fn sdks() -> PathBuf {
    root().join("sdks")
}

fn write_generated() -> Result<()> {
    step("typescript: generate", &mut generate_typescript(&sdks().join(TYPESCRIPT_SCHEMA)))?;
    step("python: generate", &mut generate_python(&sdks().join(PYTHON_PACKAGE)))
}

/// Generates into another folder and compares the files.
fn check_generated() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut sequences =
        [CommandSequence::new("typescript: generate"), CommandSequence::new("python: generate")];
    sequences[0].push(generate_typescript(&folder.path().join("schema.ts")));
    sequences[1].push(generate_python(folder.path()));
    run_sequences(sequences.into()).context(MISSING_TOOLS)?;
    let python = PYTHON_GENERATED.map(|name| (format!("{PYTHON_PACKAGE}/{name}"), name));
    for (committed, generated) in [(TYPESCRIPT_SCHEMA.to_owned(), "schema.ts")].into_iter().chain(python) {
        let is_current =
            fs::read(sdks().join(&committed)).ok() == Some(fs::read(folder.path().join(generated))?);
        ensure!(is_current, "sdks/{committed} is out of date: run `cargo xtask sdks --write`");
    }
    Ok(())
}

fn generate_typescript(output: &Path) -> Command {
    let mut command = Command::new("node");
    command.arg("scripts/generate.mjs").arg(output).current_dir(sdks().join("typescript"));
    command
}

fn generate_python(folder: &Path) -> Command {
    let mut command = python_command(["scripts/generate.py"]);
    command.arg(folder);
    command
}

fn typescript(server: &DevServer) -> Result<CommandSequence> {
    let mut sequence = CommandSequence::new("typescript");
    for script in ["build", "test"] {
        sequence.push(npm(&sdks().join("typescript"), script, server)?);
    }
    Ok(sequence)
}

/// The tests import the wheel, not the sources.
fn python(server: &DevServer, output: &TempDir) -> Result<CommandSequence> {
    let (dist, installed) = (output.path().join("dist"), output.path().join("installed"));
    let mut sequence = CommandSequence::new("python");
    let mut build = python_command(["-m", "hatchling", "build", "-t", "wheel", "-d"]);
    build.arg(&dist);
    sequence.push(build);
    let wheel = dist.join(format!("guildhall_client-{}-py3-none-any.whl", env!("CARGO_PKG_VERSION")));
    let mut install =
        python_command(["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target"]);
    install.arg(&installed).arg(&wheel);
    sequence.push(install);
    let mut test = python_command(["-m", "pytest"]);
    set_server(&mut test, server)?.env("GUILDHALL_TEST_WHEEL", wheel).env("PYTHONPATH", installed);
    sequence.push(test);
    Ok(sequence)
}

fn python_types(output: &TempDir) -> CommandSequence {
    let mut sequence = CommandSequence::new("python: types");
    let mut mypy = python_command(["-m", "mypy", "--cache-dir"]);
    mypy.arg(output.path().join("mypy"));
    sequence.push(mypy);
    sequence
}

/// Examples, and the official clients of the protocols that we speak.
fn npm_test(folder: &'static str, server: &DevServer, page: u16) -> Result<CommandSequence> {
    let mut sequence = CommandSequence::new(folder);
    let mut test = npm(&root().join(folder), "test", server)?;
    test.env(PAGE_PORT, page.to_string());
    sequence.push(test);
    Ok(sequence)
}

/// Returns a port for the page of an example. The server allows its origin, so it must be known before.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// The streams of generated journals, checked by the official clients of AG-UI.
fn generated_streams(output: &TempDir) -> CommandSequence {
    let dump = output.path().join("streams.ndjson");
    let mut sequence = CommandSequence::new("interop/agui: generated journals");
    let filter = "package(guildhall-protocol) & test(streams_of_generated_journals_can_be_dumped)";
    let mut write = cargo(["nextest", "run", "--workspace", "-E", filter]);
    write.env("AGUI_DUMP", &dump).env("AGUI_DUMP_JOURNALS", GENERATED_JOURNALS);
    sequence.push(write);
    let mut verify = Command::new("node");
    verify.args(["verify.mjs", GENERATED_JOURNALS]).arg(&dump).current_dir(root().join("interop/agui"));
    sequence.push(verify);
    sequence
}

fn npm(package: &Path, script: &str, server: &DevServer) -> Result<Command> {
    let mut command = Command::new("npm");
    command.args(["run", "--silent", script]).current_dir(package);
    set_server(&mut command, server)?;
    Ok(command)
}

fn set_server<'a>(command: &'a mut Command, server: &DevServer) -> Result<&'a mut Command> {
    command
        .env("GUILDHALL_TEST_URL", server.url())
        .env("GUILDHALL_TEST_PASSWORD", server.password()?)
        // For another server of the same installation.
        .env("GUILDHALL_TEST_PROGRAM", program("guildhall"))
        .env("GUILDHALL_TEST_READY", server.ready().to_string())
        .env("GUILDHALL_TEST_PYTHON", python_program());
    Ok(command)
}

/// Returns the Python with the packages of `sdks/python/requirements-dev.txt`, or else the one on the PATH.
fn python_program() -> PathBuf {
    let installed = tools().map(|tools| tools.join("sdk-python/bin/python")).filter(|path| path.exists());
    installed.unwrap_or_else(|| "python3".into())
}

fn python_command<const N: usize>(args: [&str; N]) -> Command {
    let mut command = Command::new(python_program());
    command.args(args).current_dir(sdks().join("python")).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A release sets the version in `Cargo.toml`.
    #[test]
    fn packages_have_the_version_of_the_workspace() {
        let version = env!("CARGO_PKG_VERSION");
        for (file, line) in [
            ("typescript/package.json", format!("\"version\": \"{version}\"")),
            ("typescript/package-lock.json", format!("\"version\": \"{version}\"")),
            ("python/pyproject.toml", format!("version = \"{version}\"")),
        ] {
            let text = fs::read_to_string(sdks().join(file)).unwrap();
            assert!(text.contains(&line), "{file}");
        }
    }
}
