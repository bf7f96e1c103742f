//! Mistakes that the compiler finds in a key: it shows them in the attribute. (None of ours: the compiler says nothing about
//! unknown names in a module in which a macro failed.)
use auto_mutex::{LockError, auto_mutex};

type Out<T = ()> = Result<T, LockError>;

struct Order {
    number: u32,
    lines: Vec<String>,
}

#[auto_mutex(key = "{order.numbr}")] fn no_field(order: &Order) -> Out { Ok(()) }
#[auto_mutex(key = ordr.number)] fn no_variable(order: &Order) -> Out { Ok(()) }

/// A part of a key is displayed.
#[auto_mutex(key = order)] fn no_display(order: &Order) -> Out { Ok(()) }
#[auto_mutex(key = "{order.lines}")] fn no_display_in_text(order: &Order) -> Out { Ok(()) }
#[auto_mutex(key = (order.number, order.lines))] async fn no_display_in_tuple(order: &Order) -> Out { Ok(()) }

/// For a type parameter, too, nothing private is proposed.
#[auto_mutex(key = id)] fn key<T>(id: T) -> Out { Ok(()) }
#[auto_mutex(keys = ids)] fn keys<T>(ids: &[T]) -> Out { Ok(()) }
#[auto_mutex(keys = ids)] fn list<I>(ids: I) -> Out { Ok(()) }
#[auto_mutex(owner = who)] fn owner(who: impl Copy) -> Out { Ok(()) }

/// Options only borrow the parameters.
#[auto_mutex(key = name.into_boxed_str())] fn moves(name: String) -> Out<String> { Ok(name) }

async fn load() -> u32 { 1 }

#[auto_mutex(key = load().await)] fn await_in_sync() -> Out { Ok(()) }

/// There is no `self` in a function without a receiver.
#[auto_mutex(key = self.id)] fn no_self_in_expression() -> Out { Ok(()) }
#[auto_mutex(keys = [self.id])] fn no_self_in_list() -> Out { Ok(()) }
#[auto_mutex(keys = self.ids)] fn no_self_to_iterate() -> Out { Ok(()) }

struct Ledger;

impl Ledger {
    #[auto_mutex(key = (id, self.name()))] fn associated(id: u32) -> Out { Ok(()) }
}
