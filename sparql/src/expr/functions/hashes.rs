//! Hash functions (section 17.4.6 of SPARQL 1.1): of the UTF-8 bytes of a string without language tag, as lower-case
//! hexadecimal digits.

use super::strings::{plain, tagged};
use crate::expr::value::Value;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};
use std::fmt::Write;

/// A hash function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are the language's")]
pub enum Hash {
    Md5,
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

/// The hash of a string.
pub fn hash(hash: Hash, value: &Value<'_>) -> Option<Value<'static>> {
    let bytes = plain(value)?.as_bytes();
    Some(tagged(
        match hash {
            Hash::Md5 => hexadecimal(&Md5::digest(bytes)),
            Hash::Sha1 => hexadecimal(&Sha1::digest(bytes)),
            Hash::Sha256 => hexadecimal(&Sha256::digest(bytes)),
            Hash::Sha384 => hexadecimal(&Sha384::digest(bytes)),
            Hash::Sha512 => hexadecimal(&Sha512::digest(bytes)),
        },
        None,
    ))
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}
