//! Tests of the value kinds. The independent oracle for validity and value is `oxsdatatypes`.

use super::{DatatypeClass, InlineValue, XSD, calendar_of_date, calendar_of_date_time, datatype};
use super::{decode, encode, from_boolean, from_integer, value, vocabulary_kind};
use crate::id::{Kind, PAYLOAD_BITS, PAYLOAD_MAX, TermId};
use oxsdatatypes as xsd;
use proptest::prelude::*;
use std::cmp::Ordering;
use std::str::FromStr;

/// Inlines a literal of an XSD type, checking on the way that it decodes to itself.
fn inlined(lexical: &str, name: &str) -> Option<TermId> {
    let iri = format!("{XSD}{name}");
    let id = encode(lexical, &iri)?;
    let mut out = String::from("before ");
    assert_eq!(
        decode(id, &mut out),
        Some(iri.as_str()),
        "{lexical:?} {name}"
    );
    assert_eq!(out, format!("before {lexical}"), "{name}");
    assert!(value(id).is_some(), "{lexical:?} {name}");
    Some(id)
}

#[track_caller]
fn assert_inlined(name: &str, forms: &str) {
    for form in forms.split('|') {
        assert!(
            inlined(form, name).is_some(),
            "{form:?} of {name} must be inlined"
        );
    }
}

#[track_caller]
fn assert_refused(name: &str, forms: &str) {
    for form in forms.split('|') {
        assert!(
            inlined(form, name).is_none(),
            "{form:?} of {name} must not be inlined"
        );
    }
}

/// Forms that no type inlines.
const NEVER: &str = "| |-|+|.|-.|e|E1|e1|--1|1-|- 1| 1|1 |1\n|\t1|+1|+0|-0|00|01|-01|1,0|0x1|1_000|١|1\u{0}|\u{feff}1|abc|TRUE|True|yes|∞|nan|inf|Infinity|+INF|-NaN";

#[test]
fn tricky_forms_of_numbers_are_refused() {
    let integers: Vec<Kind> = Kind::ALL
        .into_iter()
        .filter(|k| (Kind::Integer..=Kind::UnsignedByte).contains(k))
        .collect();
    assert_eq!(integers.len(), 13);
    for kind in integers.into_iter().chain([Kind::Boolean, Kind::Decimal]) {
        let name = datatype(kind)
            .expect("inline")
            .strip_prefix(XSD)
            .expect("of XSD");
        assert_refused(name, NEVER);
        assert_refused(name, "1e0|1E0|INF|-INF|NaN|1.|.5|-.5|1..5|1.5.5|1.-5");
        if kind != Kind::Decimal {
            assert_refused(
                name,
                "1.0|0.0|-1.5|100000000000000000000|144115188075855872",
            );
        }
    }
    assert_refused("boolean", "0|1|true |falsE|truefalse");
    for name in ["double", "float"] {
        assert_refused(name, &NEVER.replace("|-0|", "|"));
        assert_refused(name, "1.|.5|-.5|1.e0|00.5|1e|1e+5|1e05|1e-0|1e-05|1e00");
        assert_refused(
            name,
            "1e1.5|1ee5|1e5e|1e 5|1e1024|1e-1024|2000000000000|1f|1.5f",
        );
        assert_refused(
            name,
            "-inf|INF |--INF|INFINITY|0.0000000000000001|01e5|1e5 ",
        );
    }
    assert_refused(
        "decimal",
        "-0.0|-0.00|00.5|-00.5|4503599627370496|0.0000000000000000001",
    );
}

