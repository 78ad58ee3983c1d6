//! `Store`: a directory (or memory) with its layers, opened for writing or for reading beside a
//! writer.
//!
//! Whoever reads takes a [`Snapshot`]: the current one lies behind a mutex that is held for the
//! time of cloning an `Arc`, a few nanoseconds, never while files are written; so readers do not
//! wait for writers. Whoever adds files takes a [`SegmentReservation`], writes them under its
//! names, makes them durable and publishes them.
//!
//! What always holds:
//! * The manifest names the live files. It is switched only after every file that it names is
//!   durable; after the switch the snapshot is swapped. A failed publish leaves the store as it
//!   was.
//! * One process writes a store (it holds the lock), and within it one reservation is out at a
//!   time, so that ordinals are given once.
//! * A store that was opened read-only takes no lock and changes and removes nothing.

use crate::dictionary::Dictionary;
use crate::error::{Result, StoreError};
use crate::id::{Kind, PAYLOAD_MAX};
use crate::io::file::FileStorage;
use crate::io::memory::MemoryStorage;
use crate::io::{Lock, Storage};
use crate::manifest::{
    self, DictionaryEntry, InferenceEntry, Manifest, Ordinals, SegmentEntry, SwitchError,
    TripleTableEntry,
};
use crate::segment::{Segment, file_length};
use crate::snapshot::terms::Dictionaries;
use crate::snapshot::{Layer, Snapshot, State};
use crate::triple_table::TripleTable;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// How often a read-only open reads the manifest anew because a file that it named has gone: a
/// writer that replaces the manifest so often in so short a time does not exist.
const READ_ONLY_ATTEMPTS: usize = 10;

/// How a store is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// For writing; a store is made if there is none.
    Create,
    /// For writing; there must be a store.
    Write,
    /// For reading beside a writer.
    ReadOnly,
}

/// An open store; cheap to clone, `Send` and `Sync`.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    storage: Arc<dyn Storage>,
    mode: Mode,
    current: Mutex<Current>,
    changes: Mutex<Changes>,
    /// Held until the last clone of the store is gone.
    _lock: Option<Box<dyn Lock>>,
}

/// What is swapped by a publish.
#[derive(Clone, Debug)]
struct Current {
    manifest: Arc<Manifest>,
    snapshot: Snapshot,
}

/// What writers agree on.
#[derive(Debug)]
struct Changes {
    /// The number of the next files; above all that the manifest names, and all that were reserved
    /// since the store was opened.
    next_file_number: u64,
    /// Whether a switch of the manifest failed so that a crash may leave the old or the new one.
    uncertain: bool,
    reserved: bool,
}

impl Store {
    /// Opens a store for writing; makes one if the directory is missing or empty. Removes what a
    /// crash left over.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if another process writes it, [`StoreError::NotAStore`] if there is
    /// something else.
    pub fn open(path: &Path) -> Result<Self> {
        Self::with_storage(Arc::new(FileStorage::create(path)?), Mode::Create)
    }

    /// Opens a store for writing that must exist.
    pub fn open_existing(path: &Path) -> Result<Self> {
        Self::with_storage(Arc::new(FileStorage::open(path)?), Mode::Write)
    }

    /// Opens a store for reading, also beside a process that writes it.
    pub fn open_read_only(path: &Path) -> Result<Self> {
        Self::with_storage(Arc::new(FileStorage::open(path)?), Mode::ReadOnly)
    }

    /// A new store in memory.
    pub fn in_memory() -> Self {
        Self::with_storage(Arc::new(MemoryStorage::new()), Mode::Create)
            .expect("memory refuses nothing")
    }
}

