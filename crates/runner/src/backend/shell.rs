//! Shell commands in the workspace of an agent.

use std::io;
use std::path::Path;

use super::tool_output::ToolOutputBuffer;
use super::{BackendConfig, BackendEvent, EventSink, ModelEndpoint, environment};
use crate::child::{Child, Line, ProcessOutput, ProcessSpec};
use crate::sandbox::create_dir;

/// Starts a shell command in the workspace of an agent, in its sandbox. Its descendants end with it.
pub(super) fn start(config: &BackendConfig, endpoint: &ModelEndpoint, command: &str) -> io::Result<Child> {
    let (shell, home, temporary) =
        (Path::new("/bin/sh"), config.state.join("home"), config.state.join("tmp"));
    for dir in [&home, &temporary] {
        create_dir(dir, config.user)?;
    }
    let own = [("HOME", &home), ("TMPDIR", &temporary)]
        .map(|(name, path)| (name.to_owned(), path.to_string_lossy().into_owned()));
    let variables = environment::inherited()
        .chain(config.tool_environment())
        .chain(endpoint.proxy_environment.iter().cloned())
        .chain(own);
    let mut child = Child::start(&ProcessSpec {
        program: shell,
        // Errors are a part of the output, as in a terminal.
        arguments: &["-c", &format!("exec 2>&1\n{command}")],
        dir: &config.workspace,
        environment: environment::with_secrets(&[], variables),
        containment: &config.containment,
        access: config.access(shell, &[&home, &temporary], endpoint),
    })?;
    child.close_input();
    Ok(child)
}

/// Reports the output of a command while it runs, up to a limit. The rest is discarded.
pub(super) async fn report_output(
    child: &mut Child,
    output: &mut ToolOutputBuffer,
    sink: &EventSink,
    call: &str,
) {
    let mut pending = Vec::new();
    while let ProcessOutput::Line(Line::Complete(chunk)) = child.read_chunk().await {
        if let Some(text) = output.push(decode(&mut pending, &chunk)) {
            sink.report(BackendEvent::ToolOutput { call: call.to_owned(), text }).await;
        }
    }
}

/// Decodes a chunk of UTF-8. An incomplete character at its end stays in `pending` for the next chunk.
fn decode(pending: &mut Vec<u8>, chunk: &[u8]) -> String {
    pending.extend_from_slice(chunk);
    let complete = match std::str::from_utf8(pending) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Ok(_) | Err(_) => pending.len(),
    };
    let bytes: Vec<u8> = pending.drain(..complete).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn character_split_over_chunks_is_decoded() {
        let (mut pending, text) = (Vec::new(), "aé\u{1F600}z".as_bytes());
        for size in 1..text.len() {
            let read: String = text.chunks(size).map(|chunk| decode(&mut pending, chunk)).collect();
            assert_eq!(read.as_bytes(), text, "{size}");
        }
        assert_eq!(decode(&mut pending, b"\xff\xfe!"), "\u{fffd}\u{fffd}!");
    }
}
