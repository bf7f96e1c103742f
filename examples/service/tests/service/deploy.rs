//! The files of the deployment: they fit the program and each other. Kubernetes' own schema isn't checked here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use yaml_rust2::{Yaml, YamlLoader};

const PROGRAM: &str = include_str!("../../src/main.rs");
const DOCKERFILE: &str = include_str!("../../Dockerfile");
const MANIFESTS: &str = include_str!("../../kubernetes.yaml");
const COMPOSE: &str = include_str!("../../compose.yaml");
const GUIDE: &str = include_str!("../../../../runtime/src/guide/kubernetes.md");
/// Of a client that sets neither `store_timeout` nor a lease.
const STORE_TIMEOUT: Duration = Duration::from_secs(10);

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn root() -> PathBuf {
    folder().join("../..")
}

fn to_json(yaml: &Yaml) -> Value {
    match yaml {
        Yaml::Null => Value::Null,
        Yaml::Boolean(it) => (*it).into(),
        Yaml::Integer(it) => (*it).into(),
        Yaml::String(it) => it.as_str().into(),
        Yaml::Array(all) => all.iter().map(to_json).collect(),
        Yaml::Hash(all) => {
            let key = |key: &Yaml| key.as_str().expect("a text as key").to_owned();
            all.iter().map(|(k, v)| (key(k), to_json(v))).collect()
        }
        other => panic!("not expected here: {other:?}"),
    }
}

fn read(yaml: &str) -> Vec<Value> {
    let documents = YamlLoader::load_from_str(yaml).expect("YAML");
    documents.iter().map(to_json).collect()
}

fn manifest(kind: &str) -> Value {
    let of_kind = |it: &Value| it["kind"] == kind;
    read(MANIFESTS).into_iter().find(of_kind).expect(kind)
}

fn pod() -> Value {
    manifest("Deployment")["spec"]["template"]["spec"].take()
}

fn container() -> Value {
    pod()["containers"][0].take()
}

/// A constant of the program, in seconds.
fn seconds(constant: &str) -> Duration {
    let start = format!("const {constant}: Duration = Duration::from_secs(");
    let (_, rest) = PROGRAM.split_once(&start).expect(constant);
    let number = rest.split(')').next().and_then(|it| it.parse().ok());
    Duration::from_secs(number.expect("a number"))
}

/// What follows an instruction of the Dockerfile's last stage.
fn instruction(name: &str) -> &'static str {
    let stage = DOCKERFILE.rsplit("\nFROM ").next().expect("a stage");
    let line = stage.lines().find_map(|line| line.strip_prefix(name));
    line.expect(name).trim()
}

pub(crate) fn metrics_of_the_alerts() -> BTreeSet<String> {
    let alerts = include_str!("../../../../docs/alerts.yml");
    let words = alerts.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let metrics = words.filter(|word| word.starts_with("auto_mutex_"));
    metrics.map(str::to_owned).collect()
}

#[test]
fn every_manifest_has_a_type_of_kubernetes_and_a_name() {
    let types = [
        ("v1", "Secret"),
        ("v1", "ConfigMap"),
        ("apps/v1", "Deployment"),
        ("v1", "Service"),
        ("policy/v1", "PodDisruptionBudget"),
    ];
    assert_eq!(types.len(), read(MANIFESTS).len());
    for (version, kind) in types {
        let manifest = manifest(kind);
        assert_eq!(manifest["apiVersion"], version, "{kind}");
        assert!(manifest["metadata"]["name"].is_string(), "{kind}");
    }
}

#[test]
fn manifests_name_what_is_there() {
    let deployment = &manifest("Deployment")["spec"];
    let labels = &deployment["template"]["metadata"]["labels"];
    assert!(labels.is_object(), "{labels}");
    assert_eq!(&deployment["selector"]["matchLabels"], labels);
    assert_eq!(&manifest("Service")["spec"]["selector"], labels);
    let budget = &manifest("PodDisruptionBudget")["spec"];
    assert_eq!(&budget["selector"]["matchLabels"], labels);

    let name = |kind| manifest(kind)["metadata"]["name"].take();
    let sources = json!([
        { "secretRef": { "name": name("Secret") } },
        { "configMapRef": { "name": name("ConfigMap") } },
    ]);
    assert_eq!(container()["envFrom"], sources);
    let secret = &manifest("Secret")["stringData"];
    assert!(secret["AUTO_MUTEX_URL"].is_string(), "{secret}");
    let map = &manifest("ConfigMap")["data"];
    assert!(map["AUTO_MUTEX_NAMESPACE"].is_string(), "{map}");
}

/// The time that a stop takes at most, the times that Kubernetes and compose give it, and what the guide says about
/// both.
#[test]
fn a_stop_has_the_time_that_it_may_take() {
    let stop = seconds("DRAIN") + STORE_TIMEOUT + seconds("RESPONSES");
    let before = &container()["lifecycle"]["preStop"]["sleep"]["seconds"];
    let before = before.as_u64().expect("preStop");
    let grace = &pod()["terminationGracePeriodSeconds"];
    let grace = grace.as_u64().expect("a grace period");
    let takes = stop.as_secs() + before;
    assert!(grace > takes, "{grace} s for {takes} s");

    let compose = &read(COMPOSE)[0]["services"]["service"]["stop_grace_period"];
    let compose: u64 = compose
        .as_str()
        .and_then(|it| it.strip_suffix('s')?.parse().ok())
        .expect("seconds");
    assert!(compose > stop.as_secs(), "{compose} s for {stop:?}");

    let drain = seconds("DRAIN").as_secs();
    for text in [
        format!("terminationGracePeriodSeconds: {grace}"),
        format!("sleep: {{ seconds: {before} }}"),
        format!("| `drain` | {drain} s |"),
        format!("| `store_timeout` | {} s |", STORE_TIMEOUT.as_secs()),
        format!(
            "| the last responses | {} s |",
            seconds("RESPONSES").as_secs()
        ),
        format!("| `preStop` | {before} s |"),
        format!("| together | {takes} s |"),
    ] {
        assert!(GUIDE.contains(&text), "the guide doesn't say {text:?}");
    }
}

