//! Fuzzes frame and packet parsing: a parsed header must be written back as the same bytes.
#![no_main]

use net_torus::wire::{FrameRepr, Packet};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok((frame, _)) = FrameRepr::parse(data) {
        assert_eq!(frame.emit(), data[..16]);
    }
    if let Ok(packet) = Packet::new_checked(data) {
        assert_eq!(packet.repr().emit(), data[..8]);
        assert!(packet.body().len() <= 248);
    }
});
