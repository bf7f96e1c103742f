//! Draws the pictures of `top` for the README and the guide with its real drawing code, and tests that the files are
//! current. `AUTO_MUTEX_BLESS=1 cargo test -p auto-mutex-cli picture` writes the files.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use auto_mutex::LockKind;
use auto_mutex::operator::{Hold, Lock, Wait};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

use super::super::app::App;
use super::super::draw::draw;
use super::locks;

/// The widths of the terminals, and the files.
const PICTURES: [(u16, &str); 2] = [(120, "top.svg"), (80, "top-80.svg")];
const HEIGHT: u16 = 22;
/// The size of a character, in pixels.
const CELL: (u16, u16) = (8, 17);
const MARGIN: u16 = 12;

#[test]
fn the_picture_shows_what_is_drawn() {
    let mut app = App::new("redis.internal:6379".to_owned(), true);
    for waiters in [0, 0, 1, 1, 2, 3, 3, 5, 8, 7, 6, 6, 4, 3, 3, 4, 5, 6, 6, 7] {
        app.history.push_back(waiters);
    }
    app.take(Ok((scene(), HashSet::new())));
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/src/guide");
    if !guide.exists() {
        // The published package does not contain the guide.
        return;
    }
    for (width, file) in PICTURES {
        let mut terminal = Terminal::new(TestBackend::new(width, HEIGHT)).unwrap();
        terminal.draw(|frame| draw(frame, &app)).unwrap();
        let picture = svg(terminal.backend().buffer(), width);
        let path = guide.join(file);
        if std::env::var_os("AUTO_MUTEX_BLESS").is_some() {
            std::fs::write(&path, &picture).unwrap();
        }
        let known = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            known == picture,
            "{file} is out of date: AUTO_MUTEX_BLESS=1 writes it"
        );
    }
}

/// Real locks, edited to show the names, hosts and times of an imaginary shop.
fn scene() -> Vec<Lock> {
    let found = locks("top-picture");
    let (free, busy) = (&found[0], &found[1]);
    let (hold, wait) = (&busy.holders[0], &busy.waiters[0]);
    let lock = |name: &str, kind, used, capacity, holders: Vec<Hold>, waiters: Vec<Wait>| {
        let mut lock = free.clone();
        lock.name = name.to_owned();
        (lock.kind, lock.used, lock.capacity) = (Some(kind), used, Some(capacity));
        (lock.holders, lock.waiters) = (holders, waiters);
        lock
    };
    let holds = |host: &str, pid, seconds, site: (&str, &str, u32)| {
        let mut hold = hold.clone();
        hold.token = 1_838_080_000_000_000_000 + u64::from(site.2) * 1024;
        hold.held = Duration::from_secs(seconds);
        let who = hold.who.as_mut().unwrap();
        (who.host, who.pid) = (host.to_owned(), pid);
        who.site = format!("{} at {}:{}", site.0, site.1, site.2);
        hold
    };
    let waits = |host: &str, pid, seconds, site: (&str, &str, u32)| {
        let mut wait = wait.clone();
        wait.waited = Duration::from_secs(seconds);
        let who = wait.who.as_mut().unwrap();
        (who.host, who.pid) = (host.to_owned(), pid);
        who.site = format!("{} at {}:{}", site.0, site.1, site.2);
        wait
    };
    let pay = ("shop::Orders::pay", "src/orders.rs", 40);
    let count = ("shop::Stock::count", "src/stock.rs", 17);
    let lead = ("shop::Scheduler::run", "src/scheduler.rs", 8);
    let close = ("books::close", "src/close.rs", 9);
    let mut queue = vec![
        waits("web-2", 812, 58, pay),
        waits("web-3", 90, 55, pay),
        waits("web-1", 4711, 12, count),
    ];
    for (index, wait) in queue.iter_mut().enumerate() {
        wait.place = u32::try_from(index).unwrap() + 1;
    }
    vec![
        lock(
            "shop:Stock:count:3",
            LockKind::Mutex,
            1,
            1,
            vec![holds("web-1", 4711, 133, count)],
            queue,
        ),
        lock(
            "shop:Orders:pay:7",
            LockKind::Mutex,
            1,
            1,
            vec![holds("web-2", 812, 62, pay)],
            vec![waits("web-3", 91, 31, pay)],
        ),
        lock(
            "mail:pool",
            LockKind::Semaphore,
            4,
            4,
            vec![holds("mail-1", 33, 4, close), holds("mail-2", 34, 2, close)],
            vec![waits("mail-3", 35, 1, close)],
        ),
        lock(
            "books:close:2026-10",
            LockKind::Mutex,
            1,
            1,
            vec![holds("batch-0", 17, 3731, close)],
            Vec::new(),
        ),
        lock(
            "catalogue",
            LockKind::RwLock,
            6,
            1 << 30,
            vec![
                holds("web-1", 4711, 1, count),
                holds("web-2", 812, 1, count),
            ],
            Vec::new(),
        ),
        lock(
            "shop:Orders:pay:8",
            LockKind::Mutex,
            1,
            1,
            vec![holds("web-3", 90, 0, pay)],
            Vec::new(),
        ),
        lock(
            "shop:scheduler",
            LockKind::Leader,
            1,
            1,
            vec![holds("batch-1", 12, 187_201, lead)],
            vec![waits("batch-0", 17, 93_600, lead)],
        ),
    ]
}

