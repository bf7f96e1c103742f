#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| auto_mutex_fuzz::each(
    bytes,
    auto_mutex::fuzzing::states
));
