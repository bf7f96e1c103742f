//! The vectors of the protocol, in `docs/vectors`: operations with their replies, for clients and stores in other
//! languages.
//!
//! `AUTO_MUTEX_BLESS=1 cargo test -p auto-mutex-redis --all-features vectors::the_files` writes the files. The tests
//! make them again and compare, and play the files on a server with the scripts and on the memory store.

mod format;
mod make;
mod play;
mod stories;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use auto_mutex_difference::START;
use auto_mutex_seam::store::Name;
use serde_json::{Value as Json, json};

use self::format::{FIELDS, Outcome, Step, checksum, code_of, fits, line, of_op, step};
use self::make::{Sequence, THEMES};
use self::play::{Model, Player, Real};
use crate::script::Scripts;
use crate::tests::difference::seeded::FAULTS;
use crate::tests::server::Server;

/// How many operations all files have together, at least.
const OPERATIONS: usize = 10_000;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/vectors")
}

/// All files: the stories, and a file for each theme.
fn files() -> Vec<(&'static str, &'static str, Vec<Sequence>)> {
    let stories = (stories::NAME, stories::ABOUT, stories::all());
    let random = THEMES.iter().zip(make::sequences());
    let random = random.map(|((theme, about, _), sequences)| (*theme, *about, sequences));
    std::iter::once(stories).chain(random).collect()
}

/// The text of a file: one line for each step, so that a change of the protocol is easy to review.
fn text(theme: &str, about: &str, sequences: &[Sequence]) -> String {
    let fields: Vec<_> = FIELDS
        .iter()
        .map(|(name, fields)| format!("{}: {}", json!(name), json!(fields)))
        .collect();
    let mut text = format!(
        "{{\n\"theme\": {},\n\"about\": {},\n\"start\": {START},\n\"fields\": {{\n{}\n}},\n\"sequences\": [\n",
        json!(theme),
        json!(about),
        fields.join(",\n"),
    );
    let mut model = Model::default();
    for (index, sequence) in sequences.iter().enumerate() {
        let names: Vec<_> = sequence.names.iter().map(Name::as_str).collect();
        let (title, names) = (json!(sequence.title), json!(names));
        let comma = if index > 0 { ",\n" } else { "" };
        let _ = writeln!(
            text,
            "{comma}{{\"title\": {title}, \"names\": {names}, \"steps\": ["
        );
        let outcomes = model.play(sequence);
        let steps = sequence.steps.iter().zip(&outcomes);
        let lines: Vec<_> = steps
            .map(|(step, outcome)| line(step, &sequence.names, outcome.as_ref()))
            .collect();
        text += &lines.join(",\n");
        text += "\n]}";
    }
    text + "\n]\n}\n"
}

/// Full examples of commands, for authors of encoders: several per operation, with different fields.
fn encodings(files: &[(&str, &str, Vec<Sequence>)]) -> String {
    let mut known = BTreeMap::<_, usize>::new();
    let mut lines = Vec::new();
    for sequence in files.iter().flat_map(|(_, _, sequences)| sequences) {
        for step in &sequence.steps {
            let Step::Call(call) = step else {
                continue;
            };
            let ops: Vec<_> = call.ops.iter().map(of_op).collect();
            // Fields differ in kind if one of them is zero or empty, or has characters beyond ASCII.
            let kind = |value: &Json| match value {
                Json::String(text) => (text.is_empty(), text.is_ascii()),
                value => (*value == json!(0), true),
            };
            let kinds = ops.iter().map(|(name, fields)| {
                let fields = fields.as_array().expect("a list");
                (*name, fields.iter().map(kind).collect::<Vec<_>>())
            });
            let times = known
                .entry((kinds.collect::<Vec<_>>(), call.opens > 0))
                .or_default();
            *times += 1;
            if *times > 1 {
                continue;
            }
            let name = &sequence.names[call.name];
            let [key, operations @ ..] = &call.arguments(name)[..] else {
                panic!("a call has a key and its operations");
            };
            let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).expect("a text");
            let hex = |bytes: &Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let encoded: Vec<String> = operations.iter().map(hex).collect();
            let names: Vec<_> = ops.iter().map(|(name, _)| *name).collect();
            let fields: Vec<_> = ops.iter().map(|(_, fields)| fields).collect();
            let opens = call.opens();
            let crc = checksum(&call.arguments(name));
            lines.push(format!(
                "{{\"name\": {}, \"member\": {}, \"opens\": {opens}, \"operations\": {}, \"fields\": {},\n \"key\": {}, \
                \"arguments\": {}, \"crc\": {}}}",
                json!(name.as_str()), call.member, json!(names), json!(fields), json!(text(key)),
                json!(encoded), json!(crc)
            ));
        }
    }
    let codes: Vec<_> = FIELDS
        .iter()
        .map(|(name, _)| {
            format!(
                "{}: {}",
                json!(name),
                json!(char::from(code_of(name)).to_string())
            )
        })
        .collect();
    format!(
        "{{\n\"codes\": {{{}}},\n\"calls\": [\n{}\n]\n}}\n",
        codes.join(", "),
        lines.join(",\n")
    )
}

