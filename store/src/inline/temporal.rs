//! `xsd:date` and `xsd:dateTime` of the years 0001 to 9999, with and without a zone, a kind each.
//!
//! The instant stands highest in the payload, so ids of one kind are ordered as the values are. It is
//! counted from 0001-01-01T00:00 less the largest offset: no instant is negative. Not inlined: 24:00:00,
//! days that no calendar has, more than three digits of a fraction, offsets that are no quarter hours,
//! `-00:00`.

use super::{InlineValue, push_ascii};
use crate::id::{Kind, TermId};
use std::ops::RangeInclusive;

const ZONE_BITS: u32 = 7;
const FRACTION_BITS: u32 = 2;
const MINUTES_OF_DAY: i64 = 24 * 60;
const MILLISECONDS_OF_MINUTE: i64 = 60_000;
const MILLISECONDS_OF_DAY: i64 = MINUTES_OF_DAY * MILLISECONDS_OF_MINUTE;
/// The largest offset of a zone, in quarter hours: 14 hours.
const OFFSET_MAX: i64 = 14 * 4;
/// Days from 0001-01-01 to 1970-01-01.
const DAYS_TO_UNIX_EPOCH: i64 = 719_162;
/// Days from 0001-01-01 to the end of the year 9999.
const DAYS: i64 = 3_652_059;
/// What is added to minutes since 0001-01-01, so that no offset makes them negative.
const BIAS_MINUTES: i64 = OFFSET_MAX * 15;
const _: () = assert!(
    (DAYS * MILLISECONDS_OF_DAY + 2 * BIAS_MINUTES * MILLISECONDS_OF_MINUTE) >> (58 - 2 - 7) == 0
);

/// A zone as it is written: none, `Z`, or an offset in quarter hours.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Zone {
    Absent,
    Utc,
    Offset(i64),
}

impl Zone {
    /// Reads the zone that ends a form; `None` if it is not one of ours.
    #[inline]
    fn parse(text: &[u8]) -> Option<Self> {
        match *text {
            [] => Some(Self::Absent),
            [b'Z'] => Some(Self::Utc),
            [sign @ (b'+' | b'-'), h1, h0, b':', m1, m0] => {
                let minutes = two_digits(m1, m0)?;
                let quarters = two_digits(h1, h0)? * 4 + minutes / 15;
                let possible = minutes % 15 == 0
                    && minutes < 60
                    && quarters <= OFFSET_MAX
                    && (sign == b'+' || quarters != 0);
                possible.then_some(Self::Offset(if sign == b'-' {
                    -quarters
                } else {
                    quarters
                }))
            }
            _ => None,
        }
    }

    /// The kind of a form with this zone.
    fn choose(self, without: Kind, with: Kind) -> Kind {
        if self == Self::Absent { without } else { with }
    }

    /// The offset from UTC; none counts as zero.
    fn minutes(self) -> i64 {
        match self {
            Self::Absent | Self::Utc => 0,
            Self::Offset(quarters) => quarters * 15,
        }
    }

    fn pack(self) -> u64 {
        match self {
            Self::Absent | Self::Utc => 0,
            Self::Offset(quarters) => (quarters + OFFSET_MAX + 1) as u64,
        }
    }

    /// The zone in a payload of this kind; `None` for bits that no zone has.
    fn unpack(kind: Kind, payload: u64) -> Option<Self> {
        let zoned = matches!(kind, Kind::DateZoned | Kind::DateTimeZoned);
        let code = (payload & ((1 << ZONE_BITS) - 1)) as i64;
        match code {
            0 if zoned => Some(Self::Utc),
            0 => Some(Self::Absent),
            _ if zoned && code <= 2 * OFFSET_MAX + 1 => Some(Self::Offset(code - OFFSET_MAX - 1)),
            _ => None,
        }
    }

    /// The offset from UTC in minutes, if there is a zone.
    fn offset_minutes(self) -> Option<i16> {
        (self != Self::Absent).then(|| self.minutes() as i16)
    }

    fn write(self, out: &mut String) {
        match self {
            Self::Absent => {}
            Self::Utc => out.push('Z'),
            Self::Offset(quarters) => {
                out.push(if quarters < 0 { '-' } else { '+' });
                let size = quarters.abs();
                push_padded(out, size / 4, 2);
                out.push(':');
                push_padded(out, size % 4 * 15, 2);
            }
        }
    }
}

#[inline]
fn two_digits(tens: u8, ones: u8) -> Option<i64> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then(|| i64::from(tens) * 10 + i64::from(ones))
}

/// Appends a number that is not negative, with zeros in front.
fn push_padded(out: &mut String, mut number: i64, width: usize) {
    let mut buffer = [0; 8];
    for digit in buffer[..width].iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    push_ascii(out, &buffer[..width]);
}

fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from 0001-01-01 to a date. Years begin in March here, so that the leap day is the last.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1 - 306
}

/// Year, month and day of a number of days since 0001-01-01 (not negative).
fn date_of(days: i64) -> (i64, i64, i64) {
    const DAYS_OF_400_YEARS: i64 = 146_097;
    let days = days + 306;
    let era = days / DAYS_OF_400_YEARS;
    let day_of_era = days % DAYS_OF_400_YEARS;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year_of_era;
    if month < 10 {
        (year, month + 3, day)
    } else {
        (year + 1, month - 9, day)
    }
}

/// Reads `YYYY-MM-DD`: days since 0001-01-01, and what follows.
#[inline]
fn take_date(text: &[u8]) -> Option<(i64, &[u8])> {
    let (date, rest) = text.split_first_chunk::<10>()?;
    let [y3, y2, y1, y0, b'-', m1, m0, b'-', d1, d0] = *date else {
        return None;
    };
    let year = two_digits(y3, y2)? * 100 + two_digits(y1, y0)?;
    let month = two_digits(m1, m0)?;
    let day = two_digits(d1, d0)?;
    let valid =
        year >= 1 && (1..=12).contains(&month) && day >= 1 && day <= days_of_month(year, month);
    valid.then(|| (days_of(year, month, day), rest))
}

pub(super) fn encode_date(text: &[u8]) -> Option<TermId> {
    let (days, rest) = take_date(text)?;
    let zone = Zone::parse(rest)?;
    let start = days * MINUTES_OF_DAY - zone.minutes() + BIAS_MINUTES;
    let kind = zone.choose(Kind::Date, Kind::DateZoned);
    Some(TermId::new(kind, (start as u64) << ZONE_BITS | zone.pack()))
}

pub(super) fn encode_date_time(text: &[u8]) -> Option<TermId> {
    let (days, rest) = take_date(text)?;
    let (time, rest) = rest.split_first_chunk::<9>()?;
    let [b'T', h1, h0, b':', m1, m0, b':', s1, s0] = *time else {
        return None;
    };
    let (hour, minute, second) = (
        two_digits(h1, h0)?,
        two_digits(m1, m0)?,
        two_digits(s1, s0)?,
    );
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (fraction, fraction_digits, rest) = take_fraction(rest)?;
    let zone = Zone::parse(rest)?;
    let minutes = days * MINUTES_OF_DAY + hour * 60 + minute - zone.minutes();
    let instant = (minutes + BIAS_MINUTES) * MILLISECONDS_OF_MINUTE + second * 1000 + fraction;
    let kind = zone.choose(Kind::DateTime, Kind::DateTimeZoned);
    Some(TermId::new(
        kind,
        ((instant as u64) << FRACTION_BITS | fraction_digits) << ZONE_BITS | zone.pack(),
    ))
}

/// Reads the fraction of a second: milliseconds, digits written, and what follows.
#[inline]
fn take_fraction(text: &[u8]) -> Option<(i64, u64, &[u8])> {
    let Some(digits) = text.strip_prefix(b".") else {
        return Some((0, 0, text));
    };
    let length = digits
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if !(1..=3).contains(&length) {
        return None;
    }
    let milliseconds = (0..3).fold(0, |sum, at| {
        sum * 10
            + if at < length {
                i64::from(digits[at] - b'0')
            } else {
                0
            }
    });
    Some((milliseconds, length as u64, &digits[length..]))
}

/// Days since 0001-01-01, local, and the zone, of a date's payload.
fn unpack_date(kind: Kind, payload: u64) -> Option<(i64, Zone)> {
    let zone = Zone::unpack(kind, payload)?;
    let minutes = (payload >> ZONE_BITS) as i64 - BIAS_MINUTES + zone.minutes();
    let days = minutes.div_euclid(MINUTES_OF_DAY);
    (minutes.rem_euclid(MINUTES_OF_DAY) == 0 && (0..DAYS).contains(&days)).then_some((days, zone))
}

/// Milliseconds since 0001-01-01, local, digits of the fraction, and the zone, of a dateTime's payload.
fn unpack_date_time(kind: Kind, payload: u64) -> Option<(i64, usize, Zone)> {
    let zone = Zone::unpack(kind, payload)?;
    let digits = (payload >> ZONE_BITS & ((1 << FRACTION_BITS) - 1)) as usize;
    let instant = (payload >> (ZONE_BITS + FRACTION_BITS)) as i64;
    let local = instant + (zone.minutes() - BIAS_MINUTES) * MILLISECONDS_OF_MINUTE;
    let exact = local.rem_euclid(1000) % [1000, 100, 10, 1][digits] == 0;
    (exact && (0..DAYS * MILLISECONDS_OF_DAY).contains(&local)).then_some((local, digits, zone))
}

