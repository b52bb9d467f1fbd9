//! Workspaces from repositories of other machines, fetched from a real Git server over HTTPS.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use guildhall_testkit::GitServer;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::launched_runners::start_server;
use crate::support::user::{CliUser, DevServer, stderr, stdout};

/// `git:canary-5531`, in base64.
const AUTHORIZATION: &str = "Basic Z2l0OmNhbmFyeS01NTMx";
const TOKEN: &str = "canary-5531";

/// Incompressible content, so that a fetch can be told from its absence.
const LARGE_BYTES: u64 = 300_000;

/// A Git server with the private repository `team/web.git`, and a Guildhall server that may fetch from it.
struct GitFixture {
    repository: PathBuf,
    git: GitServer,
    user: CliUser,
    server: DevServer,
    _runtime: Runtime,
    _folder: TempDir,
}

impl GitFixture {
    fn start(token: Option<&str>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let repository = create_repository(folder.path());
        let runtime = Runtime::new().expect("a runtime");
        let git =
            runtime.block_on(GitServer::start(&folder.path().join("repositories"), Some(AUTHORIZATION)));
        let authority = folder.path().join("authority.pem");
        fs::write(&authority, git.authority_pem()).expect("write file");
        let credentials = folder.path().join("credentials");
        fs::create_dir_all(credentials.join("shared")).expect("create directory");
        if let Some(token) = token {
            let path = credentials.join("shared/localhost");
            fs::write(&path, token).expect("write file");
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("set mode");
        }
        let (server, user) = start_server(&[
            ("GUILDHALL_GIT_HOSTS", &git.host()),
            ("GUILDHALL_GIT_CREDENTIALS", &credentials.display().to_string()),
            ("SSL_CERT_FILE", &authority.display().to_string()),
        ]);
        Self { repository, git, user, server, _runtime: runtime, _folder: folder }
    }

    /// Runs a turn in a checkout. Returns the exit code and the events.
    fn run(&self, workspace: &str, prompt: &str) -> (Option<i32>, String) {
        let args =
            ["runs", "create", prompt, "--profile", "demo", "--workspace", workspace, "--watch", "--json"];
        let output = self.user.run(&args);
        (output.status.code(), format!("{}{}", stdout(&output), stderr(&output)))
    }

    fn url(&self) -> String {
        format!("git:{}", self.git.url("team/web.git"))
    }
}

pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(args);
    let output = command.current_dir(dir).env("GIT_CONFIG_GLOBAL", "/dev/null").output().expect("git");
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    stdout(&output).trim().to_owned()
}

/// Creates a bare repository with the branches `main` and `old`, and a commit that only `refs/pull/1/head` has.
pub(crate) fn create_repository(folder: &Path) -> PathBuf {
    let (work, bare) = (folder.join("work"), folder.join("repositories/team/web.git"));
    fs::create_dir_all(&work).expect("create directory");
    git(&work, &["init", "-q", "-b", "main"]);
    let commit = |name: &str, text: &[u8]| {
        fs::write(work.join(name), text).expect("write file");
        git(&work, &["add", "."]);
        git(&work, &["commit", "-q", "-m", name]);
    };
    commit("answer", b"41\n");
    git(&work, &["branch", "old"]);
    let mut random: u64 = 1;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random.to_be_bytes()[0]
    };
    let large: Vec<u8> = (0..LARGE_BYTES).map(|_| next()).collect();
    commit("large", &large);
    git(&work, &["checkout", "-q", "-b", "proposal"]);
    commit("proposal", b"better\n");
    git(&work, &["update-ref", "refs/pull/1/head", "HEAD"]);
    git(&work, &["checkout", "-q", "main"]);
    git(&work, &["branch", "-q", "-D", "proposal"]);
    git(folder, &["clone", "-q", "--mirror", &work.display().to_string(), &bare.display().to_string()]);
    git(&bare, &["config", "uploadpack.allowAnySHA1InWant", "true"]);
    bare
}

const SHOW_EVERYTHING: &str = "run:cat answer && git log --format=%s && cat .git/config && env && \
     (cat /proc/*/environ; ls -R /run) 2>&1 | tr '\\0' '\\n'";

#[test]
fn private_repository_is_fetched_once_and_its_token_stays_outside() {
    let fixture = GitFixture::start(Some(TOKEN));
    let (code, output) = fixture.run(&fixture.url(), SHOW_EVERYTHING);
    assert_eq!(code, Some(0), "{output}");
    // The output of one tool may arrive in several events.
    assert!(
        output.contains("41\\n") && output.contains("large\\n") && output.contains("answer\\n"),
        "{output}"
    );
    assert!(!output.contains(TOKEN), "{output}");
    let after_first = fixture.git.sent_bytes();
    assert!(after_first > LARGE_BYTES, "{after_first}");

    let (code, output) = fixture.run(&format!("{}#old", fixture.url()), "run:ls");
    assert_eq!(code, Some(0), "{output}");
    assert!(output.contains("\"answer\\n\""), "{output}");
    let second = fixture.git.sent_bytes() - after_first;
    assert!(second < 10_000, "objects are fetched once, but the second run got {second} bytes");

    let requests = fixture.git.requests();
    let is_fetch = |line: &String| {
        line == "GET /team/web.git/info/refs?service=git-upload-pack"
            || line == "POST /team/web.git/git-upload-pack"
    };
    assert!(requests.iter().all(is_fetch), "{requests:?}");
}

