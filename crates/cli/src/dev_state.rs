//! Where `guildhall dev` keeps its state if no directory is named.

use std::env;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The state directory in a working directory that is not in a Git repository.
const LOCAL_DIR: &str = ".guildhall";

/// Files of `guildhall dev --tls` in the state directory: the root that clients trust, and the URL while it runs.
pub(crate) const TLS_DIR: &str = "tls";
pub(crate) const TLS_ROOT_FILE: &str = "root.crt";
pub(crate) const TLS_CERTIFICATE_FILE: &str = "server.crt";
pub(crate) const TLS_URL_FILE: &str = "url";

/// Returns the file with the root of `guildhall dev --tls`.
pub(crate) fn tls_root_file(state: &Path) -> PathBuf {
    state.join(TLS_DIR).join(TLS_ROOT_FILE)
}

/// Files in the state directory: the URL while it runs, and the keys of AIDs.
const URL_FILE: &str = "url";
const AIDS_DIR: &str = "aids";

/// Returns the file with the URL of `guildhall dev`.
pub(crate) fn url_file(state: &Path) -> PathBuf {
    state.join(URL_FILE)
}

/// Returns the directory with the AID of the user of `guildhall dev`.
pub(crate) fn aids_dir(state: &Path) -> PathBuf {
    state.join(AIDS_DIR)
}

/// Returns the state directory of the working directory: `.guildhall` in it, or, inside a Git repository, a directory
/// below the user's state directory. Agents work on copies of the repository, which must not contain passwords and data.
pub(crate) fn default_state_dir() -> PathBuf {
    let working_dir = env::current_dir().unwrap_or_default();
    let state_home = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state_home = state_home.or_else(|| Some(env::home_dir()?.join(".local/state")));
    choose(&working_dir, state_home.as_deref())
}

fn choose(working_dir: &Path, state_home: Option<&Path>) -> PathBuf {
    // A relative path, as it is shown to the user.
    let local = PathBuf::from(LOCAL_DIR);
    if working_dir.join(&local).exists() {
        return local;
    }
    match (repository_of(working_dir), state_home) {
        (Some(repository), Some(state_home)) => state_home.join("guildhall").join(dir_name(&repository)),
        (None, _) | (_, None) => local,
    }
}

/// Returns the top directory of the Git repository that contains a directory.
pub(crate) fn repository_of(dir: &Path) -> Option<PathBuf> {
    dir.ancestors().find(|dir| dir.join(".git").exists()).map(Path::to_owned)
}

/// Returns the name of a repository and a hash of its path, because several can have the same name.
fn dir_name(repository: &Path) -> String {
    let hash = Sha256::digest(repository.as_os_str().as_encoded_bytes());
    let hash: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let name = repository.file_name().unwrap_or_default().to_string_lossy();
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!("{name}-{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_is_outside_of_a_repository_unless_it_exists_there() {
        let dir = tempfile::tempdir().expect("a directory");
        let (home, repository) = (dir.path().join("home"), dir.path().join("my repo"));
        std::fs::create_dir_all(repository.join("src")).expect("a directory");
        let choose = |dir: &Path| choose(dir, Some(&home));
        assert_eq!(choose(&repository), PathBuf::from(".guildhall"), "not a repository");
        std::fs::create_dir(repository.join(".git")).expect("a directory");
        let state = choose(&repository);
        assert!(state.starts_with(home.join("guildhall")), "{}", state.display());
        assert!(state.to_string_lossy().contains("/my-repo-"), "{}", state.display());
        assert_eq!(choose(&repository.join("src")), state, "the same in every directory of the repository");
        assert_eq!(super::choose(&repository, None), PathBuf::from(".guildhall"), "without a home");
        std::fs::create_dir(repository.join(".guildhall")).expect("a directory");
        assert_eq!(choose(&repository), PathBuf::from(".guildhall"), "of an earlier version");
    }
}
