//! Builds and runs test programs.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Packages that are built together, as in the short run of `tests/run`: what is built of a part of them has other
/// features.
const USUAL: &str = " -protocol -core -seam -net -memory -redis -postgres -quorum -operator -test -macros -tests -samples -ui";
/// The programs that need only the rules.
const RULES: [&str; 2] = ["explorer", "auto_mutex_protocol"];
/// The programs of `SLOW` have many dependencies.
const OTHER: &str = "-fence -fencing -cli";
const SLOW: [&str; 3] = ["fencing", "auto-mutex", "real"];

const SWITCH: &str = "AUTO_MUTEX_FAULT";
/// How long the tests that are named for a fault may take. Most that hang fail after a minute; those of compiler
/// messages compile.
pub(crate) const NAMED: Duration = Duration::from_secs(180);
/// The limit for whole programs.
pub(crate) const WHOLE: Duration = Duration::from_secs(600);

/// A test that found a fault.
pub(crate) struct Found {
    pub(crate) program: String,
    pub(crate) rebuilt: bool,
    pub(crate) test: String,
}

/// A test program's package, and its file.
type Program = (PathBuf, PathBuf);

pub(crate) struct Programs {
    tree: PathBuf,
    libraries: String,
    built: RefCell<BTreeMap<String, Program>>,
}

impl Programs {
    pub(crate) fn of(tree: PathBuf) -> Self {
        let mut rustc = Command::new("rustc");
        let libdir = rustc
            .args(["--print", "target-libdir"])
            .output()
            .expect("rustc");
        let libraries = String::from_utf8_lossy(&libdir.stdout).trim().to_owned();
        let built = RefCell::default();
        Self {
            tree,
            libraries,
            built,
        }
    }

