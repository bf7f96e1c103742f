//! Faults of PostgreSQL, and faults of processes and connections with PostgreSQL in place of Redis.

use auto_mutex_tests::databases::missing_postgres;
use auto_mutex_tests::postgres::{Down, may_mount, missing_pooler};

use super::{Fault, Struck, bytes, deadlocks, links, processes};
use crate::field::{Field, PROCESSES};
use crate::needs::{Needs, Stay};
use crate::server::Layout;

pub(super) fn all() -> Vec<Box<dyn Fault>> {
    vec![
        on("PostgreSQL: kill -9", processes::Kill),
        on(
            "PostgreSQL: SIGSTOP beyond the lease, SIGCONT",
            processes::Suspend,
        ),
        on(
            "PostgreSQL: a deadlock of two others, of which one fails",
            deadlocks::Crossed,
        ),
        on("PostgreSQL: connections cut and refused", links::Cut),
        on("PostgreSQL: connections frozen, then thawed", links::Freeze),
        on("PostgreSQL: half-open connections", links::HalfOpen),
        on(
            "PostgreSQL: cut at each byte of a reply",
            bytes::Reply { cuts: true },
        ),
        on(
            "PostgreSQL: frozen at each byte of a reply",
            bytes::Reply { cuts: false },
        ),
        on("PostgreSQL: cut at bytes of a greeting", bytes::Greeting),
        Box::new(Terminate),
        Box::new(Suspend),
        Box::new(LockTable),
        Box::new(KillBackend),
        Box::new(Restart(Down::Killed)),
        Box::new(Restart(Down::Fast)),
        Box::new(Restart(Down::Immediate)),
        Box::new(Truncate),
        Box::new(FullDisk),
        Box::new(FullQueue),
        Box::new(Promotion { is_dead: true }),
        Box::new(Promotion { is_dead: false }),
        Box::new(KillPooler { listens: false }),
        Box::new(KillPooler { listens: true }),
        Box::new(RestartBehindPooler { listens: false }),
        Box::new(RestartBehindPooler { listens: true }),
    ]
}

fn needs(layout: Layout, stay: Stay) -> Result<Needs, String> {
    let pooled = matches!(layout, Layout::Asking | Layout::Listening);
    let missing = match layout {
        Layout::SmallDisk => may_mount().err(),
        _ => missing_pooler().filter(|_| pooled),
    };
    match missing_postgres().or(missing) {
        Some(missing) => Err(missing),
        None => Ok(Needs {
            postgres: Some(layout),
            stay,
            ..Needs::default()
        }),
    }
}

/// A fault that does not depend on the server.
struct On {
    name: &'static str,
    fault: Box<dyn Fault>,
}

fn on(name: &'static str, fault: impl Fault + 'static) -> Box<dyn Fault> {
    let fault = Box::new(fault);
    Box::new(On { name, fault })
}

impl Fault for On {
    fn name(&self) -> &'static str {
        self.name
    }

    fn harms_keepers(&self) -> bool {
        self.fault.harms_keepers()
    }

    fn sample(&self) -> Option<&'static str> {
        Some("")
    }

    fn needs(&self) -> Result<Needs, String> {
        let other = self.fault.needs()?;
        let needs = needs(Layout::Plain, other.stay)?;
        Ok(Needs {
            postgres: needs.postgres,
            ..other
        })
    }

    fn rounds(&self, field: &mut Field, usual: usize) -> usize {
        self.fault.rounds(field, usual)
    }

    fn strike(&self, field: &mut Field, round: usize) -> Option<Struck> {
        self.fault.strike(field, round)
    }

    fn mend(&self, field: &mut Field) {
        self.fault.mend(field);
    }
}

/// `pg_terminate_backend` of all clients, once or several times.
struct Terminate;

impl Fault for Terminate {
    fn name(&self) -> &'static str {
        "PostgreSQL: pg_terminate_backend"
    }

    fn harms_keepers(&self) -> bool {
        true
    }

    fn sample(&self) -> Option<&'static str> {
        Some("kept mutex")
    }

    fn needs(&self) -> Result<Needs, String> {
        needs(Layout::Plain, Stay::Brief)
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        for _ in 0..=field.seed.below(3) {
            field.postgres().terminate_clients();
            field.pass(0, 20);
        }
        Struck::now(field)
    }
}

/// All processes of the server are suspended for longer than a lease.
struct Suspend;

