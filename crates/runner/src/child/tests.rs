use std::fs;
use std::path::Path;

use super::*;

fn shell<'a>(folder: &'a Path, arguments: &'a [&'a str]) -> Spec<'a> {
    let environment = vec![("PATH".to_owned(), SecretString::from("/usr/bin:/bin"))];
    Spec { program: Path::new("/bin/sh"), arguments, folder, environment, bounds: Bounds::default() }
}

async fn written(file: &Path) -> String {
    for _ in 0..500 {
        match fs::read_to_string(file) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            Ok(_) | Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    panic!("{} was not written", file.display());
}

fn lives(id: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[tokio::test]
async fn a_child_that_forked_twice_and_left_its_session_ends_with_its_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "(setsid sh -c 'echo $$ > daemon; exec sleep 300' &) ; setsid sh -c 'echo $$ > shell; exec sleep 300'";
    let child = Child::start(&shell(folder.path(), &["-c", script])).expect("a shell");
    let (daemon, inner) =
        (written(&folder.path().join("daemon")).await, written(&folder.path().join("shell")).await);
    assert!(lives(&daemon) && lives(&inner));
    drop(child);
    assert!(!lives(&daemon) && !lives(&inner), "{daemon} {inner}");
}

#[tokio::test]
async fn what_a_killed_process_started_ends_with_the_drop() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "setsid sh -c 'echo $$ > shell; exec sleep 300' & kill -9 $$";
    let mut child = Child::start(&shell(folder.path(), &["-c", script])).expect("a shell");
    let inner = written(&folder.path().join("shell")).await;
    assert!(matches!(child.hear().await, Heard::End));
    assert_eq!(child.epitaph(), "signal: 9 (SIGKILL)");
    assert!(lives(&inner));
    drop(child);
    assert!(!lives(&inner), "{inner}");
}

#[tokio::test]
async fn one_child_ends_without_the_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let keep =
        Child::start(&shell(folder.path(), &["-c", "echo $$ > kept; exec sleep 300"])).expect("a shell");
    let kept = written(&folder.path().join("kept")).await;
    drop(Child::start(&shell(folder.path(), &["-c", "sleep 300"])).expect("a shell"));
    assert!(lives(&kept));
    drop(keep);
    assert!(!lives(&kept));
}

#[tokio::test]
async fn nothing_of_our_environment_goes_along() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child =
        Child::start(&shell(folder.path(), &["-c", "env | cut -d= -f1 | sort"])).expect("a shell");
    let mut names = Vec::new();
    while let Heard::Line(Line::Whole(line)) = child.hear().await {
        names.push(String::from_utf8(line).expect("text"));
    }
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(&name.as_str()));
    assert_eq!(names, ["PATH"]);
}

#[tokio::test]
async fn an_end_is_heard_though_a_descendant_holds_the_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child =
        Child::start(&shell(folder.path(), &["-c", "echo hi; sleep 300 & exit 3"])).expect("a shell");
    let first = child.hear().await;
    assert!(matches!(&first, Heard::Line(Line::Whole(line)) if line == b"hi"), "{first:?}");
    assert!(matches!(child.hear().await, Heard::End));
    assert_eq!(child.epitaph(), "exit status: 3");
}

#[tokio::test]
async fn the_last_words_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = Child::start(&shell(folder.path(), &["-c", "echo trouble >&2; read line; echo $line"]))
        .expect("a shell");
    child.say("heard you").await.expect("it reads");
    let first = child.hear().await;
    assert!(matches!(&first, Heard::Line(Line::Whole(line)) if line == b"heard you"), "{first:?}");
    for _ in 0..200 {
        if child.complaints() == "trouble\n" {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{:?}", child.complaints());
}

#[tokio::test]
async fn a_confined_process_and_what_it_starts_write_into_their_folders_and_nowhere_else() {
    let (inside, outside) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let kept = outside.path().join("kept");
    fs::write(&kept, "kept").expect("written");
    let script = format!(
        "touch inside; setsid sh -c 'touch {0}/made; truncate -s 0 {0}/kept; true > {0}/kept; rm {0}/kept; mv inside {0}/moved; ln -s x {0}/link; \
         mkdir {0}/dir; chmod 600 {0}/none; echo tried > tried'; cat {0}/kept; echo > /dev/null && echo . ended",
        outside.path().display()
    );
    let arguments = ["-c", script.as_str()];
    let bounds = Bounds { writable: Some(vec![inside.path().to_owned()]), ..Bounds::default() };
    let spec = Spec { bounds, ..shell(inside.path(), &arguments) };
    let mut child = Child::start(&spec).expect("a shell");
    let first = child.hear().await;
    assert!(matches!(&first, Heard::Line(Line::Whole(line)) if line == b"kept. ended"), "{first:?}");
    assert!(inside.path().join("inside").exists() && inside.path().join("tried").exists());
    assert_eq!(fs::read_dir(outside.path()).expect("a folder").count(), 1);
    assert_eq!(fs::read_to_string(&kept).expect("a file"), "kept");
    fs::write(outside.path().join("ours"), "").expect("the runner itself stays free");
}

#[tokio::test]
async fn what_a_process_prints_comes_in_pieces_however_long_its_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "printf '%1000000s' x; sleep 0.2; printf end";
    let mut child = Child::start(&shell(folder.path(), &["-c", script])).expect("a shell");
    child.close_input();
    let (mut bytes, mut longest) = (0, 0);
    while let Heard::Line(Line::Whole(piece)) = child.hear_piece().await {
        (bytes, longest) = (bytes + piece.len(), longest.max(piece.len()));
    }
    assert_eq!((bytes, child.exit_code()), (1_000_003, Some(0)));
    assert!(longest <= 64 * 1024, "{longest}");
}
