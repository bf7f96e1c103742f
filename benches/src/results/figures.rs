//! Looks up figures: the repetitions of a contender, and the ratio of two contenders.

use super::Report;
use crate::measure::Summary;
use crate::peer::Contender;
use crate::run::Placement;

impl Report {
    /// Returns the repetitions of a figure, each with its round.
    pub(crate) fn rounds<'a>(
        &'a self,
        table: &'a str,
        placement: Placement,
        who: &'a str,
        figure: &'a str,
    ) -> impl Iterator<Item = (usize, f64)> + 'a {
        self.measurements
            .iter()
            .filter(move |it| it.table == table && it.placement == placement && it.who == who)
            .filter_map(move |it| Some((it.round, *it.values.get(figure)?)))
    }

    /// Returns `None` if the figure was not measured.
    pub(crate) fn summary(
        &self,
        table: &str,
        placement: Placement,
        who: &str,
        figure: &str,
    ) -> Option<Summary> {
        Summary::of(
            self.rounds(table, placement, who, figure)
                .map(|(_, value)| value),
        )
    }

    /// Returns the ratio of `who` to `base`, computed for each round.
    pub(crate) fn ratio(
        &self,
        table: &str,
        placement: Placement,
        who: &str,
        base: &str,
        figure: &str,
    ) -> Option<Summary> {
        Summary::of(
            self.rounds(table, placement, who, figure)
                .filter_map(|(round, value)| {
                    let mut others = self.rounds(table, placement, base, figure);
                    let (_, other) = others.find(|(other, _)| *other == round)?;
                    (other != 0.0).then_some(value / other)
                }),
        )
    }

    /// Returns the placements and contenders of a table, sorted by placement, then in the order of
    /// [`Contender::ALL`].
    pub(crate) fn rows(&self, table: &str) -> Vec<(Placement, &str)> {
        let mut rows = Vec::new();
        for it in self.measurements.iter().filter(|it| it.table == table) {
            let row = (it.placement, &*it.who);
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        let rank = |who: &str| Contender::ALL.iter().position(|it| it.label() == who);
        rows.sort_by_key(|(placement, who)| (*placement, rank(who)));
        rows
    }
}