#[test]
fn tricky_forms_of_dates_are_refused() {
    assert_refused("date", NEVER);
    assert_refused(
        "date",
        "0000-01-01|-0001-01-01|10000-01-01|02024-01-01|999-01-01|2024-1-01",
    );
    assert_refused(
        "date",
        "2024-00-01|2024-13-01|2024-01-00|2024-01-32|2024-04-31|2023-02-29",
    );
    assert_refused(
        "date",
        "1900-02-29|2100-02-29|2024-02-30|2024/01/01|2024-01-01z|2024-01-01 Z",
    );
    assert_refused(
        "date",
        "2024-01-01+14:15|2024-01-01+15:00|2024-01-01-00:00|2024-01-01+01:01",
    );
    assert_refused(
        "date",
        "2024-01-01+1:00|2024-01-01+0100|2024-01-01+01:60|2024-01-01+01:0|2024-01-01T",
    );
    assert_refused(
        "date",
        "2024-01-01T00:00:00|2024-01-01ZZ|2024-01-01Z+01:00|2024-01-01+01:00Z|2024-01",
    );
    assert_refused("dateTime", NEVER);
    assert_refused(
        "dateTime",
        "2024-01-01|2024-01-01Z|2024-01-01T24:00:00|2024-01-01T23:60:00",
    );
    assert_refused(
        "dateTime",
        "2024-01-01T23:59:60|2024-01-01t00:00:00|2024-01-01 00:00:00|2024-01-01T00:00",
    );
    assert_refused(
        "dateTime",
        "2024-01-01T00:00:00.|2024-01-01T00:00:00.1234|2024-01-01T00:00:00,5",
    );
    assert_refused(
        "dateTime",
        "2024-01-01T00:00:00.5z|2024-01-01T00:00:00-00:00|2024-01-01T00:00:00+14:01",
    );
    assert_refused(
        "dateTime",
        "2024-01-01T00:00:00+14:15|2024-01-01T0:00:00|2023-02-29T00:00:00Z",
    );
    assert_refused(
        "dateTime",
        "2024-01-01T00:00:00.-5|2024-01-01T-1:00:00|2024-01-01T00:00:00.5.5",
    );
    for name in [
        "string",
        "time",
        "gYear",
        "dateTimeStamp",
        "duration",
        "anyURI",
        "",
    ] {
        assert_refused(name, "1|true|2024-01-01|2024-01-01T00:00:00Z|00:00:00|P1D");
    }
    assert_eq!(encode("1", "integer"), None);
    assert_eq!(encode("1", "http://www.w3.org/2001/XMLSchema"), None);
    assert_eq!(
        encode("1", "http://www.w3.org/2001/XMLSchema#Integer"),
        None
    );
}

#[test]
fn plain_forms_are_inlined() {
    assert_inlined("boolean", "true|false");
    assert_inlined(
        "integer",
        "0|1|-1|42|144115188075855871|-144115188075855872",
    );
    assert_inlined(
        "decimal",
        "0|1|1.50|0.5|-0.5|0.0|0.05|-12.340|4503599627370495",
    );
    assert_inlined(
        "decimal",
        "0.000000000000000001|-4503599627370495|100|100.00",
    );
    for name in ["double", "float"] {
        assert_inlined(name, "0|-0|-0.0|0E0|-0.0e5|1|1.0|1.50|1e5|1E5|1.5E-7|INF");
        assert_inlined(
            name,
            "-INF|NaN|1099511627775|0.000000000000001|1E1023|1e-1023|999999.25",
        );
    }
    assert_inlined(
        "date",
        "0001-01-01|9999-12-31|2024-02-29|2000-02-29Z|2024-01-01+00:00",
    );
    assert_inlined(
        "date",
        "0001-01-01+14:00|0001-01-01-14:00|9999-12-31+14:00|9999-12-31-14:00",
    );
    assert_inlined(
        "dateTime",
        "2024-02-29T23:59:59|2024-02-29T23:59:59.5|2024-02-29T23:59:59.50Z",
    );
    assert_inlined(
        "dateTime",
        "2024-02-29T23:59:59.500+05:45|2024-01-01T00:00:00.0|2024-01-01T00:00:00.000Z",
    );
    assert_inlined(
        "dateTime",
        "0001-01-01T00:00:00+14:00|9999-12-31T23:59:59.999-14:00",
    );
}

