//! The size of the closure, as the specification counts it: triples whose predicate is a property of the ontology, and
//! types that are named classes of it.

use crate::names::{ONTOLOGY_URL, RDF};
use crate::ontology::{CLASSES, PROPERTIES};
use quadrille_store::{GraphSelector, Pattern, Snapshot, StoreError, TermId};
use std::collections::BTreeMap;

/// Instances by class and pairs by property, in a store's default graph; names are those of the ontology.
pub fn sizes(snapshot: &Snapshot) -> Result<BTreeMap<&'static str, u64>, StoreError> {
    let find = |iri: String| {
        let node = oxrdf::NamedNode::new_unchecked(iri);
        snapshot.term_id(node.as_ref().into())
    };
    let count = |predicate: Option<TermId>, object: Option<TermId>| {
        snapshot.count(&Pattern {
            subject: None,
            predicate,
            object,
            graph: GraphSelector::Default,
        })
    };
    let mut sizes = BTreeMap::new();
    let rdf_type = find(format!("{RDF}type"))?;
    for class in CLASSES {
        let id = find(format!("{ONTOLOGY_URL}#{}", class.name))?;
        let instances = match (rdf_type, id) {
            (Some(rdf_type), Some(class)) => count(Some(rdf_type), Some(class))?,
            _ => 0,
        };
        sizes.insert(class.name, instances);
    }
    for property in PROPERTIES {
        let pairs = match find(format!("{ONTOLOGY_URL}#{}", property.name))? {
            Some(property) => count(Some(property), None)?,
            None => 0,
        };
        sizes.insert(property.name, pairs);
    }
    Ok(sizes)
}
