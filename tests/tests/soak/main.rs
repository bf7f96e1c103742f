//! All kinds of locks at once for a long time, without faults of the server: nothing may grow, and no renewal may be late.
//! `tests/soak` runs the test, and draws a picture of the figures.
//!
//! | variable | sets |
//! |---|---|
//! | `AUTO_MUTEX_SOAK_MINUTES` | how long the test lasts; the default is 60 |
//! | `AUTO_MUTEX_SOAK_REPORT` | the file for the picture; without it, no picture is drawn |
//!
//! - `crew.rs`: the processes that work. `keepers.rs`: the processes that hold, and how late their renewals come.
//! - `sample.rs`: one sample of all figures. `verdict.rs`: the verdict on all samples. `plot.rs`: their picture.

mod crew;
mod keepers;
mod plot;
mod sample;
mod verdict;

use std::thread;
use std::time::{Duration, Instant};

use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::stalls::Stalls;
use auto_mutex_tests::witness::Witness;

use crew::Crew;
use keepers::Keepers;
use sample::Sample;

const LEASE: Duration = Duration::from_secs(5);

#[test]
#[ignore = "takes an hour: tests/soak"]
fn nothing_grows_and_no_renewal_is_late() {
    let minutes = std::env::var("AUTO_MUTEX_SOAK_MINUTES");
    let minutes: f64 = minutes.map_or(60.0, |text| text.parse().expect("minutes"));
    let duration = Duration::from_secs_f64(minutes * 60.0);
    let pace = (duration / 400).clamp(Duration::from_secs(1), Duration::from_secs(10));

    let stalls = Stalls::watch();
    let (redis, witness) = (Redis::start(), Witness::new());
    let mut crew = Crew::start(&redis, &witness, duration);
    let keepers = Keepers::start(&redis);
    let started = Instant::now();
    let mut samples = Vec::new();
    while started.elapsed() < duration {
        thread::sleep(pace);
        let stall = stalls.within(pace + LEASE);
        crew.look(stall);
        let verdict = witness.verdict_so_far();
        assert_eq!(verdict.overlaps, Vec::<String>::new());
        assert_eq!(verdict.token_faults, Vec::<String>::new());
        samples.push(Sample::take(
            started.elapsed(),
            &redis,
            &crew,
            keepers.shortest(),
            stall,
            verdict.proven,
        ));
    }
    keepers.stop();
    let kept = crew.end(&stalls);
    if let Ok(file) = std::env::var("AUTO_MUTEX_SOAK_REPORT") {
        std::fs::write(&file, plot::plot(&samples)).expect("the picture is written");
    }
    let verdict = verdict::of(&samples);
    println!("{}{kept}", verdict.text);
    assert_eq!(verdict.faults, Vec::<String>::new());
}
