//! What cannot be iterated over, or not be displayed.
use auto_mutex::{LockError, auto_mutex};

struct Id;

#[auto_mutex(keys = n)]
fn number(n: u32) -> Result<(), LockError> {
    let _ = n;
    Ok(())
}

#[auto_mutex(keys = ids)]
fn iterator(ids: impl Iterator<Item = u32>) -> Result<usize, LockError> {
    Ok(ids.count())
}

#[auto_mutex(keys = ids)]
fn not_display(ids: &[Id]) -> Result<usize, LockError> {
    Ok(ids.len())
}

#[auto_mutex(keys = [id])]
fn not_display_in_list(id: Id) -> Result<(), LockError> {
    drop(id);
    Ok(())
}

#[auto_mutex(owner = id)]
fn not_display_owner(id: Id) -> Result<(), LockError> {
    drop(id);
    Ok(())
}

fn main() {
    let _ = (number(1), iterator([1].into_iter()), not_display(&[]), not_display_in_list(Id), not_display_owner(Id));
}