impl Store {
    /// A store in any storage.
    pub fn with_storage(storage: Arc<dyn Storage>, mode: Mode) -> Result<Self> {
        if mode != Mode::ReadOnly && Manifest::load(&*storage)?.is_none() && mode == Mode::Write {
            // A directory that is somebody else's is refused before a lock file appears in it, or a
            // file of that name is written over.
            return Err(no_store(&*storage));
        }
        let lock = match mode {
            Mode::Create | Mode::Write => Some(storage.lock()?),
            Mode::ReadOnly => None,
        };
        let current = match mode {
            Mode::ReadOnly => open_beside_writer(&storage, None)?,
            Mode::Create | Mode::Write => {
                let manifest = match Manifest::load(&*storage)? {
                    Some(manifest) => {
                        // Whoever put it there may have died, or failed, before this was done; what
                        // is taken as stored from now on, and what is removed as left over, relies
                        // on it.
                        storage.sync_directory("")?;
                        manifest
                    }
                    None if mode == Mode::Create => {
                        let manifest = Manifest::new();
                        manifest.store(&*storage)?;
                        manifest
                    }
                    None => return Err(no_store(&*storage)),
                };
                manifest::remove_leftovers(&*storage, &manifest)?;
                open_current(&storage, true, manifest, None)?
            }
        };
        let next_file_number = current.manifest.next_file_number;
        Ok(Self {
            inner: Arc::new(Inner {
                storage,
                mode,
                current: Mutex::new(current),
                changes: Mutex::new(Changes {
                    next_file_number,
                    uncertain: false,
                    reserved: false,
                }),
                _lock: lock,
            }),
        })
    }

    /// The store as it is now.
    pub fn snapshot(&self) -> Snapshot {
        self.current().snapshot.clone()
    }

