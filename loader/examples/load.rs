//! Loads files into a store and prints the report: `cargo run --release --example load -- DIR FILE...`.

use quadrille_loader::{LoadOptions, input, load};
use quadrille_store::Store;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let (store, files) = arguments.split_first().ok_or("usage: load DIR FILE...")?;
    let mut options = LoadOptions::default();
    if let Ok(memory) = std::env::var("MEMORY_MIB") {
        options.memory = memory.parse::<u64>()? << 20;
    }
    let store = Store::open(Path::new(store))?;
    let report = load(&store, input::discover(files, None, 0)?, &options)?;
    println!("{report}");
    for part in &report.parts {
        println!("{} {} {:?}", part.part, part.bytes, part.detail);
    }
    Ok(())
}
