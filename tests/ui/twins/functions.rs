//! Functions for `mod.rs`, which compiles them plain and annotated, as sync and as async functions.
//!
//! A marker stands on its own line, where the annotated program has the attribute: `#[each]` for locks and leaders, `#[locks(…)]` for
//! locks alone, `#[leads(…)]` for leaders alone, `#[block]` for the block. What follows `/*async*/` is async in the second of two
//! modules, and `pause()` is awaited there.
use auto_mutex::{LockError, Term};

type Out<T = ()> = Result<T, LockError>;

/// A pair of numbers.
#[derive(Debug)]
pub struct Point {
    /// The first.
    pub x: u32,
    /// The second.
    pub y: u32,
}

#[expect(unused, reason = "a twin of `pause`")]
/*async*/ fn pause() {}

/// Nothing to warn of.
///
/// # Errors
/// As every call.
#[each]
pub /*async*/ fn documented() -> Out {
    pause();
    Ok(())
}

#[each]
pub /*async*/ fn undocumented() -> Out {
    pause();
    Ok(())
}

/// Lacks a section on errors.
#[each]
pub /*async*/ fn no_section_on_errors() -> Out {
    pause();
    Ok(())
}

/// Lacks it on purpose.
#[expect(clippy::missing_errors_doc)]
#[each]
pub /*async*/ fn expects_no_section_on_errors() -> Out {
    pause();
    Ok(())
}

/// Panics.
///
/// # Errors
/// As every call.
#[each]
pub /*async*/ fn no_section_on_panics(a: Option<u32>) -> Out<u32> {
    pause();
    Ok(a.unwrap())
}

#[each]
/*async*/ fn private() -> Out {
    pause();
    Ok(())
}

#[each]
/*async*/ fn without_await() -> Out {
    Ok(())
}

#[expect(clippy::unused_async, reason = "no await")]
#[each]
async fn expects_no_await() -> Out {
    Ok(())
}

#[allow(clippy::unused_async)]
#[each]
/*async*/ fn allows_no_await() -> Out {
    Ok(())
}

#[each]
/*async*/ fn unused_parameter(a: u32) -> Out {
    pause();
    Ok(())
}

#[each]
/*async*/ fn unused_parameter_allowed(#[allow(unused_variables)] a: u32) -> Out {
    pause();
    Ok(())
}

#[each]
/*async*/ fn unused_parameter_expected(#[expect(unused_variables)] a: u32, b: u32) -> Out {
    pause();
    Ok(())
}

#[allow(unused_variables)]
#[each]
/*async*/ fn unused_parameters_allowed(a: u32, (b, c): (u32, u32)) -> Out {
    pause();
    Ok(())
}

#[expect(unused_variables)]
#[each]
/*async*/ fn unused_parameters_expected(a: u32, (b, c): (u32, u32)) -> Out {
    pause();
    Ok(())
}

#[each]
/*async*/ fn expectation_unfulfilled(#[expect(unused_variables)] a: u32) -> Out<u32> {
    pause();
    Ok(a)
}

#[expect(unused_variables)]
#[each]
/*async*/ fn expectation_unfulfilled_above(a: u32) -> Out<u32> {
    pause();
    Ok(a)
}

#[each]
/*async*/ fn underscore(_a: u32) -> Out {
    pause();
    Ok(())
}

#[each]
/*async*/ fn underscore_used(_a: u32) -> Out<u32> {
    pause();
    Ok(_a)
}

#[locks(key = _a)]
/*async*/ fn underscore_in_key(_a: u32) -> Out {
    pause();
    Ok(())
}

#[locks(on_timeout = |_a| Ok(()))]
/*async*/ fn underscore_in_closure(_a: u32) -> Out {
    pause();
    Ok(())
}

#[locks(on_error = |error, _a, _b| Err(error))]
/*async*/ fn underscores_in_closure(_a: u32, _b: String) -> Out {
    pause();
    Ok(())
}

#[locks(on_timeout = busy)]
/*async*/ fn underscore_in_handler(_a: u32) -> Out {
    pause();
    Ok(())
}

#[expect(clippy::unnecessary_wraps)]
#[allow(clippy::single_call_fn, dead_code)]
fn busy(_: u32) -> Out {
    Ok(())
}

#[each]
/*async*/ fn mut_unused(mut a: u32) -> Out<u32> {
    pause();
    Ok(a)
}

#[each]
/*async*/ fn mut_used(mut a: u32) -> Out<u32> {
    pause();
    a += 1;
    Ok(a)
}

