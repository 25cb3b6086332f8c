//! An emulated STM32F405, as arguments for QEMU. Pure: file descriptors come in as numbers.
//!
//! A board is flashed with the image, and with the node's personality in the last sector. Serial port n of QEMU is the
//! link in direction n of `Direction::ALL`. QEMU gives nothing of the board's memory to others; what the tool is to see
//! the node writes, through semihosting, to the file that semihosting's command line names.

use crate::run::wiring::{SANDBOX, loader};
use midplane_abi::stm32f405::PERSONALITY;
use net_torus::coord::Direction;

/// Greatest room for translated code in MiB.
const TRANSLATION_MIB: u32 = 16;

/// What one QEMU process is given, file descriptors by their numbers in that process.
pub struct Wiring<'a> {
    /// The image.
    pub image: i32,
    /// The record of the personality.
    pub personality: i32,
    /// The file through which the tool sees the node.
    pub window: i32,
    /// The links that exist, each a connected stream socket.
    pub links: &'a [(Direction, i32)],
    /// A connected stream socket for the node's bell, which is semihosting's console.
    pub bell: i32,
    /// Whether QEMU locks itself in.
    pub sandbox: bool,
}

impl Wiring<'_> {
    /// The arguments after the program's name.
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
            format!(
                "enable=on,target=native,chardev=bell,arg=/dev/fd/{}",
                self.window
            ),
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
        let wired = [
            "null",
            "chardev:line1",
            "null",
            "null",
            "null",
            "chardev:line5",
        ];
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
