//! A field that does not exist: the compiler's own suggestion.
use auto_mutex::{LockError, auto_mutex};

struct Order {
    number: u32,
}

#[auto_mutex(key = "{order.numbr}")]
fn template(order: &Order) -> Result<(), LockError> {
    let _ = order.number;
    Ok(())
}

#[auto_mutex(key = ordr.number)]
fn expression(order: &Order) -> Result<(), LockError> {
    let _ = order.number;
    Ok(())
}

fn main() {
    let order = Order { number: 1 };
    let _ = (template(&order), expression(&order));
}
