//! Faults of PostgreSQL, and faults of processes and connections with PostgreSQL in place of Redis.

use auto_mutex_tests::databases::missing_postgres;
use auto_mutex_tests::postgres::{Down, may_mount, missing_pooler};

use super::{Fault, Struck, bytes, deadlocks, links, processes};
use crate::field::{Field, PROCESSES};
use crate::needs::{Needs, Stay};
use crate::server::Layout;

/// Faults that do not depend on the server. The short form has them on Redis only.
fn of_all_stores() -> Vec<Fault> {
    let faults = processes::all().into_iter().chain([deadlocks::crossed()]);
    let faults = faults.chain(links::all()).chain(bytes::all());
    let on_postgres = |fault: Fault| {
        let others = fault.needs;
        Fault {
            name: format!("PostgreSQL: {}", fault.name),
            samples: 0,
            needs: Box::new(move || {
                let other = others()?;
                let postgres = needs(Layout::Plain, other.stay)?.postgres;
                Ok(Needs { postgres, ..other })
            }),
            ..fault
        }
    };
    faults.map(on_postgres).collect()
}

pub(crate) fn all() -> Vec<Fault> {
    let mut all = of_all_stores();
    all.extend([
        on(
            "pg_terminate_backend",
            Layout::Plain,
            Stay::Brief,
            |field| {
                for _ in 0..=field.seed.below(3) {
                    field.postgres().terminate_clients();
                    field.pass(0, 20);
                }
            },
        )
        .harms_keepers(),
        beyond("server suspended beyond the lease", |field| {
            field.postgres().suspend(true);
            field.pass_a_lease();
            field.postgres().suspend(false);
        })
        .harms_keepers(),
        beyond("LOCK TABLE beyond the lease", |field| {
            let table = *field.seed.pick(&["names", "tickets", "epoch"]);
            let lock = format!("BEGIN; LOCK TABLE auto_mutex.{table}");
            let session = field.postgres().session(&lock);
            field.pass_a_lease();
            drop(session);
        })
        .samples(0),
        kill_backend(),
        // Only a fast shutdown keeps the locks.
        restart("kill -9 of the postmaster", Down::Killed, Stay::BeyondLease),
        restart("fast restart", Down::Fast, Stay::Brief),
        restart("immediate restart", Down::Immediate, Stay::BeyondLease),
        // An operator empties the tables of the locks while the server is running.
        on("TRUNCATE", Layout::Plain, Stay::Brief, |field| {
            let struck = field.now();
            let tables =
                ["names", "tickets", "signals", "gone"].map(|it| format!("auto_mutex.{it}"));
            let truncate = format!("TRUNCATE {}", tables.join(", "));
            field.postgres().ask(&truncate);
            field.excuse(struck);
        })
        .fenced_only()
        .samples(0),
        full_disk(),
        full_queue(),
    ]);
    all
}

/// Faults of standbys and of poolers, which hide that the server has crashed: their clients' connections go on.
pub(crate) fn of_layouts() -> Vec<Fault> {
    vec![
        promotion(true),
        promotion(false),
        kill_pooler("kill -9 of pgbouncer (poll)", Layout::Asking),
        restart_behind("immediate restart behind pgbouncer (poll)", Layout::Asking),
    ]
}

fn needs(layout: Layout, stay: Stay) -> Result<Needs, String> {
    let pooled = layout == Layout::Asking;
    let missing = match layout {
        Layout::SmallDisk => may_mount().err(),
        _ => missing_pooler().filter(|_| pooled),
    };
    match missing_postgres().or(missing) {
        Some(missing) => Err(missing),
        None => Ok(Needs {
            postgres: Some(layout),
            ..Needs::staying(stay)
        }),
    }
}

fn on(name: &str, layout: Layout, stay: Stay, strike: fn(&mut Field)) -> Fault {
    let fault = Fault::new(
        &format!("PostgreSQL: {name}"),
        move || needs(layout, stay),
        move |field| {
            field.moment();
            strike(field);
        },
    );
    fault.samples(1)
}

fn beyond(name: &str, strike: fn(&mut Field)) -> Fault {
    on(name, Layout::Plain, Stay::BeyondLease, strike)
}

/// One of the server's processes is killed, as a machine that is short of memory does. The server ends the others, and
/// recovers. Its locks are lost, and it grants nothing until their leases have ended.
fn kill_backend() -> Fault {
    let strike = |field: &mut Field, _| {
        field.moment();
        let number = field.seed.below(1000);
        if !field.postgres().kill_backend(number) {
            return None;
        }
        // The processes that it ends are gone before it recovers.
        field.pass(10, 20);
        field.postgres().wait_until_up();
        Some(Struck::now(field))
    };
    Fault::in_rounds(
        "PostgreSQL: kill -9 of a backend",
        || needs(Layout::Plain, Stay::BeyondLease),
        strike,
    )
    .harms_keepers()
    .samples(1)
}

fn restart(name: &str, down: Down, stay: Stay) -> Fault {
    let strike = move |field: &mut Field| {
        field.moment();
        field.postgres().down(down);
        field.pass(0, 200);
        field.postgres().start_again();
    };
    let name = format!("PostgreSQL: {name}");
    let fault = Fault::new(&name, move || needs(Layout::Plain, stay), strike);
    fault.harms_keepers().samples(1)
}

