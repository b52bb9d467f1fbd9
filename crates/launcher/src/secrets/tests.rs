use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;

use super::*;

const CANARY: &str = "sk-canary-0123456789";

fn tenant() -> Owner {
    Owner::Tenant("ten_01920000000070008000000000000000".parse().expect("an id"))
}

fn slug(text: &str) -> BackendProfile {
    text.parse().expect("a profile")
}

fn new(credential: &str) -> NewProfile {
    let settings = Profile { model: Some("m".to_owned()), ..Profile::of(BackendKind::Codex) };
    NewProfile { settings, credential: SecretString::from(credential) }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).expect("there").permissions().mode() & 0o777
}

struct Made {
    folder: TempDir,
    store: FileStore,
}

fn made() -> Made {
    let folder = tempfile::tempdir().expect("a folder");
    let store = FileStore::open(&folder.path().join("secrets")).expect("a store");
    Made { folder, store }
}

impl Made {
    fn path(&self, rest: &str) -> std::path::PathBuf {
        self.folder.path().join("secrets/providers").join(rest)
    }
}

// covers: R22
#[tokio::test]
async fn what_is_kept_is_found_again_by_its_owner_alone_and_only_its_owner_can_read_the_files() {
    let made = made();
    let kept = made.store.put(tenant(), &slug("codex"), new(CANARY)).await.expect("kept");
    assert!(kept.is_configured());
    assert_eq!(made.store.find(tenant(), &slug("codex")).await.expect("read"), Some(kept.clone()));
    assert_eq!(made.store.find(Owner::Shared, &slug("codex")).await.expect("read"), None);
    assert_eq!(made.store.list(tenant(), 10).await.expect("read"), [(slug("codex"), kept)]);
    let folder = made.path(&format!("{}/codex", tenant()));
    assert_eq!(fs::read_to_string(folder.join("credential")).expect("a file"), format!("{CANARY}\n"));
    assert_eq!((mode(&folder), mode(&folder.join("credential"))), (0o700, 0o600));
    assert_eq!(
        (mode(&made.folder.path().join("secrets")), mode(&folder.join("profile.toml"))),
        (0o700, 0o600)
    );
}

#[tokio::test]
async fn a_new_credential_takes_the_place_of_the_old_one_and_nothing_of_it_stays() {
    let made = made();
    let first = made.store.put(tenant(), &slug("codex"), new(CANARY)).await.expect("kept");
    let second = made.store.put(tenant(), &slug("codex"), new("another")).await.expect("kept");
    assert!(first.resource_version != second.resource_version && first.hash_suffix != second.hash_suffix);
    let names: Vec<_> = fs::read_dir(made.path(&tenant().to_string())).expect("a folder").collect();
    assert_eq!(names.len(), 1, "{names:?}");
    assert!(made.store.remove(tenant(), &slug("codex")).await.expect("removed"));
    assert!(!made.store.remove(tenant(), &slug("codex")).await.expect("nothing there"));
    assert_eq!(fs::read_dir(made.path(&tenant().to_string())).expect("a folder").count(), 0);
}

#[test]
fn readers_see_the_old_profile_or_the_new_one_and_never_a_mixture_or_nothing() {
    let made = made();
    let put =
        |credential: &str| made.store.put_now(tenant(), &slug("codex"), &new(credential)).expect("kept");
    let suffixes = [put(CANARY).hash_suffix, put("another").hash_suffix];
    let is_written = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let read = || {
            let mut seen = 0;
            while !is_written.load(Ordering::SeqCst) {
                let found = made.store.find_now(tenant(), &slug("codex"));
                let Ok(Some(kept)) = &found else { panic!("{found:?}") };
                assert!(kept.settings.is_some() && suffixes.contains(&kept.hash_suffix), "{kept:?}");
                seen += 1;
            }
            seen
        };
        let readers = [scope.spawn(read), scope.spawn(read), scope.spawn(read)];
        for round in 0..1000 {
            put(if round % 2 == 0 { CANARY } else { "another" });
        }
        is_written.store(true, Ordering::SeqCst);
        readers.map(|reader| reader.join().expect("no mixture was seen")).iter().sum::<u32>()
    });
    assert!(seen > 20, "only {seen} looks");
}