#[test]
fn everything_uses_the_same_port() {
    let port = instruction("EXPOSE ");
    assert_eq!(instruction("ENV "), format!("LISTEN=0.0.0.0:{port}"));
    assert!(PROGRAM.contains(&format!("\"0.0.0.0:{port}\"")));

    let container = container();
    let ports = container["ports"].as_array().expect("ports");
    let [http] = &ports[..] else {
        panic!("one port");
    };
    assert_eq!(http["containerPort"].to_string(), port);
    let name = http["name"].as_str().expect("a name");
    let service = &manifest("Service")["spec"]["ports"];
    assert_eq!(service[0]["targetPort"], name);
    for probe in ["livenessProbe", "readinessProbe"] {
        let get = &container[probe]["httpGet"];
        assert_eq!(get["port"], name, "{probe}");
        let route = format!(".route(\"{}\", get(", get["path"].as_str().expect("a path"));
        assert!(PROGRAM.contains(&route), "the program has no {route}");
    }
    let pod = &manifest("Deployment")["spec"]["template"]["metadata"];
    assert_eq!(pod["annotations"]["prometheus.io/port"], port);
    let prometheus = &read(include_str!("../../prometheus.yml"))[0];
    let scraped = &prometheus["scrape_configs"][0]["dns_sd_configs"][0];
    assert_eq!(scraped["port"].to_string(), port);
    let compose = &read(COMPOSE)[0]["services"];
    assert!(compose[scraped["names"][0].as_str().expect("a name")].is_object());
    let published = compose["service"]["ports"][0].as_str().expect("ports");
    assert!(published.ends_with(&format!(":{port}")), "{published}");
}

#[test]
fn the_image_has_the_program_as_process_1_of_a_user_with_few_rights() {
    let program = format!(
        "cargo build --release --locked -p {}",
        env!("CARGO_PKG_NAME")
    );
    assert!(DOCKERFILE.contains(&program));
    let binary = Path::new(env!("CARGO_BIN_EXE_service"))
        .file_name()
        .expect("a name");
    let binary = binary.to_str().expect("UTF-8");
    assert!(DOCKERFILE.contains(&format!("cp target/release/{binary} /{binary}")));
    assert_eq!(
        instruction("COPY "),
        format!("--from=build /{binary} /{binary}")
    );
    // The form without a shell.
    assert_eq!(instruction("ENTRYPOINT "), format!("[\"/{binary}\"]"));
    let user = instruction("USER ").split(':').next().expect("a user");
    assert!(user.parse::<u32>().is_ok_and(|user| user > 0), "{user}");
    assert_eq!(pod()["securityContext"]["runAsNonRoot"], true);
    // What is copied from outside of the image exists.
    for copy in DOCKERFILE
        .lines()
        .filter_map(|line| line.strip_prefix("COPY "))
    {
        let sources: Vec<_> = copy.split(' ').collect();
        for source in &sources[..sources.len() - 1] {
            let inside = copy.starts_with("--from=");
            assert!(inside || root().join(source).exists(), "no {source}");
        }
    }
}

#[test]
fn compose_names_files_and_folders_that_are_there() {
    let compose = &read(COMPOSE)[0];
    let services = compose["services"].as_object().expect("services");
    let mut files = 0;
    for service in services.values() {
        for volume in service["volumes"].as_array().into_iter().flatten() {
            let source = volume.as_str().and_then(|it| it.split(':').next());
            let source = source.expect("a text");
            if source.starts_with('.') {
                files += 1;
                assert!(folder().join(source).is_file(), "no {source}");
            } else {
                assert!(compose["volumes"].get(source).is_some(), "no {source}");
            }
        }
    }
    assert_eq!(files, 5);
    let build = &services["service"]["build"];
    let context = folder().join(build["context"].as_str().expect("a context"));
    assert!(
        context
            .join(build["dockerfile"].as_str().expect("a file"))
            .is_file()
    );
    assert_eq!(services["service"]["deploy"]["replicas"], 3);
    for file in ["grafana/datasource.yml", "grafana/dashboards.yml"] {
        let text = fs::read_to_string(folder().join(file)).expect(file);
        assert_eq!(read(&text)[0]["apiVersion"], 1);
    }
    // Where Grafana looks for dashboards is where compose puts ours.
    let provider = include_str!("../../grafana/dashboards.yml");
    let path = &read(provider)[0]["providers"][0]["options"]["path"];
    let path = path.as_str().expect("a path");
    assert!(
        COMPOSE.contains(&format!("docs/dashboard.json:{path}/")),
        "{path}"
    );
}

/// The parts of the manifests that the guide shows.
#[test]
fn the_guide_shows_the_manifests_as_they_are() {
    let trimmed = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with('#'));
        lines.map(str::to_owned).collect()
    };
    let manifests = trimmed(MANIFESTS);
    let parts = GUIDE.split("```yaml\n").skip(1);
    let parts: Vec<_> = parts
        .map(|it| trimmed(it.split("```").next().unwrap_or(it)))
        .collect();
    assert!(!parts.is_empty());
    for part in parts {
        let shown = manifests.windows(part.len()).any(|lines| lines == part);
        assert!(shown, "kubernetes.yaml has no such part: {part:#?}");
    }
}
