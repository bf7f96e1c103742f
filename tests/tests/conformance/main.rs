//! The tests that every engine must pass: each runs on the memory store, on PostgreSQL, on Redis, in a cluster, on a
//! quorum of five, and in a World. The layouts of an engine run those that they could break.
//!
//! The tests use only the public API. All members have a lease that outlasts every test, so that no event is caused by
//! its end.

/// Fails unless a value matches a pattern.
macro_rules! is {
    ($value:expr, $($pattern:tt)+) => {
        match &$value {
            $($pattern)+ => {}
            other => panic!("{other:?}"),
        }
    };
}

/// Waits until a condition holds.
macro_rules! becomes {
    ($what:expr, $condition:expr) => {
        becomes($what, async || $condition).await
    };
}

mod at_least;
mod cancelling;
mod causes;
mod condvar;
mod current;
mod deadlocks;
mod draining;
mod exclusion;
mod executors;
mod faults;
mod handoff;
mod hears;
mod holding;
mod inquiry;
mod leader;
mod lock_order;
mod looks;
mod max_waiters;
mod multi;
mod names;
mod nested_expire;
mod owners;
mod queueing;
mod reentrance;
mod retain;
mod retries;
mod rw_lock;
mod scope;
mod semaphore;
mod shutdown;
mod slow;
mod synchronize;
mod tokens;
mod unlocking;
mod waiting;

/// What most cases use.
mod prelude {
    pub(crate) use std::time::Duration;

    pub(crate) use auto_mutex::*;
    pub(crate) use auto_mutex_tests::events::*;
    pub(crate) use auto_mutex_tests::stores::{Heard, TestStore};
    pub(crate) use auto_mutex_tests::was_lost;

    pub(crate) use crate::cancelling::at_any_moment;
    pub(crate) use crate::hears::{self, *};
}

