//! Tests of whole loads: from the text of documents to a store that is read back.
//!
//! * [`twin`]: whatever the options, a load makes the set of quads that `oxttl` reads, counts what it did, and is
//!   like its plain twin `Store::insert_quads`;
//! * [`several`]: loads into a store that has data;
//! * [`faults`]: crashes, failing files and full disks;
//! * [`errors`]: bad input, bad options, cancelled loads.

mod documents;
mod errors;
mod faults;
mod several;
mod stores;
mod twin;