    /// Builds a program, if it is not there yet or the fault is one of the attributes. `None` if it does not compile.
    fn get(&self, name: &str, rebuilt: bool, fault: Option<&str>) -> Option<Program> {
        if let (Some(program), false) = (self.built.borrow().get(name), rebuilt) {
            return Some(program.clone());
        }
        let mut cargo = Command::new("cargo");
        cargo.args([
            "test",
            "--no-run",
            "--message-format",
            "json-render-diagnostics",
        ]);
        match name {
            "auto-mutex" => cargo.arg("--bins"),
            _ if name.starts_with("auto_mutex") => cargo.arg("--lib"),
            _ => cargo.args(["--test", name]),
        };
        let packages = match name {
            _ if RULES.contains(&name) => "-explorer -protocol",
            _ if SLOW.contains(&name) => OTHER,
            _ => USUAL,
        };
        cargo.args(
            packages
                .split(' ')
                .flat_map(|it| ["-p".to_owned(), format!("auto-mutex{it}")]),
        );
        cargo.env_remove(SWITCH).current_dir(&self.tree);
        cargo.env("CARGO_TARGET_DIR", self.tree.with_file_name("target"));
        if let (Some(fault), true) = (fault, rebuilt) {
            cargo.env(SWITCH, fault);
        } else {
            cargo.stderr(Stdio::inherit());
        }
        let output = cargo.output().expect("cargo");
        if !output.status.success() {
            assert!(fault.is_some() && rebuilt, "{name} does not build");
            return None;
        }
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let message: Value = serde_json::from_str(line).unwrap_or_default();
            let (package, file) = (&message["manifest_path"], &message["executable"]);
            if message["profile"]["test"] == true
                && let (Some(package), Some(file)) = (package.as_str(), file.as_str())
                && let Some(name) = message["target"]["name"].as_str()
            {
                let folder = PathBuf::from(package).with_file_name("");
                let program = (folder, PathBuf::from(file));
                self.built.borrow_mut().insert(name.to_owned(), program);
            }
        }
        let program = self.built.borrow().get(name).cloned();
        Some(program.unwrap_or_else(|| panic!("there is no test program {name}")))
    }

    /// Runs `PROGRAM [VARIABLE=VALUE…] [PART-OF-A-NAME… | OPTION…]` with a fault: to the end, or until a test fails.
    pub(crate) fn run(
        &self,
        tests: &str,
        (fault, compiled): (&str, bool),
        limit: Duration,
        all: bool,
    ) -> Vec<Found> {
        let program = tests.split(' ').next().unwrap_or_default();
        // A library's own tests call the expansions.
        let rebuilt = compiled && !program.starts_with("auto_mutex");
        let failed = self
            .output(tests, (rebuilt, Some(fault)), limit, all)
            .0
            .into_iter();
        let program = program.to_owned();
        failed
            .map(|test| Found {
                program: program.clone(),
                rebuilt,
                test,
            })
            .collect()
    }

    /// Which of some tests fail without a fault.
    pub(crate) fn failing(&self, name: &str, rebuilt: bool, of: &BTreeSet<String>) -> Vec<String> {
        let of: Vec<_> = of
            .iter()
            .filter(|test| !test.starts_with('('))
            .map(|it| &**it)
            .collect();
        if of.is_empty() {
            return Vec::new();
        }
        let tests = format!("{name} {} --exact", of.join(" "));
        self.output(&tests, (rebuilt, None), WHOLE, true).0
    }

    /// What a test says about its own faults: see [`Table`](crate::list::Table).
    pub(crate) fn table(&self, test: &str) -> Vec<(String, bool)> {
        let said = self
            .output(&format!("{test} --nocapture"), (false, None), WHOLE, true)
            .1;
        let rows = said.iter().filter_map(|line| line.split_once(": run "));
        rows.map(|(what, result)| (what.to_owned(), result.starts_with("Some")))
            .collect()
    }

    /// Returns the tests that failed, and all lines.
    fn output(
        &self,
        tests: &str,
        (rebuilt, fault): (bool, Option<&str>),
        limit: Duration,
        all: bool,
    ) -> (Vec<String>, Vec<String>) {
        let mut words = tests.split(' ');
        let name = words.next().unwrap_or_default();
        let Some((folder, file)) = self.get(name, rebuilt, fault) else {
            return (vec!["(does not compile)".to_owned()], Vec::new());
        };
        let mut command = Command::new(file);
        for word in words {
            match word
                .split_once('=')
                .filter(|it| it.0.starts_with("AUTO_MUTEX_"))
            {
                Some((variable, value)) => command.env(variable, value),
                None => command.arg(word),
            };
        }
        command.arg("--test-threads=8").current_dir(&folder);
        command
            .env_remove(SWITCH)
            .envs(fault.map(|id| (SWITCH, id)));
        command.env("CARGO_MANIFEST_DIR", &folder);
        command.env("CARGO_TARGET_DIR", self.tree.with_file_name("target"));
        // The attributes are a library that needs the compiler's own.
        command
            .env("LD_LIBRARY_PATH", &self.libraries)
            .env("DYLD_LIBRARY_PATH", &self.libraries);
        // A group of its own, so that the processes of the tests end with it.
        command
            .process_group(0)
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("a test program");
        let stdout = BufReader::new(child.stdout.take().expect("its output"));
        let (sender, coming) = mpsc::channel();
        std::thread::spawn(move || {
            stdout
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        let end = Instant::now() + limit;
        let (mut failed, mut lines, mut is_over) = (Vec::new(), Vec::new(), false);
        while !is_over && (all || failed.is_empty()) {
            match coming.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    let test = line
                        .strip_prefix("test ")
                        .and_then(|it| it.strip_suffix(" ... FAILED"));
                    failed.extend(test.map(str::to_owned));
                    lines.push(line);
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => is_over = true,
                Err(mpsc::RecvTimeoutError::Timeout) => break,
            }
        }
        let group = format!("-{}", child.id());
        let _ = Command::new("kill")
            .args(["-9", "--", &group])
            .stderr(Stdio::null())
            .status();
        let _ = child.wait();
        if is_over && failed.is_empty() && !lines.iter().any(|it| it.starts_with("test result: ok"))
        {
            failed.push("(the program died)".to_owned());
        }
        (failed, lines)
    }
}
