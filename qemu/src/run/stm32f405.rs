//! QEMU arguments for an emulated STM32F405. Free of side effects: file descriptors are passed as numbers.
//!
//! The flash contains the image, and the node's personality (boot configuration) in the last sector. QEMU's serial port
//! n is the link in direction n of `Direction::ALL`. QEMU does not share the board's memory. The node writes the
//! records for the tool to a file through semihosting; semihosting's command line specifies its path.

use crate::run::wiring::{SANDBOX, loader};
use midplane_abi::stm32f405::PERSONALITY;
use net_torus::coord::Direction;

/// Maximum size of translated code in MiB.
const TRANSLATION_MIB: u32 = 16;

/// Resources of one QEMU process, with file descriptors by their numbers in that process.
pub struct Wiring<'a> {
    pub image: i32,
    /// Record of the personality.
    pub personality: i32,
    /// File through which the tool observes the node.
    pub window: i32,
    /// The existing links, each a connected stream socket.
    pub links: &'a [(Direction, i32)],
    /// A connected stream socket for the node's doorbell, semihosting's console.
    pub bell: i32,
    /// Whether QEMU's sandbox is enabled.
    pub sandbox: bool,
}

impl Wiring<'_> {
    /// Returns the arguments after the program's name.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        let mut option = |name: &str, value: String| {
            arguments.push(format!("-{name}"));
            arguments.push(value);
        };
        option("machine", "netduinoplus2".into());
        option("accel", format!("tcg,tb-size={TRANSLATION_MIB}"));
        option("kernel", format!("/dev/fd/{}", self.image));
        option("device", loader(self.personality, PERSONALITY.start));
        option("display", "none".into());
        option("monitor", "none".into());
        option("chardev", format!("socket,id=bell,fd={}", self.bell));
        option(
            "semihosting-config",
            format!("enable=on,target=native,chardev=bell,arg=/dev/fd/{}", self.window),
        );
        for direction in Direction::ALL {
            let slot = direction as u8;
            match self.links.iter().find(|(d, _)| *d == direction) {
                Some((_, fd)) => {
                    option("chardev", format!("socket,id=line{slot},fd={fd}"));
                    option("serial", format!("chardev:line{slot}"));
                }
                None => option("serial", "null".into()),
            }
        }
        if self.sandbox {
            option("sandbox", SANDBOX.into());
        }
        arguments.extend(["-nodefaults", "-no-user-config", "-no-reboot"].map(String::from));
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_link_is_the_serial_port_of_its_direction() {
        let wiring = Wiring {
            image: 10,
            personality: 11,
            window: 12,
            links: &[(Direction::XMinus, 20), (Direction::ZMinus, 25)],
            bell: 30,
            sandbox: true,
        };
        let arguments = wiring.arguments();
        let serials: Vec<&str> = arguments
            .windows(2)
            .filter(|pair| pair[0] == "-serial")
            .map(|pair| pair[1].as_str())
            .collect();
        let wired = ["null", "chardev:line1", "null", "null", "null", "chardev:line5"];
        assert_eq!(serials, wired);
        for word in [
            "socket,id=line1,fd=20",
            "socket,id=line5,fd=25",
            "loader,file=/dev/fd/11,addr=0x80e0000,force-raw=on",
            "enable=on,target=native,chardev=bell,arg=/dev/fd/12",
            SANDBOX,
        ] {
            assert!(arguments.iter().any(|a| a == word), "{word}");
        }
    }
}
