//! Readers that watch a document on its way to a parser that would not: XML that ends inside an element, and
//! XML and JSON that is nested so deeply that a parser would overflow the stack or take for ever.

use std::io::{self, ErrorKind, Read};

/// How deep elements, objects and arrays may be nested.
pub(super) const DEPTH_MAX: u32 = 256;

const TOO_DEEP: &str = "elements, objects or arrays are nested more than 256 deep";
const _: () = assert!(DEPTH_MAX == 256);

/// What is wrong with a document; inside an [`io::Error`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unfit(&'static str);

/// Passes a document on and watches it.
pub(super) struct Guard<R, W> {
    inner: R,
    watcher: W,
}

impl<R, W> Guard<R, W> {
    pub(super) fn new(inner: R, watcher: W) -> Self {
        Self { inner, watcher }
    }
}

/// Looks at every byte of a document.
pub(super) trait Watcher {
    /// Looks at a byte; gives how deep the document is nested behind it.
    fn watch(&mut self, byte: u8) -> u32;

    /// What is wrong with the document if it ends here.
    fn end(&self) -> Result<(), &'static str>;
}

impl<R: Read, W: Watcher> Read for Guard<R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        if read == 0 && !buffer.is_empty() {
            let end = self.watcher.end();
            return match end {
                Ok(()) => Ok(0),
                Err(reason) => Err(io::Error::new(ErrorKind::UnexpectedEof, Unfit(reason))),
            };
        }
        for byte in &buffer[..read] {
            if self.watcher.watch(*byte) > DEPTH_MAX {
                return Err(io::Error::new(ErrorKind::InvalidData, Unfit(TOO_DEEP)));
            }
        }
        Ok(read)
    }
}

/// Watches JSON; its parser tells an early end itself.
#[derive(Default)]
pub(super) struct Json {
    depth: u32,
    in_string: bool,
    escaped: bool,
}

impl Watcher for Json {
    fn watch(&mut self, byte: u8) -> u32 {
        if self.in_string {
            if self.escaped {
                self.escaped = false;
            } else {
                self.escaped = byte == b'\\';
                self.in_string = byte != b'"';
            }
            return self.depth;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.depth
    }

    fn end(&self) -> Result<(), &'static str> {
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Text,
    /// Behind `<`.
    Open,
    /// In the tag of an element, not in a value.
    Tag {
        closing: bool,
    },
    /// In the value of an attribute.
    Value(u8),
    /// Behind `<!`, with as many of the bytes that follow as tell what it is.
    Declaration,
    Comment,
    CData,
    Instruction,
    /// In `<!DOCTYPE`, how deep in brackets.
    DocumentType(u32),
    /// In a quoted part of `<!DOCTYPE`.
    DocumentTypeValue(u32, u8),
    /// In a comment or an instruction inside `<!DOCTYPE`.
    DocumentTypeComment(u32),
}

/// Watches XML: elements that are open, and whether it ends in the middle of something. What is not well-formed
/// in other ways is left to the parser.
pub(super) struct Xml {
    state: State,
    depth: u32,
    seen_element: bool,
    /// The last three bytes, the latest lowest.
    last: u32,
    /// Bytes since the state began.
    length: u32,
}

impl Default for Xml {
    fn default() -> Self {
        Self {
            state: State::Text,
            depth: 0,
            seen_element: false,
            last: 0,
            length: 0,
        }
    }
}

impl Watcher for Xml {
    fn watch(&mut self, byte: u8) -> u32 {
        self.last = (self.last << 8 | u32::from(byte)) & 0xFF_FFFF;
        self.length = self.length.saturating_add(1);
        let next = self.next(byte);
        if next != self.state {
            self.state = next;
            self.length = 0;
        }
        self.depth
    }

    fn end(&self) -> Result<(), &'static str> {
        if self.state != State::Text {
            Err("the document ends inside a tag, a comment or the like")
        } else if self.depth > 0 {
            Err("the document ends inside an element")
        } else if !self.seen_element {
            Err("the document has no element")
        } else {
            Ok(())
        }
    }
}

impl Xml {
    fn ended_by(&self, end: [u8; 3]) -> bool {
        self.last == u32::from_be_bytes([0, end[0], end[1], end[2]])
    }

    fn next(&mut self, byte: u8) -> State {
        match self.state {
            State::Text if byte == b'<' => State::Open,
            State::Open => match byte {
                b'!' => State::Declaration,
                b'?' => State::Instruction,
                b'/' => State::Tag { closing: true },
                _ => State::Tag { closing: false },
            },
            State::Tag { closing } => match byte {
                b'"' | b'\'' if !closing => State::Value(byte),
                b'>' => {
                    self.seen_element = true;
                    let empty = self.last >> 8 & 0xFF == u32::from(b'/');
                    if closing {
                        self.depth = self.depth.saturating_sub(1);
                    } else if !empty {
                        self.depth += 1;
                    }
                    State::Text
                }
                _ => self.state,
            },
            State::Value(quote) if byte == quote => State::Tag { closing: false },
            State::Declaration => match (self.length, byte) {
                (2, b'-') => State::Comment,
                (1, b'[') => State::CData,
                (1, b'-') => State::Declaration,
                _ => State::DocumentType(0),
            },
            State::Comment if self.ended_by(*b"-->") && self.length > 2 => State::Text,
            State::CData if self.ended_by(*b"]]>") => State::Text,
            State::Instruction if byte == b'>' && self.last >> 8 & 0xFF == u32::from(b'?') => {
                State::Text
            }
            State::DocumentType(depth) => match byte {
                b'"' | b'\'' => State::DocumentTypeValue(depth, byte),
                b'[' => State::DocumentType(depth + 1),
                b']' => State::DocumentType(depth.saturating_sub(1)),
                b'-' if self.ended_by(*b"!--") => State::DocumentTypeComment(depth),
                b'>' if depth == 0 => State::Text,
                _ => self.state,
            },
            State::DocumentTypeValue(depth, quote) if byte == quote => State::DocumentType(depth),
            State::DocumentTypeComment(depth) if self.ended_by(*b"-->") => {
                State::DocumentType(depth)
            }
            same => same,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(text: &str) -> Result<u32, &'static str> {
        let mut xml = Xml::default();
        let mut deepest = 0;
        for byte in text.bytes() {
            deepest = deepest.max(xml.watch(byte));
        }
        xml.end().map(|()| deepest)
    }

    #[test]
    fn whole_documents_end_well() {
        for (text, depth) in [
            ("<a/>", 0),
            ("<?xml version=\"1.0\"?>\n<a></a>\n", 1),
            ("<a b='>' c=\"/>\"><d/><e>x &lt; y > z</e ></a>", 2),
            (
                "<a><!-- <b> -- > --><![CDATA[<c>]] > <d>]]><?e <f> ?></a>",
                1,
            ),
            ("<a><!----></a>", 1),
            ("<a><!-->--></a>", 1),
            (
                "<!DOCTYPE a [ <!ENTITY b \"<c>]>\"> <!-- ]> ' --> <!ENTITY d '>'> ]><a/>",
                0,
            ),
            ("<a b=\"/\"></a>", 1),
        ] {
            assert_eq!(ends(text), Ok(depth), "{text}");
        }
    }

    #[test]
    fn an_early_end_is_told() {
        let text = "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b 'c'>]><a><!-- d --><e f='g'/><![CDATA[h]]></a>";
        for length in 0..text.len() {
            assert!(ends(&text[..length]).is_err(), "{}", &text[..length]);
        }
        assert!(ends(text).is_ok());
    }
}
