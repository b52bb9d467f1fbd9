//! Folders of devices.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::super::tests::identity;
use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o777
}

#[test]
fn device_keeps_its_id_and_is_private() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, alice) = (folder.path().join("devices/alice"), identity("alice"));
    let device_id = DeviceStore::open(&path, &alice).expect("created").device_id().to_owned();
    assert_eq!((device_id.len(), mode(&path)), (32, 0o700));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("changed");
    let store = DeviceStore::open(&path, &alice).expect("opened");
    assert_eq!((store.device_id(), mode(&path)), (&*device_id, 0o700));
    store.advance("default", 1).expect("stored");
    for file in fs::read_dir(&path).expect("a folder") {
        assert_eq!(mode(&file.expect("a file").path()), 0o600);
    }
}

#[test]
fn folder_of_another_aid_or_of_a_newer_version_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    DeviceStore::open(folder.path(), &identity("alice")).expect("created");
    let refused = DeviceStore::open(folder.path(), &identity("bobby")).expect_err("another AID");
    assert!(matches!(refused, DeviceStoreError::OtherAid { .. }), "{refused:?}");
    for (text, expected) in
        [(r#"{"format":2,"aid":"","device_id":""}"#, "newer version"), ("{", "not readable")]
    {
        fs::write(folder.path().join(DEVICE_FILE), text).expect("written");
        let refused = DeviceStore::open(folder.path(), &identity("alice")).expect_err("refused");
        assert!(refused.to_string().contains(expected), "{refused}");
    }
}

#[test]
fn position_of_each_slot_never_goes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let alice = identity("alice");
    let [first, second] = [0, 1].map(|_| DeviceStore::open(folder.path(), &alice).expect("opened"));
    for (seq, expected) in [(3, 3), (2, 3), (7, 7)] {
        first.advance("default/work", seq).expect("stored");
        assert_eq!(second.position("default").expect("read"), expected);
    }
    assert_eq!(second.position("chat").expect("read"), 0);
}

#[test]
fn changes_of_several_handles_are_not_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let alice = identity("alice");
    DeviceStore::open(folder.path(), &alice).expect("created");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = DeviceStore::open(folder.path(), &alice).expect("opened");
            scope.spawn(move || {
                for slot in 0..25 {
                    store.advance(&format!("slot-{thread}-{slot}"), 1).expect("stored");
                }
            });
        }
    });
    let store = DeviceStore::open(folder.path(), &alice).expect("opened");
    let sum: i64 = (0..4)
        .flat_map(|thread| (0..25).map(move |slot| format!("slot-{thread}-{slot}")))
        .map(|slot| store.position(&slot).expect("read"))
        .sum();
    assert_eq!(sum, 100);
}
