use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;

use guildhall_domain::profiles::{BackendKind, Profile, ProfileOwner};
use guildhall_domain::runs::policy::BackendProfile;
use jiff::Timestamp;
use secrecy::SecretString;

use super::*;

const CANARY: &str = "sk-canary-0123456789";

fn tenant() -> ProfileOwner {
    ProfileOwner::Tenant("ten_01920000000070008000000000000000".parse().expect("an id"))
}

fn slug(text: &str) -> BackendProfile {
    text.parse().expect("a profile")
}

fn new(credential: &str) -> NewProfile {
    let settings = Profile { model: Some("m".to_owned()), ..Profile::new(BackendKind::Codex) };
    NewProfile { settings, credential: SecretString::from(credential) }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("there").permissions().mode() & 0o777
}

struct TestStore {
    folder: TempDir,
    store: FileStore,
}

fn test() -> TestStore {
    let folder = tempfile::tempdir().expect("a folder");
    let store = FileStore::open(&folder.path().join("secrets")).expect("a store");
    TestStore { folder, store }
}

impl TestStore {
    fn path(&self, rest: &str) -> std::path::PathBuf {
        self.folder.path().join("secrets/providers").join(rest)
    }
}

// covers: R22
#[tokio::test]
async fn stored_profile_is_hidden_from_other_owners_and_other_os_users() {
    let test = test();
    let stored = test.store.put(tenant(), &slug("codex"), new(CANARY)).await.expect("stored");
    assert!(stored.is_configured());
    assert_eq!(test.store.find(tenant(), &slug("codex")).await.expect("read"), Some(stored.clone()));
    assert_eq!(test.store.find(ProfileOwner::Shared, &slug("codex")).await.expect("read"), None);
    assert_eq!(test.store.list(tenant(), 10).await.expect("read"), [(slug("codex"), stored)]);
    let folder = test.path(&format!("{}/codex", tenant()));
    assert_eq!(fs::read_to_string(folder.join("credential")).expect("a file"), format!("{CANARY}\n"));
    assert_eq!((mode(&folder), mode(&folder.join("credential"))), (0o700, 0o600));
    assert_eq!(
        (mode(&test.folder.path().join("secrets")), mode(&folder.join("profile.toml"))),
        (0o700, 0o600)
    );
}

#[tokio::test]
async fn new_credential_replaces_the_old_one_completely() {
    let test = test();
    let first = test.store.put(tenant(), &slug("codex"), new(CANARY)).await.expect("stored");
    let second = test.store.put(tenant(), &slug("codex"), new("another")).await.expect("stored");
    assert!(first.resource_version != second.resource_version && first.hash_suffix != second.hash_suffix);
    let names: Vec<_> = fs::read_dir(test.path(&tenant().to_string())).expect("a folder").collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert!(test.store.remove(tenant(), &slug("codex")).await.expect("removed"));
    assert!(!test.store.remove(tenant(), &slug("codex")).await.expect("nothing there"));
    assert_eq!(fs::read_dir(test.path(&tenant().to_string())).expect("a folder").count(), 0);
}

#[test]
fn concurrent_readers_see_the_old_or_the_new_profile() {
    let test = test();
    let put = |credential: &str| {
        test.store.put_blocking(tenant(), &slug("codex"), &new(credential)).expect("stored")
    };
    let suffixes = [put(CANARY).hash_suffix, put("another").hash_suffix];
    let is_written = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let read = || {
            let mut seen = 0;
            while !is_written.load(Ordering::SeqCst) {
                let found = test.store.find_blocking(tenant(), &slug("codex"));
                let Ok(Some(stored)) = &found else { panic!("{found:?}") };
                assert!(stored.settings.is_some() && suffixes.contains(&stored.hash_suffix), "{stored:?}");
                seen += 1;
            }
            seen
        };
        let readers = [scope.spawn(read), scope.spawn(read), scope.spawn(read)];
        for round in 0..1000 {
            put(if round % 2 == 0 { CANARY } else { "another" });
        }
        is_written.store(true, Ordering::SeqCst);
        readers.map(|reader| reader.join().expect("consistent reads")).iter().sum::<u32>()
    });
    assert!(seen > 20, "only {seen} reads");
}

