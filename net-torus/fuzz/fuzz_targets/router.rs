//! Any bytes as a script of frames, injections and receptions for a whole router.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    net_torus::sim::hostile::drive(data);
});
