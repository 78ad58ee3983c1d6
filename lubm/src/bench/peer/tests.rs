//! Peers that answer rightly, wrongly, late, in other formats, and not at all.

use super::*;
use crate::queries::QUERIES;
use quadrille_loader::LoadOptions;
use quadrille_sparql::CancellationToken;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

/// What the endpoint answers to one of the 14 queries, or, as number 0, to `ASK {}`: status, media type, body.
type Answer = fn(u8) -> (u16, &'static str, String);

const TSV: &str = "text/tab-separated-values; charset=utf-8";
const JSON: &str = "application/sparql-results+json";

/// An endpoint that answers every request; gives its address.
fn serve(answer: Answer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.expect("a connection");
            std::thread::spawn(move || respond(stream, answer));
        }
    });
    format!("http://{address}/sparql?graph=g")
}

/// Reads a request and answers it.
fn respond(mut stream: TcpStream, answer: Answer) {
    let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
    let (mut target, mut line) = (String::new(), String::new());
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        assert!(
            !line.to_ascii_lowercase().starts_with("accept-encoding"),
            "{line}"
        );
        if let Some(rest) = line.strip_prefix("GET ") {
            rest.clone_into(&mut target);
        }
        line.clear();
    }
    let (status, kind, body) = answer(number(&target));
    let length = body.len();
    // Who waited too long has gone.
    let _ = write!(
        stream,
        "HTTP/1.1 {status} Status\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
}

/// Which query a request has.
fn number(target: &str) -> u8 {
    let target = target.strip_suffix(" HTTP/1.1\r\n").expect("the protocol");
    let mut bytes = target.bytes();
    let mut decoded = Vec::new();
    while let Some(byte) = bytes.next() {
        decoded.push(if byte == b'%' {
            let digits = [bytes.next(), bytes.next()].map(|digit| digit.expect("two digits"));
            let digits = str::from_utf8(&digits).expect("digits");
            u8::from_str_radix(digits, 16).expect("digits")
        } else {
            byte
        });
    }
    let decoded = String::from_utf8(decoded).expect("text");
    let query = decoded
        .strip_prefix("/sparql?graph=g&query=")
        .expect("the parameters");
    if query == "ASK {}" {
        return 0;
    }
    let known = QUERIES.iter().find(|known| known.text() == query);
    known.unwrap_or_else(|| panic!("{query}")).number
}

fn options() -> BenchOptions {
    BenchOptions {
        universities: 1,
        directory: PathBuf::new(),
        warm_runs: 2,
        streams: 0,
        query_threads: 1,
        peers: Vec::new(),
        peer_timeout: Duration::from_secs(600),
        load: LoadOptions::default(),
        infer: None,
        stop_generating: std::sync::Arc::default(),
        stop_queries: CancellationToken::new(),
    }
}

/// What we answered: two rows to each query.
fn ours() -> Vec<QueryReport> {
    let query = |number| QueryReport {
        number,
        rows: 2,
        bytes: 10,
        expected: None,
        expected_with_inference: None,
        needs_inference: false,
        verdict: Verdict::Unknown,
        first_seconds: 0.002,
        warm_seconds: Some(0.001),
    };
    (1..=14).map(query).collect()
}

fn asked(answer: Answer) -> PeerReport {
    let peer = Peer {
        name: "peer".to_owned(),
        url: serve(answer),
    };
    measure(&peer, &ours(), &options())
}

#[test]
fn each_query_has_its_own_outcome() {
    let report = asked(|number| {
        let tsv = |body: &str| (200, TSV, body.to_owned());
        match number {
            0 => tsv("true\n"),
            8 => {
                let row = r#"{"X":{"type":"uri","value":"http://a"}}"#;
                let rows = format!(r#"{{"bindings":[{row},{row}]}}"#);
                (
                    200,
                    JSON,
                    format!(r#"{{"head":{{"vars":["X"]}},"results":{rows}}}"#),
                )
            }
            12 => (500, "text/html", "no <b>memory</b>\nleft".to_owned()),
            13 => (200, JSON, "{".to_owned()),
            14 => (200, "text/html", "welcome".to_owned()),
            _ => tsv("?X\n<a>\n<b>"),
        }
    });
    assert_eq!(report.error, None);
    assert!(report.ask_seconds.is_some());
    assert_eq!(report.queries.len(), 14);
    for query in &report.queries {
        let number = query.number;
        let failed = |reason: &str| match &query.outcome {
            Outcome::Failed { error } => assert!(error.contains(reason), "query {number}: {error}"),
            answered @ Outcome::Answered { .. } => panic!("query {number}: {answered:?}"),
        };
        match number {
            12 => failed("status 500: no <b>memory</b> left"),
            13 => failed(""),
            14 => failed("text/html"),
            _ => match query.outcome {
                Outcome::Answered {
                    rows,
                    verdict,
                    warm_seconds,
                    ..
                } => {
                    let expected = (2, Verdict::Right);
                    assert_eq!((rows, verdict), expected, "query {number}");
                    assert!(warm_seconds.is_some());
                }
                Outcome::Failed { ref error } => panic!("query {number}: {error}"),
            },
        }
    }
    assert_eq!(report.right(), 11);
    let shown = report.to_string();
    assert_eq!(shown.matches("FAILED").count(), 3, "{shown}");
    assert!(shown.contains("11 of 14 right"), "{shown}");
}

#[test]
fn wrong_numbers_of_rows_are_wrong() {
    let report = asked(|number| {
        let rows = if number == 0 { 0 } else { 3 };
        (200, TSV, format!("?X\n{}", "<a>\n".repeat(rows)))
    });
    for query in &report.queries {
        let is_wrong = matches!(
            query.outcome,
            Outcome::Answered {
                rows: 3,
                verdict: Verdict::Wrong,
                ..
            }
        );
        assert!(is_wrong, "{query:?}");
    }
    assert_eq!((report.right(), report.geometric_means()), (0, None));
    assert_eq!(report.to_string().matches("WRONG").count(), 14, "{report}");
    let json = serde_json::to_value(&report).expect("JSON");
    assert_eq!(
        (&json["name"], &json["queries"][0]["verdict"]),
        (&"peer".into(), &"wrong".into())
    );
}

#[test]
fn who_takes_too_long_has_failed() {
    let peer = Peer {
        name: "late".to_owned(),
        url: serve(|_| {
            std::thread::sleep(Duration::from_secs(600));
            (200, TSV, String::new())
        }),
    };
    let mut endpoint = Endpoint::new(&peer, Duration::from_millis(100));
    let error = endpoint.runs("ASK {}", &options()).err();
    assert!(error.is_some_and(|error| error.contains("timeout")));
}

#[test]
fn who_cannot_be_reached_is_asked_nothing_else() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let peer: Peer = format!("gone=http://{address}/").parse().expect("a peer");
    let report = measure(&peer, &ours(), &options());
    assert!(report.queries.is_empty());
    assert!(report.to_string().contains("gone"), "{report}");
    assert!(
        report
            .error
            .is_some_and(|error| error.starts_with("ASK {}: "))
    );
}

#[test]
fn peers_are_names_and_addresses() {
    let peer: Peer = "a=http://localhost:1/x?y=z".parse().expect("a peer");
    assert_eq!(
        (peer.name.as_str(), peer.url.as_str()),
        ("a", "http://localhost:1/x?y=z")
    );
    for text in [
        "",
        "a",
        "=http://localhost",
        "a=ftp://localhost",
        "http://localhost/?query=1",
    ] {
        assert!(text.parse::<Peer>().is_err(), "{text}");
    }
}