fn svg(buffer: &Buffer, columns: u16) -> String {
    let (width, height) = (columns * CELL.0 + 2 * MARGIN, HEIGHT * CELL.1 + 2 * MARGIN);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"auto-mutex top: a table of locks with their holders and waiters, and the queue of one of them\">"
    );
    let _ = writeln!(
        out,
        "<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#16181d\"/>"
    );
    let font = "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace";
    let _ = writeln!(
        out,
        "<g font-family=\"{font}\" font-size=\"13\" xml:space=\"preserve\" fill=\"#d7dae0\">"
    );
    for y in 0..HEIGHT {
        let cells: Vec<_> = (0..columns).map(|x| &buffer[(x, y)]).collect();
        let mut x = 0;
        for run in cells.chunk_by(|a, b| style(a) == style(b)) {
            draw_run(&mut out, run, x, y);
            x += u16::try_from(run.len()).unwrap();
        }
    }
    out.push_str("</g>\n</svg>\n");
    out
}

fn style(cell: &Cell) -> (Color, Modifier) {
    (cell.fg, cell.modifier)
}

fn draw_run(out: &mut String, run: &[&Cell], x: u16, y: u16) {
    let text: String = run.iter().map(|cell| cell.symbol()).collect();
    let (fg, modifier) = style(run[0]);
    let (left, top) = (MARGIN + x * CELL.0, MARGIN + y * CELL.1);
    let length = u16::try_from(run.len()).unwrap() * CELL.0;
    let is_reversed = modifier.contains(Modifier::REVERSED);
    if is_reversed {
        let _ = writeln!(
            out,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{length}\" height=\"{}\" fill=\"#d7dae0\"/>",
            CELL.1
        );
    }
    if text.trim().is_empty() {
        return;
    }
    let fill = match fg {
        _ if is_reversed => "#16181d",
        Color::Yellow => "#e5c07b",
        Color::Green => "#98c379",
        Color::Red => "#e06c75",
        _ => "#d7dae0",
    };
    let mut more = String::new();
    if modifier.contains(Modifier::BOLD) {
        more.push_str(" font-weight=\"bold\"");
    }
    if modifier.contains(Modifier::DIM) {
        more.push_str(" opacity=\"0.6\"");
    }
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
    let baseline = top + CELL.1 - 4;
    let _ = writeln!(
        out,
        "<text x=\"{left}\" y=\"{baseline}\" textLength=\"{length}\" fill=\"{fill}\"{more}>{escaped}</text>"
    );
}
