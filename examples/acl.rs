//! Prints the command that creates a Redis user with the fewest rights that the locks need:
//!
//! ```text
//! cargo run -p auto-mutex-examples --example acl -- redis://127.0.0.1:6379 locks [--least] [--setinfo]
//! ```
//!
//! The first argument is the URL that the program will use, the second the user's name. `--least` leaves out the rights
//! for optional commands, which only tell the library more about the server. With `--setinfo`, for servers of version
//! 7.2 and above, `CLIENT LIST` shows this library. Put a password in the place of PASSWORD, and paste the command into
//! redis-cli.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let (options, words): (Vec<_>, Vec<_>) = std::env::args()
        .skip(1)
        .partition(|word| word.starts_with("--"));
    let mut words = words.into_iter();
    let url = words
        .next()
        .unwrap_or_else(|| "redis://127.0.0.1:6379".to_owned());
    let user = words.next().unwrap_or_else(|| "locks".to_owned());
    let mut rule = auto_mutex::acl_rule(url)?;
    if options.iter().any(|option| option == "--least") {
        rule = rule.without_optional();
    }
    if options.iter().any(|option| option == "--setinfo") {
        rule = rule.with_setinfo();
    }
    println!("on each server:");
    println!("ACL SETUSER {user} reset on >PASSWORD {rule}");
    if let Some(sentinels) = rule.sentinels() {
        println!("on each sentinel:");
        println!("ACL SETUSER {user} reset on >PASSWORD {sentinels}");
    }
    Ok(())
}
