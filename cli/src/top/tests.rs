//! The screen of `top`, and what keys do.

mod picture;

use std::collections::HashSet;

use auto_mutex::operator::{Lock, Operator};
use auto_mutex::{Client, LockKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;

use super::app::{App, Step};
use super::draw::draw;

/// The locks `a`, `b` and `c` of a store. `b` has two waiters.
fn locks(store: &str) -> Vec<Lock> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let url = format!("memory://{store}");
        let client = Client::connect(url.as_str()).unwrap();
        let mut held = Vec::new();
        for name in ["a", "b", "c"] {
            held.push(client.mutex(name).lock().await.unwrap());
        }
        let mut waiting = Vec::new();
        for _ in 0..2 {
            let other = Client::connect(url.as_str()).unwrap();
            waiting.push(tokio::spawn(async move {
                other.mutex("b").lock().await.map(drop)
            }));
        }
        let operator = Operator::connect(url.as_str()).unwrap();
        let mut locks = loop {
            tokio::task::yield_now().await;
            let locks = operator.inspect(&["a", "b", "c"]).unwrap();
            let locks: Vec<_> = locks.into_iter().map(Result::unwrap).collect();
            if locks[1].waiters.len() == 2 {
                break locks;
            }
        };
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        // Replace the real name of this machine, which might match a filter.
        for lock in &mut locks {
            let holders = lock.holders.iter_mut().map(|hold| &mut hold.who);
            for who in holders.chain(lock.waiters.iter_mut().map(|wait| &mut wait.who)) {
                let who = who.as_mut().unwrap();
                (who.host, who.pod) = ("node-1".to_owned(), None);
            }
        }
        locks
    })
}

fn app(store: &str, has_color: bool) -> App {
    let mut app = App::new("127.0.0.1:6379".to_owned(), has_color);
    app.take(Ok((locks(store), HashSet::new())));
    app
}

/// The lines on the screen, and whether any character has a colour.
fn seen(app: &mut App, width: u16) -> (Vec<String>, bool) {
    let mut terminal = Terminal::new(TestBackend::new(width, 24)).unwrap();
    terminal.draw(|frame| draw(frame, app)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let lines = (0..24).map(|y| {
        (0..width)
            .map(|x| buffer[(x, y)].symbol())
            .collect::<String>()
    });
    let is_colored = buffer.content().iter().any(|cell| cell.fg != Color::Reset);
    (lines.collect(), is_colored)
}

fn press(app: &mut App, keys: &str) -> Step {
    let keys = keys.chars().map(|c| match c {
        '\n' => KeyCode::Enter,
        '\x1b' => KeyCode::Esc,
        '↓' => KeyCode::Down,
        c => KeyCode::Char(c),
    });
    let steps = keys.map(|code| app.press(KeyEvent::new(code, KeyModifiers::NONE)));
    steps.last().unwrap()
}

/// The names in the order of the table.
fn order(app: &App) -> Vec<&str> {
    app.shown().iter().map(|lock| lock.name.as_str()).collect()
}

#[test]
fn eighty_columns_are_enough() {
    let mut app = app("top-columns", true);
    let (lines, is_colored) = seen(&mut app, 80);
    assert!(is_colored);
    let has = |text: &str| lines.iter().any(|line| line.contains(text));
    for text in [
        "3 locks, 2 waiting",
        "NAME",
        "OLDEST",
        "q quit",
        "? help",
        "holds",
        "place 2",
    ] {
        assert!(has(text), "{text}: {lines:#?}");
    }
    // The lock with waiters comes first.
    assert!(lines[2].starts_with("b "), "{lines:#?}");
    assert!(
        lines[2].contains("mutex") && lines[2].contains("1/1"),
        "{lines:#?}"
    );
}

#[test]
fn standbys_of_a_leader_are_not_kept_waiting() {
    let mut found = locks("top-leader");
    let seat = &mut found[1];
    (seat.kind, seat.holders[0].value) = (Some(LockKind::Leader), Some("10.0.0.5:9000".to_owned()));
    seat.waiters[0].value = Some(String::new());
    let mut app = App::new("127.0.0.1:6379".to_owned(), false);
    app.take(Ok((found, HashSet::new())));
    let (lines, _) = seen(&mut app, 120);
    assert!(lines[0].contains("3 locks, 0 waiting  "), "{lines:#?}");
    let words = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    // It comes among the others by how long it is held.
    assert_eq!(order(&app), ["a", "b", "c"]);
    assert_eq!(words(&lines[3])[..3], ["b", "leader", "1/1"]);
    assert_eq!(words(&lines[3])[5..], ["2", "-"]);
    press(&mut app, "↓");
    let (lines, _) = seen(&mut app, 120);
    let has = |parts: &[&str]| {
        lines
            .iter()
            .any(|line| parts.iter().all(|part| line.contains(part)))
    };
    assert!(has(&["leads", "10.0.0.5:9000  "]), "{lines:#?}");
    assert!(has(&["ready", "place 1"]), "{lines:#?}");
}

#[test]
fn the_locks_of_a_deadlock_are_marked() {
    let mut app = App::new("127.0.0.1:6379".to_owned(), true);
    let deadlocked = ["a", "b"].map(str::to_owned).into();
    app.take(Ok((locks("top-deadlock"), deadlocked)));
    let (lines, _) = seen(&mut app, 80);
    assert!(lines[0].starts_with("DEADLOCK of 2 locks"), "{lines:#?}");
    for (name, is_marked) in [("a", true), ("b", true), ("c", false)] {
        let row = |line: &String| line.starts_with(&format!("↻ {name} "));
        assert_eq!(lines.iter().any(row), is_marked, "{name}: {lines:#?}");
    }
    app.take(Ok((locks("top-no-deadlock"), HashSet::new())));
    let (lines, _) = seen(&mut app, 80);
    assert!(lines[0].contains("3 locks, 2 waiting"), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains('↻')), "{lines:#?}");
}

