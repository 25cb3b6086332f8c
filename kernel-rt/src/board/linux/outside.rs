//! A rank's view of a job over several hosts: the links of the rank that leave its host.
//!
//! ```text
//! host a                                              host b
//! rank  <-- rings -->  rank  == TCP, socket_link ==  rank  <-- rings -->  rank
//! ```
//! Each link that leaves the host is a connection of its own between two ranks. The agents of the hosts connect and prove it,
//! and the ranks inherit its ends. A rank with such a link cannot sleep on its word alone (`node_sleep`):
//! it has an eventfd, which its neighbours on the host inherit too.

use std::os::fd::RawFd;
use std::str::FromStr;

use net_torus::coord::Direction;

/// Neighbour in a direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkEnd {
    /// It is on this host, and sleeps on its word; or there is none.
    Word,
    /// It is on this host, and sleeps on this eventfd too.
    Event(RawFd),
    /// It is on another host, at the end of this connection.
    Socket(RawFd),
}

/// A rank's view of the hosts: the last word of [`VARIABLE`](super::VARIABLE).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutsideView {
    /// Number of the job's ranks that share this machine.
    pub ranks: u32,
    /// Number of the host in the job.
    pub host: u32,
    /// The rank's own eventfd, if a link leaves the host.
    pub event: Option<RawFd>,
    /// The neighbours, by direction.
    pub ends: [LinkEnd; 6],
}

impl OutsideView {
    /// Returns the neighbour in a direction.
    pub fn end(&self, d: Direction) -> LinkEnd {
        self.ends[d as usize]
    }

    /// Returns the connections, by direction.
    pub fn sockets(&self) -> [Option<RawFd>; 6] {
        self.ends.map(|end| match end {
            LinkEnd::Socket(socket) => Some(socket),
            LinkEnd::Word | LinkEnd::Event(_) => None,
        })
    }

    /// Returns the word: `RANKS:HOST:EVENT` and the six ends, each `-`, `eDESCRIPTOR` or `sDESCRIPTOR`.
    pub fn to_word(self) -> String {
        let event = self.event.map_or("-".into(), |event| event.to_string());
        let ends = self.ends.map(|end| match end {
            LinkEnd::Word => ":-".into(),
            LinkEnd::Event(event) => format!(":e{event}"),
            LinkEnd::Socket(socket) => format!(":s{socket}"),
        });
        format!("{}:{}:{event}{}", self.ranks, self.host, ends.concat())
    }
}

/// Parses a descriptor, which is not negative.
fn parse_descriptor(text: &str) -> Option<RawFd> {
    text.parse().ok().filter(|number| *number >= 0)
}

impl FromStr for OutsideView {
    type Err = &'static str;

    /// Parses the word.
    ///
    /// # Errors
    /// If it has another form.
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let mut parts = word.split(':');
        let mut parse = || {
            let mut view = Self {
                ranks: parts.next()?.parse().ok()?,
                host: parts.next()?.parse().ok()?,
                event: match parts.next()? {
                    "-" => None,
                    event => Some(parse_descriptor(event)?),
                },
                ends: [LinkEnd::Word; 6],
            };
            for end in &mut view.ends {
                *end = match parts.next()?.split_at_checked(1)? {
                    ("-", "") => LinkEnd::Word,
                    ("e", event) => LinkEnd::Event(parse_descriptor(event)?),
                    ("s", socket) => LinkEnd::Socket(parse_descriptor(socket)?),
                    _ => return None,
                };
            }
            // Without an event, nothing would wake a rank that sleeps on its sockets.
            let is_complete = view.event.is_some() || view.sockets() == [None; 6];
            is_complete.then_some(view)
        };
        let view = parse().filter(|_| parts.next().is_none());
        view.ok_or("it is not of the form RANKS:HOST:EVENT and six ends")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_a_word() {
        let mut ends = [LinkEnd::Word; 6];
        ends[1] = LinkEnd::Event(7);
        ends[4] = LinkEnd::Socket(12);
        let view = OutsideView {
            ranks: 4,
            host: 1,
            event: Some(3),
            ends,
        };
        assert_eq!(view.to_word(), "4:1:3:-:e7:-:-:s12:-");
        assert_eq!(view.to_word().parse(), Ok(view));
        assert_eq!(view.end(Direction::XMinus), LinkEnd::Event(7));
        assert_eq!(view.sockets(), [None, None, None, None, Some(12), None]);
        let inner = OutsideView {
            event: None,
            ends: [LinkEnd::Word; 6],
            ..view
        };
        assert_eq!(inner.to_word().parse(), Ok(inner));
        for wrong in [
            "",
            "4:1:3",
            "4:1:3:-:-:-:-:-",
            "4:1:3:-:-:-:-:-:-:-",
            "4:1:-:s5:-:-:-:-:-",
            "4:1:3:s-5:-:-:-:-:-",
            "4:1:3:x5:-:-:-:-:-",
            "4:1:3::-:-:-:-:-",
            "-1:1:3:-:-:-:-:-:-",
        ] {
            assert!(wrong.parse::<OutsideView>().is_err(), "{wrong}");
        }
    }
}
