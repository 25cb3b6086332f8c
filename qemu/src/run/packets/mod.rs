//! Packets of the torus links in a capture file (`--pcap`), and the dissector that decodes it.
//!
//! The simulator appends each frame to a file that it shares with the tool ([`midplane_abi::captured_frames`]). QEMU
//! copies the frames of an instance's link devices to a pipe ([`filter_dump`]). After the job the tool sorts the frames by
//! time, and writes them to the capture file.

pub mod dissector;
pub mod filter_dump;
mod links;
mod pcapng;

use crate::host::error::{CliError, ErrorContext};
use crate::run::notation::parse_link;
use crate::run::output::LineAssembler;
use crate::show::file::ResultFile;
use clap::Args;
use filter_dump::DumpReader;
use links::CapturedLinks;
use midplane_abi::captured_frames::{CaptureHeader, FrameRecord, HEADER_BYTES};
use net_torus::coord::{Coord, Direction, Shape};
use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl, memfd_create};
use std::cell::RefCell;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Instant;

/// Maximum number of links whose packets are captured; each direction counts.
const MAX_LINKS: usize = 3072;
/// Maximum size of all captured frames in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// Options of the capture.
#[derive(Args, Debug, Default)]
pub struct PacketOptions {
    /// Write the packets of the torus links to this file (pcapng), for Wireshark with the output of `dissector`. Requires
    /// --on cluster, or one node per QEMU process (--instances)
    #[arg(long, value_name = "FILE", help_heading = "Analysis")]
    pcap: Option<PathBuf>,

    /// With --pcap: only this link, in both directions, for example 1,0,0:x+. Can be repeated [default: all links]
    #[arg(long, value_name = "X,Y,Z:DIRECTION", value_parser = parse_option, requires = "pcap",
          help_heading = "Analysis")]
    pcap_link: Vec<(Coord, Direction)>,
}

fn parse_option(text: &str) -> Result<(Coord, Direction), String> {
    parse_link(text).ok_or_else(|| format!("`{text}` is not a link; use the form 1,0,0:x+"))
}

impl PacketOptions {
    /// Checks whether packets are captured.
    pub fn is_specified(&self) -> bool {
        self.pcap.is_some()
    }

    /// Opens the capture file before the job.
    ///
    /// # Errors
    /// Returns a usage error if the file cannot be written.
    pub fn open_file(&self) -> Result<Option<ResultFile>, CliError> {
        ResultFile::open_if_given(self.pcap.as_ref())
    }

    /// Prepares the capture of the selected links of a machine, which this number of processes simulates. `None` without
    /// the option.
    ///
    /// # Errors
    /// Returns a usage error for a link that does not exist, for a machine without links, and for too many links.
    pub fn prepare(&self, shape: &Shape, processes: usize) -> Result<Option<PacketCapture>, CliError> {
        if self.pcap.is_none() {
            return Ok(None);
        }
        let links = CapturedLinks::select(shape, &self.pcap_link)?;
        match links.count() {
            0 => Err(CliError::usage("--pcap: a machine of one node has no links")),
            count if count > MAX_LINKS => Err(CliError::usage(format!(
                "--pcap: {count} directions of links, but at most {MAX_LINKS} can be captured; select links with --pcap-link"
            ))),
            _ => PacketCapture::new(links, MAX_BYTES / processes.max(1) as u64).map(Some),
        }
    }
}

/// Capture of a job's packets.
#[derive(Debug)]
pub struct PacketCapture {
    links: CapturedLinks,
    /// Receives the records. It has no name, and ends with the tool.
    file: File,
    /// Size of the part of the file before the records, in bytes.
    header_bytes: u64,
    /// Reader of the copies that QEMU makes.
    dump: RefCell<Option<DumpReader>>,
}

impl PacketCapture {
    fn new(links: CapturedLinks, max_bytes: u64) -> Result<Self, CliError> {
        let cannot = "create a file for captured packets";
        let file = memfd_create("midplane-packets", MemfdFlags::CLOEXEC).context(cannot)?;
        let mut file = File::from(file);
        let header = CaptureHeader {
            max_bytes,
            ranks: links.shape.nodes(),
        };
        let mut bytes = header.emit().to_vec();
        bytes.extend(links.directions.iter().map(|set| set.bits()));
        bytes.resize(HEADER_BYTES + header.links_bytes(), 0);
        file.write_all(&bytes).context(cannot)?;
        // Several processes append to it.
        fcntl_setfl(&file, OFlags::APPEND).context(cannot)?;
        Ok(Self {
            links,
            file,
            header_bytes: bytes.len() as u64,
            dump: RefCell::default(),
        })
    }

    /// Returns the captured links.
    pub fn links(&self) -> &CapturedLinks {
        &self.links
    }

    /// Returns a descriptor of the file for another process.
    ///
    /// # Errors
    /// Returns a failure if there are no more descriptors.
    pub fn share(&self) -> Result<OwnedFd, CliError> {
        let file = self.file.try_clone().context("share the file for captured packets")?;
        Ok(file.into())
    }

