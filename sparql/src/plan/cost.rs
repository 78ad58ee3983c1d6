//! What things cost, in nanoseconds: measured roughly, on LUBM. Only their proportions matter.

/// To open a scan.
pub const OPEN: f64 = 1_000.0;
/// To read a row of a scan.
pub const SCAN: f64 = 2.0;
/// To compare a row in a merge join.
pub const MERGE: f64 = 2.5;
/// To go over a key of a lookup.
pub const KEY: f64 = 20.0;
/// To sort a key among those of its batch.
pub const SORT: f64 = 30.0;
/// What a term costs more to look up if its neighbours in the rows are not its neighbours in the dictionary.
pub const FETCH: f64 = 100.0;
/// To seek a key in an index that lies far from the one before.
pub const SEEK: f64 = 500.0;
/// To read a step of a path into memory.
pub const STEP: f64 = 40.0;
/// To file a row in a hash table.
pub const FILE: f64 = 20.0;
/// To look a row up there.
pub const PROBE: f64 = 10.0;
/// To make a list of terms for a key.
pub const LIST: f64 = 20.0;
/// To begin the intersection of a row's lists.
pub const INTERSECT: f64 = 15.0;
/// To walk over a term of a list.
pub const WALK: f64 = 1.5;
/// To leap to a term in a list.
pub const LEAP: f64 = 12.0;
/// To give a row.
pub const GIVE: f64 = 4.0;
/// To remember a row for DISTINCT.
pub const REMEMBER: f64 = 25.0;
/// Rows of a batch.
pub const BATCH: f64 = 1_024.0;
/// To consider a pattern as the next one of a set.
pub const PLAN_STEP: f64 = 60.0;
/// To look for predicates in a characteristic set, which nobody has looked at for a while.
pub const SET: f64 = 100.0;
/// To sample a row, and count the rows of another pattern that agree with it.
pub const SAMPLE: f64 = 1_500.0;
/// The share of what a plan is expected to take that may be spent on better estimates.
pub const ESTIMATING_SHARE: f64 = 0.005;
