//! What a manifest must not contradict: checked before one is written and after one was read.

use super::{
    DICTIONARIES, FORMAT_VERSION, LOGS, Manifest, PREFIX_BYTES_MAX, PREFIX_IRI_BYTES_MAX,
    PREFIXES_MAX, SEGMENTS, SegmentEntry, TRIPLE_TABLES, leftovers,
};
use crate::id::{Kind, PAYLOAD_MAX};
use crate::quad::Order;
use std::collections::HashSet;
use std::result::Result;

impl Manifest {
    /// Whether everything holds that a manifest promises; if not, what does not.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.format != FORMAT_VERSION {
            return Err(format!(
                "format {} within version {FORMAT_VERSION}",
                self.format
            ));
        }
        self.check_paths()?;
        self.check_dictionaries()?;
        let tables = self.triple_tables.iter().map(|t| (t.first, t.count));
        check_ranges("triple terms", tables, self.next_triple)?;
        if self.next_blank > PAYLOAD_MAX {
            return Err("more blank nodes than ids".to_owned());
        }
        self.segments.iter().try_for_each(SegmentEntry::check)?;
        let commits = self.segments.iter().map(|segment| segment.commit);
        if !commits.clone().is_sorted() || commits.max() > Some(self.commit) {
            return Err("segments out of the sequence of commits".to_owned());
        }
        let inferred = self.inference.as_ref().map(|inference| inference.commit);
        if inferred > Some(self.commit) {
            return Err("an inference from later commits than there are".to_owned());
        }
        if !self.logs.is_sorted_by_key(|log| log.first_commit) {
            return Err("logs out of the sequence of commits".to_owned());
        }
        let fits = |(prefix, iri): (&String, &String)| {
            prefix.len() <= PREFIX_BYTES_MAX && iri.len() <= PREFIX_IRI_BYTES_MAX
        };
        if self.prefixes.len() > PREFIXES_MAX || !self.prefixes.iter().all(fits) {
            return Err("too many or too long prefixes".to_owned());
        }
        Ok(())
    }

    /// Every path has the shape of its kind, a number that was given out, and one owner.
    fn check_paths(&self) -> Result<(), String> {
        let mut seen = HashSet::new();
        for (path, _) in self.files() {
            if !seen.insert(path) {
                return Err(format!("{path} is named twice"));
            }
        }
        let mut named: Vec<(&str, &str)> = Vec::new();
        named.extend(
            self.dictionaries
                .iter()
                .map(|d| (d.path.as_str(), DICTIONARIES)),
        );
        named.extend(
            self.triple_tables
                .iter()
                .map(|t| (t.path.as_str(), TRIPLE_TABLES)),
        );
        named.extend(self.segments.iter().map(|s| (s.path.as_str(), SEGMENTS)));
        named.extend(self.logs.iter().map(|l| (l.path.as_str(), LOGS)));
        for (path, directory) in named {
            match leftovers::file_number(path, directory) {
                Some(number) if number < self.next_file_number => {}
                Some(_) => return Err(format!("{path} has a number that was not given out")),
                None => return Err(format!("{path:?} is no path in {directory}")),
            }
        }
        for segment in &self.segments {
            let orders = segment.orders.iter().chain(&segment.tombstone_orders);
            let files = [&segment.predicates.path, &segment.statistics.path];
            for path in files.into_iter().chain(orders.map(|order| &order.path)) {
                if leftovers::segment_of(path) != Some(segment.path.as_str()) {
                    return Err(format!("{path:?} is no path in {}", segment.path));
                }
            }
        }
        Ok(())
    }

    fn check_dictionaries(&self) -> Result<(), String> {
        for (place, kind) in Kind::VOCABULARY.into_iter().enumerate() {
            let ranges = self.dictionaries.iter().map(|dictionary| {
                let first = dictionary.first_ordinals.to_array()[place];
                (first, dictionary.counts.to_array()[place])
            });
            let next = self.next_ordinals.to_array()[place];
            check_ranges(&format!("{kind:?} ordinals"), ranges, next)?;
        }
        Ok(())
    }
}

impl SegmentEntry {
    /// The orders belong to the right graphs, and have a row for each quad.
    fn check(&self) -> Result<(), String> {
        for (orders, counts) in [
            (&self.orders, self.quads),
            (&self.tombstone_orders, self.tombstones),
        ] {
            for (all, rows) in [
                (&Order::DEFAULT_GRAPH[..], counts.default),
                (&Order::NAMED_GRAPHS[..], counts.named),
            ] {
                for order in all {
                    let mut found = orders.iter().filter(|entry| entry.order == *order);
                    let first = found.next().map_or(0, |entry| entry.rows);
                    if first != rows || found.next().is_some() {
                        let name = order.name();
                        return Err(format!("{}: {name} is not {rows} rows", self.path));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Ranges (first, count) do not overlap and end before `next`.
fn check_ranges(
    what: &str,
    ranges: impl Iterator<Item = (u64, u64)>,
    next: u64,
) -> Result<(), String> {
    if next > PAYLOAD_MAX {
        return Err(format!("more {what} than ids"));
    }
    let mut ranges: Vec<_> = ranges.filter(|(_, count)| *count > 0).collect();
    ranges.sort_unstable();
    let mut end = 0;
    for (first, count) in ranges {
        if first < end {
            return Err(format!("{what} {first} to {end} are given twice"));
        }
        end = first.saturating_add(count);
    }
    if end > next {
        return Err(format!(
            "{what} up to {end} are in use, {next} is called the next"
        ));
    }
    Ok(())
}
