//! [`nanos`]: the system's clock that counts sleep, in nanoseconds.

#[cfg(unix)]
#[inline]
pub(super) fn nanos() -> u64 {
    use rustix::time::{ClockId, clock_gettime};

    #[cfg(any(target_os = "linux", target_os = "android"))]
    const CLOCK: ClockId = ClockId::Boottime;
    // On Apple systems, CLOCK_MONOTONIC counts sleep: it is mach_continuous_time.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const CLOCK: ClockId = ClockId::Monotonic;

    let now = clock_gettime(CLOCK);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Counts from the first call on Windows, where the standard library reads the performance counter, which counts sleep.
#[cfg(not(unix))]
#[inline]
pub(super) fn nanos() -> u64 {
    use std::sync::LazyLock;
    use std::time::Instant;

    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);

    let since = FIRST.elapsed().as_nanos();
    // Never `Instant::START`.
    u64::try_from(since).unwrap_or(u64::MAX).saturating_add(1)
}
