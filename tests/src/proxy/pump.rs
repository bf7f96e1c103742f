//! Passes the bytes of one connection on, with two threads per direction.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::state::State;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

pub(super) fn start(number: u64, client: TcpStream, server: TcpStream, state: &Arc<State>) {
    let pair = || Some((client.try_clone().ok()?, server.try_clone().ok()?));
    let (Some(up), Some(kept)) = (pair(), pair()) else {
        return;
    };
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    state.add(kept.0);
    state.add(kept.1);
    pass_on(number, up.0, up.1, Way::Up, state.clone());
    pass_on(number, server, client, Way::Down, state.clone());
}

/// Starts one thread that reads and one that writes, so that a delay does not limit the bytes in flight.
fn pass_on(number: u64, mut from: TcpStream, mut to: TcpStream, way: Way, state: Arc<State>) {
    let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
    let reading = state.clone();
    thread::spawn(move || {
        let mut buffer = [0; 16 * 1024];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let due = Instant::now() + reading.now().delay;
            if sender.send((due, buffer[..read].to_vec())).is_err() {
                break;
            }
        }
    });
    thread::spawn(move || {
        for (due, bytes) in receiver {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            state.wait_while(|faults| {
                faults.frozen
                    || number <= faults.frozen_up_to
                    || (way == Way::Down && faults.replies_held)
            });
            if number <= state.dead_up_to.load(Ordering::Acquire) {
                continue;
            }
            let pace = state.now().pace;
            if pace > 0 {
                thread::sleep(Duration::from_secs_f64(
                    bytes.len() as f64 / f64::from(pace),
                ));
            }
            if !deliver(&bytes, &mut to, way, &state) {
                break;
            }
        }
        // Ends the other direction as well: its reads see the end of the stream.
        let _ = to.shutdown(Shutdown::Both);
    });
}

/// Delivers `bytes`, unless a fault strikes. Returns whether the connection stays open.
fn deliver(bytes: &[u8], to: &mut TcpStream, way: Way, state: &State) -> bool {
    match way {
        Way::Up => {
            if state.change(|faults| std::mem::take(&mut faults.lose_request)) {
                return false;
            }
            to.write_all(bytes).is_ok()
        }
        Way::Down => {
            state
                .bytes_down
                .fetch_add(bytes.len() as u64, Ordering::AcqRel);
            state.longest_reply.fetch_max(bytes.len(), Ordering::AcqRel);
            let armed = |at: &mut Option<usize>| at.take_if(|at| *at < bytes.len());
            if let Some(at) = state.change(|faults| armed(&mut faults.cut_reply_at)) {
                let _ = to.write_all(&bytes[..at]);
                return false;
            }
            let frozen = state.change(|faults| {
                let at = armed(&mut faults.freeze_reply_at)?;
                faults.frozen = true;
                Some(at)
            });
            if let Some(at) = frozen {
                if to.write_all(&bytes[..at]).is_err() {
                    return false;
                }
                state.wait_while(|faults| faults.frozen);
                return to.write_all(&bytes[at..]).is_ok();
            }
            let cut = state.change(|faults| {
                let left = faults.lose_reply_after?;
                faults.lose_reply_after = left.checked_sub(bytes.len());
                (left < bytes.len()).then_some(left)
            });
            if let Some(left) = cut {
                let _ = to.write_all(&bytes[..left]);
                return false;
            }
            state.now().swallow_replies || to.write_all(bytes).is_ok()
        }
    }
}