#[each]
/*async*/ fn mut_unused_allowed(#[allow(unused_mut)] mut a: u32) -> Out<u32> {
    pause();
    Ok(a)
}

#[each]
/*async*/ fn mut_assigned_only(mut a: u32) -> Out {
    pause();
    a = 5;
    Ok(())
}

#[each]
/*async*/ fn by_ref(ref a: String) -> Out<usize> {
    pause();
    Ok(a.len())
}

#[each]
/*async*/ fn by_ref_mut(ref mut a: String) -> Out<usize> {
    pause();
    a.push('x');
    Ok(a.len())
}

#[each]
/*async*/ fn parts((a, b): (u32, u32)) -> Out<u32> {
    pause();
    Ok(a)
}

#[each]
/*async*/ fn mut_parts((mut a, mut b): (u32, u32)) -> Out<u32> {
    pause();
    a += b;
    Ok(a)
}

#[each]
/*async*/ fn fields(Point { x, y: _ }: Point) -> Out<u32> {
    pause();
    Ok(x)
}

#[each]
/*async*/ fn fields_unused(Point { x, y }: Point) -> Out<u32> {
    pause();
    Ok(x)
}

#[each]
/*async*/ fn some_fields(Point { x, .. }: &Point) -> Out<u32> {
    pause();
    Ok(*x)
}

#[each]
/*async*/ fn dereferenced(&a: &u32) -> Out<u32> {
    pause();
    Ok(a)
}

#[each]
/*async*/ fn ignored(_: String) -> Out {
    pause();
    Ok(())
}

#[each]
/*async*/ fn bound_twice(all @ (a, _): (u32, u32)) -> Out<u32> {
    pause();
    Ok(a + all.1)
}

#[each]
/*async*/ fn array([a, rest @ ..]: [u32; 3]) -> Out<u32> {
    pause();
    Ok(a)
}

#[each]
/*async*/ fn conditional(#[cfg(any())] a: Nothing, #[cfg(all())] b: u32) -> Out {
    pause();
    Ok(())
}

#[each]
/*async*/ fn lifetime<'a>(a: &'a str) -> Out<usize> {
    pause();
    Ok(a.len())
}

#[locks]
/*async*/ fn lifetime_returned<'a>(a: &'a str, b: &str) -> Out<&'a str> {
    pause();
    Ok(a)
}

#[each]
/*async*/ fn generic<T: Clone, const N: usize>(a: &[T; N]) -> Out<usize> {
    pause();
    Ok(a.len() + N)
}

#[each]
/*async*/ fn generic_unused<T>(a: &u32) -> Out<u32> {
    pause();
    Ok(*a)
}

#[each]
/*async*/ fn bounded<T>(a: &T) -> Out<String>
where
    T: ToString,
{
    pause();
    Ok(a.to_string())
}

#[each]
pub /*async*/ fn opaque_argument(a: impl ToString) -> Out<String> {
    pause();
    Ok(a.to_string())
}

#[locks]
/*async*/ fn opaque(a: u32) -> Out<impl Iterator<Item = u32>> {
    pause();
    Ok(0..a)
}

#[each]
pub /*async*/ fn passed_by_value(a: String) -> Out<usize> {
    pause();
    Ok(a.len())
}

#[expect(clippy::needless_pass_by_value)]
#[each]
/*async*/ fn expects_passed_by_value(a: String) -> Out<usize> {
    pause();
    Ok(a.len())
}

#[locks]
/*async*/ fn consumed(a: String) -> Out<Vec<u8>> {
    pause();
    Ok(a.into_bytes())
}

#[each]
/*async*/ fn reference_to_a_number(a: &u32) -> Out<u32> {
    pause();
    Ok(*a)
}

#[each]
/*async*/ fn reference_to_a_vec(a: &Vec<u32>, b: &String) -> Out<usize> {
    pause();
    Ok(a.len() + b.len())
}

#[each]
/*async*/ fn reference_unmutated(a: &mut Vec<u32>) -> Out<usize> {
    pause();
    Ok(a.len())
}

#[expect(clippy::needless_pass_by_ref_mut)]
#[each]
/*async*/ fn expects_reference_unmutated(a: &mut Vec<u32>) -> Out<usize> {
    pause();
    Ok(a.len())
}

#[each]
/*async*/ fn reference_mutated(a: &mut Vec<u32>) -> Out {
    pause();
    a.push(1);
    Ok(())
}