#[test]
fn a_lock_that_is_kept_between_calls_is_not_held() {
    let mut app = App::new("127.0.0.1:6379".to_owned(), false);
    let mut all = locks("top-kept");
    all.truncate(1);
    all[0].holders[0].kept = true;
    app.take(Ok((all, HashSet::new())));
    let (lines, _) = seen(&mut app, 80);
    assert!(lines[2].contains(" kept   0 "), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("keeps ")));
    assert!(!lines.iter().any(|line| line.starts_with("holds ")));
}

#[test]
fn without_color_there_is_none() {
    assert!(!seen(&mut app("top-color", false), 80).1);
}

#[test]
fn keys_sort_filter_select_and_end() {
    let mut app = app("top-keys", false);
    assert_eq!(order(&app)[0], "b");
    press(&mut app, "sss");
    assert_eq!(order(&app), ["a", "b", "c"]);
    press(&mut app, "r");
    assert_eq!(order(&app), ["c", "b", "a"]);
    press(&mut app, "/B\n");
    assert_eq!(order(&app), ["b"]);
    assert_eq!(press(&mut app, "\x1b"), Step::GoOn);
    assert_eq!(order(&app).len(), 3);
    // The selected lock stays selected when the order is reversed.
    press(&mut app, "↓");
    press(&mut app, "r");
    let shown = app.shown();
    assert_eq!(shown[app.line(&shown).unwrap()].name, "b");
    assert_eq!(press(&mut app, "\x1b"), Step::End);
    assert_eq!(press(&mut app, "q"), Step::End);
}

#[test]
fn help_and_trouble_are_shown() {
    let mut app = app("top-help", false);
    press(&mut app, "?");
    assert!(
        seen(&mut app, 80)
            .0
            .iter()
            .any(|line| line.contains("reverse the order"))
    );
    app.take(Err("the server is gone\x1b[2J".to_owned()));
    let head = &seen(&mut app, 80).0[0];
    assert!(
        head.contains("cannot look: the server is gone\\u{1b}"),
        "{head}"
    );
    // The locks of the last successful read are still there.
    assert_eq!(app.count(), 3);
}

#[test]
fn long_names_differ_at_their_ends() {
    let mut app = App::new("127.0.0.1:6379".to_owned(), false);
    let mut all = locks("top-long");
    for (lock, key) in all.iter_mut().zip(["7", "8", "日本"]) {
        lock.name = format!("billing-service:Ledger:close_the_month:2026-10:customer:{key}");
    }
    app.take(Ok((all, HashSet::new())));
    let (lines, _) = seen(&mut app, 80);
    for end in ["…:customer:7 ", "…:customer:8 ", "…:customer:日"] {
        let part = end.trim_start_matches('…');
        assert!(
            lines
                .iter()
                .any(|line| line.contains(part) && line.contains('…')),
            "{end}: {lines:#?}"
        );
    }
    assert!(lines[2].starts_with("billing…"), "{lines:#?}");
}

#[test]
fn a_small_terminal_does_no_harm() {
    let mut app = app("top-small", false);
    for (width, height) in [(1, 1), (10, 3), (20, 5), (200, 60)] {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, &app)).unwrap();
        press(&mut app, "?");
    }
    let (lines, _) = seen(&mut app, 40);
    for name in ["NAME", "WAIT"] {
        assert!(lines.iter().any(|line| line.contains(name)), "{lines:?}");
    }
}