#[tokio::test]
async fn store_readable_by_other_users_is_rejected() {
    let test = test();
    test.store.put(tenant(), &slug("codex"), new(CANARY)).await.expect("stored");
    let credential = test.path(&format!("{}/codex/credential", tenant()));
    for (path, insecure, secure) in [
        (credential, 0o640, 0o600),
        (test.path(&tenant().to_string()), 0o711, 0o700),
        (test.folder.path().join("secrets"), 0o750, 0o700),
    ] {
        fs::set_permissions(&path, fs::Permissions::from_mode(insecure)).expect("ours");
        let result = test.store.find(tenant(), &slug("codex")).await;
        assert!(matches!(&result, Err(SecretError::InsecurePermissions(at)) if *at == path), "{result:?}");
        assert!(
            test.store.put(tenant(), &slug("codex"), new("x")).await.is_err() || path.ends_with("credential")
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(secure)).expect("ours");
        assert!(test.store.find(tenant(), &slug("codex")).await.is_ok());
    }
}

#[tokio::test]
async fn symlink_target_is_neither_read_nor_removed() {
    let test = test();
    let elsewhere = test.folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o700)).expect("ours");
    fs::write(elsewhere.join("credential"), CANARY).expect("a file");
    test.store.put(tenant(), &slug("codex"), new("x")).await.expect("stored");
    symlink(&elsewhere, test.path(&format!("{}/evil", tenant()))).expect("a link");
    assert!(matches!(test.store.find(tenant(), &slug("evil")).await, Err(SecretError::InvalidFormat(_))));
    let credential = test.path(&format!("{}/codex/credential", tenant()));
    fs::remove_file(&credential).expect("ours");
    symlink(elsewhere.join("credential"), &credential).expect("a link");
    assert!(matches!(test.store.find(tenant(), &slug("codex")).await, Err(SecretError::InvalidFormat(_))));
    assert!(test.store.remove(tenant(), &slug("codex")).await.expect("removed"));
    assert_eq!(fs::read_to_string(elsewhere.join("credential")).expect("still there"), CANARY);
}

#[test]
fn profile_name_must_be_a_slug() {
    for text in ["..", ".", "../shared", "a/b", "", "-x", "A", ".passing-1", "a\0b"] {
        assert!(text.parse::<BackendProfile>().is_err(), "{text:?}");
    }
}

#[tokio::test]
async fn runner_gets_the_tenants_profile_before_the_operators() {
    let test = test();
    let ProfileOwner::Tenant(id) = tenant() else { unreachable!() };
    let into = |name: &str| test.folder.path().join(name);
    let missing = test.store.copy_for_runner(Some(id), &slug("codex"), &into("none"));
    assert!(matches!(missing, Err(SecretError::Missing(_))), "{missing:?}");
    test.store.put(ProfileOwner::Shared, &slug("codex"), new("shared")).await.expect("stored");
    assert_eq!(
        test.store.copy_for_runner(Some(id), &slug("codex"), &into("a")).expect("copied"),
        ProfileOwner::Shared
    );
    test.store.put(tenant(), &slug("codex"), new(CANARY)).await.expect("stored");
    assert_eq!(test.store.copy_for_runner(Some(id), &slug("codex"), &into("b")).expect("copied"), tenant());
    assert_eq!(fs::read_to_string(into("b").join("credential")).expect("a file"), format!("{CANARY}\n"));
    assert_eq!((mode(&into("b")), mode(&into("b").join("credential"))), (0o700, 0o600));
}

#[tokio::test]
async fn sweep_removes_only_old_partial_profiles() {
    let test = test();
    test.store.put(tenant(), &slug("codex"), new(CANARY)).await.expect("stored");
    let partial = test.path(&format!("{}/.passing-1", tenant()));
    fs::create_dir(&partial).expect("a folder");
    fs::set_permissions(&partial, fs::Permissions::from_mode(0o700)).expect("ours");
    let now: Timestamp =
        Timestamp::try_from(fs::metadata(&partial).expect("there").modified().expect("a time"))
            .expect("in range");
    assert_eq!(
        test.store.list(tenant(), 10).await.expect("read").len(),
        1,
        "a partial profile is not listed"
    );
    test.store.sweep(now).expect("swept");
    assert!(partial.exists(), "it may still be being written");
    test.store.sweep(now + jiff::SignedDuration::from_mins(11)).expect("swept");
    assert!(!partial.exists() && test.path(&format!("{}/codex", tenant())).exists());
}

#[tokio::test]
async fn errors_and_debug_output_contain_no_credential() {
    let test = test();
    let request = format!("{:?}", new(CANARY));
    let stored = test.store.put(tenant(), &slug("codex"), new(CANARY)).await.expect("stored");
    let credential = test.path(&format!("{}/codex/credential", tenant()));
    fs::write(&credential, CANARY.repeat(2000)).expect("ours");
    let result = test.store.find(tenant(), &slug("codex")).await.expect_err("too long");
    for text in [request, format!("{stored:?}"), format!("{result:?} {result}"), format!("{:?}", test.store)]
    {
        assert!(!text.contains("canary"), "{text}");
    }
}