#[each]
/*async*/ fn many(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32, g: u32, h: u32) -> Out<u32> {
    pause();
    Ok(a + b + c + d + e + f + g + h)
}

#[expect(clippy::too_many_arguments, clippy::many_single_char_names)]
#[each]
/*async*/ fn expects_many(a: u32, b: u32, c: u32, d: u32, e: u32, f: u32, g: u32, h: u32) -> Out<u32> {
    pause();
    Ok(a + b + c + d + e + f + g + h)
}

#[each]
pub /*async*/ fn flags(a: bool, b: bool, c: bool, d: bool) -> Out<bool> {
    pause();
    Ok(a && b && c && d)
}

#[each]
/*async*/ fn option(a: &Option<String>, b: Option<Option<u32>>) -> Out<bool> {
    pause();
    Ok(a.is_some() && b.is_some())
}

/// In edition 2021, the temporary outlives the variables of the body.
#[each]
/*async*/ fn borrowed_at_the_end(a: std::cell::RefCell<Vec<u32>>) -> Out<usize> {
    pause();
    Ok(a.borrow().len())
}

#[each]
/*async*/ fn item_after_statements() -> Out<u32> {
    pause();
    const ONE: u32 = 1;
    Ok(ONE)
}

#[expect(clippy::items_after_statements)]
#[each]
/*async*/ fn expects_item_after_statements() -> Out<u32> {
    pause();
    fn one() -> u32 {
        1
    }
    Ok(one())
}

#[each]
/*async*/ fn item_first() -> Out<u32> {
    const ONE: u32 = 1;
    pause();
    Ok(ONE)
}

#[each]
/*async*/ fn returns() -> Out<u32> {
    pause();
    return Ok(1);
}

#[each]
/*async*/ fn returns_early(a: u32) -> Out<u32> {
    pause();
    if a == 0 {
        return Ok(1);
    } else {
        Ok(a)
    }
}

#[each]
/*async*/ fn let_and_return() -> Out<u32> {
    pause();
    let a = Ok(1);
    a
}

#[each]
/*async*/ fn inner_block() -> Out<u32> {
    {
        pause();
        Ok(1)
    }
}

#[each]
/*async*/ fn unreachable() -> Out<u32> {
    pause();
    return Ok(1);
    Ok(2)
}

#[each]
/*async*/ fn never_ends() -> Out<u32> {
    loop {
        pause();
    }
}

#[each]
/*async*/ fn diverges() -> Out<u32> {
    pause();
    panic!("always")
}

#[each]
/*async*/ fn to_do() -> Out<u32> {
    pause();
    todo!()
}

#[each]
/*async*/ fn parentheses(a: u32) -> Out<u32> {
    pause();
    let b = (a);
    if (b > 1) {}
    Ok((a + b))
}

#[each]
/*async*/ fn results_ignored(a: Out) -> Out {
    pause();
    Ok::<u32, u32>(1);
    let _ = Ok::<u32, u32>(1);
    Ok(())
}

#[each]
/*async*/ fn variables_unused(a: u32) -> Out<u32> {
    pause();
    let b = 1;
    let mut c = 2;
    let mut d = 3;
    d = 4;
    Ok(a)
}

#[each]
/*async*/ fn shadowed(a: u32) -> Out<u32> {
    pause();
    let a = a;
    let a = a + 1;
    let a = 5;
    Ok(a)
}

#[each]
/*async*/ fn printed(a: u32) -> Out {
    pause();
    println!("{a} {}", a);
    eprintln!("{}", dbg!(a));
    Ok(())
}

#[each]
/*async*/ fn question_mark(a: Out<u32>) -> Out<u32> {
    pause();
    let b = Ok::<_, LockError>(a.is_ok())?;
    Ok(Ok::<_, LockError>(u32::from(b))?)
}

#[each]
/*async*/ fn arithmetic(a: u64, b: &[u32]) -> Out<u32> {
    pause();
    Ok((a / 3) as u32 + b[0])
}

#[each]
/*async*/ fn match_one(a: Option<u32>) -> Out<u32> {
    pause();
    match a {
        Some(b) => return Ok(b),
        None => (),
    }
    match a {
        Some(_) => Ok(1),
        _ => Ok(2),
    }
}

