#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_mutex::fuzzing::messages(bytes));
