//! `TermKey`: a vocabulary term as bytes, and *term order*, defined once.
//!
//! **Term order** is: kind, lexical form's UTF-8 bytes, annotation bytes. The annotation says what
//! makes two literals with one lexical form differ:
//!
//! ```text
//! ""                      a plain literal (xsd:string), and every term that is not a literal
//! "@" tag                 a language-tagged string, the tag in lower case
//! "@" tag "--ltr"|"--rtl" a directional language-tagged string (RDF 1.2)
//! "^" datatype            any other datatype, its IRI without angle brackets
//! ```
//!
//! A dictionary that is *ordered* numbers its terms in this order.

use crate::id::Kind;

/// A term of a vocabulary kind (or a blank node's label, or a triple term's encoded parts) as bytes.
///
/// The derived order is term order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TermKey<'a> {
    /// The kind; a vocabulary kind wherever a dictionary is asked.
    pub kind: Kind,
    /// The IRI or the literal's lexical form, UTF-8.
    pub lexical: &'a [u8],
    /// Language or datatype, see the module's head.
    pub annotation: &'a [u8],
}
