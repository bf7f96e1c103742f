//! Builds and runs test programs.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

/// Packages that are always built together, as in the short run of `tests/run`: what is built of a part of them has other features.
const USUAL: &[&str] = &[
    "-core",
    "-redis",
    "-postgres",
    "-quorum",
    "-operator",
    "-macros",
    "-tests",
    "-samples",
    "-ui",
    "",
];
/// Those of [`OTHERS`], whose dependencies take long.
const OTHER: &[&str] = &["-fence", "-fencing", "-cli"];
const OTHERS: &[&str] = &["fencing", "auto-mutex", "real", "usage"];

/// Chooses the fault; see `tree.rs`.
const SWITCH: &str = "AUTO_MUTEX_FAULT";

/// How long tests may take to find a fault. A test that hangs fails after a minute.
const LIMIT: Duration = Duration::from_secs(90);
/// The same, when all tests are run.
const LONG: Duration = Duration::from_secs(600);

/// Tests that may find a fault.
pub(crate) struct Detector {
    pub(crate) program: String,
    variables: Vec<(String, String)>,
    args: Vec<String>,
}

impl Detector {
    /// `PROGRAM [VARIABLE=VALUE…] [PART-OF-A-NAME… | OPTION…]`
    pub(crate) fn parse(text: &str) -> Self {
        let mut words = text.split_whitespace().map(str::to_owned);
        let program = words.next().expect("a program");
        let (variables, args): (Vec<_>, _) =
            words.partition(|word| word.starts_with("AUTO_MUTEX_"));
        let pair = |word: &String| {
            word.split_once('=')
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
        };
        let variables = variables.iter().filter_map(pair).collect();
        Self {
            program,
            variables,
            args,
        }
    }

    /// A library's own tests.
    pub(crate) fn is_library(&self) -> bool {
        self.program.starts_with("auto_mutex")
    }

    fn is_other(&self) -> bool {
        OTHERS.contains(&&*self.program)
    }

    fn target(&self) -> String {
        match &*self.program {
            "auto-mutex" => "--bin=auto-mutex".to_owned(),
            _ if self.is_library() => "--lib".to_owned(),
            test => format!("--test={test}"),
        }
    }
}

struct Program {
    folder: PathBuf,
    sources: Vec<PathBuf>,
    executable: PathBuf,
}

pub(crate) struct Programs {
    tree: PathBuf,
    libraries: String,
    built: RefCell<BTreeMap<String, Rc<Program>>>,
}

#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) failed: Vec<String>,
    pub(crate) output: String,
}

impl Programs {
    pub(crate) fn of(tree: &Path) -> Self {
        let libdir = Command::new("rustc")
            .args(["--print", "target-libdir"])
            .output()
            .expect("rustc");
        let libraries = String::from_utf8_lossy(&libdir.stdout).trim().to_owned();
        Self {
            tree: tree.to_owned(),
            libraries,
            built: RefCell::default(),
        }
    }

    /// Builds the program when it is first asked for.
    fn get(&self, detector: &Detector) -> Rc<Program> {
        let known = self.built.borrow().get(&detector.program).cloned();
        known.unwrap_or_else(|| {
            let built = self
                .cargo(detector, None)
                .expect("the tests build with the switches");
            self.built.borrow_mut().extend(built);
            let found = self.built.borrow().get(&detector.program).cloned();
            found.unwrap_or_else(|| panic!("there is no program {}", detector.program))
        })
    }

