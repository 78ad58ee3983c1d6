//! The report as one HTML file, with plots as SVG in it: it opens without a network and without scripts, in light and in dark.

mod plot;

use super::peer::{Outcome, Peer, PeerReport};
use super::report::{BenchReport, Verdict};
use plot::{Axis, Bar, SERIES, escaped, plot};
use std::fmt::Write;

/// Colours have a contrast of at least 4.5 to what they stand on, bars of 3 (WCAG 2.1, levels AA); a test computes it.
const STYLE: &str = "\
:root{color-scheme:light dark;--back:#ffffff;--text:#1f2328;--muted:#59636e;--line:#d1d9e0;--wrong:#b00020;\
--s0:#2f6aa8;--s1:#b4540a;--s2:#2c7d43;--s3:#8a4fb3;--s4:#a83262;--s5:#5f6b76}
@media(prefers-color-scheme:dark){:root{--back:#14181d;--text:#e6edf3;--muted:#9aa4af;--line:#3a424b;--wrong:#ff8a80;\
--s0:#6ea8e0;--s1:#e8954a;--s2:#5fbf7a;--s3:#c095e4;--s4:#ec84ad;--s5:#97a3af}}
body{font:15px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:var(--text);background:var(--back)}
table{border-collapse:collapse}td,th{padding:.15rem .7rem;text-align:right;border-bottom:1px solid var(--line)}
th{font-weight:600}td:last-child,th:last-child{text-align:left}table.summary td{text-align:left;vertical-align:top}p,td{overflow-wrap:anywhere}
svg{max-width:100%;height:auto}text{font:13px system-ui,sans-serif;fill:var(--text)}.axis{fill:var(--muted)}line{stroke:var(--line)}
.key{display:inline-block;width:.8em;height:.8em;margin:0 .4em 0 0}.key+span{margin-right:1.2em}.wrong{color:var(--wrong);font-weight:600}
.s0{fill:var(--s0);background:var(--s0)}.s1{fill:var(--s1);background:var(--s1)}.s2{fill:var(--s2);background:var(--s2)}\
.s3{fill:var(--s3);background:var(--s3)}.s4{fill:var(--s4);background:var(--s4)}.s5{fill:var(--s5);background:var(--s5)}
";

/// The whole page.
pub fn html(report: &BenchReport) -> String {
    let mut page = String::new();
    let title = report.title();
    // Writing to a string does not fail.
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <style>{STYLE}</style></head>\n<body>\n<h1>{title}</h1>\n"
    );
    summary(report, &mut page);
    page.push_str("<h2>Queries, warm, in ms</h2>\n");
    if !report.peers.is_empty() {
        legend(report, &mut page);
    }
    let _ = writeln!(page, "{}", query_plot(report));
    query_table(report, &mut page);
    for peer in &report.peers {
        peer_table(peer, &mut page);
    }
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
    let mut rows = String::new();
    let mut line = |name: &str, value: String| {
        let value = escaped(&value);
        let _ = writeln!(rows, "<tr><td>{name}</td><td>{value}</td></tr>");
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
    let _ = write!(
        page,
        "<table class=\"summary\">{rows}</table>\n<p>Power is 3600 / the geometric mean of the warm seconds, throughput 3600 * queries / wall \
         seconds of all streams, composite the square root of their product.</p>\n"
    );
}

/// Our bar for each query, and below it those of the peers that answered anything.
fn query_plot(report: &BenchReport) -> String {
    let mut bars = Vec::new();
    for (place, query) in report.queries.iter().enumerate() {
        let seconds = query.warm_seconds.unwrap_or(query.first_seconds);
        bars.push(Bar {
            label: format!("query {}", query.number),
            value: Some(seconds * 1e3),
            shown: milliseconds(seconds),
            series: 0,
        });
        for (series, peer) in report.peers.iter().enumerate() {
            let Some(query) = peer.queries.get(place) else {
                continue;
            };
            let (value, shown) = match &query.outcome {
                Outcome::Answered {
                    first_seconds,
                    warm_seconds,
                    verdict,
                    ..
                } => {
                    let seconds = warm_seconds.unwrap_or(*first_seconds);
                    let wrong = if *verdict == Verdict::Wrong {
                        ", wrong"
                    } else {
                        ""
                    };
                    (
                        Some(seconds * 1e3),
                        format!("{}{wrong}", milliseconds(seconds)),
                    )
                }
                Outcome::Failed { .. } => (None, "failed".to_owned()),
            };
            bars.push(Bar {
                label: String::new(),
                value,
                shown,
                series: series + 1,
            });
        }
    }
    plot(&bars, Axis::Logarithmic)
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1e3)
}

/// Which colour is whose.
fn legend(report: &BenchReport, page: &mut String) {
    let peers = report.peers.iter().map(|peer| peer.peer.name.as_str());
    page.push_str("<p>");
    for (series, name) in ["quadrille, in process"]
        .into_iter()
        .chain(peers)
        .enumerate()
    {
        let _ = write!(
            page,
            "<span class=\"key s{}\"></span><span>{}</span>",
            series % SERIES,
            escaped(name)
        );
    }
    page.push_str("</p>\n");
}

fn query_table(report: &BenchReport, page: &mut String) {
    page.push_str(
        "<table><tr><th>query</th><th>rows</th><th>expected</th><th>first, ms</th><th>warm, ms</th><th></th></tr>\n",
    );
    for query in &report.queries {
        let verdict = shown(query.verdict);
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

fn shown(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Right => "right",
        Verdict::Wrong => "<span class=\"wrong\">wrong</span>",
        Verdict::Unknown => "no reference at this scale",
    }
}

fn peer_table(report: &PeerReport, page: &mut String) {
    let Peer { name, url } = &report.peer;
    let (name, url) = (escaped(name), escaped(url));
    let _ = writeln!(page, "<h3>{name}</h3>");
    if let Some(error) = &report.error {
        let error = escaped(error);
        let _ = writeln!(page, "<p>{url}: <span class=\"wrong\">{error}</span></p>");
        return;
    }
    let seconds = |seconds: Option<f64>| {
        seconds.map_or_else(|| "–".to_owned(), |seconds| format!("{:.3}", seconds * 1e3))
    };
    let _ = writeln!(
        page,
        "<p>{url}, over HTTP; ASK {{}} takes {} ms.</p>\n<table><tr><th>query</th><th>rows</th><th>ours</th>\
         <th>first, ms</th><th>warm, ms</th><th>less ASK {{}}</th><th>ours, ms</th><th></th></tr>",
        seconds(report.ask_seconds)
    );
    for query in &report.queries {
        let _ = match &query.outcome {
            Outcome::Answered {
                rows,
                verdict,
                first_seconds,
                warm_seconds,
                ..
            } => writeln!(
                page,
                "<tr><td>{}</td><td>{rows}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                query.number,
                query.our_rows,
                seconds(Some(*first_seconds)),
                seconds(*warm_seconds),
                seconds(report.less_ask(*warm_seconds)),
                seconds(query.our_warm_seconds),
                shown(*verdict)
            ),
            Outcome::Failed { error } => writeln!(
                page,
                "<tr><td>{}</td><td>–</td><td>{}</td><td>–</td><td>–</td><td>–</td><td>{}</td>\
                 <td><span class=\"wrong\">{}</span></td></tr>",
                query.number,
                query.our_rows,
                seconds(query.our_warm_seconds),
                escaped(error)
            ),
        };
    }
    page.push_str("</table>\n");
    if let Some((peers, ours)) = report.geometric_means() {
        let _ = writeln!(
            page,
            "<p>{} of {} right; geometric mean of their warm times: {}, ours {}.</p>",
            report.right(),
            report.queries.len(),
            milliseconds(peers),
            milliseconds(ours)
        );
    }
}

fn load_plot(report: &BenchReport) -> String {
    let bars = report.load.phases.iter().map(|phase| Bar {
        label: phase.phase.name().to_owned(),
        value: Some(phase.wall_seconds),
        shown: format!("{:.3} s", phase.wall_seconds),
        series: 0,
    });
    plot(&bars.collect::<Vec<_>>(), Axis::Linear)
}

fn throughput_plot(report: &BenchReport) -> String {
    let bars = report.throughput.iter().map(|streams| Bar {
        label: format!("{} stream(s)", streams.streams),
        value: Some(streams.queries_an_hour),
        shown: format!("{:.0} an hour", streams.queries_an_hour),
        series: 0,
    });
    plot(&bars.collect::<Vec<_>>(), Axis::Linear)
}

#[cfg(test)]
mod tests {
    use super::STYLE;
    use std::collections::BTreeMap;

    /// The variables of the light style, then those of the dark one.
    fn colours() -> [BTreeMap<&'static str, [f64; 3]>; 2] {
        let styles = STYLE.split(":root{").skip(1).map(|style| {
            let style = style.split('}').next().expect("an end");
            let variables = style.split(';').filter_map(|part| part.strip_prefix("--"));
            let pairs = variables.filter_map(|part| part.split_once(":#"));
            pairs
                .map(|(name, digits)| {
                    let channel = |place: usize| {
                        let value = u8::from_str_radix(&digits[place..place + 2], 16);
                        f64::from(value.expect("two digits")) / 255.0
                    };
                    (name, [channel(0), channel(2), channel(4)])
                })
                .collect()
        });
        styles.collect::<Vec<_>>().try_into().expect("two styles")
    }

    /// WCAG 2.1, contrast ratio.
    fn contrast(one: [f64; 3], other: [f64; 3]) -> f64 {
        let luminance = |colour: [f64; 3]| {
            let linear = colour.map(|channel| {
                if channel <= 0.03928 {
                    channel / 12.92
                } else {
                    ((channel + 0.055) / 1.055).powf(2.4)
                }
            });
            0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05
        };
        let (one, other) = (luminance(one), luminance(other));
        one.max(other) / one.min(other)
    }

    #[test]
    fn colours_stand_out_from_the_background() {
        for style in colours() {
            assert_eq!(style.len(), 5 + super::SERIES, "{style:?}");
            for (name, colour) in &style {
                let least = match *name {
                    "back" | "line" => continue,
                    "text" | "muted" | "wrong" => 4.5,
                    _ => 3.0,
                };
                let found = contrast(*colour, style["back"]);
                assert!(found >= least, "{name}: {found:.2}");
            }
        }
    }
}