#[test]
fn bounds_of_the_integer_types() {
    for (name, least, largest) in [
        ("int", i128::from(i32::MIN), i128::from(i32::MAX)),
        ("short", -32_768, 32_767),
        ("byte", -128, 127),
        ("unsignedInt", 0, 4_294_967_295),
        ("unsignedShort", 0, 65_535),
        ("unsignedByte", 0, 255),
        ("integer", -(1 << 57), (1 << 57) - 1),
        ("long", -(1 << 57), (1 << 57) - 1),
        ("nonNegativeInteger", 0, (1 << 57) - 1),
        ("unsignedLong", 0, (1 << 57) - 1),
        ("positiveInteger", 1, (1 << 57) - 1),
        ("nonPositiveInteger", -(1 << 57), 0),
        ("negativeInteger", -(1 << 57), -1),
    ] {
        let kind = inlined(&least.to_string(), name)
            .and_then(TermId::kind)
            .expect(name);
        assert!(inlined(&largest.to_string(), name).is_some(), "{name}");
        for outside in [
            least - 1,
            largest + 1,
            i128::from(i64::MIN),
            i128::from(u64::MAX),
            i128::MAX,
        ] {
            assert_eq!(
                inlined(&outside.to_string(), name),
                None,
                "{outside} of {name}"
            );
            if let Ok(outside) = i64::try_from(outside) {
                assert_eq!(from_integer(kind, outside), None);
            }
        }
    }
    assert_eq!(from_integer(Kind::Decimal, 1), None);
    assert_eq!(from_integer(Kind::Iri, 1), None);
}

/// The bit map at the head of the module, by hand.
#[test]
fn the_bit_map_is_what_is_written() {
    let payload = |lexical: &str, name: &str| {
        let id = inlined(lexical, name).expect(lexical);
        (id.kind().expect("a kind"), id.payload())
    };
    assert_eq!(payload("true", "boolean"), (Kind::Boolean, 1));
    assert_eq!(payload("-2", "byte"), (Kind::Byte, (1 << 57) - 2));
    assert_eq!(
        payload("1.50", "decimal"),
        (Kind::Decimal, ((1 << 52) + 150) << 5 | 2)
    );
    assert_eq!(
        payload("-1.5E-7", "double"),
        (
            Kind::Double,
            1 << 57 | 15 << 17 | 1 << 13 | 2 << 11 | (1024 - 7)
        )
    );
    assert_eq!(
        payload("7e3", "float"),
        (Kind::Float, 7 << 17 | 1 << 11 | 0x403)
    );
    assert_eq!(
        payload("-INF", "double"),
        (Kind::Double, 1 << 57 | 3 << 11 | 1024)
    );
    assert_eq!(
        payload("NaN", "double"),
        (Kind::Double, 1 << 17 | 3 << 11 | 1024)
    );
    assert_eq!(
        payload("0001-01-02", "date"),
        (Kind::Date, (840 + 1440) << 7)
    );
    assert_eq!(
        payload("0001-01-02Z", "date"),
        (Kind::DateZoned, (840 + 1440) << 7)
    );
    assert_eq!(payload("0001-01-01+14:00", "date"), (Kind::DateZoned, 113));
    assert_eq!(
        payload("0001-01-01+00:00", "date"),
        (Kind::DateZoned, 840 << 7 | 0x39)
    );
    assert_eq!(
        payload("0001-01-01T00:00:01.50-01:15", "dateTime"),
        (
            Kind::DateTimeZoned,
            ((840 + 75) * 60_000 + 1500) << 9 | 2 << 7 | 0x34
        )
    );
    assert_eq!(
        payload("0001-01-01T00:00:00", "dateTime"),
        (Kind::DateTime, (840 * 60_000) << 9)
    );
}

