//! Mirrors of repositories on other machines: bare repositories of one tenant that keep what was fetched.
//!
//! A fetch runs in a sandbox of its own that can write to the mirror only and reaches nothing but the repository, through
//! the [git proxy](crate::git_proxy). It has ended before anything is cloned from the mirror.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use guildhall_domain::runs::policy::{GitRef, GitRevision, RepoUrl, SshRepository};
use guildhall_runtime::Clock;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep};
use tracing::warn;
use url::{Host, Url};

use super::error::WorkspaceError;
use super::git_command::{GitCommand, GitNetwork};
use super::{GitRemotes, WorkspaceDirs, remove_dir_if_exists};
use crate::git_proxy::{
    GitProxy, RemoteRepository, RepositoryAccess, SshAccess, read_credential, read_ssh_key,
};
use crate::sandbox::create_dir;

/// A mirror that was not used for this long is deleted.
const MAX_UNUSED: Duration = Duration::from_secs(14 * 24 * 3600);

/// A tenant keeps this many mirrors.
const MAX_MIRRORS: usize = 100;

/// How long to wait for the fetch of another run.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1800);

const LOCK_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Branches and tags. Other references, such as those of merge requests, can be many.
const REFSPECS: [&str; 2] = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];

/// A mirror that nobody else changes until this is dropped.
#[derive(Debug)]
pub(super) struct Mirror {
    path: PathBuf,
    _lock: Flock<File>,
}