#[tokio::test]
async fn a_store_that_others_can_read_is_refused() {
    let made = made();
    made.store.put(tenant(), &slug("codex"), new(CANARY)).await.expect("kept");
    let credential = made.path(&format!("{}/codex/credential", tenant()));
    for (path, open, shut) in [
        (credential, 0o640, 0o600),
        (made.path(&tenant().to_string()), 0o711, 0o700),
        (made.folder.path().join("secrets"), 0o750, 0o700),
    ] {
        fs::set_permissions(&path, fs::Permissions::from_mode(open)).expect("ours");
        let refused = made.store.find(tenant(), &slug("codex")).await;
        assert!(matches!(&refused, Err(SecretError::Open(at)) if *at == path), "{refused:?}");
        assert!(
            made.store.put(tenant(), &slug("codex"), new("x")).await.is_err() || path.ends_with("credential")
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(shut)).expect("ours");
        assert!(made.store.find(tenant(), &slug("codex")).await.is_ok());
    }
}

#[tokio::test]
async fn a_link_leads_nowhere_and_what_it_points_to_is_neither_read_nor_removed() {
    let made = made();
    let elsewhere = made.folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o700)).expect("ours");
    fs::write(elsewhere.join("credential"), CANARY).expect("a file");
    made.store.put(tenant(), &slug("codex"), new("x")).await.expect("kept");
    symlink(&elsewhere, made.path(&format!("{}/evil", tenant()))).expect("a link");
    assert!(matches!(made.store.find(tenant(), &slug("evil")).await, Err(SecretError::Form(_))));
    let credential = made.path(&format!("{}/codex/credential", tenant()));
    fs::remove_file(&credential).expect("ours");
    symlink(elsewhere.join("credential"), &credential).expect("a link");
    assert!(matches!(made.store.find(tenant(), &slug("codex")).await, Err(SecretError::Form(_))));
    assert!(made.store.remove(tenant(), &slug("codex")).await.expect("removed"));
    assert_eq!(fs::read_to_string(elsewhere.join("credential")).expect("still there"), CANARY);
}

#[test]
fn nothing_that_is_no_slug_becomes_a_name() {
    for text in ["..", ".", "../shared", "a/b", "", "-x", "A", ".passing-1", "a\0b"] {
        assert!(text.parse::<BackendProfile>().is_err(), "{text:?}");
    }
}

#[tokio::test]
async fn a_runner_gets_a_copy_of_its_own_profile_first_the_tenants_and_then_the_operators() {
    let made = made();
    let Owner::Tenant(id) = tenant() else { unreachable!() };
    let into = |name: &str| made.folder.path().join(name);
    let missing = made.store.copy_for_runner(Some(id), &slug("codex"), &into("none"));
    assert!(matches!(missing, Err(SecretError::Missing(_))), "{missing:?}");
    made.store.put(Owner::Shared, &slug("codex"), new("shared")).await.expect("kept");
    assert_eq!(
        made.store.copy_for_runner(Some(id), &slug("codex"), &into("a")).expect("copied"),
        Owner::Shared
    );
    made.store.put(tenant(), &slug("codex"), new(CANARY)).await.expect("kept");
    assert_eq!(made.store.copy_for_runner(Some(id), &slug("codex"), &into("b")).expect("copied"), tenant());
    assert_eq!(fs::read_to_string(into("b").join("credential")).expect("a file"), format!("{CANARY}\n"));
    assert_eq!((mode(&into("b")), mode(&into("b").join("credential"))), (0o700, 0o600));
}

#[tokio::test]
async fn what_a_killed_server_left_half_written_goes_and_what_is_being_written_stays() {
    let made = made();
    made.store.put(tenant(), &slug("codex"), new(CANARY)).await.expect("kept");
    let left = made.path(&format!("{}/.passing-1", tenant()));
    fs::create_dir(&left).expect("a folder");
    fs::set_permissions(&left, fs::Permissions::from_mode(0o700)).expect("ours");
    let now: Timestamp = Timestamp::try_from(fs::metadata(&left).expect("there").modified().expect("a time"))
        .expect("in range");
    assert_eq!(made.store.list(tenant(), 10).await.expect("read").len(), 1, "it is no profile");
    made.store.sweep(now).expect("swept");
    assert!(left.exists(), "somebody may be writing it");
    made.store.sweep(now + jiff::SignedDuration::from_mins(11)).expect("swept");
    assert!(!left.exists() && made.path(&format!("{}/codex", tenant())).exists());
}

#[tokio::test]
async fn no_error_and_nothing_that_prints_holds_a_credential() {
    let made = made();
    let asked = format!("{:?}", new(CANARY));
    let kept = made.store.put(tenant(), &slug("codex"), new(CANARY)).await.expect("kept");
    let credential = made.path(&format!("{}/codex/credential", tenant()));
    fs::write(&credential, CANARY.repeat(2000)).expect("ours");
    let refused = made.store.find(tenant(), &slug("codex")).await.expect_err("too long");
    for text in [asked, format!("{kept:?}"), format!("{refused:?} {refused}"), format!("{:?}", made.store)] {
        assert!(!text.contains("canary"), "{text}");
    }
}
