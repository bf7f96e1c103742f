//! `auto-mutex sites`

use std::io::{self, Read as _};

use serde::{Deserialize, Serialize};

use crate::args::{Global, Sites};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::json;
use crate::output::words::clean;
use crate::output::{list, table};

/// The document that `auto_mutex::operator::sites_json` returns.
#[derive(Debug, Deserialize)]
struct Written {
    schema_version: u32,
    sites: Vec<Site>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Site {
    name: String,
    attribute: String,
    options: String,
    function: String,
    module: String,
    file: String,
    line: u32,
}

pub(crate) fn run(global: &Global, args: &Sites) -> Outcome {
    let shown = args.file.display();
    let mut text = Vec::new();
    let read = match args.file.as_os_str() == "-" {
        true => io::stdin().read_to_end(&mut text).map(drop),
        false => std::fs::read(&args.file).map(|read| text = read),
    };
    read.map_err(|error| Failure::Other(format!("{shown}: {error}")))?;
    let written: Written = serde_json::from_slice(&text).map_err(|error| {
        let wanted =
            "let the program print it, for example for an option `--locks`, and give that output";
        Failure::Other(format!(
            "{shown} is not what `auto_mutex::operator::sites_json()` returns ({error}): {wanted}"
        ))
    })?;
    if written.schema_version != json::SCHEMA_VERSION {
        let version = written.schema_version;
        let text = format!(
            "{shown} has the version {version}, which this command does not know: use the `auto-mutex` of the program's version"
        );
        return Err(Failure::Other(text));
    }
    list(global, "sites", &written.sites, |out| {
        let headings = ["NAME", "ATTRIBUTE", "FUNCTION", "PLACE"];
        let rows = written.sites.iter().map(|site| {
            let options = match site.options.is_empty() {
                true => String::new(),
                false => format!("({})", site.options),
            };
            [
                site.name.clone(),
                format!("#[{}{options}]", site.attribute),
                format!("{}::{}", site.module, site.function),
                format!("{}:{}", site.file, site.line),
            ]
            .map(|cell| clean(&cell).into_owned())
        });
        table::write(out, headings, &rows.collect::<Vec<_>>(), "")
    })?;
    Ok(Exit::Done)
}
