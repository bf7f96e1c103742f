//! The old name is a whole one; with several locks nobody owns a single one.
use auto_mutex::{LockError, auto_mutex, auto_semaphore, auto_write};

type Out = Result<(), LockError>;

#[auto_mutex(was = "")]
fn empty() -> Out {
    Ok(())
}

#[auto_mutex(was = "close")]
fn no_namespace() -> Out {
    Ok(())
}

#[auto_mutex(was = "{namespace}:Ledger:close:{namespace}", key = namespace)]
fn namespace_in_the_middle(namespace: u32) -> Out {
    let _ = namespace;
    Ok(())
}

#[auto_mutex(was = OLD)]
fn no_text() -> Out {
    Ok(())
}

#[auto_mutex(was = "billing:Ledger:close:{month}", key = month)]
fn template(month: u32) -> Out {
    let _ = month;
    Ok(())
}

#[auto_semaphore(permits = 2, was = "billing:Ledger:close")]
fn semaphore() -> Out {
    Ok(())
}

#[auto_write(was = "billing:Ledger:close", owner = "me")]
fn write() -> Out {
    Ok(())
}

#[auto_mutex(was = "billing:Ledger:close", owner = "me")]
fn owned() -> Out {
    Ok(())
}

#[auto_mutex(owner = "me", keys = [a])]
fn owned_keys(a: u32) -> Out {
    let _ = a;
    Ok(())
}

fn main() {}