impl Mirror {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Fetches a repository into its mirror.
pub(super) async fn fetch(
    dirs: &WorkspaceDirs,
    url: &RepoUrl,
    revision: &GitRevision,
) -> Result<Mirror, WorkspaceError> {
    let remotes = &dirs.remotes;
    let repository = open_repository(remotes, url)?;
    let (parent, now) = (remotes.mirrors.clone(), SystemTime::from(Clock::system().now()));
    fs::create_dir_all(&parent)?;
    let cleaned = tokio::task::spawn_blocking(move || delete_unused(&parent, now)).await;
    if let Ok(Err(error)) = cleaned {
        warn!("cannot delete unused mirrors: {error}");
    }
    let path = remotes.mirrors.join(mirror_name(url));
    let lock = lock(&path.with_extension("lock")).await?;
    let proxy = GitProxy::start(repository, &dirs.containment).await?;
    let is_new = !path.is_dir();
    let result = update(dirs, &path, &proxy, revision).await;
    let result = match result {
        // A killed fetch may have left a broken mirror.
        Err(WorkspaceError::GitFailed(_)) if !is_new && proxy.last_failure().is_none() => {
            remove_dir_if_exists(&path).await?;
            update(dirs, &path, &proxy, revision).await
        }
        result => result,
    };
    let failure = proxy.last_failure();
    // Its processes have ended before an agent starts.
    proxy.close().await;
    match (result, failure) {
        (Ok(()), _) => Ok(Mirror { path, _lock: lock }),
        (Err(WorkspaceError::GitFailed(_)), Some(failure)) => Err(failure.into()),
        (Err(error), _) => Err(error),
    }
}

/// Checks the URL against the hosts of the operator, and reads the credential of its host.
fn open_repository(remotes: &GitRemotes, url: &RepoUrl) -> Result<RemoteRepository, WorkspaceError> {
    let access = match url.ssh() {
        Some(repository) => RepositoryAccess::Ssh(open_ssh(remotes, repository)?),
        None => open_https(remotes, url)?,
    };
    Ok(RemoteRepository { access, connector: remotes.connector.clone(), max_bytes: remotes.max_bytes })
}

fn open_https(remotes: &GitRemotes, url: &RepoUrl) -> Result<RepositoryAccess, WorkspaceError> {
    let url = Url::parse(url.as_str()).map_err(|_| WorkspaceError::UnsupportedScheme)?;
    if url.scheme() != "https" {
        return Err(WorkspaceError::UnsupportedScheme);
    }
    let host = url.host().ok_or(WorkspaceError::UnsupportedScheme)?.to_owned();
    let port = url.port_or_known_default().unwrap_or_default();
    if !remotes.hosts.iter().any(|pattern| pattern.allows(&host, port)) {
        return Err(WorkspaceError::HostNotAllowed(host.to_string()));
    }
    let credential = read_credential(&remotes.credentials, remotes.tenant, &host.to_string())
        .map_err(|reason| WorkspaceError::Credential { host: host.to_string(), reason })?;
    Ok(RepositoryAccess::Https { url, credential })
}

fn open_ssh(remotes: &GitRemotes, repository: SshRepository) -> Result<SshAccess, WorkspaceError> {
    let SshRepository { user, host, port, path } = repository;
    let host = Host::parse(&host).map_err(|_| WorkspaceError::UnsupportedScheme)?;
    if !remotes.hosts.iter().any(|pattern| pattern.allows_ssh(&host, port)) {
        return Err(WorkspaceError::HostNotAllowed(host.to_string()));
    }
    let name = host.to_string();
    let key = read_ssh_key(&remotes.credentials, remotes.tenant, &name)
        .map_err(|reason| WorkspaceError::Credential { host: name.clone(), reason })?;
    let key = key.ok_or(WorkspaceError::NoSshKey(name))?;
    Ok(SshAccess { user, host, port, path, key, known_hosts: remotes.known_hosts.clone() })
}

/// Creates the mirror where it is missing, and fetches.
async fn update(
    dirs: &WorkspaceDirs,
    path: &Path,
    proxy: &GitProxy,
    revision: &GitRevision,
) -> Result<(), WorkspaceError> {
    let git = GitCommand {
        containment: &dirs.containment,
        readable: Vec::new(),
        writable: vec![path.to_owned()],
        environment: vec![("GIT_DIR", path.into())],
        config: Vec::new(),
        network: GitNetwork::Proxy { socket: proxy.socket(), protocol: proxy.protocol() },
    };
    if !path.is_dir() {
        create_dir(path, dirs.containment.program_user())?;
        git.run(&["init", "--quiet", "--bare", "--template="], "create the mirror").await?;
    }
    let options = ["fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--update-head-ok"];
    let fetch = [options.as_slice(), &["--no-recurse-submodules", "--", proxy.url()], &REFSPECS].concat();
    git.run(&fetch, "fetch the repository").await?;
    match revision {
        GitRevision::Default => set_default_branch(&git, proxy).await?,
        GitRevision::Ref(_) => {}
        GitRevision::Commit(id) => fetch_commit(&git, proxy, id.as_str()).await?,
    }
    fs::write(path.with_extension("used"), "")?;
    Ok(())
}

/// Sets the default branch of the mirror to that of the repository.
async fn set_default_branch(git: &GitCommand<'_>, proxy: &GitProxy) -> Result<(), WorkspaceError> {
    let action = "read the default branch";
    let listed = git.output(&["ls-remote", "--symref", "--", proxy.url(), "HEAD"], action, 4096).await?;
    let listed = String::from_utf8_lossy(&listed.ok_or(WorkspaceError::GitFailed(action))?).into_owned();
    let branch = listed
        .lines()
        .find_map(|line| line.strip_prefix("ref: refs/heads/")?.split_whitespace().next().map(str::to_owned));
    // An empty repository has none.
    let Some(branch) = branch else { return Ok(()) };
    let branch = GitRef::try_from(branch)
        .map_err(|_| WorkspaceError::InvalidRepository("the name of its default branch is not supported"))?;
    let target = format!("refs/heads/{}", branch.as_str());
    git.run(&["symbolic-ref", "HEAD", &target], "set the default branch").await
}

/// Fetches a commit that no branch or tag contains, such as that of a merge request.
async fn fetch_commit(git: &GitCommand<'_>, proxy: &GitProxy, id: &str) -> Result<(), WorkspaceError> {
    let reachable = ["for-each-ref", "--count=1", "--contains", id, "refs/heads", "refs/tags"];
    let found = git.output(&reachable, "find the commit", 100).await?;
    if found.is_some_and(|refs| !refs.is_empty()) {
        return Ok(());
    }
    // A tag, because a clone copies branches and tags only. The next fetch removes it.
    let refspec = format!("+{id}:refs/tags/guildhall/{id}");
    let fetch = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", proxy.url(), &refspec];
    git.run(&fetch, "fetch the commit").await
}

/// Returns the name of the mirror of a URL.
fn mirror_name(url: &RepoUrl) -> String {
    let digest = Sha256::digest(url.as_str().as_bytes());
    let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{name}.git")
}

/// Waits until no other process uses a mirror. The lock ends with this process.
async fn lock(path: &Path) -> Result<Flock<File>, WorkspaceError> {
    let deadline = Instant::now() + LOCK_TIMEOUT;
    let mut file = File::options().create(true).append(true).open(path)?;
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((_, Errno::EWOULDBLOCK)) if Instant::now() >= deadline => {
                return Err(WorkspaceError::GitTimeout("get the mirror"));
            }
            Err((unlocked, Errno::EWOULDBLOCK)) => file = unlocked,
            Err((_, error)) => return Err(io::Error::from(error).into()),
        }
        sleep(LOCK_RETRY_DELAY).await;
    }
}