impl Fault for Suspend {
    fn name(&self) -> &'static str {
        "PostgreSQL: server suspended beyond the lease"
    }

    fn harms_keepers(&self) -> bool {
        true
    }

    fn sample(&self) -> Option<&'static str> {
        Some("mutex")
    }

    fn needs(&self) -> Result<Needs, String> {
        needs(Layout::Plain, Stay::BeyondLease)
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        field.postgres().suspend(true);
        field.pass_a_lease();
        field.postgres().suspend(false);
        Struck::now(field)
    }
}

/// Another session locks a table for longer than a lease.
struct LockTable;

impl Fault for LockTable {
    fn name(&self) -> &'static str {
        "PostgreSQL: LOCK TABLE beyond the lease"
    }

    fn sample(&self) -> Option<&'static str> {
        Some("")
    }

    fn needs(&self) -> Result<Needs, String> {
        needs(Layout::Plain, Stay::BeyondLease)
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        let table = *field.seed.pick(&["names", "tickets", "term"]);
        let lock = format!("BEGIN; LOCK TABLE auto_mutex.{table}");
        let session = field.postgres().session(&lock);
        field.pass_a_lease();
        drop(session);
        Struck::now(field)
    }
}

/// One of the server's processes is killed, as a machine that is short of memory does. The server ends the others, and
/// recovers. Its locks are lost, and it grants nothing until their leases have ended.
struct KillBackend;

impl Fault for KillBackend {
    fn name(&self) -> &'static str {
        "PostgreSQL: kill -9 of a backend"
    }

    fn harms_keepers(&self) -> bool {
        true
    }

    fn sample(&self) -> Option<&'static str> {
        Some("semaphore")
    }

    fn needs(&self) -> Result<Needs, String> {
        needs(Layout::Plain, Stay::BeyondLease)
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        let number = field.seed.below(1000);
        if !field.postgres().kill_backend(number) {
            return None;
        }
        // The processes that it ends are gone before it recovers.
        field.pass(10, 20);
        field.postgres().wait_until_up();
        Struck::now(field)
    }
}

/// The server ends, and is started again. Only a fast shutdown keeps the locks.
struct Restart(Down);

impl Fault for Restart {
    fn name(&self) -> &'static str {
        match self.0 {
            Down::Killed => "PostgreSQL: kill -9 of the postmaster",
            Down::Fast => "PostgreSQL: fast restart",
            Down::Immediate => "PostgreSQL: immediate restart",
        }
    }

    fn harms_keepers(&self) -> bool {
        true
    }

    fn sample(&self) -> Option<&'static str> {
        Some(match self.0 {
            Down::Killed => "readers-writer lock",
            Down::Fast => "leader",
            Down::Immediate => "several names",
        })
    }

    fn needs(&self) -> Result<Needs, String> {
        needs(
            Layout::Plain,
            match self.0 {
                Down::Fast => Stay::Brief,
                _ => Stay::BeyondLease,
            },
        )
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        field.postgres().down(self.0);
        field.pass(0, 200);
        field.postgres().start_again();
        Struck::now(field)
    }
}

/// An operator empties the tables of the locks while the server is running.
struct Truncate;

impl Fault for Truncate {
    fn name(&self) -> &'static str {
        "PostgreSQL: TRUNCATE"
    }

    fn is_fenced_only(&self) -> bool {
        true
    }

    fn sample(&self) -> Option<&'static str> {
        Some("")
    }

    fn needs(&self) -> Result<Needs, String> {
        needs(Layout::Plain, Stay::Brief)
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        let struck = field.now();
        let tables = ["names", "tickets", "signals", "gone"].map(|it| format!("auto_mutex.{it}"));
        field
            .postgres()
            .ask(&format!("TRUNCATE {}", tables.join(", ")));
        field.excuse(struck);
        Struck::now(field)
    }
}

/// The disk is full for longer than a lease. If the server needs room for its log, it ends.
struct FullDisk;

impl Fault for FullDisk {
    fn name(&self) -> &'static str {
        "PostgreSQL: full disk"
    }

    fn sample(&self) -> Option<&'static str> {
        Some("")
    }

    fn needs(&self) -> Result<Needs, String> {
        needs(Layout::SmallDisk, Stay::BeyondLease)
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
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
        Struck::now(field)
    }
}

/// The queue of notifications is full, since a listener is stuck in a transaction. It takes all its eight gigabytes, so the fault
/// strikes once.
struct FullQueue;