auto_mutex_tests::conformance! {
    at_least:
        a_guard_ends_it_early, every_kind_of_guard_is_kept;
    causes:
        #[needs(time)] expire_is_the_cause_however_the_lease_is_renewed,
        a_store_that_lost_the_lock_is_the_cause,
        #[needs(time)] a_silent_store_is_the_cause,
        what_the_program_itself_ends_says_so;
    condvar:
        a_wait_releases_the_lock_and_takes_it_again, no_notification_is_lost,
        #[needs(order)] waiters_are_woken_in_order,
        notify_all_wakes_everybody, a_notification_for_nobody_is_not_kept, a_waiter_that_gave_up_takes_nothing,
        a_woken_waiter_that_gives_up_on_the_lock_passes_the_notification_on, a_wait_needs_the_lock_for_itself,
        threads_wait_and_notify_too, an_owner_is_the_same_after_a_wait, after_a_wait_the_handle_has_the_lock_still;
    current:
        it_is_the_innermost_body, it_has_all_names_and_works_in_blocking_bodies;
    deadlocks:
        two_members_in_opposite_order, a_cycle_of_five, who_waits_behind_a_deadlock_does_not_fail,
        a_chain_is_none, threads_are_tasks_too, readers_and_writers,
        a_permit_that_comes_back_is_enough, a_call_for_several_locks_is_a_part, an_owner_is_a_part_in_each_of_its_tasks,
        a_report_fails_nobody, who_may_fail_ends_it_for_all, a_deadlock_is_told_once_with_all_its_places,
        guards_of_reentrant_handles_are_a_part, other_guards_are_no_part;
    draining:
        who_holds_goes_on_and_who_waits_is_sent_away, bodies_take_nested_locks_until_they_end, a_nested_wait_goes_on,
        a_nested_wait_for_a_notification_goes_on, a_body_that_does_not_end_is_reported_and_cut_off, a_drain_may_be_cut_short;
    owners:
        tasks_of_one_owner_share_the_lock, who_waits_enters_with_its_owner, an_owner_refreshes_and_unlocks_from_any_task,
        an_owner_has_a_name;
    exclusion:
        a_lock_is_held_by_one_at_a_time, try_lock_finds_a_held_lock_busy_and_a_free_one_free, a_guard_knows_what_it_is,
        many_members_and_tasks_never_meet_inside;
    executors:
        #[needs(threads)] tasks_of_a_multi_thread_runtime_share_a_client, #[needs(threads)] another_executor_needs_no_tokio,
        #[needs(threads)] plain_threads_need_no_runtime,
        #[needs(threads)] the_client_outlives_the_runtime_that_used_it_first,
        #[needs(threads)] a_guard_outlives_the_runtime_that_made_it,
        #[needs(threads)] a_blocking_wait_that_stops_its_own_holder_is_refused,
        #[needs(threads)] an_unconstrained_task_is_refused_too, #[needs(threads)] a_blocking_wait_beside_the_runtime_is_no_deadlock,
        #[needs(threads)] workers_that_all_wait_for_a_task_of_theirs_are_reported,
        #[needs(threads)] a_holder_that_can_run_on_is_not_reported;
    handoff:
        a_ticket_takes_the_lock_to_another_member, a_lock_that_was_just_granted_can_be_handed_over,
        a_hold_that_is_over_makes_no_ticket;
    holding:
        #[needs(time)] expire_ends_the_hold_and_tells_it,
        refresh_restarts_expire,
        #[needs(time)] the_lease_is_renewed_for_as_long_as_the_guard_lives,
        force_unlock_tells_the_former_holder, the_handle_refreshes_what_its_task_holds, never_expire_holds_on;
    inquiry:
        is_locked_and_is_owned_tell_apart, info_shows_holder_waiters_and_token, info_describes_everybody, asking_changes_nothing;
    leader:
        the_next_one_takes_over_when_a_body_ends, neither_leaders_nor_standbys_are_slow,
        #[needs(order)] who_resigns_leads_after_all_who_waited,
        resign_ends_the_body_first, a_loss_drops_the_body_and_the_seat_stands_again,
        a_sync_body_is_told_by_check_and_its_error_ends_nothing, who_watches_is_told_of_each_change,
        an_error_ends_a_term_only_if_that_is_wanted, a_body_may_resign_by_any_handle,
        a_body_that_hangs_does_not_lead_on, a_drain_ends_the_lead_after_the_body;
    lock_order:
        a_nested_call_makes_an_edge_once, what_cannot_hang_or_has_no_label_makes_none, what_may_wait_makes_one,
        readers_and_permits_have_an_order_too, locks_that_are_taken_together_have_no_order,
        opposite_orders_are_found_without_a_deadlock;
    looks:
        #[needs(threads)] a_deadlock_is_certain, #[needs(threads)] other_tasks_of_the_same_members_are_possible_only,
        #[needs(threads)] a_chain_leads_to_its_root, #[needs(threads)] a_busy_service_has_no_cycle;
    multi:
        all_are_held_each_by_its_name, order_and_repetition_do_not_matter,
        who_hears_that_one_is_busy_finds_the_others_free, no_names_are_refused, each_name_has_its_token,
        the_blocking_twins_take_all_too, it_runs_a_body_under_all,
        #[needs(threads)] a_thread_that_would_wait_for_itself_is_told,
        it_waits_with_what_comes_before_and_without_what_comes_after,
        #[needs(time)] what_was_granted_too_late_is_waited_for,
        several_busy_ones_are_waited_for_one_after_another, opposite_orders_cannot_block_each_other, block_is_one_time_for_all,
        block_zero_does_not_wait, cancelling_at_any_moment_frees_all_names,
        retries_end_with_too_many_attempts_in_all, an_error_of_one_name_frees_the_others, the_loss_of_one_is_the_loss_of_all,
        a_lost_name_cancels_the_body, expire_counts_from_when_all_are_there, what_was_lost_while_waiting_is_taken_again,
        refresh_and_unlock_are_for_all, the_handle_acts_on_all, who_breaks_them_frees_all,
        a_nested_call_of_one_of_them_is_refused_or_enters_again, a_reentrant_call_takes_what_is_missing;
    names:
        odd_names_keep_their_identity, names_that_cannot_be_used_are_refused, a_guard_has_the_name_as_it_was_given,
        namespaces_keep_programs_apart, colons_do_not_move_between_namespace_and_name;
    nested_expire:
        each_ends_its_own_body, the_outer_one_ends_all_inside, a_guard_taken_inside_tells_its_own, threads_are_told_too,
        a_refresh_inside_moves_them_all;
    queueing:
        #[needs(order)] members_get_it_in_the_order_they_came,
        tasks_of_a_member_get_it_in_the_order_they_came,
        #[needs(order)] nobody_overtakes_the_queue,
        a_waiter_that_leaves_is_out_of_the_queue_at_once, a_cancelled_waiter_does_not_take_the_grant_with_it,
        cancelling_at_any_moment_leaves_nothing_behind;
    reentrance:
        a_second_lock_inside_a_protected_body_is_refused, a_reentrant_handle_enters_again,
        a_reentrant_handle_lets_no_other_task_in,
        a_guard_of_a_reentrant_handle_counts_for_every_handle, any_other_guard_counts_for_no_task,
        only_the_body_of_a_reentrant_handle_enters_again, each_guard_counts_for_the_task_that_took_it;
    retain:
        each_call_has_a_token_of_its_own, nobody_is_inside_of_a_kept_lock, a_waiter_gets_a_kept_lock, an_attempt_gets_a_kept_lock,
        a_lock_of_another_kind_gets_what_is_kept, force_unlock_frees_what_is_kept, an_awaited_unlock_means_the_same,
        a_client_that_ends_keeps_nothing, nothing_else_is_kept, two_clients_take_turns,
        each_call_has_an_expire_of_its_own,
        a_call_has_the_full_lease, a_ticket_outlasts_the_short_lease, a_writer_from_a_kept_lock_becomes_a_reader,
        a_wait_for_a_notification_releases_it;
    max_waiters:
        one_call_more_is_refused_and_another_has_its_place_later, calls_that_come_together_wait_if_one_of_them_gets_it,
        the_client_sets_the_limit_of_all, #[needs(order)] calls_of_other_processes_count,
        #[needs(order)] info_counts_all_calls_that_wait;
    retries:
        retries_end_with_too_many_attempts, retries_get_a_lock_that_becomes_free, retries_need_a_pause;
    rw_lock:
        readers_hold_together_and_writers_alone, the_blocking_twins_do_the_same, readers_count_one_by_one,
        #[needs(time)] one_readers_end_is_not_the_others,
        who_breaks_it_frees_all_readers,
        #[needs(order)] a_writer_is_not_starved_by_readers, #[needs(order)] a_reader_is_not_starved_by_writers,
        readers_that_wait_together_get_in_together,
        #[needs(order)] a_cancelled_writer_lets_the_readers_in,
        readers_and_writers_never_meet, a_downgraded_writer_lets_readers_in_but_no_writer, a_downgrade_of_what_is_lost_says_so,
        a_downgrade_inside_of_a_writer_changes_nothing, a_nested_call_is_refused, a_reentrant_reader_reads_on_and_does_not_write,
        a_reentrant_writer_reads_and_writes_on, a_reentrant_handle_knows_all_its_readers;
    scope:
        without_a_client_in_force_a_lock_is_not_set_up, inside_a_scope_its_client_is_in_force,
        scopes_nest_and_do_not_leak_to_other_tasks, a_spawned_task_is_given_the_client,
        #[needs(threads)] other_tasks_of_the_thread_keep_their_client,
        futures_of_one_task_keep_their_clients,
        #[needs(threads)] a_scoped_future_is_dropped_in_its_scope, #[needs(threads)] a_thread_that_ends_keeps_its_scope,
        #[needs(threads)] block_on_inside_a_scope_has_its_client;
    semaphore:
        as_many_hold_as_there_are_permits, many_are_taken_at_once_or_not_at_all, requests_that_cannot_work_are_refused,
        members_and_tasks_never_exceed_the_permits, a_nested_call_takes_another_permit,
        a_reentrant_one_shares_what_the_task_has, threads_share_a_semaphore,
        #[needs(threads)] a_thread_may_wait_where_its_task_does_not_have_it_all,
        #[needs(order)] permits_are_given_in_the_order_of_arrival, #[needs(order)] a_large_request_is_not_starved,
        a_release_lets_in_as_many_as_fit,
        #[needs(order)] a_cancelled_request_makes_way,
        a_timeout_names_who_has_it, cancelled_requests_leave_no_permit_behind, the_smallest_number_of_permits_counts,
        a_name_is_one_kind_of_lock_at_a_time, it_exists_from_its_first_use_to_its_deletion, it_is_not_deleted_under_its_users,
        who_breaks_it_frees_all_permits,
        #[needs(signals)] tokens_come_before_permits_and_in_order, #[needs(signals)] a_token_wakes_who_waits,
        #[needs(signals)] many_do_not_take_tokens, #[needs(signals)] a_token_that_was_not_used_goes_back_to_its_place,
        #[needs(signals)] a_cancelled_acquire_uses_no_token, #[needs(signals, time)] a_token_survives_its_dead_holder,
        #[needs(signals)] deletion_takes_the_tokens_with_it, #[needs(signals)] a_token_has_a_limit;
    shutdown:
        a_client_that_was_shut_down_says_so, shutdown_releases_what_is_held, shutdown_ends_the_waits,
        a_dropped_client_keeps_its_guards_alive;
    slow:
        a_long_wait_and_a_long_hold_are_told, a_task_that_waits_for_its_own_guard_is_told,
        #[needs(order)] the_place_in_line_is_told,
        zero_turns_the_warnings_off;
    synchronize:
        it_returns_what_the_body_returns_and_releases, it_releases_when_the_body_panics, a_lost_lock_cancels_the_body,
        the_blocking_twin_releases_too;
    tokens:
        they_grow_with_every_grant_of_any_member, they_grow_beside_other_holders, they_grow_across_members_that_come_and_go,
        they_fit_a_signed_column;
    unlocking:
        unlock_tells_the_truth,
        a_dropped_guard_frees_the_lock, after_an_unlock_inside_a_protected_body_it_can_be_taken_again;
    waiting:
        a_timeout_names_the_holder, a_waiter_is_woken_by_a_release,
        waited_and_attempts_tell_what_it_took, the_default_block_comes_from_the_client,
        #[needs(time)] who_looks_too_late_is_granted_again;
}

