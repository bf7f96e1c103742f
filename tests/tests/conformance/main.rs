//! The tests that every store must pass: each runs on the memory store, on Redis, behind sentinels, in a cluster, and on a
//! quorum of five.
//!
//! The tests use only the public API. All members, except those from `brief_member`, have a lease that outlasts every
//! test, so no event is caused by its end.

mod at_least;
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

auto_mutex_tests::conformance! {
    at_least:
        every_kind_of_guard_is_kept;
    causes:
        expire_is_the_cause_however_the_lease_is_renewed,
        force_unlock_is_the_cause,
        a_store_that_lost_the_lock_is_the_cause,
        a_silent_store_is_the_cause,
        what_the_program_itself_ends_says_so;
    condvar:
        a_wait_releases_the_lock_and_takes_it_again,
        no_notification_is_lost,
        #[needs(order)]
        waiters_are_woken_in_order,
        notify_all_wakes_everybody,
        a_notification_for_nobody_is_not_kept,
        a_waiter_that_gave_up_takes_nothing,
        a_woken_waiter_that_gives_up_on_the_lock_passes_the_notification_on,
        a_wait_needs_the_lock_for_itself,
        an_owner_is_the_same_after_a_wait,
        threads_wait_and_notify_too,
        after_a_wait_the_handle_has_the_lock_still,
        after_a_wait_a_reentrant_guard_still_counts;
    current:
        it_is_the_innermost_body,
        it_has_all_names_and_works_in_blocking_bodies,
        a_lost_lock_is_an_error;
    deadlocks:
        two_members_in_opposite_order,
        two_tasks_of_one_member,
        a_cycle_of_five,
        who_waits_behind_a_deadlock_does_not_fail,
        a_chain_is_none,
        a_task_may_use_two_clients,
        threads_are_tasks_too,
        readers_and_writers,
        a_permit_that_comes_back_is_enough,
        a_call_for_several_locks_is_a_part,
        an_owner_is_a_part_in_each_of_its_tasks,
        a_report_fails_nobody,
        who_may_fail_ends_it_for_all,
        a_deadlock_is_told_once_with_all_its_places,
        guards_of_reentrant_handles_are_a_part,
        other_guards_are_no_part;
    draining:
        who_holds_goes_on_and_who_waits_is_sent_away,
        bodies_take_nested_locks_until_they_end,
        a_nested_wait_goes_on,
        a_nested_wait_for_a_notification_goes_on,
        a_body_that_does_not_end_is_reported_and_cut_off,
        a_drain_may_be_cut_short;
    owners:
        tasks_of_one_owner_share_the_lock,
        who_waits_enters_with_its_owner,
        an_owner_refreshes_and_unlocks_from_any_task,
        an_owner_of_the_cluster_is_everywhere,
        an_owner_of_the_cluster_refreshes_and_unlocks_elsewhere,
        an_owner_has_a_name,
        an_owner_passes_who_waits_beside_it,
        who_enters_does_not_restart_expire;
    exclusion:
        a_lock_is_held_by_one_at_a_time,
        different_names_do_not_meet,
        try_lock_finds_a_held_lock_busy_and_a_free_one_free,
        a_guard_knows_what_it_is,
        many_members_and_tasks_never_meet_inside;
    executors:
        #[needs(threads)]
        tasks_of_a_multi_thread_runtime_share_a_client,
        #[needs(threads)]
        another_executor_needs_no_tokio,
        #[needs(threads)]
        plain_threads_need_no_runtime,
        #[needs(threads)]
        blocking_calls_work_inside_a_runtime,
        #[needs(threads)]
        the_client_outlives_the_runtime_that_used_it_first,
        #[needs(threads)]
        a_guard_outlives_the_runtime_that_made_it,
        #[needs(threads)]
        a_guard_is_dropped_in_a_thread_without_a_runtime,
        #[needs(threads)]
        a_guard_travels_between_threads,
        #[needs(threads)]
        a_blocking_wait_that_stops_its_own_holder_is_refused,
        #[needs(threads)]
        an_unconstrained_task_is_refused_too,
        #[needs(threads)]
        a_blocking_wait_beside_the_runtime_is_no_deadlock,
        #[needs(threads)]
        workers_that_all_wait_for_a_task_of_theirs_are_reported,
        #[needs(threads)]
        a_holder_that_can_run_on_is_not_reported,
        #[needs(threads)]
        not_waiting_is_no_deadlock;
    handoff:
        a_ticket_takes_the_lock_to_another_member,
        a_second_adopter_comes_too_late,
        a_lock_that_was_just_granted_can_be_handed_over,
        the_waiters_wait_on_through_a_handoff,
        a_hold_that_is_over_makes_no_ticket;
    holding:
        expire_ends_the_hold_and_tells_it,
        refresh_restarts_expire,
        the_lease_is_renewed_for_as_long_as_the_guard_lives,
        force_unlock_tells_the_former_holder,
        an_expired_holder_lets_the_next_one_in,
        the_handle_refreshes_what_its_task_holds,
        never_expire_holds_on;
    inquiry:
        is_locked_and_is_owned_tell_apart,
        info_shows_holder_waiters_and_token,
        info_describes_everybody,
        asking_changes_nothing;
    leader:
        the_next_one_takes_over_when_a_body_ends,
        neither_leaders_nor_standbys_are_slow,
        #[needs(order)]
        who_resigns_leads_after_all_who_waited,
        resign_ends_the_body_first,
        a_loss_drops_the_body_and_the_seat_stands_again,
        a_sync_body_is_told_by_check_and_its_error_ends_nothing,
        who_watches_is_told_of_each_change,
        a_body_that_hangs_does_not_lead_on,
        a_drain_ends_the_lead_after_the_body;
    lock_order:
        a_nested_call_makes_an_edge_once,
        every_lock_around_a_call_counts,
        what_cannot_hang_or_has_no_label_makes_none,
        a_wait_with_an_end_makes_one,
        readers_and_permits_have_an_order_too,
        locks_that_are_taken_together_have_no_order,
        another_key_of_a_label_is_a_finding,
        a_condition_variable_has_no_order,
        a_guard_of_a_reentrant_handle_makes_an_edge,
        opposite_orders_are_found_without_a_deadlock,
        a_client_knows_only_its_own_orders,
        an_allowed_order_contradicts_none,
        a_thread_has_an_order_like_a_task;
    looks:
        #[needs(threads)]
        a_deadlock_of_two_members_is_certain,
        #[needs(threads)]
        a_deadlock_of_two_tasks_of_one_member_too,
        #[needs(threads)]
        other_tasks_of_the_same_members_are_possible_only,
        #[needs(threads)]
        a_chain_leads_to_its_root,
        #[needs(threads)]
        a_busy_service_has_no_cycle;
    multi:
        all_are_held_each_by_its_name,
        order_and_repetition_do_not_matter,
        a_try_that_finds_one_busy_takes_none,
        who_hears_that_one_is_busy_finds_the_others_free,
        no_names_are_refused,
        each_name_has_its_token,
        the_blocking_twins_take_all_too,
        it_runs_a_body_under_all,
        #[needs(threads)]
        a_thread_that_would_wait_for_itself_is_told,
        it_waits_with_what_comes_before_and_without_what_comes_after,
        several_busy_ones_are_waited_for_one_after_another,
        what_was_granted_too_late_is_waited_for,
        opposite_orders_cannot_block_each_other,
        block_is_one_time_for_all,
        block_zero_does_not_wait,
        a_cancelled_call_gives_everything_back,
        cancelling_at_any_moment_frees_all_names,
        retries_end_with_too_many_attempts_in_all,
        retries_get_what_becomes_free,
        an_error_of_one_name_frees_the_others,
        the_loss_of_one_is_the_loss_of_all,
        a_lost_name_cancels_the_body,
        expire_counts_from_when_all_are_there,
        what_was_lost_while_waiting_is_taken_again,
        refresh_and_unlock_are_for_all,
        the_handle_acts_on_all,
        info_comes_in_the_order_given,
        who_breaks_them_frees_all,
        a_nested_call_of_one_of_them_is_refused_or_enters_again,
        a_reentrant_call_takes_what_is_missing;
    names:
        odd_names_keep_their_identity,
        names_that_cannot_be_used_are_refused,
        a_long_name_works_up_to_the_limit,
        a_guard_has_the_name_as_it_was_given,
        namespaces_keep_programs_apart,
        colons_do_not_move_between_namespace_and_name;
    nested_expire:
        each_ends_its_own_body,
        the_outer_one_ends_all_inside,
        a_guard_taken_inside_tells_its_own,
        threads_are_told_too,
        a_refresh_inside_moves_them_all;
    queueing:
        #[needs(order)]
        members_get_it_in_the_order_they_came,
        tasks_of_a_member_get_it_in_the_order_they_came,
        #[needs(order)]
        nobody_overtakes_the_queue,
        a_cancelled_waiter_leaves_the_queue_at_once,
        a_waiter_that_timed_out_leaves_the_queue_at_once,
        a_cancelled_waiter_does_not_take_the_grant_with_it,
        cancelling_at_any_moment_leaves_nothing_behind;
    reentrance:
        a_second_lock_inside_a_protected_body_is_refused,
        a_reentrant_handle_enters_again,
        a_reentrant_handle_enters_a_protected_body_again,
        a_reentrant_handle_lets_no_other_task_in,
        a_guard_of_a_reentrant_handle_counts_for_every_handle,
        any_other_guard_counts_for_no_task,
        only_the_body_of_a_reentrant_handle_enters_again,
        each_guard_counts_for_the_task_that_took_it;
    retain:
        each_call_has_a_token_of_its_own,
        nobody_is_inside_of_a_kept_lock,
        a_waiter_gets_a_kept_lock,
        an_attempt_gets_a_kept_lock,
        an_attempt_finds_a_call_busy,
        a_lock_of_another_kind_gets_what_is_kept,
        force_unlock_frees_what_is_kept,
        an_awaited_unlock_means_the_same,
        a_client_that_ends_keeps_nothing,
        one_setting_turns_it_off,
        two_clients_take_turns,
        what_others_may_enter_is_not_kept,
        at_least_comes_before,
        each_call_has_an_expire_of_its_own,
        a_call_has_the_full_lease,
        a_ticket_outlasts_the_short_lease,
        a_writer_from_a_kept_lock_becomes_a_reader,
        a_wait_for_a_notification_releases_it,
        many_tasks_never_meet_inside;
    retries:
        retries_end_with_too_many_attempts,
        retries_get_a_lock_that_becomes_free,
        retries_do_not_queue,
        retries_need_a_pause;
    rw_lock:
        readers_hold_together_and_writers_alone,
        readers_of_one_member_hold_together,
        the_blocking_twins_do_the_same,
        readers_count_one_by_one,
        one_readers_end_is_not_the_others,
        a_late_unlock_of_a_reader_frees_no_writer,
        who_breaks_it_frees_all_readers,
        it_is_released_when_a_body_panics,
        #[needs(order)]
        a_writer_is_not_starved_by_readers,
        #[needs(order)]
        a_reader_is_not_starved_by_writers,
        readers_that_wait_together_get_in_together,
        #[needs(order)]
        a_cancelled_writer_lets_the_readers_in,
        readers_and_writers_never_meet,
        a_downgraded_writer_lets_readers_in_but_no_writer,
        a_downgrade_of_what_is_lost_says_so,
        a_downgrade_inside_of_a_writer_changes_nothing,
        a_nested_call_is_refused,
        a_reentrant_reader_reads_on_and_does_not_write,
        a_reentrant_writer_reads_and_writes_on,
        a_reentrant_handle_knows_all_its_readers;
    scope:
        without_a_client_in_force_a_lock_is_not_set_up,
        inside_a_scope_its_client_is_in_force,
        #[needs(threads)]
        a_blocking_scope_ends_with_its_closure,
        scopes_nest_and_do_not_leak_to_other_tasks,
        a_spawned_task_is_given_the_client,
        #[needs(threads)]
        other_tasks_of_the_thread_keep_their_client,
        #[needs(threads)]
        a_local_set_keeps_the_clients_of_its_tasks,
        futures_of_one_task_keep_their_clients,
        #[needs(threads)]
        a_scoped_future_is_dropped_in_its_scope,
        #[needs(threads)]
        a_thread_that_ends_keeps_its_scope,
        #[needs(threads)]
        block_on_inside_a_scope_has_its_client;
    semaphore:
        as_many_hold_as_there_are_permits,
        many_are_taken_at_once_or_not_at_all,
        requests_that_cannot_work_are_refused,
        a_lost_permit_says_so_when_it_is_released,
        members_and_tasks_never_exceed_the_permits,
        a_nested_call_takes_another_permit,
        a_reentrant_one_shares_what_the_task_has,
        threads_share_a_semaphore,
        #[needs(threads)]
        a_thread_may_wait_where_its_task_does_not_have_it_all,
        #[needs(order)]
        permits_are_given_in_the_order_of_arrival,
        #[needs(order)]
        a_large_request_is_not_starved,
        a_release_lets_in_as_many_as_fit,
        tasks_of_a_member_are_let_in_together,
        #[needs(order)]
        a_cancelled_request_makes_way,
        a_timeout_names_who_has_it,
        cancelled_requests_leave_no_permit_behind,
        another_size_is_a_mismatch,
        a_name_is_one_kind_of_lock_at_a_time,
        it_exists_from_its_first_use_to_its_deletion,
        it_is_not_deleted_under_its_users,
        who_breaks_it_frees_all_permits,
        #[needs(signals)]
        tokens_come_before_permits_and_in_order,
        #[needs(signals)]
        a_token_wakes_who_waits,
        #[needs(signals)]
        many_do_not_take_tokens,
        #[needs(signals)]
        a_token_that_was_not_used_goes_back_to_its_place,
        #[needs(signals)]
        a_cancelled_acquire_uses_no_token,
        #[needs(signals)]
        a_token_survives_its_dead_holder,
        #[needs(signals)]
        deletion_takes_the_tokens_with_it,
        #[needs(signals)]
        a_token_has_a_limit;
    shutdown:
        a_client_that_was_shut_down_says_so,
        shutdown_releases_what_is_held,
        shutdown_ends_the_waits,
        a_dropped_client_keeps_its_guards_alive;
    slow:
        a_long_wait_and_a_long_hold_are_told,
        a_task_that_waits_for_its_own_guard_is_told,
        #[needs(order)]
        the_place_in_line_is_told,
        zero_turns_the_warnings_off;
    synchronize:
        it_returns_what_the_body_returns_and_releases,
        it_releases_when_the_body_panics,
        a_lost_lock_cancels_the_body,
        the_blocking_twin_releases_too,
        it_can_be_spawned;
    tokens:
        they_grow_with_every_grant_of_any_member,
        they_grow_beside_other_holders,
        they_grow_across_expiry_and_force_unlock,
        they_grow_across_members_that_come_and_go,
        they_fit_a_signed_column;
    unlocking:
        unlock_tells_the_truth,
        unlock_after_a_loss_says_so_and_frees_nobody_else,
        the_handle_unlocks_what_its_task_holds,
        force_unlock_tells_the_truth,
        a_dropped_guard_frees_the_lock,
        after_an_unlock_inside_a_protected_body_it_can_be_taken_again;
    waiting:
        block_zero_does_not_wait,
        a_timeout_names_the_holder,
        a_timeout_comes_neither_early_nor_never,
        a_waiter_is_woken_by_a_release,
        what_was_lost_before_its_waiter_looks_is_waited_for_again,
        a_call_that_always_looks_too_late_is_told,
        a_try_that_looks_too_late_tries_again,
        waited_and_attempts_tell_what_it_took,
        the_default_block_comes_from_the_client;
}