/// Compares a file with what it should be, or writes it.
fn check(file: &str, text: &str) {
    let path = folder().join(file);
    if std::env::var_os("AUTO_MUTEX_BLESS").is_some() {
        std::fs::write(&path, text).expect("the file is written");
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let lines = found.lines().zip(text.lines());
    let differs = lines
        .enumerate()
        .find(|(_, (found, expected))| found != expected);
    if let Some((number, (found, expected))) = differs {
        let number = number + 1;
        panic!(
            "{file}:{number} is\n{found}\nand should be\n{expected}\nAUTO_MUTEX_BLESS=1 writes it"
        );
    }
    assert!(
        found == text,
        "{file} has more or fewer lines: AUTO_MUTEX_BLESS=1 writes it"
    );
}

#[test]
fn the_files_are_what_the_rules_make() {
    let files = files();
    let mut operations = 0;
    let mut met = BTreeSet::new();
    for (theme, about, sequences) in &files {
        check(&format!("{theme}.json"), &text(theme, about, sequences));
        operations += sequences.iter().map(Sequence::operations).sum::<usize>();
        let mut model = Model::default();
        for sequence in sequences {
            let outcomes = model.play(sequence);
            for (step, outcome) in sequence.steps.iter().zip(outcomes) {
                if let (Step::Call(call), Some(outcome)) = (step, outcome) {
                    met.extend(kinds(call, &outcome));
                }
            }
        }
    }
    check("encoding.json", &encodings(&files));
    check("names.json", &stories::names());
    let scripts = Scripts::of(false);
    let texts: Vec<_> = scripts.texts().collect();
    for (file, text) in ["operations.lua", "epoch.lua"].into_iter().zip(texts) {
        check(file, text);
    }
    assert!(operations >= OPERATIONS, "{operations} operations");
    let missing: Vec<_> = MET.iter().filter(|kind| !met.contains(**kind)).collect();
    assert!(missing.is_empty(), "{missing:?} of {met:?}");
}

/// Kinds of replies and messages that the files must contain.
const MET: &[&str] = &[
    "acquire KEPT",
    "acquire MISMATCH",
    "acquire QUEUED",
    "acquire REFUSED",
    "acquire TOO_MANY",
    "acquire a number",
    "acquire a signal",
    "adopt GONE",
    "adopt QUEUED",
    "adopt REFUSED",
    "adopt a number",
    "adopt a signal",
    "delete DELETED",
    "delete IN_USE",
    "force FREED",
    "grant",
    "inspect INFO",
    "kick FREED",
    "lost",
    "near",
    "probe",
    "probe TOLD",
    "raise GONE",
    "raise a number",
    "recall",
    "release CANCELLED",
    "release GONE",
    "release a number",
    "release, acquire: a number, QUEUED",
    "release, acquire: a number, a number",
    "release, try: a number, BUSY",
    "signal REFUSED",
    "signal SIGNALLED",
    "touch GONE",
    "touch QUEUED",
    "touch a number",
    "touch a signal",
    "try BUSY",
    "try KEPT",
    "try MISMATCH",
    "try REFUSED",
    "try TOO_MANY",
    "try a number",
    "try a signal",
];

/// The operations of a call with the kinds of their replies, and the kinds of its messages.
fn kinds(call: &format::Call, outcome: &Outcome) -> Vec<String> {
    let kind = |reply: &Json| match reply {
        Json::String(text) => text.split(' ').next().unwrap_or_default().to_owned(),
        Json::Array(list) if list[0] == json!("INFO") => "INFO".to_owned(),
        Json::Array(_) => "a signal".to_owned(),
        _ => "a number".to_owned(),
    };
    let names: Vec<_> = call.ops.iter().map(|op| of_op(op).0).collect();
    let mut kinds = match &names[..] {
        [name] => vec![format!("{name} {}", kind(&outcome.reply))],
        names => {
            let replies: Vec<_> = (0..names.len())
                .map(|index| kind(&outcome.reply[index]))
                .collect();
            vec![format!("{}: {}", names.join(", "), replies.join(", "))]
        }
    };
    kinds.extend(outcome.messages.iter().map(|(_, text)| kind(&json!(text))));
    kinds
}

/// For each step, if it is a call: the outcome in the file, and the checksum of the command.
type Expected = Vec<Option<(Outcome, String)>>;

/// Reads a file, as another implementation would.
fn read(file: &str) -> Vec<(Sequence, Expected)> {
    let text = std::fs::read_to_string(folder().join(file)).expect(file);
    let json: Json = serde_json::from_str(&text).expect(file);
    assert_eq!(json["start"], json!(START));
    let sequences = json["sequences"].as_array().expect("sequences").iter();
    sequences
        .map(|sequence| {
            let lines = sequence["steps"].as_array().expect("steps").iter();
            let (steps, expected) = lines.map(step).unzip();
            let text = |json: &Json| json.as_str().expect("a text").to_owned();
            let names = sequence["names"].as_array().expect("names").iter();
            let sequence = Sequence {
                title: text(&sequence["title"]),
                names: names.map(|name| Name::from_escaped(&text(name))).collect(),
                steps,
            };
            (sequence, expected)
        })
        .collect()
}

/// Plays a file, and returns the first difference.
fn difference(player: &mut impl Player, file: &str) -> Option<String> {
    for (sequence, expected) in read(file) {
        let found = player.play(&sequence);
        let steps = sequence.steps.iter().zip(expected).zip(found);
        for (number, ((step, expected), found)) in steps.enumerate() {
            let (Step::Call(call), Some((expected, crc)), Some(found)) = (step, expected, found)
            else {
                continue;
            };
            let expected = expected.sorted();
            let is_same =
                fits(&expected.reply, &found.reply) && expected.messages == found.messages;
            if !is_same {
                let title = &sequence.title;
                return Some(format!(
                    "{file}, {title}, step {number}: {call:?}\n{found:?}, not\n{expected:?}"
                ));
            }
            let encoded = checksum(&call.arguments(&sequence.names[call.name]));
            assert_eq!(encoded, crc, "{file}, step {number}: {call:?}");
        }
    }
    None
}

fn names_of_files() -> impl Iterator<Item = String> {
    let themes = THEMES.iter().map(|(theme, ..)| *theme);
    std::iter::once(stories::NAME)
        .chain(themes)
        .map(|theme| format!("{theme}.json"))
}

#[test]
fn the_scripts_reply_as_the_files_say() {
    let server = Server::start();
    let mut real = Real::start(&server);
    for file in names_of_files() {
        assert_eq!(difference(&mut real, &file), None);
    }
}

#[test]
fn the_memory_store_replies_as_the_files_say() {
    for file in names_of_files() {
        assert_eq!(difference(&mut Model::default(), &file), None);
    }
}

/// With the faults of `seeded.rs`.
#[test]
fn faults_of_a_store_are_found() {
    let server = Server::start();
    let is_missed = |(part, other)| {
        let mut real = Real::edited(&server, part, other);
        names_of_files().all(|file| difference(&mut real, &file).is_none())
    };
    let missed: Vec<_> = FAULTS
        .iter()
        .filter(|(_, part, other, ..)| is_missed((*part, *other)))
        .map(|(what, ..)| *what)
        .collect();
    // No reply tells how long a key lives.
    assert_eq!(missed, ["a key without an end"]);
}
