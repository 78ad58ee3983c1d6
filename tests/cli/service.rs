//! `quadrille query --allow-service`: an endpoint is asked if it is allowed, and not otherwise.
#![cfg(feature = "service")]

use crate::support::Scratch;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// What the endpoint answers, whatever it is asked.
const ANSWER: &str = r#"{"head":{"vars":["o"]},"results":{"bindings":[{"o":{"type":"literal","value":"from afar"}}]}}"#;

/// Starts an endpoint; gives its address, and how many requests it has had.
fn endpoint() -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let requests = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&requests);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            counted.fetch_add(1, Ordering::SeqCst);
            let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).expect("a header") > 2 {
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a length");
                }
                line.clear();
            }
            reader
                .read_exact(&mut vec![0; length])
                .expect("what it is asked");
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: application/sparql-results+json\r\n\
                 Content-Length: {}\r\nConnection: close\r\n\r\n{ANSWER}",
                ANSWER.len()
            )
            .expect("a reader");
        }
    });
    (format!("http://{address}/sparql"), requests)
}

#[test]
fn only_allowed_endpoints_are_asked() {
    let scratch = Scratch::with_small_store();
    let (url, requests) = endpoint();
    let query = format!("SELECT ?o {{ SERVICE <{url}> {{ ?s ?p ?o }} }}");
    scratch
        .run(&["query", "--store", "s", &query])
        .fails(&[&url]);
    let elsewhere = "http://127.0.0.1:1/sparql";
    scratch
        .run(&[
            "query",
            "--store",
            "s",
            "--allow-service",
            elsewhere,
            &query,
        ])
        .fails(&[&url]);
    assert_eq!(
        requests.load(Ordering::SeqCst),
        0,
        "it was asked all the same"
    );

    let answered = scratch
        .run(&["query", "--store", "s", "--allow-service", &url, &query])
        .succeeds_silently();
    assert_eq!(answered.out, "?o\n\"from afar\"\n");
    assert_eq!(requests.load(Ordering::SeqCst), 1);
}