#[test]
fn new_commits_and_commits_outside_of_branches_are_fetched() {
    let fixture = GitFixture::start(Some(TOKEN));
    let proposal = git(&fixture.repository, &["rev-parse", "refs/pull/1/head"]);
    let (code, output) = fixture.run(&format!("{}#{proposal}", fixture.url()), "run:cat proposal");
    assert_eq!(code, Some(0), "{output}");
    assert!(output.contains("better"), "{output}");

    git(&fixture.repository, &["update-ref", "refs/heads/main", &proposal]);
    git(&fixture.repository, &["symbolic-ref", "HEAD", "refs/heads/old"]);
    let (code, output) = fixture.run(&format!("{}#main", fixture.url()), "run:cat proposal");
    assert_eq!((code, output.contains("better")), (Some(0), true), "{output}");
    let (code, output) = fixture.run(&fixture.url(), "run:ls && echo 42 > answer");
    assert_eq!(
        (code, output.contains("proposal")),
        (Some(0), false),
        "the default branch is `old`: {output}"
    );
    let runs = fixture.user.json(&["runs", "ls"]);
    let run = runs["runs"][0]["runId"].as_str().expect("a run").to_owned();
    let diff = stdout(&fixture.user.run(&["runs", "diff", &run]));
    assert!(diff.contains("-41\n+42\n"), "{diff}");
}

#[test]
fn token_set_by_the_tenant_is_used_and_never_shown() {
    let fixture = GitFixture::start(None);
    let user = &fixture.user;
    let set = user.run_with_stdin(&["git-credentials", "set", "localhost"], TOKEN);
    assert!(
        set.status.success() && stdout(&set).starts_with("set the token of localhost"),
        "{}",
        stderr(&set)
    );
    let (code, output) = fixture.run(&fixture.url(), "run:cat answer");
    assert_eq!((code, output.contains("41\\n")), (Some(0), true), "{output}");
    let listed = user.run(&["git-credentials", "ls", "--json"]);
    assert!(
        stdout(&listed).contains("\"localhost\"") && !stdout(&listed).contains(TOKEN),
        "{}",
        stdout(&listed)
    );
    let audit = stdout(&user.run(&["audit", "tail", "--tenant", "dev"]));
    assert!(audit.contains("git_credential.set") && !audit.contains(TOKEN), "{audit}");
    assert!(user.run(&["git-credentials", "remove", "localhost"]).status.success());
    assert_eq!(user.run(&["git-credentials", "remove", "localhost"]).status.code(), Some(4));
    let (code, output) = fixture.run(&fixture.url(), "run:ls");
    assert!(code == Some(1) && output.contains("its host wants a credential"), "{output}");
    let invalid = user.run_with_stdin(&["git-credentials", "set", "localhost"], "two words");
    assert!(!invalid.status.success() && !stderr(&invalid).contains("two words"), "{}", stderr(&invalid));
}

/// A killed fetch can leave references without their objects, and a lock that nobody holds.
#[test]
fn broken_mirror_is_fetched_again() {
    let fixture = GitFixture::start(Some(TOKEN));
    let (code, output) = fixture.run(&fixture.url(), "run:ls");
    assert_eq!(code, Some(0), "{output}");
    let mirrors = fixture.server.state.join("launcher/storage/git-mirrors");
    let only_entry = |dir: &Path| {
        let entries = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path());
        entries.into_iter().find(|path| path.is_dir()).expect("one directory")
    };
    let mirror = only_entry(&only_entry(&mirrors));
    fs::remove_dir_all(mirror.join("objects")).expect("removed");
    fs::create_dir(mirror.join("objects")).expect("created");
    fs::write(mirror.join("packed-refs.lock"), "").expect("written");
    let before = fixture.git.sent_bytes();
    let (code, output) = fixture.run(&fixture.url(), "run:cat answer");
    assert_eq!((code, output.contains("41\\n")), (Some(0), true), "{output}");
    assert!(fixture.git.sent_bytes() - before > LARGE_BYTES, "everything is fetched again");
}

#[test]
fn repository_that_cannot_be_fetched_says_why() {
    let fixture = GitFixture::start(None);
    let other = fixture.url().replace("localhost:", "127.0.0.1:");
    for (workspace, reason) in [
        (fixture.url(), "its host wants a credential"),
        (other, "does not allow repositories of the host 127.0.0.1: add it to git.hosts"),
        (
            "git:https://git.example/team/web".to_owned(),
            "does not allow repositories of the host git.example",
        ),
        (fixture.url().replace("https:", "http:"), "fetched by https or ssh only"),
        (fixture.url().replace("https:", "git:"), "fetched by https or ssh only"),
    ] {
        let (code, output) = fixture.run(&workspace, "run:ls");
        assert!(code == Some(1) && output.contains(reason), "{workspace}: {code:?} {output}");
    }
    assert_eq!(fixture.git.requests(), ["GET /team/web.git/info/refs?service=git-upload-pack"]);
}
