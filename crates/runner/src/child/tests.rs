use std::fs;
use std::path::Path;

use super::*;

fn shell<'a>(dir: &'a Path, arguments: &'a [&'a str]) -> ProcessSpec<'a> {
    let environment = vec![("PATH".to_owned(), SecretString::from("/usr/bin:/bin"))];
    ProcessSpec {
        program: Path::new("/bin/sh"),
        arguments,
        dir,
        environment,
        containment: &Containment::Uncontained,
        access: ProcessAccess::default(),
    }
}

async fn wait_for_file(file: &Path) -> String {
    for _ in 0..500 {
        match fs::read_to_string(file) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            Ok(_) | Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    panic!("{} was not written", file.display());
}

fn is_alive(id: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[tokio::test]
async fn dropping_a_child_kills_detached_descendants() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let script = "(setsid sh -c 'echo $$ > daemon; exec sleep 300' &) ; setsid sh -c 'echo $$ > shell; exec sleep 300'";
    let child = Child::start(&shell(dir.path(), &["-c", script])).expect("start the shell");
    let (daemon, inner) =
        (wait_for_file(&dir.path().join("daemon")).await, wait_for_file(&dir.path().join("shell")).await);
    assert!(is_alive(&daemon) && is_alive(&inner));
    drop(child);
    assert!(!is_alive(&daemon) && !is_alive(&inner), "{daemon} {inner}");
}

#[tokio::test]
async fn descendants_of_a_killed_child_die_when_it_is_dropped() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let script = "setsid sh -c 'echo $$ > shell; exec sleep 300' & kill -9 $$";
    let mut child = Child::start(&shell(dir.path(), &["-c", script])).expect("start the shell");
    let inner = wait_for_file(&dir.path().join("shell")).await;
    assert!(matches!(child.read_line().await, ProcessOutput::Eof));
    assert_eq!(child.exit_description(), "signal: 9 (SIGKILL)");
    assert!(is_alive(&inner));
    drop(child);
    assert!(!is_alive(&inner), "{inner}");
}

#[tokio::test]
async fn dropping_one_child_leaves_the_other_running() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let keep =
        Child::start(&shell(dir.path(), &["-c", "echo $$ > kept; exec sleep 300"])).expect("start the shell");
    let kept = wait_for_file(&dir.path().join("kept")).await;
    drop(Child::start(&shell(dir.path(), &["-c", "sleep 300"])).expect("start the shell"));
    assert!(is_alive(&kept));
    drop(keep);
    assert!(!is_alive(&kept));
}

/// A helper of the agent, started before the turn, continues; a command of the turn does not.
#[tokio::test]
async fn processes_newer_than_the_list_are_killed() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let script = "sh -c 'echo $$ > helper; exec sleep 300' & read line; \
                  setsid sh -c 'echo $$ > command; exec sleep 300' & exec sleep 300";
    let mut child = Child::start(&shell(dir.path(), &["-c", script])).expect("start the shell");
    let helper = wait_for_file(&dir.path().join("helper")).await;
    let before = BackendProcesses::list();
    child.write_line("start").await.expect("write line");
    let command = wait_for_file(&dir.path().join("command")).await;
    assert!(is_alive(&command));
    before.kill_newer();
    assert!(!is_alive(&command), "{command}");
    assert!(is_alive(&helper) && is_alive(&child.id().to_string()), "{helper} {child:?}");
}

#[tokio::test]
async fn child_does_not_inherit_the_environment() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut child =
        Child::start(&shell(dir.path(), &["-c", "env | cut -d= -f1 | sort"])).expect("start the shell");
    let mut names = Vec::new();
    while let ProcessOutput::Line(Line::Complete(line)) = child.read_line().await {
        names.push(String::from_utf8(line).expect("UTF-8"));
    }
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(&name.as_str()));
    assert_eq!(names, ["PATH"]);
}

#[tokio::test]
async fn exit_is_detected_while_a_descendant_holds_the_output() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut child =
        Child::start(&shell(dir.path(), &["-c", "echo hi; sleep 300 & exit 3"])).expect("start the shell");
    let first = child.read_line().await;
    assert!(matches!(&first, ProcessOutput::Line(Line::Complete(line)) if line == b"hi"), "{first:?}");
    assert!(matches!(child.read_line().await, ProcessOutput::Eof));
    assert_eq!(child.exit_description(), "exit status: 3");
}

#[tokio::test]
async fn stderr_is_kept_while_the_child_runs() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let mut child = Child::start(&shell(dir.path(), &["-c", "echo trouble >&2; read line; echo $line"]))
        .expect("start the shell");
    child.write_line("heard you").await.expect("write line");
    let first = child.read_line().await;
    assert!(matches!(&first, ProcessOutput::Line(Line::Complete(line)) if line == b"heard you"), "{first:?}");
    for _ in 0..200 {
        if child.stderr_tail() == "trouble\n" {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{:?}", child.stderr_tail());
}

#[tokio::test]
async fn read_chunk_returns_long_lines_in_chunks() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let script = "printf '%1000000s' x; sleep 0.2; printf end";
    let mut child = Child::start(&shell(dir.path(), &["-c", script])).expect("start the shell");
    child.close_input();
    let (mut bytes, mut longest) = (0, 0);
    while let ProcessOutput::Line(Line::Complete(chunk)) = child.read_chunk().await {
        (bytes, longest) = (bytes + chunk.len(), longest.max(chunk.len()));
    }
    assert_eq!((bytes, child.exit_code()), (1_000_003, Some(0)));
    assert!(longest <= 64 * 1024, "{longest}");
}
