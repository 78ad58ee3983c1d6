//! The report as one HTML file, with plots as SVG in it: it opens without a network and without scripts.

use super::report::{BenchReport, Verdict};
use std::fmt::Write;

/// Sizes of a plot, in pixels.
const WIDTH: f64 = 720.0;
const BAR: f64 = 18.0;
const GAP: f64 = 6.0;
const LABEL: f64 = 150.0;
const VALUE: f64 = 110.0;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#222}\
table{border-collapse:collapse}td,th{padding:.15rem .7rem;text-align:right;border-bottom:1px solid #ddd}\
th{font-weight:600}td:last-child,th:last-child{text-align:left}svg{max-width:100%}text{font:13px system-ui,sans-serif}\
.wrong{color:#b00020;font-weight:600}";

/// A bar of a plot.
struct Bar {
    label: String,
    value: f64,
    shown: String,
}

/// How long bars are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Axis {
    /// In proportion to values.
    Linear,
    /// In proportion to the number of digits: each step of the grid is ten times the one before.
    Logarithmic,
}

/// The whole page.
pub fn html(report: &BenchReport) -> String {
    let mut page = String::new();
    let title = format!("LUBM, {} universities", report.universities);
    // Writing to a string does not fail.
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <style>{STYLE}</style></head>\n<body>\n<h1>{title}</h1>\n"
    );
    summary(report, &mut page);
    let _ = writeln!(page, "<h2>Queries, warm</h2>\n{}", query_plot(report));
    query_table(report, &mut page);
    let _ = writeln!(page, "<h2>Load, by phase</h2>\n{}", load_plot(report));
    if !report.throughput.is_empty() {
        let _ = writeln!(
            page,
            "<h2>Throughput, by streams</h2>\n{}",
            throughput_plot(report)
        );
    }
    page.push_str("</body></html>\n");
    page
}

fn summary(report: &BenchReport, page: &mut String) {
    let load = &report.load;
    let mut line = |name: &str, value: String| {
        let _ = writeln!(page, "<tr><td>{name}</td><td>{value}</td></tr>");
    };
    line("statements loaded", load.statements.to_string());
    line(
        "load",
        format!(
            "{:.2} s, {:.2} s of CPU, {:.2} M statements a second",
            load.wall_seconds,
            load.cpu_seconds,
            load.statements as f64 / load.wall_seconds.max(1e-9) / 1e6
        ),
    );
    line(
        "peak memory of the load",
        format!("{:.0} MiB", load.peak_memory_bytes as f64 / 1_048_576.0),
    );
    if let Some(inference) = &report.inference {
        line("inference", inference.to_string());
    }
    line(
        "store",
        format!(
            "{} quads, {:.2} bytes a quad",
            report.quads,
            report.store_bytes as f64 / report.quads.max(1) as f64
        ),
    );
    if let Some(mean) = report.geometric_mean() {
        line("geometric mean, warm", format!("{:.3} ms", mean * 1e3));
    }
    if let Some(power) = report.power() {
        line("power", format!("{power:.0} queries an hour"));
    }
    if let Some(streams) = report.throughput.last() {
        line(
            "throughput",
            format!(
                "{:.0} queries an hour, {} streams",
                streams.queries_an_hour, streams.streams
            ),
        );
    }
    if let Some(composite) = report.composite() {
        line("composite", format!("{composite:.0} queries an hour"));
    }
    line(
        "the kernel's share of CPU time, warm power test",
        format!("{:.1} %", report.power_system_share * 100.0),
    );
    let rows = std::mem::take(page);
    let table = rows.find("<tr>").unwrap_or(rows.len());
    let _ = write!(
        page,
        "{}<table>{}</table>\n<p>Power is 3600 / the geometric mean of the warm seconds, throughput 3600 * queries / wall \
         seconds of all streams, composite the square root of their product.</p>\n",
        &rows[..table],
        &rows[table..]
    );
}

fn query_plot(report: &BenchReport) -> String {
    let bars = report.queries.iter().map(|query| {
        let seconds = query.warm_seconds.unwrap_or(query.first_seconds);
        Bar {
            label: format!("query {}", query.number),
            value: seconds * 1e3,
            shown: format!("{:.3} ms", seconds * 1e3),
        }
    });
    plot(&bars.collect::<Vec<_>>(), Axis::Logarithmic)
}

