//! [`App`]: the state of `top`, and what keys do.

use std::cmp::Ordering;
use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use auto_mutex::operator::Lock;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::output::words::{has_text, waiting};

/// How many reads the history keeps.
const HISTORY: usize = 200;
/// How far PgUp and PgDn move the selection.
const PAGE: isize = 10;

/// The column by which the table is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    OldestWait,
    Waiters,
    Held,
    Name,
}

impl Sort {
    const ALL: [Self; 4] = [Self::OldestWait, Self::Waiters, Self::Held, Self::Name];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::OldestWait => "oldest wait",
            Self::Waiters => "waiters",
            Self::Held => "held",
            Self::Name => "name",
        }
    }

    fn next(self) -> Self {
        let index = Self::ALL.iter().position(|sort| *sort == self);
        Self::ALL[index.map_or(0, |index| (index + 1) % Self::ALL.len())]
    }

    /// Greatest values first. Locks with equal values are sorted by name.
    fn compare(self, a: &Lock, b: &Lock) -> Ordering {
        let names = a.name.cmp(&b.name);
        match self {
            Self::OldestWait => b
                .oldest_wait()
                .cmp(&a.oldest_wait())
                .then(b.held().cmp(&a.held())),
            Self::Waiters => b.waiting().cmp(&a.waiting()),
            Self::Held => b.held().cmp(&a.held()),
            Self::Name => Ordering::Equal,
        }
        .then(names)
    }
}

/// Whether `top` goes on after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    GoOn,
    End,
}

/// The state of `top`.
pub(crate) struct App {
    pub(crate) store: String,
    pub(crate) has_color: bool,
    locks: Vec<Lock>,
    /// The names of the locks in a deadlock.
    pub(crate) deadlocked: HashSet<String>,
    pub(crate) sort: Sort,
    pub(crate) is_reversed: bool,
    pub(crate) filter: String,
    /// Whether typed characters go to the filter.
    pub(crate) is_typing: bool,
    pub(crate) is_paused: bool,
    /// Whether the queue of the selected lock is shown.
    pub(crate) has_queue: bool,
    pub(crate) has_help: bool,
    /// The name of the selected lock, which remains selected when the order changes.
    selected: Option<String>,
    /// The number of all waiters at each read, oldest first.
    pub(crate) history: VecDeque<u64>,
    /// Why the last read failed.
    pub(crate) trouble: Option<String>,
    pub(crate) has_looked: bool,
}

impl App {
    pub(crate) fn new(store: String, has_color: bool) -> Self {
        Self {
            store,
            has_color,
            locks: Vec::new(),
            deadlocked: HashSet::new(),
            sort: Sort::OldestWait,
            is_reversed: false,
            filter: String::new(),
            is_typing: false,
            is_paused: false,
            has_queue: true,
            has_help: false,
            selected: None,
            history: VecDeque::new(),
            trouble: None,
            has_looked: false,
        }
    }

    /// Takes the result of a read.
    pub(crate) fn take(&mut self, looked: Result<(Vec<Lock>, HashSet<String>), String>) {
        match looked {
            Ok((locks, deadlocked)) => {
                self.trouble = None;
                let waiters = waiting(&locks);
                self.history.push_back(waiters);
                if self.history.len() > HISTORY {
                    self.history.pop_front();
                }
                if !self.is_paused {
                    (self.locks, self.deadlocked) = (locks, deadlocked);
                    self.has_looked = true;
                }
            }
            Err(trouble) => self.trouble = Some(trouble),
        }
    }

    /// The locks that pass the filter, in the order of the table.
    pub(crate) fn shown(&self) -> Vec<&Lock> {
        let filter = self.filter.to_lowercase();
        let locks = self.locks.iter();
        let mut shown: Vec<_> = locks.filter(|lock| has_text(lock, &filter)).collect();
        shown.sort_by(|a, b| self.sort.compare(a, b));
        if self.is_reversed {
            shown.reverse();
        }
        shown
    }

    pub(crate) fn count(&self) -> usize {
        self.locks.len()
    }

    /// The index of the selected lock in `shown`, or 0 if it is not shown.
    pub(crate) fn line(&self, shown: &[&Lock]) -> Option<usize> {
        let selected = self.selected.as_ref();
        let line = selected.and_then(|name| shown.iter().position(|lock| lock.name == *name));
        line.or((!shown.is_empty()).then_some(0))
    }

    pub(crate) fn press(&mut self, key: KeyEvent) -> Step {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => return Step::End,
            _ if self.is_typing => self.type_filter(key.code),
            KeyCode::Char('q') => return Step::End,
            KeyCode::Esc if self.has_help => self.has_help = false,
            KeyCode::Esc if !self.filter.is_empty() => self.filter.clear(),
            KeyCode::Esc => return Step::End,
            KeyCode::Down | KeyCode::Char('j') => self.go(1),
            KeyCode::Up | KeyCode::Char('k') => self.go(-1),
            KeyCode::PageDown => self.go(PAGE),
            KeyCode::PageUp => self.go(-PAGE),
            KeyCode::Home | KeyCode::Char('g') => self.go(isize::MIN),
            KeyCode::End | KeyCode::Char('G') => self.go(isize::MAX),
            KeyCode::Char('s') => self.sort = self.sort.next(),
            KeyCode::Char('r') => self.is_reversed = !self.is_reversed,
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Char('p' | ' ') => self.is_paused = !self.is_paused,
            KeyCode::Enter => self.has_queue = !self.has_queue,
            KeyCode::Char('?' | 'h') => self.has_help = !self.has_help,
            _ => {}
        }
        Step::GoOn
    }

    fn type_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char(c) => self.filter.push(c),
            _ => {}
        }
    }

    fn go(&mut self, lines: isize) {
        let shown = self.shown();
        let line = self.line(&shown).unwrap_or(0);
        let next = line
            .saturating_add_signed(lines)
            .min(shown.len().saturating_sub(1));
        self.selected = shown.get(next).map(|lock| lock.name.clone());
    }

    /// The longest of all waits.
    pub(crate) fn oldest_wait(&self) -> Option<Duration> {
        self.locks.iter().filter_map(Lock::oldest_wait).max()
    }
}
