//! Draws `top`.

use auto_mutex::operator::Lock;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Cell, Clear, Paragraph, Row, Sparkline, Table, TableState};

use super::app::App;
use crate::output::words::{clean, held, holders, location, process, quoted, short, used};
use crate::output::{json, words};

/// The height of the pane that shows the queue of the selected lock.
const QUEUE: u16 = 9;
/// The minimum width of a terminal that shows all columns.
const NARROW: u16 = 60;
/// The width of the history, in characters.
const HISTORY: u16 = 24;

pub(crate) fn draw(frame: &mut Frame<'_>, app: &App) {
    let queue = if app.has_queue && frame.area().height > 14 {
        QUEUE
    } else {
        0
    };
    let [head, table, pane, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(queue),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_head(frame, app, head);
    let shown = app.shown();
    let line = app.line(&shown);
    draw_table(frame, app, &shown, line, table);
    if queue > 0 {
        draw_queue(frame, app, line.map(|line| shown[line]), pane);
    }
    draw_foot(frame, app, foot);
    if app.has_help {
        draw_help(frame);
    }
}

fn draw_head(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let [words, history] =
        Layout::horizontal([Constraint::Min(20), Constraint::Length(HISTORY)]).areas(area);
    let waiting = app.history.back().copied().unwrap_or(0);
    let oldest = app
        .oldest_wait()
        .map(|oldest| format!(", oldest {}", short(oldest)));
    let text = match (&app.trouble, app.has_looked) {
        (Some(trouble), _) => {
            let style = colored(app, Color::Red).add_modifier(Modifier::BOLD);
            Line::styled(format!("cannot look: {}", clean(trouble)), style)
        }
        (None, false) => Line::raw(format!("{}: looking…", clean(&app.store))),
        (None, true) if !app.deadlocked.is_empty() => {
            let style = colored(app, Color::Red).add_modifier(Modifier::BOLD);
            let count = app.deadlocked.len();
            Line::styled(
                format!("DEADLOCK of {count} locks, marked ↻: auto-mutex tree"),
                style,
            )
        }
        (None, true) => Line::from(vec![
            Span::styled(
                clean(&app.store).into_owned(),
                Style::new().add_modifier(Modifier::BOLD),
            ),
            Span::raw(format!(
                "  {} locks, {waiting} waiting{}{}",
                app.count(),
                oldest.unwrap_or_default(),
                if app.is_paused { "  PAUSED" } else { "" }
            )),
        ]),
    };
    frame.render_widget(Paragraph::new(text), words);
    let newest = app.history.iter().rev().take(usize::from(HISTORY));
    let data: Vec<u64> = newest.rev().copied().collect();
    frame.render_widget(
        Sparkline::default()
            .data(&data)
            .style(colored(app, Color::Yellow)),
        history,
    );
}

fn draw_table(frame: &mut Frame<'_>, app: &App, shown: &[&Lock], line: Option<usize>, area: Rect) {
    let is_narrow = area.width < NARROW;
    let widths = columns(
        is_narrow,
        [
            Constraint::Fill(3),
            Constraint::Length(9),
            Constraint::Length(10),
            Constraint::Fill(2),
            Constraint::Length(6),
            Constraint::Length(5),
            Constraint::Length(6),
        ],
    );
    let widths: Vec<_> = widths.collect();
    let areas = Layout::horizontal(&widths).spacing(1).split(area);
    let [name, holder] = [0, 3].map(|index| areas.get(index).map_or(0, |column| column.width));
    let titles = ["NAME", "KIND", "USED", "HOLDER", "HELD", "WAIT", "OLDEST"];
    let header = Row::new(columns(is_narrow, titles));
    // Builds only the visible rows, because there may be a hundred thousand locks.
    let height = usize::from(area.height.saturating_sub(1)).max(1);
    let first = line.map_or(0, |line| line.saturating_sub(height / 2));
    let first = first.min(shown.len().saturating_sub(height));
    let rows = shown.iter().skip(first).take(height).map(|lock| {
        Row::new(columns(
            is_narrow,
            cells(app, lock, name.into(), holder.into()),
        ))
    });
    let table = Table::new(rows, widths)
        .header(header.style(Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED)))
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::default().with_selected(line.map(|line| line - first));
    frame.render_stateful_widget(table, area, &mut state);
}

/// The visible columns. A narrow terminal omits the kind, the use and the holder.
fn columns<T>(is_narrow: bool, all: [T; 7]) -> impl Iterator<Item = T> {
    let all = all.into_iter().enumerate();
    all.filter(move |(index, _)| !is_narrow || !(1..=3).contains(index))
        .map(|(_, column)| column)
}