fn push_date(out: &mut String, days: i64) {
    let (year, month, day) = date_of(days);
    push_padded(out, year, 4);
    out.push('-');
    push_padded(out, month, 2);
    out.push('-');
    push_padded(out, day, 2);
}

pub(super) fn decode_date(kind: Kind, payload: u64, out: &mut String) -> Option<()> {
    let (days, zone) = unpack_date(kind, payload)?;
    push_date(out, days);
    zone.write(out);
    Some(())
}

pub(super) fn decode_date_time(kind: Kind, payload: u64, out: &mut String) -> Option<()> {
    let (local, fraction_digits, zone) = unpack_date_time(kind, payload)?;
    push_date(out, local / MILLISECONDS_OF_DAY);
    let time = local % MILLISECONDS_OF_DAY;
    for (mark, number) in [
        ('T', time / 3_600_000),
        (':', time / 60_000 % 60),
        (':', time / 1000 % 60),
    ] {
        out.push(mark);
        push_padded(out, number, 2);
    }
    if fraction_digits > 0 {
        out.push('.');
        let divisor = [1000, 100, 10, 1][fraction_digits];
        push_padded(out, time % 1000 / divisor, fraction_digits);
    }
    zone.write(out);
    Some(())
}

pub(super) fn value_of_date(kind: Kind, payload: u64) -> Option<InlineValue> {
    let (days, zone) = unpack_date(kind, payload)?;
    Some(InlineValue::Date {
        start_minutes: (days - DAYS_TO_UNIX_EPOCH) * MINUTES_OF_DAY - zone.minutes(),
        offset_minutes: zone.offset_minutes(),
    })
}

pub(super) fn value_of_date_time(kind: Kind, payload: u64) -> Option<InlineValue> {
    let (local, _, zone) = unpack_date_time(kind, payload)?;
    Some(InlineValue::DateTime {
        milliseconds: local
            - DAYS_TO_UNIX_EPOCH * MILLISECONDS_OF_DAY
            - zone.minutes() * MILLISECONDS_OF_MINUTE,
        offset_minutes: zone.offset_minutes(),
    })
}

/// The fields of a date or dateTime, in its own local time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Calendar {
    /// 1 to 9999.
    pub year: u16,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23; 0 for a date.
    pub hour: u8,
    /// 0 to 59; 0 for a date.
    pub minute: u8,
    /// Milliseconds of the minute, 0 to 59,999; 0 for a date.
    pub milliseconds: u16,
}

impl Calendar {
    fn of(local_milliseconds: i64) -> Self {
        let (year, month, day) = date_of(local_milliseconds / MILLISECONDS_OF_DAY);
        let time = local_milliseconds % MILLISECONDS_OF_DAY;
        Self {
            year: year as u16,
            month: month as u8,
            day: day as u8,
            hour: (time / 3_600_000) as u8,
            minute: (time / 60_000 % 60) as u8,
            milliseconds: (time % 60_000) as u16,
        }
    }
}

/// The fields of an inlined `xsd:date`; `None` for any other id.
pub fn calendar_of_date(id: TermId) -> Option<Calendar> {
    let kind = id
        .kind()
        .filter(|kind| matches!(kind, Kind::Date | Kind::DateZoned))?;
    let (days, _) = unpack_date(kind, id.payload())?;
    Some(Calendar::of(days * MILLISECONDS_OF_DAY))
}

/// The fields of an inlined `xsd:dateTime`; `None` for any other id.
pub fn calendar_of_date_time(id: TermId) -> Option<Calendar> {
    let kind = id
        .kind()
        .filter(|kind| matches!(kind, Kind::DateTime | Kind::DateTimeZoned))?;
    let (local, _, _) = unpack_date_time(kind, id.payload())?;
    Some(Calendar::of(local))
}

/// The ids of dates or dateTimes of one kind that have the same instant (start, for a date), whatever their zone and their
/// digits; `None` for ids of other kinds. Within a kind those that are earlier have smaller ids, those that are later larger ones.
pub fn same_instant(id: TermId) -> Option<RangeInclusive<TermId>> {
    let shift = match id.kind()? {
        Kind::DateTime | Kind::DateTimeZoned => FRACTION_BITS + ZONE_BITS,
        Kind::Date | Kind::DateZoned => ZONE_BITS,
        _ => return None,
    };
    let other_bits = (1 << shift) - 1;
    let first = id.bits() & !other_bits;
    Some(TermId::from_bits(first)..=TermId::from_bits(first | other_bits))
}
