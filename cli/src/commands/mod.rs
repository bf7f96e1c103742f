//! The commands, a file for each.

mod acl;
mod doctor;
mod fence;
mod kick;
mod leaders;
mod ls;
mod manual;
mod run;
mod schema;
mod show;
mod sites;
mod tree;
mod watch;
mod why;

use crate::args::{Cli, Command};
use crate::exit::Outcome;
use crate::{serve, top};

pub(crate) fn run(cli: Cli) -> Outcome {
    let Cli { global, command } = cli;
    match command {
        Command::Ls(args) => ls::run(&global, &args),
        Command::Show(args) => show::run(&global, &args),
        Command::Leaders(args) => leaders::run(&global, &args),
        Command::Why(args) => why::run(&global, &args),
        Command::Tree => tree::run(&global),
        Command::Watch(args) => watch::run(&global, &args),
        Command::Top(args) => top::run(&global, &args),
        Command::Kick(args) => kick::run(&global, &args),
        Command::Run(args) => run::run(&global, &args),
        Command::Doctor(args) => doctor::run(&global, &args),
        Command::Serve(args) => serve::run(&global, &args),
        Command::Acl(args) => acl::run(&global, &args),
        Command::Schema(args) => schema::run(&args),
        Command::Fence(args) => fence::run(&args),
        Command::Sites(args) => sites::run(&global, &args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
    }
}