    fn cargo(
        &self,
        detector: &Detector,
        fault: Option<&str>,
    ) -> Option<BTreeMap<String, Rc<Program>>> {
        let mut cargo = Command::new("cargo");
        cargo.args([
            "test",
            "--no-run",
            "--message-format",
            "json-render-diagnostics",
            &detector.target(),
        ]);
        for package in if detector.is_other() { OTHER } else { USUAL } {
            cargo.args(["-p", &format!("auto-mutex{package}")]);
        }
        cargo.env_remove(SWITCH).envs(fault.map(|id| (SWITCH, id)));
        cargo
            .env("CARGO_TARGET_DIR", self.target_dir())
            .current_dir(&self.tree);
        if fault.is_none() {
            cargo.stderr(Stdio::inherit());
        }
        let output = cargo.output().expect("cargo");
        if !output.status.success() {
            return None;
        }
        let (mut programs, mut bins) = (BTreeMap::new(), BTreeMap::<PathBuf, Vec<PathBuf>>::new());
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let message: Value = serde_json::from_str(line).unwrap_or_default();
            let path = |value: &Value| PathBuf::from(value.as_str().unwrap_or_default());
            let (target, executable) = (&message["target"], path(&message["executable"]));
            let (source, mut folder) = (path(&target["src_path"]), path(&message["manifest_path"]));
            folder.pop();
            if message["profile"]["test"] == true && executable.is_absolute() {
                let name = target["name"].as_str().unwrap_or_default().to_owned();
                programs.insert(name, (folder, source, executable));
            } else if executable.is_absolute() {
                bins.entry(folder).or_default().push(source);
            }
        }
        let programs = programs
            .into_iter()
            .map(|(name, (folder, source, executable))| {
                let mut sources = bins.get(&folder).cloned().unwrap_or_default();
                sources.push(source);
                (
                    name,
                    Rc::new(Program {
                        folder,
                        sources,
                        executable,
                    }),
                )
            });
        Some(programs.collect())
    }

    fn target_dir(&self) -> PathBuf {
        self.tree.with_file_name("target")
    }

    /// Compiles a program again, with a fault in the attributes.
    fn rebuild(&self, detector: &Detector, fault: Option<&str>) -> bool {
        for source in &self.get(detector).sources {
            let file = File::options().append(true).open(source).expect("a source");
            file.set_modified(SystemTime::now()).expect("a new time");
        }
        self.cargo(detector, fault).is_some()
    }

    /// Runs tests with a fault, to their end or until the first of them fails.
    pub(crate) fn run(
        &self,
        detector: &Detector,
        fault: Option<&str>,
        rebuild: bool,
        to_the_end: bool,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        if rebuild && !self.rebuild(detector, fault) {
            outcome.failed.push("(does not compile)".to_owned());
            return outcome;
        }
        let program = self.get(detector);
        let mut command = Command::new(&program.executable);
        command
            .args(&detector.args)
            .arg("--test-threads=8")
            .current_dir(&program.folder);
        command
            .envs(detector.variables.iter().cloned())
            .env_remove(SWITCH)
            .envs(fault.map(|id| (SWITCH, id)));
        command
            .env("CARGO_MANIFEST_DIR", &program.folder)
            .env("CARGO_TARGET_DIR", self.target_dir());
        command
            .env("LD_LIBRARY_PATH", &self.libraries)
            .env("DYLD_LIBRARY_PATH", &self.libraries);
        // A group of its own: the tests' processes end with it.
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        let mut child = command.spawn().expect("a test program");
        let stdout = BufReader::new(child.stdout.take().expect("its output"));
        let (sender, lines) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            stdout
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        let end = Instant::now() + if to_the_end { LONG } else { LIMIT };
        let mut is_over = false;
        while to_the_end || outcome.failed.is_empty() {
            match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    let test = line
                        .strip_prefix("test ")
                        .and_then(|rest| rest.strip_suffix(" ... FAILED"));
                    outcome.failed.extend(test.map(str::to_owned));
                    outcome.output += &format!("{line}\n");
                }
                Err(error) => {
                    is_over = error == mpsc::RecvTimeoutError::Disconnected;
                    break;
                }
            }
        }
        let group = format!("-{}", child.id());
        let _ = Command::new("kill")
            .args(["-9", "--", &group])
            .stderr(Stdio::null())
            .status();
        let status = child.wait().expect("the end of a test program");
        drop(lines);
        let _ = reader.join();
        if is_over && outcome.failed.is_empty() && !outcome.output.contains("test result: ok") {
            outcome.failed.push(format!("({status})"));
        }
        outcome
    }

    /// Which of some tests fail without a fault.
    pub(crate) fn failing(
        &self,
        program: &str,
        rebuild: bool,
        tests: &BTreeSet<String>,
    ) -> Vec<String> {
        let mut args: Vec<_> = tests
            .iter()
            .filter(|test| !test.starts_with('('))
            .cloned()
            .collect();
        if args.is_empty() {
            return Vec::new();
        }
        args.push("--exact".to_owned());
        let detector = Detector {
            program: program.to_owned(),
            variables: Vec::new(),
            args,
        };
        self.run(&detector, None, rebuild, true).failed
    }
}