    /// Where the files are.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.inner.storage
    }

    /// How the store was opened.
    pub fn mode(&self) -> Mode {
        self.inner.mode
    }

    /// What the store's files are.
    pub fn manifest(&self) -> Arc<Manifest> {
        Arc::clone(&self.current().manifest)
    }

    /// Both as of one moment.
    pub(crate) fn manifest_and_snapshot(&self) -> (Arc<Manifest>, Snapshot) {
        let Current { manifest, snapshot } = self.current().clone();
        (manifest, snapshot)
    }

    /// Looks whether a writer has published something since a read-only store was opened, and shows
    /// it to the snapshots that are taken from now on; says whether there was something. A store
    /// that is open for writing is always up to date.
    pub fn refresh(&self) -> Result<bool> {
        if self.inner.mode != Mode::ReadOnly {
            return Ok(false);
        }
        let before = self.current().clone();
        let now = open_beside_writer(&self.inner.storage, Some(&before))?;
        let changed = is_newer(&now, &before);
        // Another thread may have refreshed further meanwhile.
        self.show(now);
        Ok(changed)
    }

    /// Starts a change that adds files. One is possible at a time; dropping the reservation ends
    /// it, and removes the files that were written under its names.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`]; [`StoreError::Busy`] while another reservation is out.
    pub fn begin_segment(&self) -> Result<SegmentReservation> {
        if self.inner.mode == Mode::ReadOnly {
            return Err(StoreError::ReadOnly {
                path: self.inner.storage.display(""),
            });
        }
        let mut changes = lock(&self.inner.changes);
        if changes.uncertain {
            return Err(StoreError::Uncertain {
                path: self.inner.storage.display(""),
            });
        }
        if changes.reserved {
            return Err(StoreError::Busy {
                path: self.inner.storage.display(""),
            });
        }
        changes.reserved = true;
        let number = changes.next_file_number;
        changes.next_file_number += 1;
        drop(changes);
        let manifest = self.manifest();
        Ok(SegmentReservation {
            segment_path: manifest::segment_path(number),
            dictionary_path: manifest::dictionary_path(number),
            triples_path: manifest::triple_table_path(number),
            first_ordinals: manifest.next_ordinals.to_array(),
            first_blank: manifest.next_blank,
            first_triple: manifest.next_triple,
            first_document: manifest.next_document,
            number,
            store: self.clone(),
            keep_files: false,
        })
    }

    /// Publishes what was written under a reservation's names: all of it, or on an error nothing.
    /// The files must be durable; their directories are made so here.
    ///
    /// # Errors
    /// Whatever the files refuse; the store is as it was then. Only if the very last step fails,
    /// the renaming of the manifest or making it durable, is it not known which state a crash would
    /// leave: then this process goes on showing the old one, and begins no other change
    /// ([`StoreError::Uncertain`]) until the store is opened again.
    pub fn publish(&self, reservation: SegmentReservation, new: NewSegment) -> Result<()> {
        self.publish_change(reservation, new, |_| {})
    }

    /// Publishes new files and, with them, what `change` does to the manifest that does not name them
    /// yet. Segments that it does not name any more are removed.
    fn publish_change(
        &self,
        mut reservation: SegmentReservation,
        new: NewSegment,
        change: impl FnOnce(&mut Manifest),
    ) -> Result<()> {
        assert!(
            Arc::ptr_eq(&self.inner, &reservation.store.inner),
            "a reservation is published in the store it came from"
        );
        let before = self.current().clone();
        let mut changed = before.manifest.successor();
        change(&mut changed);
        let manifest = self.next_manifest(changed, &reservation, new)?;
        let next = open_current(&self.inner.storage, true, manifest, Some(&before))?;
        match next.manifest.store(&*self.inner.storage) {
            Ok(()) => {
                reservation.keep_files = true;
                let live = &next.manifest.segments;
                let is_dropped = |entry: &&SegmentEntry| live.iter().all(|l| l.path != entry.path);
                for entry in before.manifest.segments.iter().filter(is_dropped) {
                    // Snapshots that show it have its files mapped. What cannot be removed now is
                    // removed when the store is next opened for writing.
                    drop(self.inner.storage.remove(&entry.path));
                }
                self.show(next);
                Ok(())
            }
            Err(error) => {
                if let SwitchError::Uncertain(_) = error {
                    reservation.keep_files = true;
                    lock(&self.inner.changes).uncertain = true;
                }
                Err(error.into())
            }
        }
    }

    /// Publishes what was inferred, as [`Store::publish`] does: the segment's quads become inferred
    /// ones that reflect all explicit quads of the store. `replace` says that the inferred segments
    /// that there were are dropped.
    ///
    /// The segment may insert only quads that the store does not show then, and delete only inferred
    /// quads that it keeps; all that are explicit now and inferred must be deleted, see
    /// [`crate::snapshot`]. The terms of its quads must have ids, those of `new.dictionary` included.
    ///
    /// # Errors
    /// As [`Store::publish`].
    pub fn publish_inferred(
        &self,
        reservation: SegmentReservation,
        mut new: NewSegment,
        inference: InferenceEntry,
        replace: bool,
    ) -> Result<()> {
        if let Some(segment) = &mut new.segment {
            segment.inferred = true;
        }
        self.publish_change(reservation, new, |manifest| {
            if replace {
                manifest.segments.retain(|segment| !segment.inferred);
            }
            let commit = manifest.commit;
            manifest.inference = Some(InferenceEntry {
                commit,
                ..inference
            });
        })
    }

    /// Drops all inferred quads; says how many segments they had.
    ///
    /// # Errors
    /// As [`Store::publish`].
    pub fn drop_inferred(&self) -> Result<usize> {
        let reservation = self.begin_segment()?;
        let manifest = self.manifest();
        let segments = manifest.segments.iter().filter(|segment| segment.inferred);
        let segments = segments.count();
        if segments > 0 || manifest.inference.is_some() {
            self.publish_change(reservation, NewSegment::default(), |manifest| {
                manifest.segments.retain(|segment| !segment.inferred);
                manifest.inference = None;
            })?;
        }
        Ok(segments)
    }

    /// The manifest that also names the new files, whose directories it makes durable.
    fn next_manifest(
        &self,
        mut manifest: Manifest,
        reservation: &SegmentReservation,
        new: NewSegment,
    ) -> Result<Manifest> {
        let storage = &*self.inner.storage;
        manifest.next_file_number = manifest.next_file_number.max(reservation.number + 1);
        manifest.next_blank = advance(manifest.next_blank, new.blank_nodes, "blank nodes")?;
        manifest.next_document += new.documents;
        for (prefix, iri) in &new.prefixes {
            manifest.remember_prefix(prefix, iri);
        }
        if new.dictionary {
            let path = &reservation.dictionary_path;
            let dictionary = Dictionary::open(storage, path)?;
            let counts = Kind::VOCABULARY.map(|kind| dictionary.count(kind));
            let mut next = manifest.next_ordinals.to_array();
            for ((next, count), kind) in next.iter_mut().zip(counts).zip(Kind::VOCABULARY) {
                assert!(
                    count == 0 || dictionary.first(kind) == *next,
                    "a new dictionary begins with the reservation's ordinals"
                );
                *next = advance(*next, count, "terms of a kind")?;
            }
            manifest.dictionaries.push(DictionaryEntry {
                path: path.clone(),
                ordered: true,
                first_ordinals: manifest.next_ordinals,
                counts: Ordinals::from_array(counts),
                bytes: file_length(storage, path)?,
            });
            manifest.next_ordinals = Ordinals::from_array(next);
            storage.sync_directory(manifest::DICTIONARIES)?;
        }
        if new.triple_table {
            let path = &reservation.triples_path;
            let table = TripleTable::open(storage, path)?;
            assert_eq!(
                table.first(),
                manifest.next_triple,
                "a new table begins with the reservation's ordinal"
            );
            manifest.next_triple = advance(manifest.next_triple, table.rows(), "triple terms")?;
            manifest.triple_tables.push(TripleTableEntry {
                path: path.clone(),
                first: table.first(),
                count: table.rows(),
                bytes: file_length(storage, path)?,
            });
            storage.sync_directory(manifest::TRIPLE_TABLES)?;
        }
        if let Some(mut segment) = new.segment {
            assert_eq!(
                segment.path, reservation.segment_path,
                "a segment under another name"
            );
            if !segment.inferred {
                manifest.commit += 1;
            }
            segment.commit = manifest.commit;
            manifest.segments.push(segment);
        }
        Ok(manifest)
    }

    /// Shows a newer state to the snapshots that are taken from now on.
    fn show(&self, mut next: Current) {
        let mut current = self.current();
        if is_newer(&next, &current) {
            std::mem::swap(&mut *current, &mut next);
        }
        // What was shown before is dropped after the lock: it may take time to unmap its files.
        drop(current);
        drop(next);
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        lock(&self.inner.current)
    }
}

