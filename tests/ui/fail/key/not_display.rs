//! A part of a key is displayed.
use auto_mutex::{LockError, auto_mutex};

struct Order {
    id: u32,
    lines: Vec<String>,
}

#[auto_mutex(key = order)]
fn expression(order: &Order) -> Result<(), LockError> {
    let _ = order.id;
    Ok(())
}

#[auto_mutex(key = "{order.lines}")]
fn template(order: &Order) -> Result<(), LockError> {
    let _ = &order.lines;
    Ok(())
}

#[auto_mutex(key = (order.id, order.lines))]
async fn tuple(order: &Order) -> Result<(), LockError> {
    let _ = order;
    Ok(())
}

fn main() {
    let order = Order { id: 1, lines: Vec::new() };
    let _ = (expression(&order), template(&order), tuple(&order));
}
