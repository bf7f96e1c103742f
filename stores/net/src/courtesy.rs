//! [`Courtesy`]: whether a thread lets others run.

use std::thread;
use std::time::Duration;

use auto_mutex_seam::store::{Instant, clock};

/// If at most this many answers came, they belong to one or two tasks that are about to submit more requests.
const A_FEW: usize = 2;
/// A longer pause shows that other programs want the processor.
const LONG: Duration = Duration::from_micros(500);
/// For how long no pause is made after a long one.
const BUSY: Duration = Duration::from_secs(1);

/// Lets a woken task run first, so that its release and its next acquire share a request. On a busy machine, other
/// programs would run instead, for milliseconds.
#[derive(Default)]
pub struct Courtesy {
    busy_until: Option<Instant>,
}

impl Courtesy {
    /// Called after so many answers to tasks.
    pub fn after(&mut self, answers: usize) {
        if !(1..=A_FEW).contains(&answers) {
            return;
        }
        let began = clock::now();
        if self.busy_until.is_some_and(|end| began < end) {
            return;
        }
        thread::yield_now();
        let ended = clock::now();
        self.busy_until = (began.until(ended) > LONG).then(|| ended.after(BUSY));
    }
}
