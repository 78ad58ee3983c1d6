//! A store in a program of one's own: open, load, ask. `cargo run --example embed`.

use quadrille::Store;
use quadrille::load::{Format, InputFile, LoadOptions, load};
use quadrille::sparql::{Query, QueryOptions, QueryResults};

const DATA: &str = r#"
    @prefix : <http://example.org/> .
    :ada :knows :charles ; :born "1815-12-10"^^<http://www.w3.org/2001/XMLSchema#date> .
    :charles :knows :ada ; :born "1791-12-26"^^<http://www.w3.org/2001/XMLSchema#date> .
"#;

const QUERY: &str = r"
    PREFIX : <http://example.org/>
    SELECT ?person ?born WHERE { ?person :born ?born ; :knows :ada }
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args_os().nth(1);
    let store = match &directory {
        Some(directory) => Store::open(directory.as_ref())?,
        None => Store::in_memory(),
    };
    let input = InputFile::from_reader("example", Box::new(DATA.as_bytes()), Format::Turtle, 0);
    let report = load(&store, vec![input], &LoadOptions::default())?;
    println!("{} new quads", report.quads_new);

    let query = Query::parse(QUERY, None)?;
    match query.execute(&store.snapshot(), &QueryOptions::default())? {
        QueryResults::Solutions(solutions) => {
            for solution in solutions {
                let solution = solution?;
                println!("{} was born on {}", solution["person"], solution["born"]);
            }
        }
        QueryResults::Boolean(answer) => println!("{answer}"),
        QueryResults::Graph(triples) => {
            for triple in triples {
                println!("{} .", triple?);
            }
        }
    }
    Ok(())
}
