//! The command line.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use auto_mutex::operator::prefix;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::problem::Id;

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 an error; 2 wrong usage; 3 a finding (a cycle of waiters, a finding of doctor); \
4 the precondition does not hold (kick: the lock has no hold with that token); 5 the lock store cannot be reached. `run` has its own: see `run --help`.";

/// Shows the holders and waiters of the locks of auto-mutex, and breaks holds.
#[derive(Debug, Parser)]
#[command(name = "auto-mutex", version, after_help = EXIT_CODES, max_term_width = 100)]
#[command(arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The options of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// The URL of the lock store. Prefer AUTO_MUTEX_URL, because every user of the machine can read command lines
    #[arg(
        long,
        env = "AUTO_MUTEX_URL",
        hide_env_values = true,
        global = true,
        value_name = "URL"
    )]
    pub(crate) url: Option<String>,
    /// The format of the result
    #[arg(short, long, value_enum, global = true, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
    /// How long to wait for a connection, and for an answer
    #[arg(long, global = true, value_parser = duration, default_value = "5s", value_name = "TIME")]
    pub(crate) timeout: Duration,
}

/// The namespace of the names that a command takes or lists.
#[derive(Debug, Args)]
pub(crate) struct Within {
    /// The namespace of the programs. A name that already begins with it is taken as complete, except by `run`
    #[arg(
        long,
        env = "AUTO_MUTEX_NAMESPACE",
        hide_env_values = true,
        value_name = "NAMESPACE"
    )]
    namespace: Option<String>,
}

impl Within {
    pub(crate) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref().filter(|name| !name.is_empty())
    }

    /// The complete name of the lock that programs in this namespace call `name`.
    pub(crate) fn name(&self, name: &str) -> String {
        let prefix = self.namespace().map(prefix).unwrap_or_default();
        match name.starts_with(&prefix) {
            true => name.to_owned(),
            false => prefix + name,
        }
    }

    /// The pattern of names in this namespace.
    pub(crate) fn pattern(&self, pattern: &str) -> String {
        let prefix = self.name("");
        let rest = pattern.strip_prefix(&prefix).unwrap_or(pattern);
        let plain = |c| match c {
            '\\' | '*' | '?' | '[' => format!("\\{c}"),
            c => c.to_string(),
        };
        prefix.chars().map(plain).collect::<String>() + rest
    }
}

/// The format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// One JSON document
    Json,
    /// One JSON document per line
    Jsonl,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the locks that have holders or waiters
    Ls(Ls),
    /// Show everything about one lock: its holders and its waiters
    Show(Show),
    /// List the leaders with their values and terms, and how many processes stand by
    Leaders(Leaders),
    /// Explain a wait: the chain from a holder that waits for no lock to this lock or process
    Why(Why),
    /// Show all chains of waits, and mark cycles
    Tree,
    /// Print the events of a lock as they happen
    Watch(Watch),
    /// Show a live table of all locks
    Top(Top),
    /// Break one hold, given by its fencing token
    Kick(Kick),
    /// Run a command under a lock
    Run(Run),
    /// Find problems of the store and its locks
    Doctor(Doctor),
    /// Serve a live page on this machine, with /metrics and /api; read-only without a token
    Serve(Serve),
    /// Print the ACL rule of Redis that a program with this URL needs
    Acl(Acl),
    /// Print the SQL that creates the schema for locks in PostgreSQL, and the rights that a program needs there
    Schema(Schema),
    /// Print the migration that creates the table of fencing tokens in a database
    Fence(Fence),
    /// List the annotated functions of a program, from the output of its `operator::sites_json()`
    Sites(Sites),
    /// Print a completion script
    Completions(Completions),
    /// Print the manual page
    Man(Man),
}

/// `auto-mutex ls`
#[derive(Debug, Args)]
pub(crate) struct Ls {
    #[command(flatten)]
    pub(crate) within: Within,
    /// The names to list: `*` matches any text, `?` any character, `[ab]` one of these
    #[arg(default_value = "*", hide_default_value = true)]
    pub(crate) pattern: String,
    /// Only locks with waiters. The seats of leaders are left out
    #[arg(long)]
    pub(crate) waiting: bool,
    /// Only locks that were held, or waited for, longer than this. The seats of leaders are left out
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub(crate) longer_than: Option<Duration>,
    /// Also names used in about the last ten minutes that are not in use now
    #[arg(long)]
    pub(crate) all: bool,
}

/// `auto-mutex show`
#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    pub(crate) within: Within,
    /// The name of the lock, as `ls` shows it
    pub(crate) name: String,
}

