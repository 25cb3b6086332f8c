//! Fuzzes a router with arbitrary bytes as a script of frames, injections and receptions.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    net_torus::sim::hostile::drive(data);
});
