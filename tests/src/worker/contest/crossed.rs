//! Each task takes two mutexes in any order, the second while it holds the first. Tasks deadlock, and one of them
//! fails.

use super::recorded::Task;
use crate::history::{Recorder, What, now};

pub(super) async fn run(mut task: Task, names: u64, mut recorder: Recorder) {
    let all = task.own.name.clone();
    while !task.own.is_over() || task.own.tally.turns == 0 {
        let outer = task.own.seed.below(names);
        let inner = (outer + 1 + task.own.seed.below(names - 1)) % names;
        let name = format!("{all}-{outer}");
        task.own.name = format!("{all}-{inner}");
        let mutex = task.own.client.mutex(&name);
        let mut held = false;
        recorder.note(now(), What::Ask);
        let body = async |guard: &auto_mutex::MutexGuard| {
            held = true;
            let got = What::Got {
                name: guard.name().to_owned(),
                token: guard.fencing_token(),
                units: 1,
                capacity: 1,
            };
            recorder.note(now(), got);
            task.turn().await;
            let at = now();
            if guard.check().is_ok() {
                recorder.note(at, What::Sure);
            }
        };
        let done = mutex.synchronize(body).await;
        recorder.note(now(), if held { What::Leave } else { What::None });
        if let Err(error) = done {
            task.own.trouble(error).await;
        }
    }
    task.own.report();
}
