//! Sizes as people write them: `256MiB`, `2G`, `1500000`.

use quadrille::load::BUDGET_MINIMUM_BYTES;

/// Bytes in a size with an optional unit: `k`, `M`, `G`, `T` (and `kB`, `KiB` and so on), all powers of 1024.
pub fn parse(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let number: f64 = digits
        .trim()
        .parse()
        .map_err(|_| format!("{text:?} is no size; write for example 256MiB or 2G"))?;
    let unit = text[digits.len()..].to_ascii_lowercase();
    let shift = match unit.trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(format!("{unit:?} is no unit; write k, M, G or T")),
    };
    let bytes = number * (1_u64 << shift) as f64;
    if !(0.0..=9e18).contains(&bytes) {
        return Err(format!("{text:?} is out of range"));
    }
    Ok(bytes as u64)
}

/// A memory budget: a size that is not too small to work with.
pub fn memory(text: &str) -> Result<u64, String> {
    let bytes = parse(text)?;
    if bytes < BUDGET_MINIMUM_BYTES {
        return Err(format!(
            "at least {} MiB are needed",
            BUDGET_MINIMUM_BYTES >> 20
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn units_are_powers_of_1024() {
        for (text, bytes) in [
            ("0", 0),
            ("1500000", 1_500_000),
            ("256MiB", 256 << 20),
            ("2G", 2 << 30),
            ("1.5k", 1536),
            ("3 gb", 3 << 30),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "-1", "5 parsecs", "1e300"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
