//! `auto-mutex top`: a live table of all locks.
//!
//! `app.rs` has the state and what keys do, and `draw.rs` draws it. Neither uses a terminal or a store.

mod app;
mod draw;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::io::{self, IsTerminal as _};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use auto_mutex::operator::{Lock, Operator};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use self::app::{App, Step};
use crate::args::{Global, Top};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::may_color;
use crate::signals::{ENDING, Signals, by_signal};
use crate::store::{in_use, look, waits};

/// The longest delay before a key or a new state is shown, and the shortest pause between two reads.
const SOON: Duration = Duration::from_millis(50);

/// The locks, and the names of those in a deadlock; or why they could not be read.
type Looked = Result<(Vec<Lock>, HashSet<String>), String>;

pub(crate) fn run(global: &Global, args: &Top) -> Outcome {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Err(Failure::Usage(
            "top needs a terminal; `ls` writes into files and pipes".to_owned(),
        ));
    }
    let operator = look(global)?;
    let app = App::new(operator.store(), may_color());
    let (sender, looked) = channel();
    let (pattern, every) = (args.within.pattern(&args.pattern), args.every);
    thread::spawn(move || watch(&operator, &pattern, every, &sender));
    let ended_by = signal()?;
    let mut terminal = ratatui::try_init()?;
    let result = show(&mut terminal, app, &looked, &ended_by);
    ratatui::restore();
    result
}

/// Receives the first signal that would otherwise end the process, so that the terminal can be restored first.
fn signal() -> Result<Receiver<u8>, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (sender, ended_by) = channel();
    // Caught from here on, not only once the thread runs.
    let mut signals = runtime.block_on(async { Signals::new(&ENDING) })?;
    thread::spawn(move || {
        let signal = runtime.block_on(signals.next());
        let _ = sender.send(by_signal(signal.as_raw()));
    });
    Ok(ended_by)
}

/// Reads the locks at an interval until the receiver is dropped.
fn watch(operator: &Operator, pattern: &str, every: Duration, sender: &Sender<Looked>) {
    loop {
        let began = Instant::now();
        let looked = read(operator, pattern).map_err(|failure| failure.to_string());
        if sender.send(looked).is_err() {
            return;
        }
        thread::sleep(every.saturating_sub(began.elapsed()).max(SOON));
    }
}

fn read(operator: &Operator, pattern: &str) -> Result<(Vec<Lock>, HashSet<String>), Failure> {
    let locks = in_use(operator, pattern)?;
    // A deadlock may go through locks that are not shown.
    let waits = match pattern {
        "*" => waits(operator, &locks)?,
        _ => waits(operator, &in_use(operator, "*")?)?,
    };
    let chains = waits.chains().into_iter().filter(|chain| chain.cycle);
    let names = chains.flat_map(|chain| chain.hops.into_iter().map(|hop| hop.lock.name.clone()));
    let names = names.collect();
    Ok((locks, names))
}

fn show(
    terminal: &mut DefaultTerminal,
    mut app: App,
    looked: &Receiver<Looked>,
    ended_by: &Receiver<u8>,
) -> Outcome {
    loop {
        terminal.draw(|frame| draw::draw(frame, &app))?;
        loop {
            if let Ok(code) = ended_by.try_recv() {
                return Ok(Exit::Code(code));
            }
            let mut is_news = false;
            while let Ok(looked) = looked.try_recv() {
                app.take(looked);
                is_news = true;
            }
            if event::poll(SOON)? {
                match event::read()? {
                    Event::Key(key) if key.kind != KeyEventKind::Release => {
                        if app.press(key) == Step::End {
                            return Ok(Exit::Done);
                        }
                        is_news = true;
                    }
                    Event::Resize(..) => is_news = true,
                    _ => {}
                }
            }
            if is_news {
                break;
            }
        }
    }
}
