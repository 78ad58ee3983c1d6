//! Plots of horizontal bars, as SVG. Colours are those of the page's style.

use std::fmt::Write;

/// Sizes of a plot, in pixels.
const WIDTH: f64 = 720.0;
const BAR: f64 = 18.0;
const GAP: f64 = 6.0;
const LABEL: f64 = 150.0;
const VALUE: f64 = 130.0;
/// Characters of a value that fit.
const SHOWN_MAX: usize = 60;
/// Colours of series, one for us and then those of peers; more begin again.
pub const SERIES: usize = 6;

/// A bar of a plot.
pub struct Bar {
    /// What stands before it; empty for all but the first bar of a group.
    pub label: String,
    /// How long it is; `None` if there is only what is shown.
    pub value: Option<f64>,
    /// What stands behind it.
    pub shown: String,
    /// Whose it is: this says its colour.
    pub series: usize,
}

/// How long bars are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// In proportion to values.
    Linear,
    /// In proportion to the number of digits: each step of the grid is ten times the one before.
    Logarithmic,
}

/// Horizontal bars, one below the other, and on a logarithmic axis a grid.
pub fn plot(bars: &[Bar], axis: Axis) -> String {
    let values = || bars.iter().filter_map(|bar| bar.value);
    let greatest = values().fold(1e-9, f64::max);
    let least = values().fold(greatest, f64::min).max(1e-9);
    let low = least.log10().floor();
    // Where all bars are as long as a power of ten there is a step all the same.
    let high = greatest.log10().ceil().max(low + 1.0);
    let room = WIDTH - LABEL - VALUE;
    let length = |value: f64| match axis {
        Axis::Linear => room * value / greatest,
        Axis::Logarithmic => room * (value.max(1e-9).log10() - low) / (high - low),
    };
    let groups = bars.iter().filter(|bar| !bar.label.is_empty()).count() as f64;
    let bars_height = bars.len() as f64 * BAR + groups * GAP;
    let height = bars_height + 22.0;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\">"
    );
    // Writing to a string does not fail.
    if axis == Axis::Logarithmic {
        for power in low as i32..=high as i32 {
            let x = LABEL + length(10_f64.powi(power));
            let _ = write!(
                svg,
                "<line x1=\"{x:.1}\" y1=\"0\" x2=\"{x:.1}\" y2=\"{bars_height:.1}\"/>\
                 <text class=\"axis\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                height - 6.0,
                10_f64.powi(power)
            );
        }
    }
    let mut y = 0.0;
    for (place, bar) in bars.iter().enumerate() {
        if place > 0 && !bar.label.is_empty() {
            y += GAP;
        }
        let long = bar.value.map_or(0.0, |value| length(value).max(1.0));
        let base = y + BAR - 5.0;
        let shown: String = bar.shown.chars().take(SHOWN_MAX).collect();
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{base:.1}\" text-anchor=\"end\">{}</text>\
             <rect class=\"s{}\" x=\"{LABEL}\" y=\"{y:.1}\" width=\"{long:.1}\" height=\"{:.1}\"/>\
             <text x=\"{:.1}\" y=\"{base:.1}\">{}</text>",
            LABEL - 8.0,
            escaped(&bar.label),
            bar.series % SERIES,
            BAR - 1.0,
            LABEL + long + 6.0,
            escaped(&shown)
        );
        y += BAR;
    }
    svg.push_str("</svg>");
    svg
}

/// Text as it may stand in HTML.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of an attribute of the elements that begin with this.
    fn numbers(svg: &str, element: &str, attribute: &str) -> Vec<f64> {
        let attribute = format!(" {attribute}=\"");
        let texts = svg.split(element).skip(1).map(|element| {
            let value = element.split(&attribute).nth(1).expect("the attribute");
            value.split('"').next().expect("an end")
        });
        texts.map(|text| text.parse().expect("a number")).collect()
    }

    fn bar(value: f64) -> Bar {
        Bar {
            label: "a".to_owned(),
            value: Some(value),
            shown: String::new(),
            series: 0,
        }
    }

    #[test]
    fn bars_on_a_logarithmic_axis_grow_with_digits() {
        let svg = plot(&[bar(0.1), bar(1.0), bar(10.0)], Axis::Logarithmic);
        let widths = numbers(&svg, "<rect ", "width");
        let room = WIDTH - LABEL - VALUE;
        for (width, expected) in widths.iter().zip([1.0, room / 2.0, room]) {
            assert!((width - expected).abs() < 0.1, "{widths:?}");
        }
        assert_eq!(svg.matches("<line").count(), 3);
    }

    #[test]
    fn everything_is_within_the_plot() {
        let failed = || Bar {
            label: String::new(),
            value: None,
            shown: "failed: <&>".to_owned(),
            series: 1,
        };
        for axis in [Axis::Linear, Axis::Logarithmic] {
            for bars in [
                vec![bar(1.0)],
                vec![bar(3.0), bar(3.0)],
                vec![bar(0.0), bar(0.002), bar(900.0)],
            ] {
                let bars: Vec<Bar> = bars.into_iter().chain([failed()]).collect();
                let svg = plot(&bars, axis);
                for width in numbers(&svg, "<rect ", "width") {
                    assert!(
                        (0.0..=WIDTH - LABEL - VALUE + 0.1).contains(&width),
                        "{svg}"
                    );
                }
                assert!(svg.contains("failed: &lt;&amp;&gt;"), "{svg}");
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
        plot(&[], Axis::Logarithmic);
    }
}