#[each]
/*async*/ fn complex(a: u32) -> Out<u32> {
    pause();
    let mut b = 0;
    for i in 0..a {
        if i == 1 { if a == 2 { b += 1; } else if a == 3 { b += 2; } else { b += 3; } }
        while b > 20 { if b % 2 == 0 { b -= 1; } else { b -= 2; } }
        match i { 0 => b += 1, 1 => b += 2, 2 => b += 3, 3 => b += 4, _ => {} }
        if a == 5 && b == 6 || i == 7 { continue; }
        if a == 6 || b == 8 && i == 9 { break; }
        for j in 0..i { if j == 5 { if i == 6 { b += 7; } else { b += j; } } }
        for j in 0..i { if j == 5 { if i == 6 { b += 7; } else { b += j; } } }
    }
    Ok(b)
}

#[must_use]
#[each]
pub /*async*/ fn must_be_used() -> Out<u32> {
    pause();
    Ok(1)
}

#[inline(always)]
#[each]
/*async*/ fn inlined() -> Out<u32> {
    pause();
    Ok(1)
}

#[deprecated]
#[each]
/*async*/ fn old() -> Out<u32> {
    pause();
    Ok(1)
}

#[each]
/*async*/ fn calls_old() -> Out<u32> {
    pause();
    #[expect(let_underscore_drop)]
    let _ = old();
    Ok(1)
}

#[track_caller]
#[locks]
fn tracked() -> Out<u32> {
    Ok(1)
}

#[each]
/*async*/ fn Camel(Upper: u32) -> Out<u32> {
    pause();
    let Other = Upper;
    Ok(Other)
}

#[expect(non_snake_case)]
#[each]
/*async*/ fn ExpectsCamel(Upper: u32) -> Out<u32> {
    pause();
    Ok(Upper)
}

#[each]
pub(crate) /*async*/ fn of_crate() -> Out<u32> {
    pause();
    Ok(1)
}

#[each]
pub(super) /*async*/ fn of_super() -> Out<u32> {
    pause();
    Ok(1)
}

#[warn(unused_results)]
#[deny(unused_must_use)]
#[each]
/*async*/ fn levels() -> Out<u32> {
    pause();
    u32::from(true);
    Ok(1)
}

#[each]
/*async*/ fn inner_level(a: u32) -> Out<u32> {
    #![allow(unused)]
    pause();
    Ok(1)
}

#[each]
/*async*/ fn closures() -> Out<u32> {
    pause();
    let add = |a: u32, _b: u32| a + _b;
    let other = |a| add(a, 1);
    Ok(other(1))
}

#[each]
async fn nested_async() -> Out<u32> {
    pause();
    let a = async { 1 };
    Ok(async { async { 2 } }.await.await + a.await)
}

#[each]
async fn guard_across_await(a: &std::sync::Mutex<u32>) -> Out<u32> {
    let guard = a.lock().unwrap();
    std::future::ready(()).await;
    Ok(*guard)
}

#[each]
async fn not_send(a: std::rc::Rc<u32>) -> Out<u32> {
    std::future::ready(()).await;
    Ok(*a)
}

#[each]
async fn large() -> Out<u8> {
    let a = [0_u8; 20_000];
    std::future::ready(()).await;
    Ok(a[7])
}

/*async*/ fn calls_all() -> Out<u8> {
    pause();
    #[expect(unused)]
    let a = large();
    Ok(1)
}

#[locks(on_timeout = skip, on_error = skip)]
/*async*/ fn nothing() {
    pause();
}

#[locks(on_timeout = skip, on_error = skip)]
pub /*async*/ fn number(a: u32) -> u32 {
    pause();
    a
}

#[locks(on_timeout = skip, on_error = panic)]
/*async*/ fn unit(a: u32) -> () {
    pause();
    drop(a);
}

#[locks(on_timeout = skip, on_error = skip)]
/*async*/ fn semicolon_missing() {
    pause();
    pause()
}

#[locks(key = "{a}", client = locks, on_timeout = |a, locks| Ok(0), on_error = |error| Err(error))]
/*async*/ fn options(a: u32, locks: &auto_mutex::Client) -> Out<u32> {
    pause();
    Ok(a)
}

#[locks(key = (a, b.len()), expire = c)]
/*async*/ fn used_by_options(a: u32, b: &str, c: u32) -> Out {
    pause();
    Ok(())
}

#[leads(key = a, value = "{b}", stop_within = c)]
/*async*/ fn used_by_options_of_a_leader(a: u32, b: &str, c: f64) -> Out {
    pause();
    Ok(())
}

