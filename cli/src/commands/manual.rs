//! `auto-mutex completions` and `auto-mutex man`

use std::io::Write as _;

use clap::CommandFactory as _;

use crate::args::{Cli, Completions, Man};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::stdout;

pub(crate) fn completions(args: &Completions) -> Outcome {
    // Generated in memory first, because the generator panics on a closed pipe.
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "auto-mutex", &mut text);
    write(&text)
}

pub(crate) fn man(args: &Man) -> Outcome {
    let command = Cli::command();
    let Some(dir) = &args.dir else {
        let mut text = Vec::new();
        clap_mangen::Man::new(command).render(&mut text)?;
        return write(&text);
    };
    std::fs::create_dir_all(dir)
        .and_then(|()| clap_mangen::generate_to(command, dir))
        .map_err(|error| Failure::Other(format!("{}: {error}", dir.display())))?;
    Ok(Exit::Done)
}

pub(super) fn write(text: &[u8]) -> Outcome {
    let mut out = stdout();
    out.write_all(text)?;
    out.flush()?;
    Ok(Exit::Done)
}
