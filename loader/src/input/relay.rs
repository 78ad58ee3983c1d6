//! [`Relay`]: reads a stream in a thread of its own, so that whoever parses it can be told to stop while the stream
//! (a pipe, standard input) gives nothing. Streams that are cut have their reader threads anyway; this is for those
//! that a parser reads from one end to the other.
//!
//! What always holds: an empty block is the stream's end; a channel that closes without one is a thread that died.

use crate::error::LoadError;
use crossbeam_channel::{Receiver, Sender, bounded, select};
use std::convert::Infallible;
use std::io::{self, ErrorKind, Read};

/// Bytes that are handed over at once, and how many such blocks the thread may be ahead.
const BLOCK_BYTES: usize = 64 * 1024;
const BLOCKS_AHEAD: usize = 4;

/// The parser's end.
pub(crate) struct Relay {
    blocks: Receiver<io::Result<Vec<u8>>>,
    stopped: Receiver<Infallible>,
    block: Vec<u8>,
    taken: usize,
    ended: bool,
}

impl Relay {
    /// Starts the thread. Reading ends with [`LoadError::Stopped`] when `stopped` closes.
    pub(crate) fn start(
        stream: Box<dyn Read + Send>,
        stopped: Receiver<Infallible>,
    ) -> io::Result<Self> {
        let (sender, blocks) = bounded(BLOCKS_AHEAD);
        std::thread::Builder::new()
            .name("reader".to_owned())
            .spawn(move || relay(stream, &sender))?;
        Ok(Self {
            blocks,
            stopped,
            block: Vec::new(),
            taken: 0,
            ended: false,
        })
    }
}

impl Read for Relay {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.block.len() && !self.ended {
            select! {
                recv(self.stopped) -> _ => return Err(io::Error::other(LoadError::Stopped)),
                recv(self.blocks) -> block => {
                    self.block = block.map_err(|_| io::Error::other("the reader thread died"))??;
                    self.taken = 0;
                    self.ended = self.block.is_empty();
                }
            }
        }
        let count = buffer.len().min(self.block.len() - self.taken);
        buffer[..count].copy_from_slice(&self.block[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}

/// Sends what the stream gives, until its end, an error, or nobody wants more.
fn relay(mut stream: Box<dyn Read + Send>, sender: &Sender<io::Result<Vec<u8>>>) {
    loop {
        let mut block = vec![0; BLOCK_BYTES];
        let read = match stream.read(&mut block) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read,
        };
        let ends = matches!(read, Err(_) | Ok(0));
        let sent = sender.send(read.map(|count| {
            block.truncate(count);
            block
        }));
        if ends || sent.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn what_goes_in_comes_out() {
        for length in [0, 1, BLOCK_BYTES, 10 * BLOCK_BYTES + 7] {
            let bytes: Vec<u8> = (0..length).map(|number| (number % 251) as u8).collect();
            let (_stop, stopped) = bounded(0);
            let stream = Box::new(Cursor::new(bytes.clone()));
            let mut relay = Relay::start(stream, stopped).expect("a thread");
            let mut read = Vec::new();
            relay.read_to_end(&mut read).expect("reads");
            assert!(read == bytes, "{length} bytes");
            assert_eq!(relay.read(&mut [0; 8]).expect("the end stays"), 0);
        }
    }
}
