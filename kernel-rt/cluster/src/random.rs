//! Stable random numbers: a seed replays its job on every machine, in every later version.
//!
//! The algorithm is PCG-XSH-RR 64/32 (M. O'Neill, PCG: A Family of Simple Fast Space-Efficient Statistically Good
//! Algorithms for Random Number Generation, 2014). A test compares its first numbers with those that its author has
//! published. The conversion of numbers to choices is implemented here, and verified by a test, too: nothing depends on
//! the current version of a library.
#![forbid(unsafe_code)]

use oorandom::Rand32;

/// Purpose of a random sequence: each use of a seed has a separate sequence, so that additional draws of one do not
/// change the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RandomStream {
    /// Configuration of a simulated job.
    Setup = 1,
    /// Parameters of its program.
    Plan = 2,
    /// Its program.
    Program = 3,
    /// Its schedule.
    Schedule = 4,
    /// The schedule of a cluster.
    Cluster = 5,
    /// A sequence of operations of a matching engine.
    Matching = 6,
    /// The traffic that matching engines are measured with.
    Traffic = 7,
    /// The collectives of a simulated job's program.
    Collectives = 8,
    /// The epochs of a simulated job's windows.
    Windows = 9,
    /// Whether the operations of a simulated job's collectives commute.
    Operations = 10,
    /// Selection of a simulated job's polled receives.
    Polls = 11,
}

/// Random numbers from a seed.
#[derive(Clone, Debug)]
pub struct Random(Rand32);

impl Random {
    /// Creates the sequence of `seed` for `stream`.
    pub fn new(seed: u64, stream: RandomStream) -> Random {
        Random(Rand32::new_inc(seed, stream as u64))
    }

    /// Returns a number below `end`, which must not be 0.
    pub fn below(&mut self, end: u32) -> u32 {
        let product = u64::from(self.0.rand_u32()) * u64::from(end);
        (product >> 32) as u32
    }

    /// Returns an index of a list of `len` entries, at least 1 and at most 2^32 - 1.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(u32::try_from(len).expect("a list that is not endless")) as usize
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let high = u64::from(self.0.rand_u32());
        high << 32 | u64::from(self.0.rand_u32())
    }

    /// Returns a number from 0 up to but not including 1, a multiple of 2^-53.
    pub fn part(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns true with this probability: never for 0, always for 1.
    pub fn chance(&mut self, part: f64) -> bool {
        f64::from(self.0.rand_u32()) < part * (1_u64 << 32) as f64
    }

    /// Returns one of the items.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.index(items.len())]
    }

    /// Shuffles the items; all orders are equally likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of `pcg32-demo` of the author's C library for seed 42, sequence 54.
    #[test]
    fn the_first_numbers_are_the_published_ones() {
        let mut numbers = Rand32::new_inc(42, 54);
        let published = [
            0xa15c_02b7,
            0x7b47_f409,
            0xba1d_3330,
            0x83d2_f293,
            0xbfa4_784b,
            0xcbed_606e,
        ];
        for number in published {
            assert_eq!(numbers.rand_u32(), number);
        }
    }

    #[test]
    fn choices_stay_what_they_are() {
        let mut random = Random::new(7, RandomStream::Setup);
        let drawn: Vec<u32> = (0..8).map(|_| random.below(1000)).collect();
        assert_eq!(drawn, [515, 73, 455, 976, 421, 412, 394, 603]);
        assert_eq!(random.bits(), 0xf40a_476f_ce74_ec08);
        assert_eq!(random.part().to_bits(), 0x3fca_1bf1_c9e3_3870);
        let chances: Vec<bool> = (0..8).map(|_| random.chance(0.3)).collect();
        assert!(chances[..2] == [true; 2] && chances[2..] == [false; 6]);
        let mut order = [0, 1, 2, 3, 4, 5, 6, 7];
        random.shuffle(&mut order);
        assert_eq!(order, [3, 0, 1, 4, 7, 6, 5, 2]);
        assert_eq!(random.pick(&['a', 'b', 'c', 'd']), 'c');
    }

    #[test]
    fn never_and_always_are_that() {
        let mut random = Random::new(1, RandomStream::Plan);
        assert!((0..10_000).all(|_| !random.chance(0.0) && random.chance(1.0)));
        assert!((0..10_000).all(|_| (0.0..1.0).contains(&random.part())));
        assert!((1..1_000).all(|end| random.below(end) < end));
    }
}