auto_mutex_tests::layouts! {
    /// TLS turns each write and read into records: it could split or hold back long texts, many requests at once, and
    /// messages that come while nothing is asked; and a connection is made and ended in other steps.
    redis_over_tls:
        condvar { no_notification_is_lost, notify_all_wakes_everybody, threads_wait_and_notify_too }
        exclusion { a_lock_is_held_by_one_at_a_time, many_members_and_tasks_never_meet_inside }
        executors { tasks_of_a_multi_thread_runtime_share_a_client, plain_threads_need_no_runtime,
            the_client_outlives_the_runtime_that_used_it_first, a_guard_outlives_the_runtime_that_made_it }
        multi { opposite_orders_cannot_block_each_other, cancelling_at_any_moment_frees_all_names }
        names { odd_names_keep_their_identity }
        queueing { tasks_of_a_member_get_it_in_the_order_they_came, a_cancelled_waiter_does_not_take_the_grant_with_it,
            cancelling_at_any_moment_leaves_nothing_behind }
        semaphore { cancelled_requests_leave_no_permit_behind, tokens_come_before_permits_and_in_order, a_token_has_a_limit }
        shutdown { a_client_that_was_shut_down_says_so, shutdown_releases_what_is_held, shutdown_ends_the_waits,
            a_dropped_client_keeps_its_guards_alive }
        tokens { they_grow_with_every_grant_of_any_member, they_grow_across_members_that_come_and_go }
        waiting { a_waiter_is_woken_by_a_release }

    /// The server refuses each command, key and channel that `acl_rule` forgot: one case for each operation and each
    /// message.
    redis_under_the_rule:
        causes { a_store_that_lost_the_lock_is_the_cause, what_the_program_itself_ends_says_so }
        condvar { a_wait_releases_the_lock_and_takes_it_again, notify_all_wakes_everybody }
        deadlocks { two_members_in_opposite_order, an_owner_is_a_part_in_each_of_its_tasks }
        draining { who_holds_goes_on_and_who_waits_is_sent_away }
        exclusion { a_lock_is_held_by_one_at_a_time, try_lock_finds_a_held_lock_busy_and_a_free_one_free }
        handoff { a_ticket_takes_the_lock_to_another_member }
        holding { refresh_restarts_expire, force_unlock_tells_the_former_holder }
        inquiry { is_locked_and_is_owned_tell_apart, info_describes_everybody, asking_changes_nothing }
        leader { the_next_one_takes_over_when_a_body_ends, who_watches_is_told_of_each_change }
        looks { a_deadlock_is_certain }
        multi { all_are_held_each_by_its_name, several_busy_ones_are_waited_for_one_after_another }
        names { odd_names_keep_their_identity, namespaces_keep_programs_apart }
        owners { an_owner_refreshes_and_unlocks_from_any_task }
        queueing { members_get_it_in_the_order_they_came, a_waiter_that_leaves_is_out_of_the_queue_at_once }
        retain { a_waiter_gets_a_kept_lock, an_attempt_gets_a_kept_lock, force_unlock_frees_what_is_kept }
        rw_lock { readers_hold_together_and_writers_alone, a_downgraded_writer_lets_readers_in_but_no_writer }
        semaphore { as_many_hold_as_there_are_permits, the_smallest_number_of_permits_counts, a_name_is_one_kind_of_lock_at_a_time,
            it_exists_from_its_first_use_to_its_deletion, it_is_not_deleted_under_its_users, who_breaks_it_frees_all_permits,
            tokens_come_before_permits_and_in_order, a_token_that_was_not_used_goes_back_to_its_place,
            deletion_takes_the_tokens_with_it }
        shutdown { shutdown_releases_what_is_held }
        tokens { they_grow_with_every_grant_of_any_member }
        unlocking { unlock_tells_the_truth }

    /// The sentinels say which server is the primary, for requests and for messages, and each client asks them when it
    /// connects. A client that found a replica, or two servers, could not write, or would miss what others publish.
    sentinel:
        condvar { no_notification_is_lost, notify_all_wakes_everybody }
        deadlocks { two_members_in_opposite_order }
        exclusion { a_lock_is_held_by_one_at_a_time, many_members_and_tasks_never_meet_inside }
        executors { the_client_outlives_the_runtime_that_used_it_first }
        handoff { a_ticket_takes_the_lock_to_another_member }
        holding { force_unlock_tells_the_former_holder }
        inquiry { info_shows_holder_waiters_and_token }
        leader { who_watches_is_told_of_each_change }
        looks { a_deadlock_is_certain }
        multi { all_are_held_each_by_its_name }
        owners { an_owner_refreshes_and_unlocks_from_any_task }
        queueing { members_get_it_in_the_order_they_came, cancelling_at_any_moment_leaves_nothing_behind }
        retain { a_waiter_gets_a_kept_lock, two_clients_take_turns }
        rw_lock { readers_and_writers_never_meet }
        semaphore { members_and_tasks_never_exceed_the_permits, a_token_wakes_who_waits }
        shutdown { a_client_that_was_shut_down_says_so, shutdown_releases_what_is_held }
        tokens { they_grow_with_every_grant_of_any_member, they_grow_across_members_that_come_and_go }
        waiting { a_waiter_is_woken_by_a_release }

    /// A client that does not listen hears of grants, losses, notifications, recalls and searches only when it asks:
    /// each case here waits for a message of one kind.
    postgres_by_asking:
        causes { a_store_that_lost_the_lock_is_the_cause }
        condvar { a_wait_releases_the_lock_and_takes_it_again, waiters_are_woken_in_order, notify_all_wakes_everybody,
            a_waiter_that_gave_up_takes_nothing, a_woken_waiter_that_gives_up_on_the_lock_passes_the_notification_on }
        deadlocks { two_members_in_opposite_order, a_cycle_of_five, who_waits_behind_a_deadlock_does_not_fail,
            who_may_fail_ends_it_for_all, a_deadlock_is_told_once_with_all_its_places }
        draining { who_holds_goes_on_and_who_waits_is_sent_away, a_nested_wait_for_a_notification_goes_on }
        handoff { a_ticket_takes_the_lock_to_another_member, a_lock_that_was_just_granted_can_be_handed_over }
        holding { force_unlock_tells_the_former_holder }
        inquiry { info_shows_holder_waiters_and_token }
        leader { the_next_one_takes_over_when_a_body_ends, who_resigns_leads_after_all_who_waited,
            a_loss_drops_the_body_and_the_seat_stands_again, who_watches_is_told_of_each_change }
        multi { several_busy_ones_are_waited_for_one_after_another, opposite_orders_cannot_block_each_other,
            the_loss_of_one_is_the_loss_of_all, what_was_lost_while_waiting_is_taken_again }
        owners { who_waits_enters_with_its_owner }
        queueing { members_get_it_in_the_order_they_came, tasks_of_a_member_get_it_in_the_order_they_came, nobody_overtakes_the_queue,
            a_waiter_that_leaves_is_out_of_the_queue_at_once, a_cancelled_waiter_does_not_take_the_grant_with_it }
        retain { a_waiter_gets_a_kept_lock, an_attempt_gets_a_kept_lock, force_unlock_frees_what_is_kept, two_clients_take_turns }
        rw_lock { who_breaks_it_frees_all_readers, a_writer_is_not_starved_by_readers, readers_that_wait_together_get_in_together,
            a_cancelled_writer_lets_the_readers_in, a_downgraded_writer_lets_readers_in_but_no_writer }
        semaphore { permits_are_given_in_the_order_of_arrival, a_release_lets_in_as_many_as_fit, a_cancelled_request_makes_way,
            a_token_wakes_who_waits, a_token_that_was_not_used_goes_back_to_its_place, a_cancelled_acquire_uses_no_token }
        shutdown { shutdown_ends_the_waits }
        slow { the_place_in_line_is_told }
        synchronize { a_lost_lock_cancels_the_body }
        waiting { a_waiter_is_woken_by_a_release, waited_and_attempts_tell_what_it_took }

    /// The example engine implements `Store` outside of the library, as docs/engines.md tells: each operation, and what
    /// it publishes.
    toy:
        condvar { a_wait_releases_the_lock_and_takes_it_again, no_notification_is_lost, waiters_are_woken_in_order,
            notify_all_wakes_everybody }
        deadlocks { two_members_in_opposite_order }
        exclusion { a_lock_is_held_by_one_at_a_time, try_lock_finds_a_held_lock_busy_and_a_free_one_free,
            many_members_and_tasks_never_meet_inside }
        handoff { a_ticket_takes_the_lock_to_another_member, a_lock_that_was_just_granted_can_be_handed_over }
        holding { refresh_restarts_expire, force_unlock_tells_the_former_holder }
        inquiry { is_locked_and_is_owned_tell_apart, info_describes_everybody, asking_changes_nothing }
        leader { who_watches_is_told_of_each_change }
        looks { a_deadlock_is_certain }
        multi { all_are_held_each_by_its_name, cancelling_at_any_moment_frees_all_names }
        names { odd_names_keep_their_identity }
        owners { an_owner_refreshes_and_unlocks_from_any_task }
        queueing { members_get_it_in_the_order_they_came, nobody_overtakes_the_queue,
            a_waiter_that_leaves_is_out_of_the_queue_at_once, cancelling_at_any_moment_leaves_nothing_behind }
        retain { a_waiter_gets_a_kept_lock, an_attempt_gets_a_kept_lock, force_unlock_frees_what_is_kept }
        rw_lock { readers_hold_together_and_writers_alone, a_writer_is_not_starved_by_readers,
            a_downgraded_writer_lets_readers_in_but_no_writer, readers_and_writers_never_meet }
        semaphore { members_and_tasks_never_exceed_the_permits, a_large_request_is_not_starved,
            cancelled_requests_leave_no_permit_behind, the_smallest_number_of_permits_counts, a_name_is_one_kind_of_lock_at_a_time,
            it_is_not_deleted_under_its_users, who_breaks_it_frees_all_permits, tokens_come_before_permits_and_in_order,
            a_token_that_was_not_used_goes_back_to_its_place, deletion_takes_the_tokens_with_it }
        shutdown { shutdown_releases_what_is_held, shutdown_ends_the_waits }
        tokens { they_grow_with_every_grant_of_any_member, they_grow_across_members_that_come_and_go }
        unlocking { unlock_tells_the_truth }
        waiting { a_waiter_is_woken_by_a_release }
}
