//! The section of the program into which the linker puts each [`Declared`], so that all of them are one slice: nothing
//! is registered when the program starts, and an expansion needs no function for it.
//!
//! `#[used]` keeps those that nothing refers to: the compiler marks them for the linker (`SHF_GNU_RETAIN` of ELF, no
//! dead stripping of Mach-O), in every build profile. The section's name contains our version, because another version
//! in the same program may declare something else; a test compares the two.
#![allow(unsafe_code)] // Only the linker knows where the section begins and ends.

use super::Declared;

/// Declares an annotated function.
#[cfg(not(any(windows, target_vendor = "apple")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __auto_mutex_site {
    ($text:literal) => {{
        #[used]
        #[unsafe(link_section = "auto_mutex_0_1_0")]
        static __SITE: $crate::__private::Declared =
            $crate::__private::Declared(::core::module_path!(), $text);
        &__SITE
    }};
}

#[cfg(target_vendor = "apple")]
#[doc(hidden)]
#[macro_export]
macro_rules! __auto_mutex_site {
    ($text:literal) => {{
        #[used]
        #[unsafe(link_section = "__DATA,amutex_0_1_0,regular,no_dead_strip")]
        static __SITE: $crate::__private::Declared =
            $crate::__private::Declared(::core::module_path!(), $text);
        &__SITE
    }};
}

/// The linker sorts the parts of a section by what follows `$`.
#[cfg(windows)]
#[doc(hidden)]
#[macro_export]
macro_rules! __auto_mutex_site {
    ($text:literal) => {{
        #[used]
        #[unsafe(link_section = ".am0_1_0$b")]
        static __SITE: $crate::__private::Declared =
            $crate::__private::Declared(::core::module_path!(), $text);
        &__SITE
    }};
}

#[cfg(not(any(windows, miri)))]
mod bounds {
    unsafe extern "C" {
        #[cfg_attr(not(target_vendor = "apple"), link_name = "__start_auto_mutex_0_1_0")]
        #[cfg_attr(
            target_vendor = "apple",
            link_name = "\x01section$start$__DATA$amutex_0_1_0"
        )]
        pub(super) static BEGIN: [usize; 0];
        #[cfg_attr(not(target_vendor = "apple"), link_name = "__stop_auto_mutex_0_1_0")]
        #[cfg_attr(
            target_vendor = "apple",
            link_name = "\x01section$end$__DATA$amutex_0_1_0"
        )]
        pub(super) static END: [usize; 0];
    }

    /// Without it, a program without annotated functions would have no section, and thus no `BEGIN`.
    #[used]
    #[cfg_attr(
        not(target_vendor = "apple"),
        unsafe(link_section = "auto_mutex_0_1_0")
    )]
    #[cfg_attr(
        target_vendor = "apple",
        unsafe(link_section = "__DATA,amutex_0_1_0,regular,no_dead_strip")
    )]
    static NONE: [usize; 0] = [];
}

#[cfg(any(windows, miri))]
mod bounds {
    #[used]
    #[cfg_attr(windows, unsafe(link_section = ".am0_1_0$a"))]
    pub(super) static BEGIN: [usize; 0] = [];
    #[used]
    #[cfg_attr(windows, unsafe(link_section = ".am0_1_0$c"))]
    pub(super) static END: [usize; 0] = [];
}

/// All annotated functions of the file (program or shared library) that contains this crate.
pub(super) fn declared() -> &'static [Declared] {
    // Miri has no sections.
    if cfg!(miri) {
        return &[];
    }
    let begin = (&raw const bounds::BEGIN).cast::<Declared>();
    let end = (&raw const bounds::END).cast::<Declared>();
    let bytes = end.addr() - begin.addr();
    // SAFETY: the linker defines both addresses: the section begins and ends there. It contains nothing but values of
    // this type, since only `__auto_mutex_site` of this version writes to it, with no gap between them: the size of the
    // type is a multiple of its alignment, to which the compiler aligns each. They are immutable, and live as long as
    // the program.
    unsafe { std::slice::from_raw_parts(begin, bytes / size_of::<Declared>()) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_name_contains_the_version() {
        let version = env!("CARGO_PKG_VERSION").replace('.', "_");
        let names = include_str!("section.rs").split("link_").skip(1);
        for name in
            names.filter(|rest| rest.starts_with("section = \"") || rest.starts_with("name = \""))
        {
            let name = name.split('"').nth(1).unwrap_or_default();
            assert!(name.contains(&version), "{name}");
        }
    }
}