#[test]
fn classes_of_datatypes() {
    for kind in Kind::ALL {
        assert_eq!(datatype(kind).is_some(), kind.is_inline());
        if let Some(iri) = datatype(kind) {
            let temporal = kind >= Kind::Date;
            let expected = if temporal {
                Kind::TemporalLiteral
            } else {
                Kind::NumericLiteral
            };
            assert_eq!(vocabulary_kind(iri), expected);
            assert!(DatatypeClass::of(iri).may_inline());
        }
    }
    assert_eq!(
        vocabulary_kind("http://www.w3.org/2001/XMLSchema#time"),
        Kind::TemporalLiteral
    );
    assert_eq!(
        vocabulary_kind("http://www.w3.org/2001/XMLSchema#string"),
        Kind::Literal
    );
    assert_eq!(vocabulary_kind("http://example.com/integer"), Kind::Literal);
    assert_eq!(
        DatatypeClass::of("http://example.com/integer"),
        DatatypeClass::OTHER
    );
    assert!(from_boolean(false) < from_boolean(true));
    for id in [
        TermId::UNBOUND,
        TermId::MAX,
        TermId::new(Kind::Iri, 5),
        TermId::new(Kind::Boolean, 2),
    ] {
        let mut out = String::new();
        assert_eq!(
            (decode(id, &mut out), out.as_str(), value(id)),
            (None, "", None),
            "{id:?}"
        );
    }
}

/// Every day of the calendar, counted by hand: each has the start that follows the day before.
#[test]
fn days_follow_one_another() {
    let mut expected: i64 = -719_162 * 1440;
    for year in 1..=9999_u16 {
        let leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);
        let lengths = [
            31,
            if leap { 29 } else { 28 },
            31,
            30,
            31,
            30,
            31,
            31,
            30,
            31,
            30,
            31,
        ];
        for (month, length) in (1..=12_u8).zip(lengths) {
            // The first and the last days are enough for most years.
            let all = year % 100 == 0 || year < 5;
            for day in 1..=length {
                if all || day == 1 || day >= 28 {
                    let id =
                        inlined(&format!("{year:04}-{month:02}-{day:02}"), "date").expect("a date");
                    let start = InlineValue::Date {
                        start_minutes: expected,
                        offset_minutes: None,
                    };
                    assert_eq!(value(id), Some(start));
                    let calendar = calendar_of_date(id).expect("a date");
                    assert_eq!(
                        (calendar.year, calendar.month, calendar.day),
                        (year, month, day)
                    );
                }
                expected += 1440;
            }
        }
    }
}

#[test]
fn ends_of_ranges() {
    let of = |form, datatype| inlined(form, datatype).expect("inlined");
    for (earlier, same, later, datatype) in [
        (
            "2024-05-06T07:08:09.249Z",
            ["2024-05-06T07:08:09.25Z", "2024-05-06T09:08:09.250+02:00"],
            "2024-05-06T07:08:09.251Z",
            "dateTime",
        ),
        (
            "2024-05-06T07:08:08",
            ["2024-05-06T07:08:09", "2024-05-06T07:08:09.0"],
            "2024-05-06T07:08:10",
            "dateTime",
        ),
        (
            "1970-01-02-04:00",
            ["1970-01-02-05:00", "1970-01-02-05:00"],
            "1970-01-02-06:00",
            "date",
        ),
        (
            "1970-01-01",
            ["1970-01-02", "1970-01-02"],
            "1970-01-03",
            "date",
        ),
    ] {
        for form in same {
            let range = super::same_instant(of(form, datatype)).expect("temporal");
            assert!(same.iter().all(|form| range.contains(&of(form, datatype))));
            assert!(of(earlier, datatype) < *range.start(), "{form}");
            assert!(of(later, datatype) > *range.end(), "{form}");
        }
    }
    assert_eq!(super::same_instant(of("5", "integer")), None);
}

