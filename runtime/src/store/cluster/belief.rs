//! [`Belief`]: whether a view is newer than the last one.

use std::time::Duration;

use super::view::View;
use crate::clock::Instant;
use crate::wait;

/// For so long all must be behind before it is the cluster that is another one: those of a part that was cut off see by
/// then that they are.
const ANOTHER: Duration = Duration::from_secs(30);

/// What is known of how far nodes have come.
#[derive(Debug, Default)]
pub(super) struct Belief {
    /// Since when all that answered have heard of less than some did before.
    behind: Option<Instant>,
}

impl Belief {
    /// Who has heard of less than `epoch` knows nothing new, unless nobody has heard of more for a long time: a cluster that
    /// was formed anew begins to count anew.
    pub(super) fn believes(&mut self, view: &View, epoch: u64, now: Instant) -> bool {
        if view.epoch >= epoch {
            self.behind = None;
            return true;
        }
        let since = *self.behind.get_or_insert(now);
        let another = view.works && since.after(ANOTHER) <= now;
        if another {
            wait::tell(|| {
                tracing::warn!("the cluster of the lock store is another one than before");
            });
            self.behind = None;
        }
        another
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(epoch: u64, works: bool) -> View {
        View {
            epoch,
            works,
            ..View::default()
        }
    }

    #[test]
    fn who_is_behind_is_believed_when_nobody_else_is_left() {
        let mut belief = Belief::default();
        let start = Instant::now();
        let later = |seconds| start.after(Duration::from_secs(seconds));
        assert!(belief.believes(&view(7, true), 7, later(0)));
        assert!(!belief.believes(&view(3, true), 7, later(1)));
        assert!(!belief.believes(&view(3, true), 7, later(30)));
        // Somebody of before is there still.
        assert!(belief.believes(&view(8, true), 7, later(31)));
        assert!(!belief.believes(&view(3, true), 8, later(32)));
        assert!(!belief.believes(&view(3, false), 8, later(70)));
        assert!(belief.believes(&view(3, true), 8, later(71)));
        assert!(belief.believes(&view(3, true), 3, later(72)));
    }
}