/// `auto-mutex leaders`
#[derive(Debug, Args)]
pub(crate) struct Leaders {
    #[command(flatten)]
    pub(crate) within: Within,
    /// The names to list: see `ls`
    #[arg(default_value = "*", hide_default_value = true)]
    pub(crate) pattern: String,
}

/// `auto-mutex why`
#[derive(Debug, Args)]
pub(crate) struct Why {
    #[command(flatten)]
    pub(crate) within: Within,
    /// A lock, or a process as HOST:PID or POD:PID
    #[arg(value_name = "NAME|HOST:PID")]
    pub(crate) subject: String,
}

/// `auto-mutex watch`
#[derive(Debug, Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(crate) within: Within,
    /// The name of the lock, as `ls` shows it
    pub(crate) name: String,
    /// How often to look
    #[arg(long, value_parser = duration, default_value = "500ms", value_name = "TIME")]
    pub(crate) every: Duration,
    /// Stop after this many events
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
}

/// `auto-mutex top`
#[derive(Debug, Args)]
pub(crate) struct Top {
    #[command(flatten)]
    pub(crate) within: Within,
    /// The names to show: see `ls`
    #[arg(default_value = "*", hide_default_value = true)]
    pub(crate) pattern: String,
    /// How often to look
    #[arg(long, value_parser = duration, default_value = "1s", value_name = "TIME")]
    pub(crate) every: Duration,
}

/// `auto-mutex kick`
#[derive(Debug, Args)]
pub(crate) struct Kick {
    #[command(flatten)]
    pub(crate) within: Within,
    /// The name of the lock, as `ls` shows it
    pub(crate) name: String,
    /// The fencing token of the hold, as `show` prints it
    #[arg(long, value_name = "T")]
    pub(crate) token: u64,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
    /// Show what would happen, without changing anything
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
}

const RUN_EXIT_CODES: &str = "\
The exit code is that of the command; 128 and the number of the signal, if one ended it. If it did not run to its end:
  69  the lock store cannot be reached, or refuses
  75  the lock was held by others for all of --block
  79  the lock was lost, or its lease could not be renewed; the command was ended by SIGTERM, and by SIGKILL after --grace
 126  the command cannot be run
 127  the command was not found

The command runs without a shell, in its own process group, and cannot read from the terminal. AUTO_MUTEX_TOKEN in \
its environment is the fencing token: send it with each write, so that the database can refuse a late one. \
AUTO_MUTEX_URL is not passed on, because it may have a password.

SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are passed on to the process group. The lock is released when \
no process of the group is left; a daemon that should outlive it needs a session of its own (setsid). Ctrl-Z stops \
the command, which keeps the lock until it is continued. If the lease can't be renewed, the command is ended before \
the lease ends.

A second process of auto-mutex, the one that `show` names, renews the lease. If either of the two is killed, or \
stops renewing, the other ends the command. Only if both are killed or stopped at once does the command outlive its \
lease.";

const SCHEMA_HELP: &str = "\
A program that may create schemas does not need this: it makes the schema when it first connects. For others, an administrator runs

  auto-mutex schema --postgres --grant app | psql -v ON_ERROR_STOP=1 postgres://admin@host/database

once, and again (with --only-rights) for each further role.";

/// `auto-mutex run`
#[derive(Debug, Args)]
#[command(after_help = RUN_EXIT_CODES)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) within: Within,
    /// The name of the lock
    pub(crate) name: String,
    /// How long to wait for the lock. Without this option, there is no limit; 0 does not wait
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub(crate) block: Option<Duration>,
    /// Keep the lock for at least this long after the grant, even if the command ends sooner: for jobs that start on
    /// several machines with differing clocks
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub(crate) at_least: Option<Duration>,
    /// End the command before it has held the lock for this long
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub(crate) expire: Option<Duration>,
    /// Take one of N permits of a semaphore instead of a mutex
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) semaphore: Option<u32>,
    /// How long the store keeps the lock if this machine dies: 100 ms to 30 s
    #[arg(long, value_parser = duration, default_value = "10s", value_name = "TIME")]
    pub(crate) lease: Duration,
    /// Accept a server that cannot notice a failover, such as Redis Enterprise. Programs that share the lock need
    /// `Config::trust_failover` too
    #[arg(long)]
    pub(crate) trust_failover: bool,
    /// How long the command has to end after SIGTERM when the lock is lost. If the lease can't be renewed, at most a
    /// quarter of --lease, so that SIGKILL comes before the lease ends
    #[arg(long, value_parser = duration, default_value = "5s", value_name = "TIME")]
    pub(crate) grace: Duration,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
}