/// The disk is full for longer than a lease. If the server needs room for its log, it ends.
fn full_disk() -> Fault {
    on("full disk", Layout::SmallDisk, Stay::BeyondLease, |field| {
        field.postgres().fill_disk(true);
        if field.seed.below(2) == 0 {
            // The next segments of the log need room.
            let switch = "DO $$ BEGIN FOR turn IN 1..50 LOOP PERFORM pg_logical_emit_message(false, '', repeat('x', 500000)); END LOOP; END $$";
            let _ = field.postgres().try_ask(switch);
        }
        field.pass_a_lease();
        field.postgres().fill_disk(false);
        if field.postgres().has_ended() {
            field.postgres().restart(Down::Immediate);
        }
        field.postgres().wait_until_up();
    })
    .samples(0)
}

/// The queue of notifications is full, since a listener is stuck in a transaction. It takes all its eight gigabytes, so
/// the fault strikes once.
fn full_queue() -> Fault {
    // Not what most want to have done to their disk.
    let needs = || match std::env::var_os("AUTO_MUTEX_CHAOS_FULL_QUEUE") {
        Some(_) => needs(Layout::Plain, Stay::BeyondLease),
        None => Err("it writes 8 GB, and needs AUTO_MUTEX_CHAOS_FULL_QUEUE=1".to_owned()),
    };
    let strike = |field: &mut Field, _| {
        let stuck = field.postgres().session("LISTEN filler; BEGIN; SELECT 1");
        let fill = "SELECT count(pg_notify('filler', repeat('x', 7900) || i)) FROM generate_series(1, 10000) AS i";
        let full = loop {
            if let Err(error) = field.postgres().try_ask(fill) {
                break error;
            }
        };
        assert!(full.contains("too many notifications"), "{full}");
        field.pass_a_lease();
        let struck = Struck::now(field);
        for _ in 0..3 {
            field.pass_a_lease();
        }
        drop(stuck);
        Some(struck)
    };
    let name = "PostgreSQL: full queue of notifications";
    Fault {
        rounds: |_, _| 1,
        ..Fault::in_rounds(name, needs, strike).samples(0)
    }
}

/// A standby takes over. The primary is dead, or alive but cut off from the clients: from most of them at first, and
/// from all soon after the promotion. The new primary grants nothing until all leases have ended, with time for an old
/// one that goes on.
fn promotion(is_dead: bool) -> Fault {
    let name = match is_dead {
        true => "PostgreSQL: promotion after the primary's death",
        false => "PostgreSQL: promotion beside a live primary",
    };
    let needs = || {
        Ok(Needs {
            proxies: true,
            ..needs(Layout::Standby, Stay::BeyondLease)?
        })
    };
    let strike = move |field: &mut Field| {
        field.moment();
        let first = field.database().side * PROCESSES;
        let promote = |field: &mut Field| {
            let standby = field.database().standby.as_ref();
            standby.expect("a standby").promote();
        };
        if is_dead {
            let down = *field.seed.pick(&[Down::Killed, Down::Immediate]);
            field.postgres().down(down);
            return promote(field);
        }
        let last = field.victim();
        let freezes = field.seed.below(3) == 0;
        let cut = |field: &Field, index: usize| {
            let proxy = &field.proxies[first + index];
            if freezes {
                proxy.freeze();
            } else {
                proxy.refuse();
                proxy.cut();
            }
        };
        for index in (0..PROCESSES).filter(|index| *index != last) {
            cut(field, index);
        }
        promote(field);
        // This one goes on with the old primary.
        field.pass_a_lease();
        cut(field, last);
    };
    // The old primary ends, and a new standby comes in its place.
    let mend = |field: &mut Field| {
        let database = field.database();
        let next = database.standby.take().expect("the new primary");
        drop(std::mem::replace(&mut database.primary, next));
        let standby = database.primary.standby();
        let (port, first) = (standby.port(), database.side * PROCESSES);
        database.standby = Some(standby);
        database.side = 1 - database.side;
        for proxy in &field.proxies[first..first + PROCESSES] {
            proxy.redirect(port);
            proxy.cut();
            proxy.heal();
        }
    };
    // It lasts too long for the short form.
    Fault::new(name, needs, strike)
        .harms_keepers()
        .mend(mend)
        .samples(0)
}

/// The pooler is killed, and started again soon, or after more than a lease.
fn kill_pooler(name: &str, layout: Layout) -> Fault {
    on(name, layout, Stay::BeyondLease, |field| {
        let pooler = field.database().pooler.take().expect("a pooler");
        pooler.kill9();
        match field.seed.below(2) {
            0 => field.pass(0, 200),
            _ => field.pass_a_lease(),
        }
        pooler.start_again();
        field.database().pooler = Some(pooler);
    })
    .harms_keepers()
}

fn restart_behind(name: &str, layout: Layout) -> Fault {
    on(name, layout, Stay::BeyondLease, |field| {
        field.postgres().restart(Down::Immediate);
    })
    .harms_keepers()
}
