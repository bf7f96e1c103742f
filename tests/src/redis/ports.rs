//! Ports for servers that may be restarted.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the range from which systems take ports for outgoing connections: else somebody's connection
/// could have the port by the time the server is started again.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;

/// A port that nobody uses now.
pub(super) fn free() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Test processes that run side by side begin at different places.
    let start = (std::process::id() % 120) as u16 * 100;
    loop {
        let offset = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = FIRST + start.wrapping_add(offset) % COUNT;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// How far above its port a node of a cluster has its second one.
const BUS: u16 = 10_000;
/// So many have their second port below the range for outgoing connections too.
const COUNT_WITH_BUS: u16 = 2_700;

/// A port that nobody uses now, and whose second one is free too.
pub(super) fn free_with_bus() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = (std::process::id() % 45) as u16 * 60;
    loop {
        let offset = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = FIRST + start.wrapping_add(offset) % COUNT_WITH_BUS;
        let free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
        if free(port) && free(port + BUS) {
            return port;
        }
    }
}