/// Deletes the mirrors that were not used for long, and the least recently used ones over the maximum.
fn delete_unused(parent: &Path, now: SystemTime) -> io::Result<()> {
    let mut mirrors = Vec::new();
    for entry in fs::read_dir(parent)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "git") {
            mirrors.push((last_use(&path), path));
        }
    }
    mirrors.sort_by(|one, other| other.cmp(one));
    for (index, (used_at, path)) in mirrors.iter().enumerate() {
        let age = used_at.and_then(|used_at| now.duration_since(used_at).ok());
        if index >= MAX_MIRRORS || age.is_some_and(|age| age > MAX_UNUSED) {
            delete_if_free(path)?;
        }
    }
    Ok(())
}

/// Returns when a mirror was last fetched. One whose first fetch did not end has only its own time.
fn last_use(mirror: &Path) -> Option<SystemTime> {
    let modified = |path: &Path| fs::metadata(path).ok()?.modified().ok();
    modified(&mirror.with_extension("used")).or_else(|| modified(mirror))
}

/// Deletes a mirror that no run uses.
fn delete_if_free(mirror: &Path) -> io::Result<()> {
    let lock = File::options().create(true).append(true).open(mirror.with_extension("lock"))?;
    if let Ok(_lock) = Flock::lock(lock, FlockArg::LockExclusiveNonblock) {
        fs::remove_dir_all(mirror)?;
        let _missing = fs::remove_file(mirror.with_extension("used"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirror_is_deleted_after_14_days_without_use() {
        let parent = tempfile::tempdir().expect("temporary directory");
        for name in ["a.git", "b.git"] {
            fs::create_dir(parent.path().join(name)).expect("create directory");
            fs::write(parent.path().join(name).with_extension("used"), "").expect("write file");
        }
        let names = || {
            let entries = fs::read_dir(parent.path()).expect("read directory");
            let mut names: Vec<String> =
                entries.map(|entry| entry.expect("entry").file_name().into_string().expect("text")).collect();
            names.sort();
            names
        };
        let now = SystemTime::from(Clock::system().now());
        delete_unused(parent.path(), now).expect("delete");
        assert_eq!(names(), ["a.git", "a.used", "b.git", "b.used"]);
        let used = File::options().append(true).open(parent.path().join("b.lock"));
        assert!(used.is_err(), "nothing was locked");
        let in_use = File::create(parent.path().join("b.lock")).expect("create file");
        let in_use = Flock::lock(in_use, FlockArg::LockExclusiveNonblock).expect("lock");
        delete_unused(parent.path(), now + MAX_UNUSED + Duration::from_secs(60)).expect("delete");
        assert_eq!(names(), ["a.lock", "b.git", "b.lock", "b.used"], "one is in use");
        drop(in_use);
    }

    #[test]
    fn least_recently_used_mirrors_over_the_maximum_are_deleted() {
        let parent = tempfile::tempdir().expect("temporary directory");
        let now = SystemTime::from(Clock::system().now());
        let path = |number: usize| parent.path().join(format!("{number:03}.git"));
        for number in 0..MAX_MIRRORS + 2 {
            fs::create_dir(path(number)).expect("create directory");
            let used = File::create(path(number).with_extension("used")).expect("create file");
            let age = u64::try_from(number).expect("a small number");
            used.set_modified(now - Duration::from_secs(3600 * age)).expect("set the time");
        }
        delete_unused(parent.path(), now).expect("delete");
        let kept: Vec<usize> = (0..MAX_MIRRORS + 2).filter(|number| path(*number).is_dir()).collect();
        assert_eq!(kept, (0..MAX_MIRRORS).collect::<Vec<_>>());
    }
}
