//! The order in which contenders are measured.

/// Returns the order of a round: forward in even rounds, backward in odd rounds (A B, B A, A B, …). If the machine
/// gradually becomes slower or faster, this affects all contenders alike.
pub(crate) fn order<T: Copy>(contenders: &[T], round: usize) -> Vec<T> {
    let mut order = contenders.to_vec();
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn rounds_alternate() {
        let rounds: Vec<_> = (0..4).flat_map(|round| order(&['A', 'B'], round)).collect();
        assert_eq!(rounds, ['A', 'B', 'B', 'A', 'A', 'B', 'B', 'A']);
    }
}
