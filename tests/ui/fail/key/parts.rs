//! Mistakes that the attribute finds in a key.
use auto_mutex::{LockError, auto_mutex};

type Out = Result<(), LockError>;

#[auto_mutex(key = "")] fn empty(id: u32) -> Out { Ok(()) }
#[auto_mutex(key = "{id}::x")] fn empty_part(id: u32) -> Out { Ok(()) }
#[auto_mutex(key = "{usr}")] fn misspelt(user: u32) -> Out { Ok(()) }
#[auto_mutex(key = "{invoice}")] fn unknown(user: u32, order: u32) -> Out { Ok(()) }
#[auto_mutex(key = "{id}")] fn no_parameters() -> Out { Ok(()) }
#[auto_mutex(key = "{id")] fn open_brace(id: u32) -> Out { Ok(()) }
#[auto_mutex(key = "id}")] fn close_brace(id: u32) -> Out { Ok(()) }
#[auto_mutex(key = "{{id}")] fn escaped_brace(id: u32) -> Out { Ok(()) }
#[auto_mutex(key = "{}")] fn nameless(id: u32) -> Out { Ok(()) }
#[auto_mutex(key = "{0}")] fn by_number(id: u32) -> Out { Ok(()) }
#[auto_mutex(key = "{id:?}")] fn format(id: u32) -> Out { Ok(()) }
#[auto_mutex(key = "{id + 1}")] fn expression(id: u32) -> Out { Ok(()) }
#[auto_mutex(key = "{a}{b}")] fn two_in_a_part(a: u32, b: u32) -> Out { Ok(()) }
#[auto_mutex(key = "{self}")] fn no_self(id: u32) -> Out { Ok(()) }
#[auto_mutex(key = "{self.n}")] fn no_self_field(id: u32) -> Out { Ok(()) }
#[auto_mutex(key = ("{a}", b))] fn template_in_tuple(a: u32, b: u32) -> Out { Ok(()) }
#[auto_mutex(key = (a, ""))] fn empty_in_tuple(a: u32) -> Out { Ok(()) }
#[auto_mutex(key = [a, b])] fn list(a: u32, b: u32) -> Out { Ok(()) }
#[auto_mutex(key = "{_}")] fn underscore(_: u32, _b: u32) -> Out { Ok(()) }
#[auto_mutex(key = "x:{KIND}")] fn constant(id: u32) -> Out { Ok(()) }
#[auto_mutex(key = "{Self::KIND}:{id}")] fn constant_of_a_type(id: u32) -> Out { Ok(()) }

const KIND: u32 = 1;
