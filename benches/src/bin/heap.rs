//! Counts allocations. This is a separate program, because the counting would slow the measurements of time.

use std::process::ExitCode;

use auto_mutex_bench::heap::{Heap, count};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

fn main() -> ExitCode {
    let _profiler = dhat::Profiler::builder().testing().build();
    count(|| {
        let stats = dhat::HeapStats::get();
        Heap {
            blocks: stats.total_blocks,
            bytes: stats.curr_bytes as u64,
        }
    })
}