/// Text near the grammar of numbers, valid and not.
fn number_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?[0-9]{1,19}",
        "-?(0|[1-9][0-9]{0,17})",
        "-?[0-9]{1,12}\\.[0-9]{1,12}",
        "-?(0|[1-9][0-9]{0,5})\\.[0-9]{1,6}",
        "-?(0|[1-9][0-9]{0,5})(\\.[0-9]{1,6})?[eE]-?(0|[1-9][0-9]{0,2})",
        "[-+]?[0-9]{0,4}\\.?[0-9]{0,4}([eE][-+]?[0-9]{0,4})?",
        "-?INF|NaN|true|false|[-+.eE0-9INFa]{0,8}",
    ]
}

/// Text near the grammar of dates, valid and not.
fn zone_text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("Z".to_owned()),
        "[-+](0[0-9]|1[0-4]):(00|15|30|45)",
        "[-+]?[01]?[0-9]:[0-9]{1,2}",
    ]
}

fn date_text() -> impl Strategy<Value = String> {
    let valid = (1..=9999_u32, 1..=12_u32, 1..=31_u32)
        .prop_map(|(y, m, d)| format!("{y:04}-{m:02}-{d:02}"));
    let near = (19_990..=20_010_u32).prop_map(|n| format!("{:04}-12-31", n / 10));
    prop_oneof![4 => valid, 1 => near, 1 => "-?[0-9]{3,5}-[0-3][0-9]-[0-3][0-9]"]
}

fn date_time_text() -> impl Strategy<Value = String> {
    let time = prop_oneof![
        4 => "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,3})?",
        1 => "[0-9]{1,2}:[0-9]{2}:[0-9]{1,2}(\\.[0-9]{0,5})?",
    ];
    (date_text(), time, zone_text()).prop_map(|(date, time, zone)| format!("{date}T{time}{zone}"))
}

/// Any id whose payload is near what the kind can have.
fn any_id() -> impl Strategy<Value = TermId> {
    (
        prop::sample::select(&Kind::ALL[..]),
        any::<u64>(),
        0..PAYLOAD_BITS,
    )
        .prop_map(|(kind, bits, shift)| {
            let payload = (bits & PAYLOAD_MAX) >> shift;
            let payload = match kind {
                Kind::Double | Kind::Float if bits % 3 == 0 => payload & !0x1fff | 1024,
                Kind::Date | Kind::DateTime => payload & !127,
                _ if bits % 2 == 0 => payload,
                _ => (1 << 57) ^ payload,
            };
            TermId::new(kind, payload)
        })
}

