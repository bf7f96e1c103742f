//! PostgreSQL in temporary folders. A guardian ends it when the test process ends, even if it is killed.

use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, fs};

use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

/// Longer than anything takes that works.
pub(crate) const LONG: Duration = Duration::from_secs(60);
const GUARDIAN: &str = r#"dir=$1 signal=$2; shift 2; "$@" 2>>"$dir/log" & echo $!; exec >&-; read -r keep; kill "-${keep:-$signal}" $! 2>/dev/null; wait; [ -n "$keep" ] || rm -rf "$dir""#;
const SETTINGS: [&str; 7] = [
    "fsync=off",
    "synchronous_commit=off",
    "shared_buffers=16MB",
    "max_connections=60",
    "wal_level=replica",
    "max_wal_senders=4",
    "checkpoint_timeout=1h",
];

/// A server, killed when dropped.
pub(crate) struct Server {
    guardian: Option<Child>,
    pid: u32,
    pub(crate) port: u16,
    bin: PathBuf,
    pub(crate) dir: TempDir,
}

/// The folder of the programs: that of the PATH, or the newest of Debian.
fn bin() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut versions: Vec<_> = versions.flatten().map(|it| it.path().join("bin")).collect();
    versions.sort();
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(versions.into_iter().rev());
    let mut programs = folders.map(|folder| folder.join("initdb"));
    let program = programs.find_map(|program| program.canonicalize().ok());
    let program = program.expect("PostgreSQL is installed");
    program.parent().unwrap().to_owned()
}

fn user() -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").map(|it| it.uid()).ok()
}

/// PostgreSQL refuses to run as root.
fn command(program: &Path) -> Command {
    if user() != Some(0) {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]);
    command.arg(program);
    command
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Where the servers have their files: `tests/run` names a folder in memory, if there is one.
fn place() -> PathBuf {
    env::var_os("AUTO_MUTEX_DATABASES").map_or_else(env::temp_dir, PathBuf::from)
}

fn folder() -> TempDir {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::Builder::new()
        .prefix("am-pg-")
        .tempdir_in(place());
    let dir = dir.unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    dir
}