#[each]
/*async*/ fn boxed_error(a: u32) -> Result<u32, Box<dyn std::error::Error>> {
    pause();
    Err(a.to_string())?
}

#[locks(on_timeout = skip, on_error = skip)]
/*async*/ fn boxed() -> Option<Box<dyn Fn(u32) -> u32>> {
    pause();
    Some(Box::new(|a| a + 1))
}

#[each]
fn block_of_async(a: u32) -> impl std::future::Future<Output = Out<u32>> + Send {
    async move { Ok(a) }
}

#[locks]
fn made(a: u32) -> impl std::future::Future<Output = Out<u32>> + Send {
    let b = a + 1;
    async move { Ok(b) }
}

#[each]
fn pinned(a: u32) -> std::pin::Pin<Box<dyn std::future::Future<Output = Out<u32>> + Send>> {
    Box::pin(async move { Ok(a) })
}

#[leads]
/*async*/ fn term_used(term: &Term) -> Out<u64> {
    pause();
    Ok(term.number())
}

#[leads]
/*async*/ fn term_unused(term: &Term) -> Out {
    pause();
    Ok(())
}

#[leads]
/*async*/ fn term_unused_allowed(#[allow(unused_variables)] term: &Term) -> Out {
    pause();
    Ok(())
}

#[leads]
/*async*/ fn term_ignored(a: u32, _: &Term) -> Out {
    pause();
    Ok(())
}

#[leads]
/*async*/ fn term_underscore(_term: &Term, a: u32) -> Out<u32> {
    pause();
    Ok(a)
}

#[leads]
/*async*/ fn term_checked(term: &Term) -> Out {
    for _ in 0..3 {
        pause();
        term.check()?;
    }
    Ok(())
}

#[leads]
/*async*/ fn term_conditional(#[cfg(all())] term: &Term, #[cfg(any())] other: &Nothing) -> Out {
    pause();
    term.check()
}

#[leads]
/*async*/ fn term_left_out(#[cfg(any())] term: &Term, a: u32) -> Out<u32> {
    pause();
    Ok(a)
}

#[leads]
/*async*/ fn term_check_forgotten(term: &Term) -> Out {
    pause();
    term.check();
    Ok(())
}

/// Has methods.
#[derive(Clone, Debug)]
pub struct Ledger {
    names: Vec<String>,
}

#[block]
impl Ledger {
    #[each]
    /*async*/ fn ignores_itself(&self) -> Out {
        pause();
        Ok(())
    }

    #[expect(clippy::unused_self)]
    #[each]
    /*async*/ fn expects_to_ignore_itself(&self, a: u32) -> Out<u32> {
        pause();
        Ok(a)
    }

    /// Reads.
    #[each]
    pub /*async*/ fn reads(&self) -> Out<usize> {
        pause();
        Ok(self.names.len())
    }

    #[locks]
    pub /*async*/ fn lends(&self) -> Out<&str> {
        pause();
        Ok(&self.names[0])
    }

    #[each]
    /*async*/ fn by_mut(&mut self) -> Out {
        pause();
        self.names.clear();
        Ok(())
    }

    #[each]
    /*async*/ fn by_mut_unmutated(&mut self) -> Out<usize> {
        pause();
        Ok(self.names.len())
    }

    #[expect(clippy::needless_pass_by_ref_mut, reason = "later")]
    #[each]
    /*async*/ fn expects_by_mut_unmutated(&mut self) -> Out<usize> {
        pause();
        Ok(self.names.len())
    }

    #[locks]
    /*async*/ fn by_value(self) -> Out<Vec<String>> {
        pause();
        Ok(self.names)
    }

    #[each]
    /*async*/ fn by_value_needlessly(self) -> Out<usize> {
        pause();
        Ok(self.names.len())
    }

    #[each]
    /*async*/ fn by_mut_value(mut self) -> Out<usize> {
        pause();
        self.names.clear();
        Ok(self.names.len())
    }

    #[each]
    /*async*/ fn by_mut_value_unmutated(mut self) -> Out<usize> {
        pause();
        Ok(self.names.len())
    }

    #[expect(unused_mut)]
    #[each]
    /*async*/ fn expects_by_mut_value_unmutated(mut self) -> Out<usize> {
        pause();
        Ok(self.names.len())
    }

    #[locks]
    /*async*/ fn by_box(self: Box<Self>) -> Out<Vec<String>> {
        pause();
        Ok(self.names)
    }

    #[each]
    /*async*/ fn by_mut_box(mut self: Box<Self>) -> Out {
        pause();
        self.names.clear();
        Ok(())
    }

