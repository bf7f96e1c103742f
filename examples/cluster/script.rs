//! The course of the show: workers call the method, one stays inside and is killed, another takes over, and the show
//! ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::Failure;
use crate::board::Board;
use crate::clock::Time;
use crate::crew::Crew;
use crate::crew::processes::Processes;
use crate::crew::threads::Threads;
use crate::event::Event;
use crate::history::{History, Kill, State};
use crate::plan::{
    AFTERMATH, Fate, INSIDE_BEFORE_KILL, KILL_AFTER, LENGTH, LIMIT, Protection, UNPROTECTED_LENGTH,
    VICTIM,
};
use crate::store::Store;
use crate::witness::Witness;

/// The time between two drawings of the board.
const FRAME: Duration = Duration::from_millis(80);

/// The phase of the show.
enum Act {
    /// All workers call the method.
    Work,
    /// The victim has been ordered to stay inside in its next call.
    Stay,
    /// The victim is inside; it is killed at this time.
    Condemned(Time),
    /// The victim is dead; no worker has taken over yet.
    Killed,
    /// Another worker took over; the show ends at this time.
    TakenOver(Time),
}

/// Runs the whole show.
pub(crate) fn play(store: &Store, protection: Protection) -> Result<History, Failure> {
    let dir = tempfile::Builder::new().prefix("auto-mutex-").tempdir()?;
    let witness = Witness::at(dir.path().to_owned());
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, interrupted.clone())?;
    }
    let (sender, events) = channel();
    let crew = start(store, &witness, protection, &sender)?;
    let start = Time::now();
    let mut stage = Stage {
        witness,
        crew,
        events,
        interrupted,
        board: Board::new(match protection {
            Protection::Lock => LENGTH,
            Protection::None => UNPROTECTED_LENGTH,
        }),
        history: History::new(start, store.fate()),
    };
    match protection {
        Protection::Lock => stage.act()?,
        Protection::None => while stage.elapsed() < UNPROTECTED_LENGTH && stage.frame()? {},
    }
    stage.end()
}

fn start(
    store: &Store,
    witness: &Witness,
    protection: Protection,
    events: &Sender<Event>,
) -> Result<Box<dyn Crew>, Failure> {
    Ok(if store.is_memory() {
        Box::new(Threads::start(store, witness, protection, events)?)
    } else {
        Box::new(Processes::start(store, witness, protection, events)?)
    })
}

struct Stage {
    witness: Witness,
    crew: Box<dyn Crew>,
    events: Receiver<Event>,
    interrupted: Arc<AtomicBool>,
    board: Board,
    history: History,
}

impl Stage {
    fn elapsed(&self) -> Duration {
        Time::now().since(self.history.start)
    }

    /// Handles the events of one frame. Returns false if the show cannot continue.
    fn frame(&mut self) -> Result<bool, Failure> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err("interrupted".into());
        }
        let until = Time::now().plus(FRAME);
        loop {
            let left = until.since(Time::now());
            match self.events.recv_timeout(left) {
                Ok(event) => self.take(&event),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return Err("all workers are gone".into()),
            }
        }
        self.board.draw(&self.history);
        if self.elapsed() > LIMIT {
            self.history.failures.push("it took too long".to_owned());
        }
        Ok(self.history.failures.is_empty())
    }

    fn take(&mut self, event: &Event) {
        self.history.add(event);
        self.board.event(&self.history, event);
    }

    fn note(&mut self, text: &str) {
        self.board.note(&self.history, Time::now(), text);
    }

    /// Runs all phases one after another; returns early after a failure.
    fn act(&mut self) -> Result<(), Failure> {
        let victim = VICTIM + 1;
        let mut act = Act::Work;
        while self.frame()? {
            act = match act {
                Act::Work if self.elapsed() >= KILL_AFTER => {
                    self.crew.order_stay(VICTIM)?;
                    Act::Stay
                }
                Act::Stay if self.history.workers[VICTIM].stays => {
                    Act::Condemned(Time::now().plus(INSIDE_BEFORE_KILL))
                }
                Act::Condemned(then) if Time::now() >= then => {
                    self.kill()?;
                    Act::Killed
                }
                Act::Killed => match self.history.take_over() {
                    Some((next, after)) => {
                        self.note(&format!(
                            "worker {} takes over, {:.2} s after worker {victim} was {}",
                            next + 1,
                            after.as_secs_f64(),
                            self.history.fate.word(),
                        ));
                        Act::TakenOver(Time::now().plus(AFTERMATH))
                    }
                    None => Act::Killed,
                },
                Act::TakenOver(then) if Time::now() >= then && self.elapsed() >= LENGTH => {
                    return Ok(());
                }
                other => other,
            };
        }
        Ok(())
    }

    fn kill(&mut self) -> Result<(), Failure> {
        let when = self.crew.kill(VICTIM)?;
        // The victim's file is removed only now, when the victim certainly does nothing.
        let inside = self.witness.bury(VICTIM);
        self.history.kill = Some(Kill {
            worker: VICTIM,
            when,
            inside,
        });
        let waiting = (0..self.history.workers.len())
            .filter(|worker| matches!(self.history.state(*worker, when.at), State::Waits(_)))
            .count();
        self.note(&format!(
            "worker {} is {} while inside; {waiting} wait",
            VICTIM + 1,
            match self.history.fate {
                Fate::Killed => "killed (SIGKILL)",
                Fate::Abandoned => "abandoned",
            },
        ));
        Ok(())
    }

    /// Lets all workers finish, and handles the remaining events.
    fn end(mut self) -> Result<History, Failure> {
        let stopped = self.crew.stop();
        // The workers have ended; their last events may still be unread.
        drop(self.crew);
        while let Ok(event) = self.events.recv_timeout(FRAME) {
            self.history.add(&event);
            self.board.event(&self.history, &event);
        }
        if let Err(error) = stopped {
            self.history.failures.push(error.to_string());
        }
        self.history.length = Time::now().since(self.history.start);
        self.board.finish(&self.history);
        Ok(self.history)
    }
}
