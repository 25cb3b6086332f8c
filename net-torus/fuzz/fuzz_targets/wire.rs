//! Any bytes as a frame and as a packet: what parses must be written back as the same bytes.
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
