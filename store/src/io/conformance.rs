//! What every [`Storage`] must answer, checked alike for files, memory and the faulty one.

use super::Storage;
use crate::error::StoreError;
use std::io::Read;

/// Puts an empty storage through what the trait promises.
pub(super) fn check(storage: &dyn Storage) {
    names(storage);
    contents(storage);
    refusals(storage);
    locks(storage);
    temporary(storage);
}

fn put(storage: &dyn Storage, path: &str, bytes: &[u8]) {
    let mut file = storage.create(path).unwrap();
    file.write_all(bytes).unwrap();
    file.sync().unwrap();
}

fn names(storage: &dyn Storage) {
    assert!(storage.list("").unwrap().is_empty());
    assert!(storage.list("missing").unwrap().is_empty());
    for path in ["b/2", "b/1/x", "a", "b2"] {
        put(storage, path, path.as_bytes());
    }
    assert_eq!(storage.list("").unwrap(), ["a", "b/1/x", "b/2", "b2"]);
    assert_eq!(storage.list("b").unwrap(), ["b/1/x", "b/2"]);
    assert_eq!(storage.names("").unwrap(), ["a", "b", "b2"]);
    assert_eq!(storage.names("b").unwrap(), ["1", "2"]);
    assert!(storage.list("a").unwrap().is_empty());
    assert!(storage.names("a").unwrap().is_empty());
    assert!(storage.names("missing").unwrap().is_empty());
    for directory in ["", "b", "b/1"] {
        storage.sync_directory(directory).unwrap();
    }
    // A rename replaces; who had the old file mapped keeps it.
    let old = storage.map("a").unwrap();
    storage.rename("b/2", "a").unwrap();
    assert_eq!(&*storage.map("a").unwrap(), b"b/2");
    assert_eq!(&*old, b"a");
    assert_eq!(storage.length("b/2").unwrap(), None);
    assert!(storage.rename("b/2", "c").is_err());
    // So does a removal, of a file and of a directory.
    let removed = storage.map("b/1/x").unwrap();
    storage.remove("b").unwrap();
    storage.remove("b").unwrap();
    storage.remove("missing/too").unwrap();
    assert_eq!(&*removed, b"b/1/x");
    assert_eq!(storage.list("").unwrap(), ["a", "b2"]);
    storage.remove("a").unwrap();
    storage.remove("b2").unwrap();
    assert!(storage.list("").unwrap().is_empty());
}

fn contents(storage: &dyn Storage) {
    drop(storage.create("empty").unwrap());
    assert_eq!(storage.length("empty").unwrap(), Some(0));
    assert!(storage.map("empty").unwrap().is_empty());
    let mut file = storage.create("d/long").unwrap();
    let mut expected = Vec::new();
    for n in 0..1000_u32 {
        file.write_all(&n.to_le_bytes()).unwrap();
        expected.extend_from_slice(&n.to_le_bytes());
        if n % 300 == 0 {
            file.sync().unwrap();
        }
    }
    // What is written is there before the writer is done, as a log needs it.
    assert_eq!(storage.length("d/long").unwrap(), Some(4000));
    assert_eq!(&*storage.map("d/long").unwrap(), &*expected);
    drop(file);
    assert_eq!(&*storage.map("d/long").unwrap(), &*expected);
    let mut read = Vec::new();
    let mut reader = storage.read("d/long").unwrap();
    assert_eq!(reader.read_to_end(&mut read).unwrap(), 4000);
    assert_eq!(read, expected);
    // A writer whose file is renamed or removed below it goes on writing that file.
    let mut file = storage.create("moving").unwrap();
    storage.rename("moving", "moved").unwrap();
    file.write_all(b"x").unwrap();
    storage.remove("moved").unwrap();
    file.write_all(b"y").unwrap();
    drop(file);
    assert_eq!(storage.length("moving").unwrap(), None);
    assert_eq!(storage.length("moved").unwrap(), None);
    storage.remove("empty").unwrap();
    storage.remove("d").unwrap();
}

fn refusals(storage: &dyn Storage) {
    put(storage, "file", b"x");
    assert!(storage.create("file").is_err());
    assert!(storage.create("file/below").is_err());
    assert_eq!(storage.length("file/below").unwrap(), None);
    put(storage, "directory/file", b"x");
    assert!(storage.create("directory").is_err());
    assert!(storage.rename("file", "directory").is_err());
    assert_eq!(&*storage.map("file").unwrap(), b"x");
    for path in ["", "/absolute", "../out", "a/../../out", "a//b"] {
        assert!(storage.create(path).is_err(), "{path:?}");
        assert!(storage.map(path).is_err(), "{path:?}");
        assert!(storage.length(path).is_err(), "{path:?}");
        assert!(storage.read(path).is_err(), "{path:?}");
        assert!(storage.remove(path).is_err(), "{path:?}");
        assert!(storage.rename("file", path).is_err(), "{path:?}");
        assert!(storage.rename(path, "file2").is_err(), "{path:?}");
    }
    assert!(storage.map("missing").is_err());
    assert!(storage.read("missing").is_err());
    storage.remove("file").unwrap();
    storage.remove("directory").unwrap();
}

fn locks(storage: &dyn Storage) {
    let held = storage.lock().unwrap();
    assert!(matches!(storage.lock(), Err(StoreError::Locked { .. })));
    drop(held);
    drop(storage.lock().unwrap());
}

fn temporary(storage: &dyn Storage) {
    let before = storage.list("").unwrap();
    let Some(mut first) = storage.temporary().unwrap() else {
        return;
    };
    let mut second = storage.temporary().unwrap().unwrap();
    first.append(b"one").unwrap();
    second.append(b"two").unwrap();
    first.append(b" and more").unwrap();
    let mut bytes = [0; 4];
    first.read_at(2, &mut bytes).unwrap();
    assert_eq!(&bytes, b"e an");
    assert!(second.read_at(0, &mut bytes).is_err());
    drop((first, second));
    assert_eq!(storage.list("").unwrap(), before);
}
