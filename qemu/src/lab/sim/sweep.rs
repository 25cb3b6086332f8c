//! Values of a swept parameter: a single value, or a range `FIRST:LAST:STEP`.

/// Maximum number of values in a range.
const MAX_VALUES: usize = 100_000;

/// Values of one item of a list.
#[derive(Clone, PartialEq, Debug)]
pub struct SweepValues<T>(pub Vec<T>);

/// Returns all values of a list.
pub fn values<T: Copy>(list: &[SweepValues<T>]) -> Vec<T> {
    list.iter().flat_map(|items| &items.0).copied().collect()
}

/// Parses offered loads.
pub fn loads(text: &str) -> Result<SweepValues<f64>, String> {
    let load = |text: &str| match text.parse::<f64>() {
        Ok(load) if load > 0.0 && load <= 100.0 => Ok(load),
        _ => Err("a load is a number above 0 and at most 100".to_string()),
    };
    let parts: Vec<&str> = text.trim().split(':').collect();
    let (first, last, step) = match parts[..] {
        [one] => return Ok(SweepValues(vec![load(one)?])),
        [first, last, step] => (load(first)?, load(last)?, load(step)?),
        _ => return Err("a range of loads is FIRST:LAST:STEP, for example 0.1:0.9:0.1".into()),
    };
    // Includes the last value despite binary rounding of the decimals.
    let steps = ((last - first) / step + 1e-6).floor();
    if !(0.0..MAX_VALUES as f64).contains(&steps) {
        return Err(range_help());
    }
    let values = (0..=steps as u32).map(|at| first + f64::from(at) * step);
    // Restores the written decimals, not 0.30000000000000004.
    Ok(SweepValues(values.map(|load| (load * 1e9).round() / 1e9).collect()))
}

/// Parses seeds.
pub fn seeds(text: &str) -> Result<SweepValues<u64>, String> {
    integers(text, 0..=u64::MAX, "a seed is a number from 0 to 18446744073709551615")
}

/// Parses buffers in packets.
pub fn buffers(text: &str) -> Result<SweepValues<u16>, String> {
    let SweepValues(packets) = integers(text, 2..=2047, "a buffer has 2 to 2047 packets")?;
    Ok(SweepValues(packets.into_iter().map(|packets| packets as u16).collect()))
}

fn integers(text: &str, allowed: std::ops::RangeInclusive<u64>, help: &str) -> Result<SweepValues<u64>, String> {
    let number = |text: &str| match text.parse::<u64>() {
        Ok(number) if allowed.contains(&number) => Ok(number),
        _ => Err(help.to_string()),
    };
    let parts: Vec<&str> = text.trim().split(':').collect();
    let (first, last, step) = match parts[..] {
        [one] => return Ok(SweepValues(vec![number(one)?])),
        [first, last] => (number(first)?, number(last)?, 1),
        [first, last, step] => (number(first)?, number(last)?, step.parse().unwrap_or(0)),
        _ => return Err("a range is FIRST:LAST or FIRST:LAST:STEP".into()),
    };
    let distance = last.checked_sub(first);
    let steps = distance.and_then(|distance| distance.checked_div(step));
    let Some(steps) = steps.filter(|steps| *steps < MAX_VALUES as u64) else {
        return Err(range_help());
    };
    Ok(SweepValues((0..=steps).map(|at| first + at * step).collect()))
}

fn range_help() -> String {
    format!("a range is FIRST:LAST:STEP with FIRST at most LAST, a STEP above 0 and at most {MAX_VALUES} values")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_both_their_ends() {
        assert_eq!(loads("0.1:0.5:0.1"), Ok(SweepValues(vec![0.1, 0.2, 0.3, 0.4, 0.5])));
        assert_eq!(loads(" 0.9"), Ok(SweepValues(vec![0.9])));
        assert_eq!(loads("0.5:0.5:1"), Ok(SweepValues(vec![0.5])));
        assert_eq!(seeds("3:6"), Ok(SweepValues(vec![3, 4, 5, 6])));
        assert_eq!(seeds("3:8:2"), Ok(SweepValues(vec![3, 5, 7])));
        assert_eq!(seeds("18446744073709551615"), Ok(SweepValues(vec![u64::MAX])));
        assert_eq!(buffers("2:2047:2045"), Ok(SweepValues(vec![2, 2047])));
    }

    #[test]
    fn ranges_that_are_none_are_refused() {
        for wrong in [
            "",
            "0",
            "-1",
            "nan",
            "0.1:0.9",
            "0.9:0.1:0.1",
            "0.1:0.9:0",
            "0.1:1:inf",
            "1:2:3:4",
            "0.1:100:0.0001",
        ] {
            assert!(loads(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "x", "5:4", "1:2:0", "1:2:3:4", "0:18446744073709551615"] {
            assert!(seeds(wrong).is_err(), "{wrong}");
        }
        for wrong in ["1", "2048", "2:2048"] {
            assert!(buffers(wrong).is_err(), "{wrong}");
        }
    }
}