impl Fault for FullQueue {
    fn name(&self) -> &'static str {
        "PostgreSQL: full queue of notifications"
    }

    fn sample(&self) -> Option<&'static str> {
        Some("")
    }

    fn needs(&self) -> Result<Needs, String> {
        // Not what most want to have done to their disk.
        match std::env::var_os("AUTO_MUTEX_CHAOS_FULL_QUEUE") {
            Some(_) => needs(Layout::Plain, Stay::BeyondLease),
            None => Err("it writes 8 GB, and needs AUTO_MUTEX_CHAOS_FULL_QUEUE=1".to_owned()),
        }
    }

    fn rounds(&self, _field: &mut Field, _usual: usize) -> usize {
        1
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
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
        struck
    }
}

/// A standby takes over. The primary is dead, or alive but cut off from the clients: from most of them at first, and from all soon
/// after the promotion. The new primary grants nothing until all leases have ended, with time for an old one that goes on.
struct Promotion {
    is_dead: bool,
}

impl Fault for Promotion {
    fn name(&self) -> &'static str {
        match self.is_dead {
            true => "PostgreSQL: promotion after the primary's death",
            false => "PostgreSQL: promotion beside a live primary",
        }
    }

    fn harms_keepers(&self) -> bool {
        true
    }

    fn sample(&self) -> Option<&'static str> {
        // It lasts too long.
        Some("")
    }

    fn needs(&self) -> Result<Needs, String> {
        Ok(Needs {
            proxies: true,
            ..needs(Layout::Standby, Stay::BeyondLease)?
        })
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        let first = field.database().side * PROCESSES;
        let promote = |field: &mut Field| {
            let standby = field.database().standby.as_ref();
            standby.expect("a standby").promote();
        };
        if self.is_dead {
            let down = *field.seed.pick(&[Down::Killed, Down::Immediate]);
            field.postgres().down(down);
            promote(field);
            return Struck::now(field);
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
        Struck::now(field)
    }

    /// The old primary ends, and a new standby comes in its place.
    fn mend(&self, field: &mut Field) {
        let database = field.database();
        let next = database.standby.take().expect("the new primary");
        let old = std::mem::replace(&mut database.primary, next);
        drop(old);
        let standby = database.primary.standby();
        let (port, first) = (standby.port(), database.side * PROCESSES);
        database.standby = Some(standby);
        database.side = 1 - database.side;
        for proxy in &field.proxies[first..first + PROCESSES] {
            proxy.redirect(port);
            proxy.cut();
            proxy.heal();
        }
    }
}

/// How clients behind a pooler hear of grants.
fn behind_pooler(listens: bool) -> Layout {
    match listens {
        true => Layout::Listening,
        false => Layout::Asking,
    }
}

/// The pooler is killed, and started again soon, or after more than a lease.
struct KillPooler {
    listens: bool,
}

impl Fault for KillPooler {
    fn name(&self) -> &'static str {
        match self.listens {
            true => "PostgreSQL: kill -9 of pgbouncer (listen_url)",
            false => "PostgreSQL: kill -9 of pgbouncer (poll)",
        }
    }

    fn harms_keepers(&self) -> bool {
        true
    }

    fn sample(&self) -> Option<&'static str> {
        Some(if self.listens { "" } else { "semaphore" })
    }

    fn needs(&self) -> Result<Needs, String> {
        needs(behind_pooler(self.listens), Stay::BeyondLease)
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        let pooler = |field: &mut Field| field.database().pooler.take().expect("a pooler");
        let pooler = pooler(field);
        pooler.kill9();
        match field.seed.below(2) {
            0 => field.pass(0, 200),
            _ => field.pass_a_lease(),
        }
        pooler.start_again();
        field.database().pooler = Some(pooler);
        Struck::now(field)
    }
}

/// A pooler hides that the server has crashed: its clients' connections go on.
struct RestartBehindPooler {
    listens: bool,
}

impl Fault for RestartBehindPooler {
    fn name(&self) -> &'static str {
        match self.listens {
            true => "PostgreSQL: immediate restart behind pgbouncer (listen_url)",
            false => "PostgreSQL: immediate restart behind pgbouncer (poll)",
        }
    }

    fn harms_keepers(&self) -> bool {
        true
    }

    fn sample(&self) -> Option<&'static str> {
        Some(if self.listens { "" } else { "mutex" })
    }

    fn needs(&self) -> Result<Needs, String> {
        needs(behind_pooler(self.listens), Stay::BeyondLease)
    }

    fn strike(&self, field: &mut Field, _round: usize) -> Option<Struck> {
        field.moment();
        field.postgres().restart(Down::Immediate);
        Struck::now(field)
    }
}
