//! Escapes the fixed texts of a name. The runtime escapes the rest (`stores/seam/src/base/name`). Its tests include
//! this file, and compare both functions for every character.

/// Escapes one part of a name, as the runtime does: `:`, `{`, `}`, `%`, and all bytes that are not graphic ASCII.
pub(super) fn escape(part: &str) -> String {
    let mut escaped = String::with_capacity(part.len());
    for byte in part.bytes() {
        if byte.is_ascii_graphic() && !b":{}%".contains(&byte) {
            escaped.push(byte.into());
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}
