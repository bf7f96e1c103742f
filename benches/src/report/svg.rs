//! The parts of a plot: SVG elements, and a logarithmic scale.

use std::fmt::Write as _;

use crate::measure::Summary;

pub(super) const OURS: &str = "#0b6e4f";
pub(super) const OTHERS: &str = "#8a4f00";

pub(super) fn begin(width: f64, height: f64, title: &str) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    text(&mut svg, (12.0, 24.0), "start", title, 15);
    svg
}

pub(super) fn end(mut svg: String) -> String {
    svg.push_str("</svg>\n");
    svg
}

pub(super) fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, text: &str, size: u32) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    // Writing to a String cannot fail.
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\">{text}</text>"
    );
}

pub(super) fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), color: &str, width: u32) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{color}\" stroke-width=\"{width}\"/>"
    );
}

pub(super) fn dot(svg: &mut String, (x, y): (f64, f64), color: &str) {
    let _ = writeln!(
        svg,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{color}\"/>"
    );
}

/// A logarithmic scale, in decades.
pub(super) struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    pub(super) fn over<'a>(summaries: impl Iterator<Item = &'a Summary>) -> Option<Self> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for summary in summaries.filter(|summary| summary.min > 0.0) {
            low = low.min(summary.min.log10().floor());
            high = high.max(summary.max.log10().ceil());
        }
        low.is_finite().then(|| Self {
            low,
            high: high.max(low + 1.0),
        })
    }

    /// Returns the place of a value, between 0 and 1. Zero is at 0: a logarithmic scale has no place for it.
    pub(super) fn share(&self, value: f64) -> f64 {
        let share = (value.log10() - self.low) / (self.high - self.low);
        share.max(0.0)
    }

    pub(super) fn ticks(&self) -> impl Iterator<Item = f64> + use<> {
        let decades = self.low as i32..=self.high as i32;
        decades.map(|decade| 10_f64.powi(decade))
    }
}
