//! "Did you mean …": the known word closest to a misspelt one.

/// The candidate closest to `word`, if it is close enough.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let length = word.chars().count();
    // Two one-letter words have nothing in common.
    let tolerated = length.div_ceil(3).min(length.saturating_sub(1));
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= tolerated)
        .min()
        .map(|(_, candidate)| candidate)
}

/// The minimum number of edits that turn `from` into `to`. One edit inserts, deletes or replaces a character, or swaps
/// two adjacent ones.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_mistakes_are_near_and_other_words_are_not() {
        let words = ["expire", "block", "on_timeout", "key"];
        assert_eq!(nearest("exprie", words), Some("expire"));
        assert_eq!(nearest("expires", words), Some("expire"));
        assert_eq!(nearest("on_timout", words), Some("on_timeout"));
        assert_eq!(nearest("keys", words), Some("key"));
        assert_eq!(nearest("permits", words), None);
        assert_eq!(nearest("", words), None);
        assert_eq!(nearest("K", ["a"]), None);
    }
}
