//! SERVICE over HTTP, against a small server on this machine that answers from a store.
#![cfg(feature = "service")]

mod common;

use common::{line, store};
use oxrdf::NamedNode;
use quadrille_sparql::result::ResultFormat;
use quadrille_sparql::{Query, QueryError, QueryOptions, QueryResults, Services};
use quadrille_store::Snapshot;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// What the server answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behaviour {
    Json,
    Xml,
    /// Half of an answer.
    Broken,
    /// Another media type.
    Html,
    /// A redirection, to itself.
    Redirect,
    /// An error of the server.
    Error,
    /// Nothing.
    Hang,
}

/// Serves one request after another; gives the address.
fn serve(snapshot: Snapshot, behaviour: Behaviour) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!(
        "http://{}/sparql",
        listener.local_addr().expect("an address")
    );
    let own = address.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.expect("a connection");
            answer(stream, &snapshot, behaviour, &own);
        }
    });
    address
}

fn answer(mut stream: TcpStream, snapshot: &Snapshot, behaviour: Behaviour, own: &str) {
    let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
    let (mut length, mut request) = (0, String::new());
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header).expect("a header") == 0 {
            return;
        }
        if let Some(text) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().expect("a length");
        }
        if header.trim().is_empty() {
            break;
        }
        request.push_str(&header);
    }
    assert!(request.starts_with("POST /sparql HTTP/1.1"), "{request}");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let body = String::from_utf8(body).expect("text");
    let query = decoded(body.strip_prefix("query=").expect("a query"));
    let format = match behaviour {
        Behaviour::Xml => ResultFormat::Xml,
        _ => ResultFormat::Json,
    };
    let mut result = Vec::new();
    Query::parse(&query, None)
        .and_then(|query| query.execute(snapshot, &QueryOptions::default()))
        .and_then(|results| results.write(format, &mut result))
        .unwrap_or_else(|error| panic!("{query}: {error}"));
    let (status, kind) = match behaviour {
        Behaviour::Hang => {
            std::thread::sleep(Duration::from_secs(60));
            return;
        }
        Behaviour::Redirect => ("303 See Other", "text/plain"),
        Behaviour::Error => ("500 Internal Server Error", "text/plain"),
        Behaviour::Html => ("200 OK", "text/html"),
        Behaviour::Xml => ("200 OK", "application/sparql-results+xml; charset=utf-8"),
        Behaviour::Json | Behaviour::Broken => ("200 OK", "application/sparql-results+json"),
    };
    let length = result.len();
    if behaviour == Behaviour::Broken {
        result.truncate(length / 2);
    }
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nLocation: {own}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    // Who was asked too much has gone.
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(&result);
}

/// The text of a form's value.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next(), rest.next()].map(|digit| digit.expect("a digit"));
                let digits = std::str::from_utf8(&digits).expect("digits");
                u8::from_str_radix(digits, 16).expect("digits")
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).expect("text")
}

fn ask(behaviour: Behaviour, options: QueryOptions) -> quadrille_sparql::Result<Vec<String>> {
    let mut remote = String::new();
    for number in 0..300 {
        writeln!(remote, "<e:b> <e:q> \"ü {number}\"@en .").expect("memory");
    }
    let address = serve(store(&remote).snapshot(), behaviour);
    let query = format!(
        "SELECT ?x ?o {{ ?x <e:p> ?y SERVICE <{address}> {{ ?y <e:q> ?o FILTER(?o != 'a+b&c%') }} }}"
    );
    let options = QueryOptions {
        services: Services::default().allowing(NamedNode::new_unchecked(address)),
        ..options
    };
    let snapshot = store("<e:a> <e:p> <e:b> .").snapshot();
    let QueryResults::Solutions(solutions) =
        Query::parse(&query, None)?.execute(&snapshot, &options)?
    else {
        panic!("no rows");
    };
    solutions
        .map(|solution| Ok(line(solution?.values())))
        .collect()
}

#[test]
fn endpoints_answer_in_json_and_xml() {
    for behaviour in [Behaviour::Json, Behaviour::Xml] {
        let mut rows = ask(behaviour, QueryOptions::default()).expect("an answer");
        rows.sort();
        assert_eq!(rows.len(), 300);
        assert_eq!(rows[0], "<e:a> | \"ü 0\"@en");
    }
}

#[test]
fn what_is_no_answer_is_an_error() {
    for (behaviour, text) in [
        (Behaviour::Broken, ""),
        (Behaviour::Html, "text/html, which is no SPARQL result"),
        (Behaviour::Redirect, "status 303"),
        (Behaviour::Error, "status 500"),
    ] {
        let error = ask(behaviour, QueryOptions::default()).expect_err("no answer");
        assert!(
            matches!(&error, QueryError::Service { .. }) && error.to_string().contains(text),
            "{error}"
        );
    }
}

#[test]
fn the_time_limit_is_kept() {
    let began = Instant::now();
    let options = QueryOptions {
        timeout: Some(Duration::from_millis(200)),
        ..QueryOptions::default()
    };
    let result = ask(Behaviour::Hang, options);
    assert!(matches!(result, Err(QueryError::Timeout { .. })));
    assert!(began.elapsed() < Duration::from_secs(20));
}
