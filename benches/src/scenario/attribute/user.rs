//! Measures a user's release build from scratch: a program that takes one lock on Redis, compared with the same program
//! on rslock.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::BUILD;
use super::compile::{cargo, package, workspace};
use crate::Failure;
use crate::measure::Values;
use crate::measure::cpu::{self, Usage};
use crate::peer::Contender;
use crate::run::{Placement, order};
use crate::scenario::Bench;
use crate::scenario::bench::progress;

const NAME: &str = "user";

const OURS: &str = "use auto_mutex::{LockError, auto_mutex};

#[auto_mutex]
async fn work() -> Result<(), LockError> {
    println!(\"inside\");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    auto_mutex::setup_async(\"redis://127.0.0.1:6379\").await?;
    Ok(work().await?)
}
";

const RSLOCK: &str = "use rslock::LockManager;
use std::time::Duration;

async fn work(locks: &LockManager) -> Result<(), rslock::LockError> {
    let lock = locks.acquire(\"work\", Duration::from_secs(10)).await?;
    println!(\"inside\");
    lock.release().await;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let locks = LockManager::new(vec![\"redis://127.0.0.1:6379\"]);
    Ok(work(&locks).await?)
}
";

pub(super) fn run(bench: &mut Bench) -> Result<(), Failure> {
    let options = bench.options().clone();
    let dir = fs::canonicalize(&options.out)?.join("user");
    let contenders = bench.present(&[Contender::AutoMutex, Contender::Rslock]);
    for &who in &contenders {
        write(&folder(&dir, who), who)?;
    }
    for round in 0..options
        .few_repetitions()
        .max(if options.page { 3 } else { 1 })
    {
        for who in order(&contenders, round) {
            progress(&format!("{BUILD}, round {}: {}", round + 1, who.label()));
            let values = build(&folder(&dir, who))?;
            bench.add(BUILD, Placement::Both, who.label(), round, values);
        }
    }
    Ok(())
}

fn folder(dir: &Path, who: Contender) -> PathBuf {
    dir.join(who.label())
}

fn write(krate: &Path, who: Contender) -> Result<(), Failure> {
    let (library, source) = match who {
        Contender::Rslock => {
            // No runtime is a default feature.
            let library = "rslock = { version = \"0.10\", features = [\"tokio-comp\"] }";
            (library.to_owned(), RSLOCK)
        }
        _ => {
            let path = workspace().join("runtime");
            (format!("auto-mutex = {{ path = {path:?} }}"), OURS)
        }
    };
    let dependencies = format!(
        "{library}\ntokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }}"
    );
    package(krate, NAME, &dependencies, ("main.rs", source))
}

/// Builds in an empty target folder.
fn build(krate: &Path) -> Result<Values, Failure> {
    let target = krate.join("target");
    if target.exists() {
        fs::remove_dir_all(&target)?;
    }
    let (usage, used, started) = (Usage::now([]), cpu::ended_children(), Instant::now());
    cargo(krate, &["build", "--release"], &target)?;
    let seconds = started.elapsed().as_secs_f64();
    let used = cpu::ended_children() - used;
    let foreign = Usage::now([]).foreign_since(usage) / seconds;
    let program = target.join("release").join(NAME);
    let mut values = Values::from([
        ("build_cpu_s".to_owned(), used),
        ("build_s".to_owned(), seconds),
        ("foreign_cpu".to_owned(), foreign),
    ]);
    // Part of binutils, as the linker is.
    if Command::new("strip").arg(&program).status()?.success() {
        let bytes = fs::metadata(&program)?.len();
        values.insert("megabytes".to_owned(), bytes as f64 / 1e6);
    }
    fs::remove_dir_all(&target)?;
    Ok(values)
}
