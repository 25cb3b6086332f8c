//! Traffic with the queue statistics of applications in papers 001 (tables 4.8 and 4.9) and 002 (section 5). The
//! applications are not available: the queue lengths of the busiest process, the search depths and the number of
//! senders are equal.
#![forbid(unsafe_code)]

use midplane_cluster::random::{Random, RandomStream};
use midplane_device::{Context, Tag};

use super::collective::COLLECTIVE_CONTEXT;
use super::traffic::{QueueTraffic, TrafficStep};

/// Queue statistics of an application's busiest process.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QueueProfile {
    /// Its name.
    pub name: &'static str,
    /// Processes of the job.
    pub processes: u32,
    /// Maximum length of the unexpected message queue (UMQ).
    pub unexpected: u32,
    /// Entries of the UMQ that a list searches for each receive.
    pub search: f64,
    /// Maximum length of the posted receive queue (PRQ), which matches at its head.
    pub posted: u32,
    /// Share of the messages that belong to collectives.
    pub collective: f64,
    /// Whether a paper prints the lengths; otherwise they are derived from its description of the messages.
    pub printed: bool,
}

const fn printed(
    name: &'static str,
    processes: u32,
    unexpected: u32,
    search: f64,
    posted: u32,
    collective: f64,
) -> QueueProfile {
    QueueProfile {
        name,
        processes,
        unexpected,
        search,
        posted,
        collective,
        printed: true,
    }
}

/// Each process sends to process 0 by MPI_Gatherv, and one separate message (002, section 5.3.1).
const fn fds(name: &'static str, processes: u32) -> QueueProfile {
    QueueProfile {
        name,
        processes,
        unexpected: 2 * (processes - 1),
        search: (processes - 1) as f64 / 2.0,
        posted: processes - 1,
        collective: 0.5,
        printed: false,
    }
}

/// The applications of papers 001 and 002. Radix and Nbody: MQL and MASL of table 4.9, MQL of table 4.8; according to
/// figure 1 of 002 nearly all messages of Radix belong to collectives, and most of Nbody do not.
pub const APPLICATIONS: [QueueProfile; 10] = [
    printed("Radix.n28", 512, 3061, 1510.058, 4, 1.0),
    printed("Radix.n29", 512, 6110, 3418.630, 4, 1.0),
    printed("Radix.n30", 512, 13228, 7208.657, 4, 1.0),
    printed("Nbody.256", 256, 249, 27.228, 255, 0.25),
    printed("Nbody.512", 512, 498, 32.363, 511, 0.25),
    printed("Nbody.704", 704, 693, 50.863, 703, 0.25),
    // "Short list traversals": a stencil's 26 neighbours, and an allreduce over 9 partners.
    QueueProfile {
        name: "MiniAMR.512",
        processes: 512,
        unexpected: 35,
        search: 9.0,
        posted: 26,
        collective: 0.7,
        printed: false,
    },
    fds("FDS.512", 512),
    fds("FDS.1024", 1024),
    fds("FDS.2048", 2048),
];

impl QueueProfile {
    /// Returns the traffic: unexpected messages are received; then receives are posted, and their messages arrive.
    pub fn traffic(&self) -> QueueTraffic {
        let mut random = Random::new(self.unexpected.into(), RandomStream::Traffic);
        let mut queue: Vec<(u32, Tag, Context)> = (0..self.unexpected)
            .map(|number| self.name_of(number, &mut random))
            .collect();
        // Sources are in random order, but the messages of a source are consecutive, so that equal messages do not
        // change the search depth.
        let mut places: Vec<u32> = (0..self.processes).collect();
        random.shuffle(&mut places);
        queue.sort_by_key(|&(source, ..)| places[source as usize]);
        let fill = queue.iter().map(|&(s, t, c)| TrafficStep::message(s, t, c));
        let fill = fill.collect();
        let mut drain = Vec::new();
        // On average the queue is half as long. The mean search of table 4.9 may be slightly longer than that.
        let part = (2.0 * self.search / f64::from(self.unexpected)).min(1.0);
        let (least, most) = if part > 0.5 {
            (2.0 * part - 1.0, 1.0)
        } else {
            (0.0, 2.0 * part)
        };
        while !queue.is_empty() {
            let depth = least + random.part() * (most - least);
            let at = (depth * queue.len() as f64) as usize;
            let (source, tag, context) = queue.remove(at.min(queue.len() - 1));
            drain.push(TrafficStep::receive(Some(source), tag, context));
        }
        let posted: Vec<_> = (0..self.posted)
            .map(|number| self.name_of(number, &mut random))
            .collect();
        drain.extend(posted.iter().map(|&(s, t, c)| TrafficStep::receive(Some(s), t, c)));
        drain.extend(posted.iter().map(|&(s, t, c)| TrafficStep::message(s, t, c)));
        QueueTraffic {
            peers: self.processes,
            contexts: vec![0, COLLECTIVE_CONTEXT],
            fill,
            drain,
            nested: false,
        }
    }

    /// Returns source, tag and context of a message: the sources in round robin, with different tags in each round, as
    /// far as collectives provide them.
    fn name_of(&self, number: u32, random: &mut Random) -> (u32, Tag, Context) {
        let (turn, source) = (number / (self.processes - 1), number % (self.processes - 1));
        if random.chance(self.collective) {
            (1 + source, 1 + (turn % 8) as Tag, COLLECTIVE_CONTEXT)
        } else {
            (1 + source, turn as Tag, 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use midplane_device::matching::ListEngine;

    use super::super::fixture::{MeasureEffort, measure};
    use super::*;

    /// A list searches as many entries as the papers print, averaged over all searches, including those in an empty
    /// queue and at the head of the PRQ.
    #[test]
    fn a_list_searches_as_long_as_the_papers_print() {
        for application in APPLICATIONS {
            let traffic = application.traffic();
            let effort = MeasureEffort {
                steps: 1,
                most: std::time::Duration::MAX,
            };
            let measured = measure::<ListEngine>(&traffic, effort);
            let hops = measured.hops * traffic.drain.len() as f64;
            let deep = (hops - f64::from(application.posted)) / f64::from(application.unexpected);
            let ratio = deep / application.search;
            assert!((0.75..1.25).contains(&ratio), "{}: {deep}", application.name);
        }
    }
}