    #[each]
    /*async*/ fn by_rc(self: std::rc::Rc<Self>) -> Out<usize> {
        pause();
        Ok(self.names.len())
    }

    #[each]
    /*async*/ fn by_pin(self: std::pin::Pin<&mut Self>) -> Out<usize> {
        pause();
        Ok(self.names.len())
    }

    #[each]
    /*async*/ fn spelled(self: &Self, #[allow(unused)] a: u32) -> Out<usize> {
        pause();
        Ok(self.names.len())
    }

    #[each]
    pub /*async*/ fn is_empty(self) -> Out<bool> {
        pause();
        Ok(self.names.is_empty())
    }

    #[each]
    pub /*async*/ fn new(a: Vec<String>) -> Out<Ledger> {
        pause();
        Ok(Ledger { names: a.clone() })
    }

    #[each]
    /*async*/ fn lifetimes<'a, 'b>(&'a self, a: &'b str) -> Out<usize> {
        pause();
        Ok(self.names.len() + a.len())
    }

    #[leads]
    /*async*/ fn leads(&self, term: &Term) -> Out<u64> {
        pause();
        Ok(term.number())
    }

    #[leads]
    /*async*/ fn leads_for_itself(mut self, a: u32, term: &Term) -> Out<u64> {
        pause();
        self.names.clear();
        Ok(term.number())
    }
}

/// A trait.
#[block]
pub trait Book {
    /// Without a body.
    ///
    /// # Errors
    /// As every call.
    fn abstract_one(&self, a: u32) -> Out<u32>;

    #[each]
    fn provided(&self, a: u32) -> Out<u32> {
        Ok(1)
    }

    #[each]
    fn provided_unused(&mut self) -> Out<u32> {
        Ok(1)
    }
}

#[block]
impl Book for Ledger {
    #[each]
    fn abstract_one(&self, a: u32) -> Out<u32> {
        Ok(1)
    }
}

trait Later {
    async fn later(&self, a: u32) -> Out<u32>;
    async fn provided(&mut self, a: u32) -> Out<u32> {
        Ok(a)
    }
}

#[block]
impl Later for Ledger {
    #[each]
    async fn later(&self, a: u32) -> Out<u32> {
        std::future::ready(()).await;
        Ok(1)
    }

    #[each]
    async fn provided(&mut self, mut a: u32) -> Out<u32> {
        Ok(a)
    }
}

/// A type with a parameter.
#[derive(Debug)]
pub struct Generic<T>(T);

#[block]
impl<T: Clone + Send> Generic<T> {
    #[each]
    pub /*async*/ fn cloned(&self) -> Out<T> {
        pause();
        Ok(self.0.clone())
    }

    /// # Errors
    /// As every call.
    #[each]
    pub /*async*/ fn set(&mut self, a: T) -> Out {
        pause();
        self.0 = a.clone();
        Ok(())
    }
}

#[rustfmt::skip]
#[each]
/*async*/ fn one_line(a: u32) -> Out<u32> { Ok(a) }

#[rustfmt::skip]
#[each]
/*async*/ fn one_line_and_a_return(a: u32) -> Out<u32> { return Ok(a); }

#[rustfmt::skip]
#[each]
/*async*/ fn two_in_a_line(a: u32) -> Out<u32> { pause(); Ok(a) }

#[rustfmt::skip]
#[each]
/*async*/ fn braces_in_a_line(a: u32) -> Out<u32> { { Ok(a) } }

#[rustfmt::skip]
#[each]
/*async*/ fn panics_in_a_line() -> Out<u32> { panic!("always") }

#[rustfmt::skip]
#[locks(on_timeout = skip, on_error = skip)]
/*async*/ fn number_in_a_line(a: u32) -> u32 { a }

/// What nobody else sees.
mod hidden {
    use super::*;

    /// A function.
    #[each]
    pub /*async*/ fn documented_here() -> Out {
        pause();
        Ok(())
    }

    #[each]
    pub /*async*/ fn undocumented_here(a: u32) -> Out<u32> {
        pause();
        Ok(a)
    }

    #[locks(on_timeout = skip, on_error = skip)]
    pub /*async*/ fn nothing_here() {
        pause();
    }

    pub(super) struct Hidden;

    #[block]
    impl Hidden {
        #[each]
        pub /*async*/ fn method_here(&self) -> Out {
            pause();
            Ok(())
        }
    }
}
