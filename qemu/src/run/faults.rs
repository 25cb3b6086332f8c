//! Fault injection on links: validation of the user's options.

use crate::host::error::CliError;
use crate::run::notation::parse_link;
use clap::Args;
use midplane_abi::faults::{LinkCut, LinkFaults, MAX_CUTS, MAX_RATE, MILLION};
use net_torus::coord::Shape;

/// Options that order faults.
#[derive(Args, Debug, Default)]
pub struct FaultOptions {
    /// Fraction of the frames that each link loses, 0 to 0.2. Lost frames are retransmitted
    #[arg(long, value_name = "FRACTION", value_parser = parse_part, help_heading = "Links and faults")]
    link_loss: Option<u32>,

    /// Fraction of the frames that each link corrupts, 0 to 0.2. Corrupted frames are retransmitted
    #[arg(long, value_name = "FRACTION", value_parser = parse_part, help_heading = "Links and faults")]
    link_corrupt: Option<u32>,

    /// Cut a link permanently in both directions, for example 1,0,0:x+@5s: the link of this node in this direction, at
    /// this time (s or ms) after the node's start. Packets are rerouted; if no other route exists, the job ends with an
    /// error. At most 16
    #[arg(long, value_name = "X,Y,Z:DIRECTION@TIME", value_parser = parse_cut, help_heading = "Links and faults")]
    link_cut: Vec<LinkCut>,

    /// Seed that selects the lost and corrupted frames. The same seed selects the same frame numbers on each link
    /// [default: 0]
    #[arg(long, value_name = "NUMBER", help_heading = "Links and faults")]
    seed: Option<u64>,
}

impl FaultOptions {
    /// Returns the first specified option.
    pub fn first_specified(&self) -> Option<&'static str> {
        let options = [
            (self.link_loss.is_some(), "--link-loss"),
            (self.link_corrupt.is_some(), "--link-corrupt"),
            (!self.link_cut.is_empty(), "--link-cut"),
        ];
        let given = options.into_iter().find(|(given, _)| *given);
        given.map(|(_, option)| option)
    }

    /// Returns the configured faults; `None` if there are none.
    ///
    /// # Errors
    /// Returns a usage error for a seed without effect, a cut on a missing link, or too many cuts.
    pub fn configured_faults(&self, shape: &Shape) -> Result<Option<LinkFaults>, CliError> {
        if self.first_specified().is_none() {
            return match self.seed {
                Some(_) => Err(CliError::usage(
                    "--seed does nothing without --link-loss or --link-corrupt; omit it",
                )),
                None => Ok(None),
            };
        }
        let mut faults = LinkFaults {
            loss: self.link_loss.unwrap_or(0),
            corruption: self.link_corrupt.unwrap_or(0),
            seed: self.seed.unwrap_or(0),
            ..LinkFaults::default()
        };
        for cut in &self.link_cut {
            if shape.neighbour(cut.at, cut.direction).is_none() {
                let [x, y, z] = cut.at.axes();
                let name = cut.direction.name().to_lowercase();
                return Err(CliError::usage(format!(
                    "--link-cut {x},{y},{z}:{name}: there is no such link in this machine"
                )));
            }
            if faults.cuts.push(*cut).is_err() {
                return Err(CliError::usage(format!(
                    "--link-cut: at most {MAX_CUTS} links can be cut"
                )));
            }
        }
        Ok(Some(faults))
    }
}

fn parse_part(text: &str) -> Result<u32, String> {
    let most = f64::from(MAX_RATE) / f64::from(MILLION);
    text.parse::<f64>()
        .ok()
        .filter(|part| (0.0..=most).contains(part))
        .map(|part| (part * f64::from(MILLION)).round() as u32)
        .ok_or_else(|| format!("`{text}` is not a fraction of the frames; specify 0 to {most}, for example 0.01"))
}

fn parse_cut(text: &str) -> Result<LinkCut, String> {
    let parts = || {
        let (link, time) = text.split_once('@')?;
        let (at, direction) = parse_link(link)?;
        Some(LinkCut {
            at,
            direction,
            after_ms: parse_ms(time)?,
        })
    };
    parts().ok_or_else(|| format!("`{text}` is not a cut; use the form 1,0,0:x+@5s or 1,0,0:x+@500ms"))
}

/// Parses seconds or milliseconds.
fn parse_ms(text: &str) -> Option<u32> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1.0),
        None => (text.strip_suffix('s')?, 1000.0),
    };
    let ms = number.parse::<f64>().ok()? * unit;
    (0.0..=f64::from(u32::MAX)).contains(&ms).then_some(ms as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use net_torus::{Coord, Direction};

    #[test]
    fn parts_and_cuts_are_read() {
        assert_eq!(parse_part("0.01"), Ok(10_000));
        assert_eq!(parse_part("0"), Ok(0));
        for text in ["-0.1", "0.21", "x", "NaN"] {
            assert!(parse_part(text).is_err(), "{text}");
        }
        let cut = |after_ms| LinkCut {
            at: Coord { x: 1, y: 0, z: 2 },
            direction: Direction::YMinus,
            after_ms,
        };
        assert_eq!(parse_cut("1,0,2:y-@5s"), Ok(cut(5000)));
        assert_eq!(parse_cut("1,0,2:Y-@250ms"), Ok(cut(250)));
        for text in ["1,0,2:y-", "1,0:y-@1s", "1,0,2:a-@1s", "1,0,2:y-@5", "1,0,2:y-@-1s"] {
            assert!(parse_cut(text).is_err(), "{text}");
        }
    }

    #[test]
    fn orders_that_mean_nothing_are_refused() {
        let shape = Shape::new([2, 1, 1], [true; 3]).unwrap();
        let said = |options: FaultOptions| options.configured_faults(&shape).map_err(|stop| stop.message);
        let cut = parse_cut("1,0,0:x+@1s").unwrap();
        let seed = Some(7);
        assert_eq!(said(FaultOptions::default()), Ok(None));
        let alone = said(FaultOptions {
            seed,
            ..FaultOptions::default()
        });
        assert!(alone.unwrap_err().contains("--seed does nothing"));
        let cuts = |link_cut| FaultOptions {
            link_cut,
            seed,
            ..FaultOptions::default()
        };
        let good = said(cuts(vec![cut])).unwrap().expect("an order");
        assert_eq!((good.loss, good.corruption, good.seed), (0, 0, 7));
        assert_eq!(good.cuts, [cut]);
        let none = said(cuts(vec![parse_cut("1,0,0:y+@1s").unwrap()]));
        assert!(none.unwrap_err().contains("no such link"));
        let many = said(cuts(vec![cut; MAX_CUTS + 1]));
        assert!(many.unwrap_err().contains("at most 16"));
    }
}
