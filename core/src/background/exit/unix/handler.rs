//! Functions of the C library that no maintained crate wraps safely: `atexit`, `pthread_atfork` and `sigaction`.
//!
//! The signal handler writes each signal's number to a pipe, and a thread does the rest. A forked child shares the pipe
//! but has no such thread, so the former actions are restored there.

#![allow(unsafe_code)]

use std::io;
use std::mem;
use std::os::fd::{AsRawFd as _, IntoRawFd as _};
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use libc::{SIGINT, SIGTERM, c_int, c_void, sigaction, siginfo_t};
use once_cell::race::OnceBool;

use super::super::at_exit;
use crate::base::process::forked;

const SIGNALS: [c_int; 2] = [SIGTERM, SIGINT];
const NONE: c_int = -1;

/// The pipe of the process [`OWNER`].
static PIPE: AtomicI32 = AtomicI32::new(NONE);
static OWNER: AtomicI32 = AtomicI32::new(0);
/// The actions before [`install`], or null. Never freed, because the handler may use them.
static BEFORE: [AtomicPtr<sigaction>; SIGNALS.len()] =
    [const { AtomicPtr::new(ptr::null_mut()) }; _];

type Plain = extern "C" fn(c_int);
type Detailed = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

/// From now on, notices forks and the end of the process. Returns `false` if the system refuses.
pub(crate) fn register() -> bool {
    // Without a lock, which a fork could leave locked. Two threads may both register, which is harmless.
    static AGREED: OnceBool = OnceBool::new();
    AGREED.get_or_init(|| {
        // SAFETY: both functions take pointers to functions that live as long as the program, have the
        // C calling convention and take no arguments; `in_child` only calls async-signal-safe functions.
        let refused =
            unsafe { libc::atexit(at_exit) | libc::pthread_atfork(None, None, Some(in_child)) };
        refused == 0
    })
}

/// May be called only once per process.
pub(super) fn install(pipe: UnixStream) -> io::Result<()> {
    // The handler must never block.
    pipe.set_nonblocking(true)?;
    OWNER.store(process_id(), Ordering::SeqCst);
    PIPE.store(pipe.as_raw_fd(), Ordering::SeqCst);
    let mut ours = default_action();
    ours.sa_sigaction = on_signal as Detailed as usize;
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    let installed = SIGNALS
        .iter()
        .zip(&BEFORE)
        .try_for_each(|(signal, before)| {
            // In a child, another handler may still call this one.
            if before.load(Ordering::SeqCst).is_null() {
                let action = Box::new(change(*signal, None)?);
                before.store(Box::into_raw(action), Ordering::SeqCst);
                change(*signal, Some(&ours))?;
            }
            Ok(())
        });
    match &installed {
        Ok(()) => drop(pipe.into_raw_fd()),
        Err(_) => PIPE.store(NONE, Ordering::SeqCst),
    }
    installed
}

/// May only call async-signal-safe functions.
extern "C" fn in_child() {
    forked();
    PIPE.store(NONE, Ordering::SeqCst);
    for index in 0..SIGNALS.len() {
        uninstall(index);
    }
}

/// Ends the process as the signal does by default or, where the system ignores the signal, as for process 1 of a
/// container, with the exit code that a shell reports. Skips `atexit` functions, which might wait for a thread that
/// doesn't expect the end.
pub(super) fn end(signal: c_int) -> ! {
    let _ = change(signal, Some(&default_action()));
    // SAFETY: `set` is initialized by `sigemptyset`; the other arguments are plain values.
    unsafe {
        let mut set = mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, ptr::null_mut());
        libc::raise(signal);
        libc::_exit(128 + signal)
    }
}

extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let errno = errno::errno();
    let index = SIGNALS.iter().position(|known| *known == signal);
    if let Some(index) = index {
        let before = BEFORE[index].load(Ordering::SeqCst);
        let pipe = PIPE.load(Ordering::SeqCst);
        if pipe != NONE && OWNER.load(Ordering::SeqCst) == process_id() {
            call(before, signal, info, context);
            let byte = signal.to_ne_bytes();
            // SAFETY: `byte` is as long as given, and lives longer than the call.
            unsafe { libc::write(pipe, byte.as_ptr().cast(), byte.len()) };
        } else if uninstall(index) {
            // A child that was just forked. The signal comes again when this handler returns. SAFETY: the argument is a
            // plain value.
            unsafe { libc::raise(signal) };
        } else {
            call(before, signal, info, context);
        }
    }
    errno::set_errno(errno);
}

fn call(before: *const sigaction, signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the pointer is null or comes from a box that is never freed.
    let Some(before) = (unsafe { before.as_ref() }) else {
        return;
    };
    let function = before.sa_sigaction;
    if function == libc::SIG_DFL || function == libc::SIG_IGN {
        return;
    }
    let function = ptr::with_exposed_provenance::<()>(function);
    // SAFETY: the system had this address as a handler, and the flag tells its type.
    unsafe {
        if before.sa_flags & libc::SA_SIGINFO == 0 {
            mem::transmute::<*const (), Plain>(function)(signal);
        } else {
            mem::transmute::<*const (), Detailed>(function)(signal, info, context);
        }
    }
}

/// Returns `false` if the handler is not the signal's action.
fn uninstall(index: usize) -> bool {
    let (signal, before) = (SIGNALS[index], &BEFORE[index]);
    // SAFETY: the pointer is null or comes from a box that is never freed.
    let Some(action) = (unsafe { before.load(Ordering::SeqCst).as_ref() }) else {
        return false;
    };
    let is_ours = |now: &sigaction| now.sa_sigaction == on_signal as Detailed as usize;
    if !change(signal, None).is_ok_and(|now| is_ours(&now)) {
        return false;
    }
    let changed = change(signal, Some(action)).is_ok();
    before.store(ptr::null_mut(), Ordering::SeqCst);
    changed
}

fn change(signal: c_int, action: Option<&sigaction>) -> io::Result<sigaction> {
    let mut before = default_action();
    let action = action.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the pointers are null or live longer than the call.
    match unsafe { libc::sigaction(signal, action, &raw mut before) } {
        0 => Ok(before),
        _ => Err(io::Error::last_os_error()),
    }
}

fn default_action() -> sigaction {
    // SAFETY: zeros are a valid value: no flags, no masked signals, and the default action, which is 0.
    unsafe { mem::zeroed() }
}

fn process_id() -> c_int {
    // SAFETY: the function has no arguments, and cannot fail.
    unsafe { libc::getpid() }
}
