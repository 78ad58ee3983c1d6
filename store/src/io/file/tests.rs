//! `FileStorage` against a real directory.

use super::super::conformance;
use super::*;
use std::time::Duration;

fn directory() -> (tempfile::TempDir, FileStorage) {
    let directory = tempfile::tempdir().unwrap();
    let storage = FileStorage::create(&directory.path().join("a/store")).unwrap();
    (directory, storage)
}

#[test]
fn answers_as_a_storage() {
    let (_directory, storage) = directory();
    conformance::check(&storage);
}

#[test]
fn the_names_of_all_new_directories_are_made_durable() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let deep = root.join("a/b/store");
    assert_eq!(
        directories_with_new_names(&deep),
        [&*root.join("a/b"), &*root.join("a"), root]
    );
    FileStorage::create(&deep).unwrap();
    assert!(directories_with_new_names(&deep).is_empty());
}

#[test]
fn large_files_come_back_whole() {
    let (_directory, storage) = directory();
    let bytes: Vec<u8> = (0..3 * WRITE_BACK_BYTES + 5)
        .map(|n| (n.wrapping_mul(0x9e37_79b9) >> 16) as u8)
        .collect();
    let mut file = storage.create("large").unwrap();
    for chunk in bytes.chunks(1_000_003) {
        file.write_all(chunk).unwrap();
    }
    file.sync().unwrap();
    assert!(*storage.map("large").unwrap() == *bytes);
}

#[test]
fn errors_name_operation_and_path() {
    let (_directory, storage) = directory();
    let message = storage.map("segments/1/spo").unwrap_err().to_string();
    let path = storage.root().join("segments/1/spo");
    assert!(message.starts_with("open "), "{message}");
    assert!(message.contains(path.to_str().unwrap()), "{message}");
    assert!(message.contains("No such file"), "{message}");
}

#[test]
fn what_is_no_file_is_refused() {
    let (_directory, storage) = directory();
    fs::create_dir(storage.root().join("directory")).unwrap();
    assert!(storage.map("directory").is_err());
    assert!(storage.read("directory").is_err());
    assert_eq!(storage.length("directory").unwrap(), None);
    let fifo = storage.root().join("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    // Would wait for a writer for ever if it were opened as it is.
    assert!(storage.map("fifo").is_err());
}

#[test]
fn links_are_removed_and_listed_but_not_followed() {
    let (directory, storage) = directory();
    let outside = directory.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), b"x").unwrap();
    std::os::unix::fs::symlink(&outside, storage.root().join("link")).unwrap();
    assert_eq!(storage.list("").unwrap(), ["link"]);
    storage.remove("link").unwrap();
    assert!(outside.join("precious").exists());
    assert!(!storage.root().join("link").exists());
}

#[test]
fn a_failed_write_fails_the_file() {
    let (_directory, storage) = directory();
    fs::write(storage.root().join("read-only"), b"").unwrap();
    let mut writer = FileWriter {
        // Opened for reading, so that writes fail.
        file: File::open(storage.root().join("read-only")).unwrap(),
        path: storage.root().join("read-only"),
        written: 0,
        written_back: 0,
        failed: false,
    };
    writer.sync().unwrap();
    writer.write_all(b"x").unwrap_err();
    // The sync alone would have succeeded.
    let message = writer.sync().unwrap_err().to_string();
    assert!(message.contains("an earlier write"), "{message}");
}

#[test]
fn open_needs_a_directory() {
    let (directory, storage) = directory();
    FileStorage::open(storage.root()).unwrap();
    let missing = FileStorage::open(&directory.path().join("missing"));
    assert!(matches!(missing, Err(StoreError::NotAStore { .. })));
    fs::write(directory.path().join("file"), b"").unwrap();
    let file = FileStorage::open(&directory.path().join("file"));
    assert!(matches!(file, Err(StoreError::NotAStore { .. })));
    assert!(FileStorage::create(&directory.path().join("file")).is_err());
}

#[test]
fn the_lock_says_who_holds_it() {
    let (_directory, storage) = directory();
    let held = storage.lock().unwrap();
    let Err(StoreError::Locked { path, holder }) = storage.lock() else {
        panic!("two locks at once");
    };
    assert_eq!(path, storage.root());
    let start = format!("process {} on ", std::process::id());
    assert!(holder.starts_with(&start), "{holder}");
    assert!(holder.contains("since 20"), "{holder}");
    drop(held);
    drop(storage.lock().unwrap());
    // What a killed process left is no obstacle, be it text or nonsense.
    for stale in [
        &b"process 1 on elsewhere (quadrille load, since ever)"[..],
        &[0xff; 5000],
    ] {
        fs::write(storage.root().join(LOCK_FILE), stale).unwrap();
        let held = storage.lock().unwrap();
        let text = fs::read_to_string(storage.root().join(LOCK_FILE)).unwrap();
        assert!(text.starts_with(&start) && text.ends_with(")\n"), "{text}");
        drop(held);
    }
    // A holder that has not written its text yet.
    let held = storage.lock().unwrap();
    fs::write(storage.root().join(LOCK_FILE), b"").unwrap();
    let Err(StoreError::Locked { holder, .. }) = storage.lock() else {
        panic!("two locks at once");
    };
    assert_eq!(holder, "another process");
    drop(held);
}

/// Run by the next test in a process of its own: takes the lock and waits to be killed.
#[test]
fn holds_the_lock_in_another_process() {
    let Some(root) = std::env::var_os("QUADRILLE_TEST_LOCK") else {
        return;
    };
    let storage = FileStorage::open(Path::new(&root)).unwrap();
    let _held = storage.lock().unwrap();
    // Says that it is held.
    fs::write(storage.root().join("held"), b"").unwrap();
    std::thread::sleep(Duration::from_secs(59));
}

#[test]
fn a_killed_process_holds_nothing() {
    let (_directory, storage) = directory();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "io::file::tests::holds_the_lock_in_another_process",
        ])
        .env("QUADRILLE_TEST_LOCK", storage.root())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while storage.length("held").unwrap().is_none() {
        assert_eq!(child.try_wait().unwrap(), None, "the other process failed");
        std::thread::sleep(Duration::from_millis(5));
    }
    let refused = storage.lock();
    child.kill().unwrap();
    child.wait().unwrap();
    let Err(StoreError::Locked { holder, .. }) = refused else {
        panic!("two processes hold the lock");
    };
    assert!(
        holder.starts_with(&format!("process {} on ", child.id())),
        "{holder}"
    );
    assert!(!fs::read(storage.root().join(LOCK_FILE)).unwrap().is_empty());
    drop(storage.lock().unwrap());
}

#[test]
fn timestamps_are_those_of_the_calendar() {
    // Seconds from `date -u -d ... +%s`.
    for (seconds, text) in [
        (0, "1970-01-01T00:00:00Z"),
        (951_782_399, "2000-02-28T23:59:59Z"),
        (951_782_400, "2000-02-29T00:00:00Z"),
        (951_868_800, "2000-03-01T00:00:00Z"),
        (1_735_689_599, "2024-12-31T23:59:59Z"),
        (1_735_689_600, "2025-01-01T00:00:00Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
    ] {
        assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(seconds)), text);
    }
}

#[test]
fn free_space_is_known() {
    let (_directory, storage) = directory();
    assert!(storage.free_space().unwrap().unwrap() > 0);
}