/// `auto-mutex doctor`
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Report waits that are longer than this
    #[arg(long, value_parser = duration, default_value = "10m", value_name = "TIME")]
    pub(crate) longest_wait: Duration,
    /// Report servers whose clock differs from that of this machine by more than this
    #[arg(long, value_parser = duration, default_value = "1s", value_name = "TIME")]
    pub(crate) clock: Duration,
    /// Leave out findings with this id; may be repeated
    #[arg(long, value_enum, value_name = "ID", hide_possible_values = true)]
    pub(crate) ignore: Vec<Id>,
}

/// `auto-mutex serve`
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The address to listen on. A non-loopback address requires --kick-token, and then reading requires the token, too
    #[arg(long, default_value = "127.0.0.1:7070", value_name = "ADDRESS")]
    pub(crate) listen: SocketAddr,
    /// A file with a token of at least 16 characters. Clients that send it (Authorization: Bearer …) may break holds
    #[arg(long, value_name = "FILE")]
    pub(crate) kick_token: Option<PathBuf>,
    /// How often to look
    #[arg(long, value_parser = duration, default_value = "1s", value_name = "TIME")]
    pub(crate) every: Duration,
}

/// `auto-mutex acl`
#[derive(Debug, Args)]
pub(crate) struct Acl {
    /// The URL of the program, by default that of --url. The command does not connect
    #[arg(value_name = "URL")]
    pub(crate) of: Option<String>,
    /// The rule for a user of this command, instead of the rule for programs that take locks
    #[arg(long)]
    pub(crate) operator: bool,
    /// The rule for a user of this command who only reads, and can neither break holds nor take locks
    #[arg(long, conflicts_with = "operator")]
    pub(crate) read_only: bool,
    /// Leave out commands that only report more about the server
    #[arg(long)]
    pub(crate) least: bool,
    /// With CLIENT SETINFO, for servers of version 7.2 and above
    #[arg(long)]
    pub(crate) setinfo: bool,
    /// The name of the user
    #[arg(long, default_value = "locks", value_name = "NAME")]
    pub(crate) user: String,
}

/// `auto-mutex schema`
#[derive(Debug, Args)]
#[command(after_help = SCHEMA_HELP)]
pub(crate) struct Schema {
    /// For PostgreSQL, the only kind of store with a schema. The command does not connect
    #[arg(long, required = true)]
    pub(crate) postgres: bool,
    /// Also grant this role the rights to take locks; may be repeated
    #[arg(long, value_name = "ROLE")]
    pub(crate) grant: Vec<String>,
    /// Also grant this role the rights to look, but neither to break holds nor to take locks; may be repeated
    #[arg(long, value_name = "ROLE")]
    pub(crate) grant_reading: Vec<String>,
    /// Also grant this role the rights to look and to break holds, but not to take locks: for an operator; may be
    /// repeated
    #[arg(long, value_name = "ROLE")]
    pub(crate) grant_operating: Vec<String>,
    /// Only the rights, without the schema
    #[arg(long)]
    pub(crate) only_rights: bool,
}

/// `auto-mutex fence`
#[derive(Debug, Args)]
pub(crate) struct Fence {
    /// The kind of the database. The command does not connect
    #[arg(long, value_enum)]
    pub(crate) dialect: Dialect,
}

/// The SQL of a kind of database.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Dialect {
    /// PostgreSQL
    Postgres,
    /// MySQL and MariaDB
    Mysql,
    /// SQLite
    Sqlite,
}

/// `auto-mutex sites`
#[derive(Debug, Args)]
pub(crate) struct Sites {
    /// The file; `-` is standard input
    pub(crate) file: PathBuf,
}

/// `auto-mutex completions`
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}

/// `auto-mutex man`
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write one page per command into this folder, instead of the main page to standard output
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,
}

/// Parses seconds, or a text like `250ms`, `2m` or `1h 30m`.
fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse::<f64>() {
        let seconds = Duration::try_from_secs_f64(seconds);
        return seconds.map_err(|_| "it is not a duration".to_owned());
    }
    humantime::parse_duration(text)
        .map_err(|_| "give seconds, or a duration like 250ms, 30s, 2m or 1h".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_arguments_fit_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn lengths_of_time_are_seconds_or_have_a_unit() {
        for (text, millis) in [
            ("10", 10_000),
            ("0", 0),
            ("0.25", 250),
            ("250ms", 250),
            ("2m", 120_000),
        ] {
            assert_eq!(
                duration(text).unwrap(),
                Duration::from_millis(millis),
                "{text}"
            );
        }
        for text in ["", "-1", "x", "10 parsecs", "inf", "NaN"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