fn offset_minutes(zone: xsd::TimezoneOffset) -> i16 {
    i16::from_be_bytes(zone.to_be_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn integers_agree(text in number_text()) {
        for kind in Kind::ALL.into_iter().filter(|k| (Kind::Integer..=Kind::UnsignedByte).contains(k)) {
            let name = datatype(kind).expect("inline").strip_prefix(XSD).expect("of XSD");
            if let Some(id) = inlined(&text, name) {
                let expected = i64::from(xsd::Integer::from_str(&text).expect("valid"));
                prop_assert_eq!(value(id), Some(InlineValue::Integer(expected)));
                prop_assert_eq!(from_integer(kind, expected), Some(id));
            }
        }
        if let Ok(number) = text.parse::<i64>() {
            let expected = number.to_string() == text && (-(1 << 57)..1 << 57).contains(&number);
            prop_assert_eq!(inlined(&text, "integer").is_some(), expected);
        } else {
            prop_assert_eq!(inlined(&text, "integer"), None);
        }
    }

    #[test]
    fn decimals_agree(text in number_text()) {
        if let Some(id) = inlined(&text, "decimal") {
            let expected = i128::from_be_bytes(xsd::Decimal::from_str(&text).expect("valid").to_be_bytes());
            let Some(InlineValue::Decimal { mantissa, scale }) = value(id) else {
                panic!("no decimal");
            };
            prop_assert_eq!(i128::from(mantissa) * 10_i128.pow(18 - u32::from(scale)), expected);
        }
    }

    #[test]
    fn doubles_and_floats_agree(text in number_text()) {
        if let Some(id) = inlined(&text, "double") {
            let expected = f64::from(xsd::Double::from_str(&text).expect("valid"));
            let Some(InlineValue::Double(found)) = value(id) else { panic!("no double") };
            prop_assert_eq!(found.to_bits(), expected.to_bits());
        }
        if let Some(id) = inlined(&text, "float") {
            let expected = f32::from(xsd::Float::from_str(&text).expect("valid"));
            let Some(InlineValue::Float(found)) = value(id) else { panic!("no float") };
            prop_assert_eq!(found.to_bits(), expected.to_bits());
        }
    }

    #[test]
    fn dates_agree(first in (date_text(), zone_text()), second in (date_text(), zone_text())) {
        let mut parsed = Vec::new();
        for text in [first, second].map(|(date, zone)| date + &zone) {
            if let Some(id) = inlined(&text, "date") {
                let date = xsd::Date::from_str(&text).expect("valid");
                let calendar = calendar_of_date(id).expect("a date");
                prop_assert_eq!(i64::from(calendar.year), date.year());
                prop_assert_eq!((calendar.month, calendar.day), (date.month(), date.day()));
                let Some(InlineValue::Date { offset_minutes: offset, .. }) = value(id) else {
                    panic!("no date");
                };
                prop_assert_eq!(offset, date.timezone_offset().map(offset_minutes));
                parsed.push((id, date));
            }
        }
        if let [(a, date_a), (b, date_b)] = parsed[..] && a.kind() == b.kind() {
            match date_a.partial_cmp(&date_b).expect("both with a zone, or both without") {
                Ordering::Equal => prop_assert_eq!(a.payload() >> 7, b.payload() >> 7),
                order => prop_assert_eq!(a.cmp(&b), order),
            }
        }
    }

    #[test]
    fn date_times_agree(first in date_time_text(), second in date_time_text()) {
        let mut parsed = Vec::new();
        for text in [first, second] {
            if let Some(id) = inlined(&text, "dateTime") {
                let time = xsd::DateTime::from_str(&text).expect("valid");
                let calendar = calendar_of_date_time(id).expect("a dateTime");
                prop_assert_eq!(i64::from(calendar.year), time.year());
                prop_assert_eq!((calendar.month, calendar.day), (time.month(), time.day()));
                prop_assert_eq!((calendar.hour, calendar.minute), (time.hour(), time.minute()));
                let seconds = i128::from_be_bytes(time.second().to_be_bytes()); // times 10^18
                prop_assert_eq!(i128::from(calendar.milliseconds) * 10_i128.pow(15), seconds);
                let Some(InlineValue::DateTime { offset_minutes: offset, .. }) = value(id) else {
                    panic!("no dateTime");
                };
                prop_assert_eq!(offset, time.timezone_offset().map(offset_minutes));
                parsed.push((id, time));
            }
        }
        if let [(a, time_a), (b, time_b)] = parsed[..] && a.kind() == b.kind() {
            match time_a.partial_cmp(&time_b).expect("both with a zone, or both without") {
                Ordering::Equal => prop_assert_eq!(a.payload() >> 9, b.payload() >> 9),
                order => prop_assert_eq!(a.cmp(&b), order),
            }
        }
    }

    #[test]
    fn order_of_integers(a in any::<i64>(), b in any::<i64>(), shift in 6..63) {
        let (a, b) = (a >> shift, b >> shift);
        let (id_a, id_b) = (from_integer(Kind::Integer, a), from_integer(Kind::Integer, b));
        prop_assert_eq!(id_a.expect("58 bits").cmp(&id_b.expect("58 bits")), a.cmp(&b));
    }

    /// What decodes is what encodes, for any bits; so no literal has two ids and no two literals have one.
    #[test]
    fn ids_are_unique(id in any_id()) {
        let mut out = String::new();
        if let Some(iri) = decode(id, &mut out) {
                prop_assert_eq!(encode(&out, iri), Some(id));
                prop_assert!(value(id).is_some());
            } else {
                prop_assert_eq!(out, "");
                prop_assert_eq!(value(id), None);
            }
    }
}