/// `name` and `holder` are the widths of these columns.
fn cells<'a>(app: &App, lock: &'a Lock, name: usize, holder: usize) -> [Cell<'a>; 7] {
    let none = || "-".to_owned();
    let waits = match lock.waiters.is_empty() || lock.is_seat() {
        true => Style::new(),
        false => colored(app, Color::Yellow),
    };
    let (mark, marked) = match app.deadlocked.contains(&lock.name) {
        true => ("↻ ", colored(app, Color::Red)),
        false => ("", Style::new()),
    };
    let shown = format!("{mark}{}", words::name(&lock.name));
    [
        Cell::from(shortened(&shown, name)).style(marked),
        Cell::from(
            lock.kind
                .map_or_else(none, |kind| json::kind(kind).to_owned()),
        ),
        Cell::from(used(lock.kind, lock.used, lock.capacity)),
        Cell::from(shortened(&holders(lock), holder)),
        Cell::from(held(lock)),
        Cell::from(lock.waiting().to_string()).style(waits),
        Cell::from(lock.oldest_wait().map_or_else(none, short)).style(waits),
    ]
}

/// Cuts out the middle, because names of one function differ at the end, in their keys.
fn shortened(text: &str, width: usize) -> String {
    let whole = Span::raw(text).width();
    if whole <= width {
        return text.to_owned();
    }
    let part = |letters: &mut dyn Iterator<Item = char>, width: usize| {
        let mut used = 0;
        let mut fits = |c: &char| {
            used += Span::raw(c.to_string()).width();
            used <= width
        };
        letters.take_while(|c| fits(c)).collect::<String>()
    };
    let room = width.saturating_sub(1);
    let end = part(&mut text.chars().rev(), room - room / 3);
    let start = part(&mut text.chars(), room / 3);
    format!("{start}…{}", end.chars().rev().collect::<String>())
}

fn draw_queue(frame: &mut Frame<'_>, app: &App, lock: Option<&Lock>, area: Rect) {
    let title = lock.map_or_else(String::new, |lock| format!(" {} ", words::name(&lock.name)));
    let block = Block::new().borders(Borders::TOP).title(title);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let Some(lock) = lock else {
        return;
    };
    let mut lines = Vec::new();
    for hold in &lock.holders {
        let token = format!("token {}", hold.token);
        let (verb, held, style) = match hold.kept {
            true => ("keeps", String::new(), Style::new()),
            false if hold.value.is_some() => {
                ("leads", short(hold.held), colored(app, Color::Green))
            }
            false => ("holds", short(hold.held), colored(app, Color::Green)),
        };
        let text = format!(
            "{verb} {held:>7}  {:22} {token}  {}{}",
            process(&hold.who),
            value(&hold.value),
            location(&hold.who)
        );
        lines.push(Line::styled(text, style));
    }
    for wait in &lock.waiters {
        let text = format!(
            "{} {:>7}  {:22} place {}  {}{}",
            wait.value.as_ref().map_or("waits", |_| "ready"),
            short(wait.waited),
            process(&wait.who),
            wait.place,
            value(&wait.value),
            location(&wait.who)
        );
        lines.push(Line::raw(text));
    }
    let room = usize::from(inner.height);
    if lines.len() > room {
        let left_out = lines.len() - room.saturating_sub(1);
        lines.truncate(room.saturating_sub(1));
        lines.push(Line::raw(format!(
            "… and {left_out} more: auto-mutex show {}",
            quoted(&lock.name)
        )));
    }
    frame.render_widget(Paragraph::new(lines), inner);
}

/// The value of a leader or a standby, before its place.
fn value(value: &Option<String>) -> String {
    let value = value.as_deref().filter(|value| !value.is_empty());
    value.map_or_else(String::new, |value| clean(value).into_owned() + "  ")
}

fn draw_foot(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let text = match app.is_typing {
        true => format!("filter: {}▏  enter: done  esc: none", clean(&app.filter)),
        false => {
            let filter = match app.filter.is_empty() {
                true => "filter".to_owned(),
                false => format!("filter {:?}", app.filter),
            };
            let order = if app.is_reversed { "↑" } else { "↓" };
            format!(
                "q quit  ↑↓ select  s sort: {} {order}  / {filter}  enter queue  p pause  ? help",
                app.sort.word()
            )
        }
    };
    frame.render_widget(
        Paragraph::new(text).style(Style::new().add_modifier(Modifier::DIM)),
        area,
    );
}

const HELP: [&str; 10] = [
    "↑ ↓ j k         select a lock",
    "PgUp PgDn g G   by pages, to the first, to the last",
    "enter           show or hide its queue",
    "s               sort by oldest wait, waiters, held, name",
    "r               reverse the order",
    "/               filter by name, host or pod; esc: show all again",
    "p, space        pause",
    "?, h            this help",
    "q, esc          quit",
    "break a hold:   auto-mutex kick NAME --token TOKEN",
];

fn draw_help(frame: &mut Frame<'_>) {
    let all = frame.area();
    let width = 64.min(all.width);
    let height = (HELP.len() as u16 + 2).min(all.height);
    let area = Rect::new(
        (all.width - width) / 2,
        (all.height - height) / 2,
        width,
        height,
    );
    frame.render_widget(Clear, area);
    let lines: Vec<_> = HELP.iter().map(|line| Line::raw(*line)).collect();
    let block = Block::bordered().title(" keys ");
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn colored(app: &App, color: Color) -> Style {
    match app.has_color {
        true => Style::new().fg(color),
        false => Style::new(),
    }
}
