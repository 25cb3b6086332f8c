//! Value of the info key `soft`: the numbers of processes that a spawn accepts (MPI-3.1 section 10.3.4). Free of side
//! effects.

/// A range of numbers: first, last, stride.
type Triplet = [i64; 3];

/// Parses a triplet `a`, `a:b` or `a:b:c`.
fn triplet(text: &str) -> Option<Triplet> {
    let mut parts = text
        .split(':')
        .map(|part| part.trim().parse::<i32>().ok().map(i64::from));
    let first = parts.next()??;
    let last = parts.next().unwrap_or(Some(first))?;
    let stride = parts.next().unwrap_or(Some(1))?;
    (parts.next().is_none() && stride != 0).then_some([first, last, stride])
}

/// Checks whether a triplet contains a number.
fn contains([first, last, stride]: Triplet, number: i64) -> bool {
    let (low, high) = if stride > 0 { (first, last) } else { (last, first) };
    (low..=high).contains(&number) && (number - first) % stride == 0
}

/// Returns the largest number that the text permits, from 1 to `most`. Without text only `wanted` is permitted. `None`:
/// there is no such number, or the text is invalid.
pub fn largest(text: &str, wanted: u32, most: u32) -> Option<u32> {
    if text.is_empty() {
        return (wanted <= most).then_some(wanted);
    }
    let triplets: Vec<Triplet> = text.split(',').map(triplet).collect::<Option<_>>()?;
    let is_permitted = |number: &u32| triplets.iter().any(|triplet| contains(*triplet, (*number).into()));
    (1..=most.min(wanted)).rev().find(is_permitted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_permitted_number_is_chosen() {
        for (text, wanted, most, chosen) in [
            ("", 4, 8, Some(4)),
            ("", 4, 3, None),
            ("0:4", 4, 3, Some(3)),
            ("1:7:2", 6, 6, Some(5)),
            ("8:1:-3", 8, 7, Some(5)),
            ("2, 4 ,16", 16, 15, Some(4)),
            ("3", 5, 2, None),
            ("0", 5, 5, None),
            ("1:2:0", 5, 5, None),
            ("x", 5, 5, None),
            ("1:2:3:4", 5, 5, None),
            ("-9223372036854775808", 5, 5, None),
        ] {
            assert_eq!(largest(text, wanted, most), chosen, "{text} {wanted} {most}");
        }
    }
}