/// Whether a state replaces another one: a later one of the same store, or one of another store that
/// took its place.
fn is_newer(next: &Current, current: &Current) -> bool {
    let (next, current) = (&next.manifest, &current.manifest);
    next.store != current.store || next.generation > current.generation
}

/// A panic while one of these was held leaves nothing half done: each is changed by one assignment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Names and numbers for what is to be added to a store.
#[derive(Debug)]
pub struct SegmentReservation {
    /// The directory for the segment.
    pub segment_path: String,
    /// The file for a dictionary.
    pub dictionary_path: String,
    /// The file for a table of triple terms.
    pub triples_path: String,
    /// The next free ordinals, by [`Kind::VOCABULARY`].
    pub first_ordinals: [u64; 4],
    /// The number of the next blank node.
    pub first_blank: u64,
    /// The ordinal of the next triple term.
    pub first_triple: u64,
    /// The number of the next document.
    pub first_document: u64,
    number: u64,
    /// Keeps the lock: nobody else gives out the same names while these files are written.
    store: Store,
    /// Set once a manifest may name the files.
    keep_files: bool,
}

impl Drop for SegmentReservation {
    fn drop(&mut self) {
        if !self.keep_files {
            for path in [
                &self.segment_path,
                &self.dictionary_path,
                &self.triples_path,
            ] {
                // What cannot be removed now is removed when the store is next opened for writing.
                drop(self.store.inner.storage.remove(path));
            }
        }
        lock(&self.store.inner.changes).reserved = false;
    }
}

/// What was written under a reservation's names, all of it durable.
#[derive(Clone, Debug, Default)]
pub struct NewSegment {
    /// Whether there is a dictionary.
    pub dictionary: bool,
    /// Whether there is a table of triple terms.
    pub triple_table: bool,
    /// The segment, if there is one.
    pub segment: Option<SegmentEntry>,
    /// How many numbers of blank nodes were used, from the reservation's first.
    pub blank_nodes: u64,
    /// How many numbers of documents were used, from the reservation's first.
    pub documents: u64,
    /// Prefixes to remember for output, name (without the colon) and IRI, see
    /// [`Manifest::remember_prefix`].
    pub prefixes: Vec<(String, String)>,
}

/// The number behind `count` more; there are as many as payloads of an id.
fn advance(next: u64, count: u64, what: &str) -> Result<u64> {
    match next.checked_add(count) {
        Some(next) if next <= PAYLOAD_MAX => Ok(next),
        _ => Err(StoreError::Limit {
            what: format!("too many {what}"),
            limit: PAYLOAD_MAX,
        }),
    }
}

fn no_store(storage: &dyn Storage) -> StoreError {
    StoreError::NotAStore {
        path: storage.display(""),
        reason: "there is no store here".to_owned(),
    }
}