fn query_table(report: &BenchReport, page: &mut String) {
    page.push_str(
        "<table><tr><th>query</th><th>rows</th><th>expected</th><th>first, ms</th><th>warm, ms</th><th></th></tr>\n",
    );
    for query in &report.queries {
        let verdict = match query.verdict {
            Verdict::Right => "right",
            Verdict::Wrong => "<span class=\"wrong\">wrong</span>",
            Verdict::Unknown => "no reference at this scale",
        };
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.3}</td><td>{}</td><td>{verdict}</td></tr>",
            query.number,
            query.rows,
            query
                .expected
                .map_or_else(|| "?".to_owned(), |rows| rows.to_string()),
            query.first_seconds * 1e3,
            query
                .warm_seconds
                .map_or_else(|| "–".to_owned(), |seconds| format!("{:.3}", seconds * 1e3)),
        );
    }
    page.push_str("</table>\n");
}

fn load_plot(report: &BenchReport) -> String {
    let bars = report.load.phases.iter().map(|phase| Bar {
        label: phase.phase.name().to_owned(),
        value: phase.wall_seconds,
        shown: format!("{:.3} s", phase.wall_seconds),
    });
    plot(&bars.collect::<Vec<_>>(), Axis::Linear)
}

fn throughput_plot(report: &BenchReport) -> String {
    let bars = report.throughput.iter().map(|streams| Bar {
        label: format!("{} stream(s)", streams.streams),
        value: streams.queries_an_hour,
        shown: format!("{:.0} an hour", streams.queries_an_hour),
    });
    plot(&bars.collect::<Vec<_>>(), Axis::Linear)
}

/// Horizontal bars, one below the other, and on a logarithmic axis a grid.
fn plot(bars: &[Bar], axis: Axis) -> String {
    let greatest = bars.iter().map(|bar| bar.value).fold(1e-9, f64::max);
    let least = bars
        .iter()
        .map(|bar| bar.value)
        .fold(greatest, f64::min)
        .max(1e-9);
    let (low, high) = (least.log10().floor(), greatest.log10().ceil());
    let room = WIDTH - LABEL - VALUE;
    let length = |value: f64| match axis {
        Axis::Linear => room * value / greatest,
        Axis::Logarithmic => room * (value.max(1e-9).log10() - low) / (high - low).max(1.0),
    };
    let height = bars.len() as f64 * (BAR + GAP) + 24.0;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\">"
    );
    if axis == Axis::Logarithmic {
        for power in low as i32..=high as i32 {
            let x = LABEL + length(10_f64.powi(power));
            let _ = write!(
                svg,
                "<line x1=\"{x:.1}\" y1=\"0\" x2=\"{x:.1}\" y2=\"{:.1}\" stroke=\"#ddd\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#777\">{}</text>",
                height - 20.0,
                height - 6.0,
                10_f64.powi(power)
            );
        }
    }
    for (place, bar) in bars.iter().enumerate() {
        let y = place as f64 * (BAR + GAP);
        let long = length(bar.value).max(1.0);
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <rect x=\"{LABEL}\" y=\"{y:.1}\" width=\"{long:.1}\" height=\"{BAR}\" fill=\"#3b6ea5\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            LABEL - 8.0,
            y + BAR - 4.0,
            bar.label,
            LABEL + long + 6.0,
            y + BAR - 4.0,
            bar.shown
        );
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_on_a_logarithmic_axis_grow_with_digits() {
        let bar = |value: f64| Bar {
            label: "a".to_owned(),
            value,
            shown: String::new(),
        };
        let svg = plot(&[bar(0.1), bar(1.0), bar(10.0)], Axis::Logarithmic);
        let widths: Vec<f64> = svg
            .split("<rect ")
            .skip(1)
            .map(|rect| {
                let width = rect.split("width=\"").nth(1).expect("a width");
                width
                    .split('"')
                    .next()
                    .expect("an end")
                    .parse()
                    .expect("a number")
            })
            .collect();
        let room = WIDTH - LABEL - VALUE;
        for (width, expected) in widths.iter().zip([1.0, room / 2.0, room]) {
            assert!((width - expected).abs() < 0.1, "{widths:?}");
        }
        assert_eq!(svg.matches("<line").count(), 3);
    }
}
