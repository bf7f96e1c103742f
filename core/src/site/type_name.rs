//! The bare name of a type, from `std::any::type_name`. Removes paths, generics, lifetimes and spaces, which differ
//! between compiler versions.

/// Input:  `&mut alloc::vec::Vec<(u8, my::Item<'_>)>`
/// Output: `Vec`
///
/// The output for a tuple is `(A,B)`, for a slice or an array `[A]`, for a trait object the name of its first trait.
pub(super) fn bare(full: &str) -> String {
    let mut name = full.trim();
    loop {
        let stripped = ["&", "mut ", "dyn ", "*const ", "*mut "]
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix))
            .or_else(|| Some(name.strip_prefix('\'')?.split_once(' ')?.1));
        let Some(rest) = stripped else { break };
        name = rest.trim_start();
    }
    let between = |open, close| name.strip_prefix(open)?.strip_suffix(close);
    if let Some(inside) = between('(', ')') {
        let elements: Vec<String> = split(inside, ',')
            .map(bare)
            .filter(|element| !element.is_empty())
            .collect();
        return format!("({})", elements.join(","));
    }
    if let Some(inside) = between('[', ']') {
        let element = split(inside, ';').next().unwrap_or_default();
        return format!("[{}]", bare(element));
    }
    let first = split(name, '+').next().unwrap_or_default().trim();
    last_segment(first).to_owned()
}

/// Splits at `separator` outside of brackets.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    let mut before = ' ';
    text.split(move |c| {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' if before == '-' => {}
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = c;
        c == separator && depth == 0
    })
}

fn last_segment(path: &str) -> &str {
    let generics = path.find('<').unwrap_or(path.len());
    let plain = path[..generics].trim_end_matches("::");
    plain.rsplit("::").next().unwrap_or(plain).trim()
}

#[cfg(test)]
mod tests {
    use super::bare;

    #[test]
    fn only_the_bare_name_stays() {
        for (full, name) in [
            ("Ledger", "Ledger"),
            ("my::billing::Ledger", "Ledger"),
            ("my::Ledger<alloc::string::String>", "Ledger"),
            ("my::Ledger<'_>", "Ledger"),
            ("my::Ledger<'_, my::A<my::B>>", "Ledger"),
            ("&my::Ledger", "Ledger"),
            ("&mut my::Ledger", "Ledger"),
            ("&'static my::Ledger", "Ledger"),
            ("dyn my::Store", "Store"),
            ("dyn my::Store + core::marker::Send", "Store"),
            ("dyn my::Convert<Out = (u8, u8)> + 'static", "Convert"),
            ("(my::A, my::B<my::C, my::D>)", "(A,B)"),
            ("(my::A,)", "(A)"),
            ("()", "()"),
            ("[my::A]", "[A]"),
            ("[my::A; 4]", "[A]"),
            ("[(my::A, u8); 4]", "[(A,u8)]"),
            ("alloc::boxed::Box<dyn core::ops::Fn() -> my::A>", "Box"),
            ("*const my::A", "A"),
        ] {
            assert_eq!(bare(full), name, "{full}");
        }
    }

    #[test]
    fn what_this_compiler_prints_is_understood() {
        struct Held<'a, T>(&'a T);
        fn of<T: ?Sized>(_: &T) -> String {
            bare(std::any::type_name::<T>())
        }
        assert_eq!(of(&Held(&1_u8)), "Held");
        assert_eq!(of(&(Held(&1_u8), "")), "(Held,str)");
        assert_eq!(of::<[Held<'_, u8>]>(&[]), "[Held]");
        let debug: Box<dyn std::fmt::Debug + Send> = Box::new(1);
        assert_eq!(of(&*debug), "Debug");
        let Held(one) = Held(&1);
        assert_eq!(*one, 1);
    }
}
