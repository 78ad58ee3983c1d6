//! Arithmetic of dates, times and durations, as XPath has it: what SPARQL's own table of operators leaves to extensions.

use super::value::Value;

/// `left + right`.
pub fn add(left: &Value<'_>, right: &Value<'_>) -> Option<Value<'static>> {
    use Value::{
        Date, DateTime, DayTimeDuration as DayTime, Duration, Time, YearMonthDuration as YearMonth,
    };
    Some(match (left, right) {
        (YearMonth(left), YearMonth(right)) => YearMonth(left.checked_add(*right)?),
        (DayTime(left), DayTime(right)) => DayTime(left.checked_add(*right)?),
        (DateTime(left), YearMonth(right)) | (YearMonth(right), DateTime(left)) => {
            DateTime(left.checked_add_year_month_duration(*right)?)
        }
        (DateTime(left), DayTime(right)) | (DayTime(right), DateTime(left)) => {
            DateTime(left.checked_add_day_time_duration(*right)?)
        }
        (DateTime(left), Duration(right)) | (Duration(right), DateTime(left)) => {
            DateTime(left.checked_add_duration(*right)?)
        }
        (Date(left), YearMonth(right)) | (YearMonth(right), Date(left)) => {
            Date(left.checked_add_year_month_duration(*right)?)
        }
        (Date(left), DayTime(right)) | (DayTime(right), Date(left)) => {
            Date(left.checked_add_day_time_duration(*right)?)
        }
        (Date(left), Duration(right)) | (Duration(right), Date(left)) => {
            Date(left.checked_add_duration(*right)?)
        }
        (Time(left), DayTime(right)) | (DayTime(right), Time(left)) => {
            Time(left.checked_add_day_time_duration(*right)?)
        }
        _ => return None,
    })
}

/// `left - right`.
pub fn subtract(left: &Value<'_>, right: &Value<'_>) -> Option<Value<'static>> {
    use Value::{
        Date, DateTime, DayTimeDuration as DayTime, Duration, Time, YearMonthDuration as YearMonth,
    };
    Some(match (left, right) {
        (YearMonth(left), YearMonth(right)) => YearMonth(left.checked_sub(*right)?),
        (DayTime(left), DayTime(right)) => DayTime(left.checked_sub(*right)?),
        (DateTime(left), DateTime(right)) => DayTime(left.checked_sub(*right)?),
        (Date(left), Date(right)) => DayTime(left.checked_sub(*right)?),
        (Time(left), Time(right)) => DayTime(left.checked_sub(*right)?),
        (DateTime(left), YearMonth(right)) => {
            DateTime(left.checked_sub_year_month_duration(*right)?)
        }
        (DateTime(left), DayTime(right)) => DateTime(left.checked_sub_day_time_duration(*right)?),
        (DateTime(left), Duration(right)) => DateTime(left.checked_sub_duration(*right)?),
        (Date(left), YearMonth(right)) => Date(left.checked_sub_year_month_duration(*right)?),
        (Date(left), DayTime(right)) => Date(left.checked_sub_day_time_duration(*right)?),
        (Date(left), Duration(right)) => Date(left.checked_sub_duration(*right)?),
        (Time(left), DayTime(right)) => Time(left.checked_sub_day_time_duration(*right)?),
        _ => return None,
    })
}