/// Opens what a manifest names; files that are open already are shared.
fn open_current(
    storage: &Arc<dyn Storage>,
    is_writable: bool,
    manifest: Manifest,
    before: Option<&Current>,
) -> Result<Current> {
    let damaged = |path: &str, reason: &str| StoreError::Damaged {
        path: storage.display(path),
        offset: 0,
        reason: reason.to_owned(),
    };
    manifest.refuse_logs(&**storage)?;
    let mut layers = Vec::with_capacity(manifest.segments.len());
    for entry in &manifest.segments {
        layers.push(Layer::Segment(
            match before.and_then(|before| before.segment(entry)) {
                Some(segment) => segment,
                None => Arc::new(Segment::open(&**storage, entry.clone())?),
            },
        ));
    }
    let mut dictionaries = Vec::with_capacity(manifest.dictionaries.len());
    for entry in &manifest.dictionaries {
        let dictionary = match before.and_then(|before| before.dictionary(entry)) {
            Some(dictionary) => dictionary,
            None => Dictionary::open(&**storage, &entry.path)?,
        };
        let agrees = Kind::VOCABULARY.into_iter().all(|kind| {
            let count = entry.counts.get(kind);
            dictionary.count(kind) == count
                && (count == 0 || dictionary.first(kind) == entry.first_ordinals.get(kind))
        });
        if !agrees {
            return Err(damaged(
                &entry.path,
                "other ordinals than the manifest says",
            ));
        }
        dictionaries.push(dictionary);
    }
    let mut triple_tables = Vec::with_capacity(manifest.triple_tables.len());
    for entry in &manifest.triple_tables {
        let table = match before.and_then(|before| before.triple_table(entry)) {
            Some(table) => table,
            None => TripleTable::open(&**storage, &entry.path)?,
        };
        if (table.first(), table.rows()) != (entry.first, entry.count) {
            return Err(damaged(
                &entry.path,
                "other ordinals than the manifest says",
            ));
        }
        triple_tables.push(table);
    }
    let snapshot = Snapshot {
        dataset: None,
        state: Arc::new(State {
            storage: Arc::clone(storage),
            is_writable,
            layers,
            dictionaries: Dictionaries::new(dictionaries),
            triple_tables,
            next_blank: manifest.next_blank,
            prefixes: manifest.prefixes.clone(),
            commit: manifest.commit,
            inference: manifest.inference.clone(),
            may_overlap: manifest.segments.iter().any(|segment| segment.inferred)
                && (manifest.inference.as_ref())
                    .is_none_or(|inference| inference.commit < manifest.commit),
            statistics: OnceLock::new(),
        }),
    };
    if !snapshot.counts_are_possible() {
        return Err(damaged("", "more quads deleted than inserted"));
    }
    Ok(Current {
        manifest: Arc::new(manifest),
        snapshot,
    })
}

impl Current {
    fn segment(&self, entry: &SegmentEntry) -> Option<Arc<Segment>> {
        self.snapshot
            .state
            .layers
            .iter()
            .find_map(|layer| match layer {
                Layer::Segment(segment) if segment.entry() == entry => Some(Arc::clone(segment)),
                _ => None,
            })
    }

    fn dictionary(&self, entry: &DictionaryEntry) -> Option<Dictionary> {
        let place = self
            .manifest
            .dictionaries
            .iter()
            .position(|known| known == entry)?;
        Some(self.snapshot.state.dictionaries.list()[place].clone())
    }

    fn triple_table(&self, entry: &TripleTableEntry) -> Option<TripleTable> {
        let place = self
            .manifest
            .triple_tables
            .iter()
            .position(|known| known == entry)?;
        Some(self.snapshot.state.triple_tables[place].clone())
    }
}

/// Opens the current state without a lock. A writer may replace the manifest at any time and then
/// remove files that only the old one named; so when a file has gone, the manifest is read again.
fn open_beside_writer(storage: &Arc<dyn Storage>, before: Option<&Current>) -> Result<Current> {
    let mut attempt = 1;
    loop {
        let Some(manifest) = Manifest::load(&**storage)? else {
            return Err(no_store(&**storage));
        };
        // Of another store that took the place of this one nothing is known, whatever its files are
        // called.
        let before = before.filter(|before| before.manifest.store == manifest.store);
        if let Some(before) = before
            && before.manifest.generation == manifest.generation
        {
            return Ok(before.clone());
        }
        match open_current(storage, false, manifest, before) {
            Err(StoreError::Io { source, .. })
                if source.kind() == io::ErrorKind::NotFound && attempt < READ_ONLY_ATTEMPTS =>
            {
                attempt += 1;
            }
            result => return result,
        }
    }
}
