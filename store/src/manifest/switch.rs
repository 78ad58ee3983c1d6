//! Reading a manifest, and putting a new one in its place so that a crash leaves one of the two, whole.

use super::{
    DICTIONARIES, FORMAT_VERSION, LOGS, MANIFEST_FILE, Manifest, NEW_MANIFEST_FILE, SEGMENTS,
    TEMPORARY, TRIPLE_TABLES,
};
use crate::error::{Result, StoreError};
use crate::io::Storage;
use crate::io::file::LOCK_FILE;
use xxhash_rust::xxh3::xxh3_64;

/// The first word of a manifest.
const WORD: &str = "quadrille-manifest";

/// A longer file is not read as a manifest, and none is written. Thousands of segments fit.
pub const MANIFEST_BYTES_MAX: u64 = 16 << 20;

/// Why a manifest was not, or not for certain, replaced. Converts to the [`StoreError`] within.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// The old manifest is in force, now and after a crash. Files that only the new one named may be removed.
    #[error("the store stays as it was: {0}")]
    Unchanged(#[source] StoreError),
    /// The old or the new manifest is in force, and a crash may leave either; both are whole. The files of
    /// both must stay, and the store must be opened again before it is written to.
    #[error("the store is in its old or its new state: {0}")]
    Uncertain(#[source] StoreError),
}

impl From<SwitchError> for StoreError {
    fn from(error: SwitchError) -> Self {
        match error {
            SwitchError::Unchanged(error) | SwitchError::Uncertain(error) => error,
        }
    }
}

impl Manifest {
    /// Reads the manifest. `None` if there is nothing yet, neither a store nor anything else: the place is
    /// empty but for what the creation of a store, or of a file system, leaves there first.
    ///
    /// # Errors
    /// [`StoreError::NotAStore`] if there is something else, [`StoreError::Version`] if another version of
    /// this program wrote it, [`StoreError::Damaged`] if it is not what was written.
    pub fn load(storage: &dyn Storage) -> Result<Option<Self>> {
        match storage.length(MANIFEST_FILE)? {
            None => refuse_others(storage).map(|()| None),
            Some(length) if length > MANIFEST_BYTES_MAX => Err(StoreError::NotAStore {
                path: storage.display(MANIFEST_FILE),
                reason: format!("{length} bytes are too long for a store's manifest"),
            }),
            Some(_) => {
                let bytes = storage.map(MANIFEST_FILE)?;
                parse(&bytes).map(Some).map_err(|fault| match fault {
                    Fault::Other => StoreError::NotAStore {
                        path: storage.display(MANIFEST_FILE),
                        reason: format!("does not begin with \"{WORD}\""),
                    },
                    Fault::Version(found) => StoreError::Version {
                        path: storage.display(MANIFEST_FILE),
                        found,
                        expected: FORMAT_VERSION,
                    },
                    Fault::Damage(offset, reason) => StoreError::Damaged {
                        path: storage.display(MANIFEST_FILE),
                        offset: offset as u64,
                        reason,
                    },
                })
            }
        }
    }

    /// Puts this manifest in the place of the present one. Everything that it names must be durable.
    ///
    /// # Errors
    /// See [`SwitchError`]; what can fail before the renaming changes nothing.
    ///
    /// # Panics
    /// If the manifest contradicts itself.
    pub fn store(&self, storage: &dyn Storage) -> std::result::Result<(), SwitchError> {
        self.write_new(storage).map_err(SwitchError::Unchanged)?;
        storage
            .rename(NEW_MANIFEST_FILE, MANIFEST_FILE)
            .and_then(|()| storage.sync_directory(""))
            .map_err(SwitchError::Uncertain)
    }

    /// Writes and syncs the file that is to become the manifest.
    fn write_new(&self, storage: &dyn Storage) -> Result<()> {
        let text = self.text();
        if text.len() as u64 > MANIFEST_BYTES_MAX {
            return Err(StoreError::Limit {
                what: format!("a manifest of {} bytes", text.len()),
                limit: MANIFEST_BYTES_MAX,
            });
        }
        // An earlier switch may have ended before its renaming.
        storage.remove(NEW_MANIFEST_FILE)?;
        let mut file = storage.create(NEW_MANIFEST_FILE)?;
        file.write_all(text.as_bytes())?;
        file.sync()
    }

    /// The manifest as it stands in its file.
    pub(super) fn text(&self) -> String {
        if let Err(reason) = self.check() {
            panic!("a manifest that contradicts itself: {reason}");
        }
        let mut json = serde_json::to_string_pretty(self).expect("only strings as keys of maps");
        json.push('\n');
        let sum = xxh3_64(json.as_bytes());
        format!("{WORD} {FORMAT_VERSION} {sum:016x} {}\n{json}", json.len())
    }
}

/// What is wrong with a manifest's bytes.
enum Fault {
    /// They are something else.
    Other,
    /// They are of another version.
    Version(u32),
    /// They were changed, by offset and reason.
    Damage(usize, String),
}

fn parse(bytes: &[u8]) -> std::result::Result<Manifest, Fault> {
    let damage = |offset, reason: &str| Fault::Damage(offset, reason.to_owned());
    let Some(rest) = bytes.strip_prefix(WORD.as_bytes()) else {
        // The beginning of a manifest is not another program's file.
        return Err(if WORD.as_bytes().starts_with(bytes) {
            damage(bytes.len(), "the file ends within its first word")
        } else {
            Fault::Other
        });
    };
    let Some(line_end) = rest.iter().position(|byte| *byte == b'\n') else {
        return Err(damage(WORD.len(), "the first line has no end"));
    };
    let (line, json) = (&rest[..line_end], &rest[line_end + 1..]);
    let json_at = bytes.len() - json.len();
    let line = std::str::from_utf8(line).unwrap_or_default();
    // The version comes first: what follows may be different in others.
    let mut words = line.split(' ').skip(1);
    let version: u32 = words
        .next()
        .and_then(|word| word.parse().ok())
        .ok_or_else(|| damage(WORD.len(), "the first line has no version"))?;
    if version != FORMAT_VERSION {
        return Err(Fault::Version(version));
    }
    let expected = format!(" {version} {:016x} {}", xxh3_64(json), json.len());
    if line != expected {
        let reason = format!("the first line has \"{line}\" where the rest has \"{expected}\"");
        return Err(Fault::Damage(WORD.len(), reason));
    }
    let manifest: Manifest = serde_json::from_slice(json)
        .map_err(|error| Fault::Damage(json_at, format!("not a manifest: {error}")))?;
    match manifest.check() {
        Ok(()) => Ok(manifest),
        Err(reason) => Err(Fault::Damage(json_at, reason)),
    }
}

/// Refuses a directory without a manifest that is not as good as empty.
fn refuse_others(storage: &dyn Storage) -> Result<()> {
    let expected = [LOCK_FILE, NEW_MANIFEST_FILE, "lost+found"];
    let mut names = storage.names("")?;
    names.retain(|name| !expected.contains(&name.as_str()));
    let ours = [SEGMENTS, DICTIONARIES, TRIPLE_TABLES, LOGS, TEMPORARY];
    let reason = if let Some(name) = names.iter().find(|name| ours.contains(&name.as_str())) {
        format!(
            "has \"{name}\", but no \"{MANIFEST_FILE}\": either not a store, or one that lost it"
        )
    } else if let Some(name) = names.first() {
        format!("has \"{name}\", but no \"{MANIFEST_FILE}\": not a store")
    } else {
        return Ok(());
    };
    Err(StoreError::NotAStore {
        path: storage.display(""),
        reason,
    })
}