/// The files of a server that has never run. The first test process of this user makes them, and all others wait for
/// it.
fn template(bin: &Path) -> PathBuf {
    let initdb = bin.join("initdb");
    let mut key = DefaultHasher::new();
    let made = fs::metadata(&initdb).unwrap().modified().unwrap();
    ("auto-mutex-postgres", &initdb, made).hash(&mut key);
    let user = user().unwrap_or_default();
    let templates = place().join(format!("auto-mutex-templates-{user}"));
    fs::create_dir_all(&templates).unwrap();
    let template = templates.join(format!("{:016x}", key.finish()));
    let lock = File::create(template.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    if !template.exists() {
        let dir = folder();
        let data = dir.path().join("data");
        let mut init = command(&initdb);
        init.args(["-U", "test", "-A", "trust", "-E", "UTF8", "--locale=C"]);
        init.args(["--no-sync", "--no-instructions", "-D"]);
        succeeds(init.arg(&data));
        fs::rename(data, &template).unwrap();
    }
    template
}

fn succeeds(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// The server that most tests share, each with a database of its own.
pub(crate) fn shared() -> &'static Server {
    static SHARED: LazyLock<Server> = LazyLock::new(Server::start);
    &SHARED
}

impl Server {
    pub(crate) fn start() -> Self {
        let (bin, dir) = (bin(), folder());
        let mut copy = command(Path::new("cp"));
        copy.arg("-Rp").arg(template(&bin).join("."));
        succeeds(copy.arg(dir.path().join("data")));
        Self::of(bin, dir)
    }

    fn of(bin: PathBuf, dir: TempDir) -> Self {
        let mut server = Self {
            guardian: None,
            pid: 0,
            port: free_port(),
            bin,
            dir,
        };
        server.up();
        server
    }

    /// Starts it, after it has ended.
    pub(crate) fn up(&mut self) {
        let dir = self.dir.path();
        let mut postgres = command(&self.bin.join("postgres"));
        postgres.arg("-D").arg(dir.join("data")).arg("-k").arg(dir);
        postgres.args(["-p", &self.port.to_string()]);
        postgres.args(SETTINGS.iter().flat_map(|setting| ["-c", *setting]));
        let mut guardian = Command::new("sh");
        guardian.args(["-c", GUARDIAN, "sh"]).arg(dir).arg("QUIT");
        guardian
            .arg(postgres.get_program())
            .args(postgres.get_args());
        guardian.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut guardian = guardian.spawn().unwrap();
        let mut line = String::new();
        let output = guardian.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        self.pid = line.trim().parse().unwrap();
        self.guardian = Some(guardian);
        self.waits_for("ready");
    }

    fn waits_for(&self, status: &str) {
        let file = self.dir.path().join("data/postmaster.pid");
        let end = Instant::now() + LONG;
        loop {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let mut lines = text.lines();
            let is_mine = lines.next() == Some(&self.pid.to_string());
            if is_mine && lines.nth(6).map(str::trim) == Some(status) {
                return;
            }
            assert!(Instant::now() < end, "not up: {}", self.log());
            sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// Ends it: `INT` for a fast shutdown, `QUIT` for an immediate one.
    pub(crate) fn down(&mut self, signal: &str) {
        if let Some(mut guardian) = self.guardian.take() {
            let mut input = guardian.stdin.take().unwrap();
            input.write_all(format!("{signal}\n").as_bytes()).unwrap();
            drop(input);
            guardian.wait().unwrap();
        }
    }

    /// Restarts it with other rules of login, and more settings.
    pub(crate) fn change(&mut self, rules: &str, settings: &str) {
        self.down("INT");
        let data = self.dir.path().join("data");
        fs::write(data.join("pg_hba.conf"), rules).unwrap();
        fs::write(data.join("postgresql.auto.conf"), settings).unwrap();
        self.up();
    }

    /// Writes a file that only the server may read.
    #[cfg(feature = "tls")]
    pub(crate) fn secret(&self, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let data = fs::metadata(self.dir.path().join("data")).unwrap();
        chown(&path, Some(data.uid()), Some(data.gid())).unwrap();
        path
    }

    /// Waits until a request waits for a lock in this database. It does so for a second at most, so this may come too
    /// late.
    pub(crate) async fn blocks(&self, database: &str) {
        let admin = self.admin(database).await;
        let blocked = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database())";
        let end = Instant::now() + Duration::from_secs(2);
        let waits = async || admin.query_one(blocked, &[]).await.unwrap().get(0);
        while Instant::now() < end && !waits().await {}
    }

    /// A standby of this server.
    pub(crate) fn standby(&self) -> Self {
        let dir = folder();
        let mut copy = command(&self.bin.join("pg_basebackup"));
        copy.arg("-h").arg(self.dir.path());
        copy.args([
            "-p",
            &self.port.to_string(),
            "-U",
            "test",
            "-R",
            "-c",
            "fast",
            "-D",
        ]);
        succeeds(copy.arg(dir.path().join("data")));
        Self::of(self.bin.clone(), dir)
    }

    pub(crate) fn promote(&self) {
        let mut promote = command(&self.bin.join("pg_ctl"));
        promote.arg("promote").arg("-w").arg("-D");
        succeeds(promote.arg(self.dir.path().join("data")));
    }

    pub(crate) fn socket(&self) -> String {
        format!("host={}&port={}", self.dir.path().display(), self.port)
    }

    /// The rest of the URL of a database, after the scheme.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("test@127.0.0.1:{}/{database}", self.port)
    }

    pub(crate) async fn admin(&self, database: &str) -> Client {
        self.client("test", database).await
    }

    pub(crate) async fn client(&self, user: &str, database: &str) -> Client {
        let text = format!(
            "host=127.0.0.1 port={} user={user} dbname={database}",
            self.port
        );
        let (client, connection) = tokio_postgres::connect(&text, NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// Makes a new database, and returns its name.
    pub(crate) async fn database(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("d{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let admin = self.admin("postgres").await;
        // Since 15, the faster way must be asked for.
        let asks = "SELECT current_setting('server_version_num')::int >= 150000";
        let asks: bool = admin.query_one(asks, &[]).await.unwrap().get(0);
        let how = if asks { "STRATEGY = FILE_COPY" } else { "" };
        let create = format!("CREATE DATABASE {name} {how}");
        admin.batch_execute(&create).await.unwrap();
        name
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.down("QUIT");
    }
}
