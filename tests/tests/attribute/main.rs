//! The attributes at work: one file per topic, on `memory://`. Tests with several members also run on Redis.

mod answering;
mod async_traits;
mod blocks;
mod bodies;
mod current;
mod executors;
mod futures_returned;
mod handlers;
mod hidden;
mod instrumented;
mod keys;
mod kinds;
mod leader;
mod lints;
mod lock_order;
mod loss;
mod mixed;
mod names;
mod options;
mod owners;
mod readers;
mod reentrant;
mod reentry;
mod semaphores;
mod several;
mod sizes;
mod support;
mod tower_layer;
mod was;

auto_mutex_tests::conformance! {
    on redis, world;
    owners:
        tasks_of_an_owner_share_the_lock;
    readers:
        readers_are_inside_together,
        a_writer_is_alone;
    semaphores:
        as_many_as_permits_are_inside;
    several:
        transfers_in_both_directions_all_end;
    was:
        a_process_of_the_former_names_excludes_a_new_one;
}
