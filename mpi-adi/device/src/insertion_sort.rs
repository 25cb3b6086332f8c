//! Insertion sort for short slices.
#![forbid(unsafe_code)]

/// Sorts by key, stable, in quadratic time: the library's sorts require kilobytes of code.
// One copy for each item type.
#[inline(never)]
pub(super) fn insertion_sort<T: Copy, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    for end in 1..items.len() {
        let item = items[end];
        let mut at = end;
        while at > 0 && key(&items[at - 1]) > key(&item) {
            items[at] = items[at - 1];
            at -= 1;
        }
        items[at] = item;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_sorted_and_equals_keep_their_order() {
        let mut random = oorandom::Rand32::new(1);
        for len in 0..40 {
            let mut items: Vec<(u32, usize)> = (0..len).map(|i| (random.rand_range(0..10), i)).collect();
            let mut sorted = items.clone();
            sorted.sort();
            insertion_sort(&mut items, |item| item.0);
            assert_eq!(items, sorted);
        }
    }
}
