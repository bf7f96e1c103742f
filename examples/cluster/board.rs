//! The live view: on a terminal, a board that is redrawn repeatedly; otherwise one line per event.

use std::io::{IsTerminal as _, Write as _, stdout};
use std::time::Duration;

use crate::clock::Time;
use crate::event::{Event, What};
use crate::history::{History, State};
use crate::plan::WORKERS;
use crate::timeline::{self, Glyphs, Paint};

/// The live view.
pub(crate) struct Board {
    live: bool,
    glyphs: Glyphs,
    paint: Paint,
    /// The number of lines of the last drawing.
    drawn: usize,
    length: Duration,
}

impl Board {
    /// Creates the view of a show of this length; a longer show is possible.
    pub(crate) fn new(length: Duration) -> Self {
        let live = stdout().is_terminal();
        let colours = live && !auto_mutex_examples::is_set("NO_COLOR");
        if live {
            // Hide the cursor while we draw.
            print!("\x1b[?25l");
        }
        Self {
            live,
            glyphs: Glyphs::pick(),
            paint: if colours {
                timeline::coloured
            } else {
                timeline::plain
            },
            drawn: 0,
            length,
        }
    }

    /// Prints a line that stays above the board.
    pub(crate) fn note(&mut self, history: &History, at: Time, text: &str) {
        self.wipe();
        println!("{}  {text}", elapsed(history, at));
        self.draw(history);
    }

    /// Prints an event, unless there is a board: the board shows the event by itself.
    pub(crate) fn event(&mut self, history: &History, event: &Event) {
        if self.live {
            return;
        }
        let worker = event.worker + 1;
        let text = match &event.what {
            What::Enters { .. } => {
                let visit = history.workers[event.worker].visits.last();
                let waited = visit.map_or(Duration::ZERO, |visit| visit.waited(event.at));
                let waiting: Vec<_> = (0..WORKERS)
                    .filter(|other| matches!(history.state(*other, event.at), State::Waits(_)))
                    .map(|other| (other + 1).to_string())
                    .collect();
                let waiting = match waiting.is_empty() {
                    true => "nobody waits".to_owned(),
                    false => format!("waiting: {}", waiting.join(", ")),
                };
                format!(
                    "worker {worker} enters after {:.3} s; {waiting}",
                    waited.as_secs_f64()
                )
            }
            What::Leaves => format!("worker {worker} leaves"),
            What::Meets { other } => format!("worker {worker} meets worker {} inside!", other + 1),
            What::Calls | What::Stays | What::Fails { .. } => return,
        };
        println!("{}  {text}", elapsed(history, event.at));
    }

    /// Draws the current state.
    pub(crate) fn draw(&mut self, history: &History) {
        if !self.live {
            return;
        }
        let now = Time::now();
        let shown = now.since(history.start);
        let mut lines = Vec::new();
        for worker in 0..WORKERS {
            let state = history.state(worker, now);
            let text = match state {
                State::Away => "away".to_owned(),
                State::Waits(since) => format!("waits   {:4.1} s", now.since(since).as_secs_f64()),
                State::Inside(since, token) => format!(
                    "inside  {:4.1} s   fencing token {token}",
                    now.since(since).as_secs_f64()
                ),
                State::Killed => history.fate.word().to_owned(),
            };
            lines.push(format!(
                "worker {}  {}",
                worker + 1,
                (self.paint)(state, &text)
            ));
        }
        lines.push(String::new());
        let total = self.length.max(shown);
        lines.extend(timeline::rows(
            history,
            shown,
            total,
            self.glyphs,
            self.paint,
        ));
        self.wipe();
        println!();
        for line in &lines {
            println!("{line}");
        }
        self.drawn = lines.len() + 1;
        // If the terminal is gone, another part of the program notices.
        let _ = stdout().flush();
    }

    /// Prints the final timeline.
    pub(crate) fn finish(&mut self, history: &History) {
        self.wipe();
        println!();
        for line in timeline::rows(
            history,
            history.length,
            history.length,
            self.glyphs,
            self.paint,
        ) {
            println!("{line}");
        }
        println!("{}\n", timeline::legend(history, self.glyphs));
    }

    fn wipe(&mut self) {
        if self.drawn > 0 {
            print!("\x1b[{}A\x1b[J", self.drawn);
            self.drawn = 0;
        }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        if self.live {
            print!("\x1b[?25h");
            let _ = stdout().flush();
        }
    }
}

fn elapsed(history: &History, at: Time) -> String {
    format!("{:6.3} s", at.since(history.start).as_secs_f64())
}