    /// Starts to receive the copies of QEMU's link devices from these pipes. Times begin at `started`, before the first QEMU
    /// process.
    ///
    /// # Errors
    /// Returns a failure if no thread can be started.
    pub fn read_dumps(&self, pipes: Vec<filter_dump::DumpPipe>, started: Instant) -> Result<(), CliError> {
        let file = self.file.try_clone().context("share the file for captured packets")?;
        *self.dump.borrow_mut() = Some(DumpReader::start(pipes, started, file, MAX_BYTES)?);
        Ok(())
    }

    /// Writes the packets in the order of time, after the end of all nodes.
    ///
    /// # Errors
    /// Returns a failure if the file cannot be read or written.
    pub fn write(&self, to: ResultFile, lines: &mut LineAssembler) -> Result<(), CliError> {
        let offsets = self.dump.borrow_mut().take().map(DumpReader::finish);
        let cannot = "read the captured packets";
        let size = self.file.metadata().context(cannot)?.len();
        let mut bytes = vec![0; size.saturating_sub(self.header_bytes) as usize];
        self.file.read_exact_at(&mut bytes, self.header_bytes).context(cannot)?;
        let (frames, is_truncated) = sorted_frames(&bytes, offsets.as_deref());
        if is_truncated {
            lines.add_line(&format!(
                "midplane: the job has transmitted more packets than --pcap can contain; the file contains the first {} \
                 frames; select links with --pcap-link",
                frames.len()
            ));
        }
        to.write_with(|to| pcapng::write(to, &self.links, &frames))
    }
}

/// Returns the frames in the order of time, and whether later ones are missing. `offsets` contains the start of each
/// node's clock, in nanoseconds.
fn sorted_frames<'a>(mut bytes: &'a [u8], offsets: Option<&[u64]>) -> (Vec<FrameRecord<'a>>, bool) {
    let mut frames = Vec::new();
    let mut end = u64::MAX;
    while let Some((mut record, rest)) = FrameRecord::parse(bytes) {
        bytes = rest;
        let offset = offsets.and_then(|offsets| offsets.get(record.rank as usize));
        record.time_ns = record.time_ns.saturating_add(offset.copied().unwrap_or(0));
        if record.frame.is_empty() {
            end = end.min(record.time_ns);
        } else {
            frames.push(record);
        }
    }
    // Stable: frames of one time stay in the order of their transmission.
    frames.sort_by_key(|frame| frame.time_ns);
    let before = frames.partition_point(|frame| frame.time_ns < end);
    frames.truncate(before);
    (frames, end != u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use midplane_abi::captured_frames::MAX_RECORD_BYTES;

    #[test]
    fn a_link_has_coordinates_and_a_direction() {
        let at = Coord { x: 1, y: 0, z: 2 };
        assert_eq!(parse_option("1,0,2:y-"), Ok((at, Direction::YMinus)));
        assert!(parse_option("0,0,0").is_err());
    }

    #[test]
    fn machines_without_links_and_with_too_many_are_rejected() {
        let options = PacketOptions {
            pcap: Some("packets.pcapng".into()),
            ..PacketOptions::default()
        };
        for (extents, message) in [([1, 1, 1], "has no links"), ([16, 16, 16], "select links")] {
            let shape = Shape::new(extents, [true; 3]).unwrap();
            assert!(options.prepare(&shape, 1).unwrap_err().message.contains(message));
        }
    }

    #[test]
    fn frames_are_sorted_and_cut_at_the_first_missing_one() {
        let mut bytes = Vec::new();
        let mut add = |time_ns, rank, frame: &[u8]| {
            let mut record = [0; MAX_RECORD_BYTES];
            let direction = Direction::XPlus;
            let size = {
                FrameRecord {
                    time_ns,
                    rank,
                    direction,
                    frame,
                }
            }
            .emit(&mut record)
            .unwrap();
            bytes.extend(&record[..size]);
        };
        add(5, 0, b"a");
        add(9, 0, b"d");
        add(4, 1, b"c");
        add(3, 1, b"b");
        let times = |frames: &[FrameRecord<'_>]| frames.iter().map(|f| f.time_ns).collect::<Vec<_>>();
        let (frames, is_truncated) = sorted_frames(&bytes, None);
        assert_eq!((times(&frames), is_truncated), (vec![3, 4, 5, 9], false));
        let (frames, _) = sorted_frames(&bytes, Some(&[0, 3]));
        assert_eq!(times(&frames), [5, 6, 7, 9], "the clock of rank 1 starts later");
        let mut record = [0; MAX_RECORD_BYTES];
        let last = FrameRecord {
            time_ns: 5,
            rank: 1,
            direction: Direction::XPlus,
            frame: &[],
        };
        let size = last.emit(&mut record).unwrap();
        bytes.extend(&record[..size]);
        let (frames, is_truncated) = sorted_frames(&bytes, None);
        assert_eq!((times(&frames), is_truncated), (vec![3, 4], true));
    }
}
