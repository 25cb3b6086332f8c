//! `--instances`: division of a torus into boxes of nodes, one per QEMU process. Free of side effects.

use crate::host::error::CliError;
use midplane_abi::layout::{BoxDivision, InstanceLayout, MAX_NODES, MAX_SHARED_BYTES, shared_bytes};
use net_torus::coord::Shape;

/// Assignment of nodes to shared instances.
#[derive(Clone, Copy, Debug)]
pub struct InstanceBoxes {
    /// Division of the torus into boxes.
    pub division: BoxDivision,
    node_memory: u64,
}

impl InstanceBoxes {
    /// Creates boxes of nodes with this much memory each, rounded up to a multiple of 2 MiB.
    pub fn new(division: BoxDivision, node_memory: u64) -> Self {
        Self { division, node_memory }
    }

    /// Returns the memory layout of an instance whose image ends `image_bytes` after the start of RAM.
    pub fn layout(&self, instance: u32, image_bytes: u64) -> Result<InstanceLayout, CliError> {
        let nodes = self.division.node_box(instance).map_or(0, |b| b.nodes());
        InstanceLayout::new(image_bytes, nodes, self.node_memory).ok_or_else(|| {
            CliError::usage(format!(
                "--node-memory {}: more than the maximum of a node",
                self.node_memory
            ))
        })
    }
}

/// Divides `shape` into `instances` boxes, by default as few as possible. The nodes of an instance run one image;
/// `starts` contains the first rank of each change of image. Returns `None` if each node uses its own instance.
pub fn divide(shape: Shape, instances: Option<u32>, starts: &[u32]) -> Result<Option<BoxDivision>, CliError> {
    let nodes = shape.nodes();
    let instances = match instances {
        None => return Ok(min_instances(shape, starts)),
        Some(wanted) if wanted == nodes && nodes > 1 => return Ok(None),
        Some(wanted) => wanted,
    };
    if instances > nodes {
        return Err(CliError::usage(format!(
            "--instances {instances}: there are only {nodes} nodes"
        )));
    }
    if instances > 1 && shared_bytes(&shape) > MAX_SHARED_BYTES {
        return Err(CliError::usage(format!(
            "--instances {instances}: there are more links between them than instances can share; use {nodes}, one \
             for each node"
        )));
    }
    let parts = parts(shape.extents(), instances).ok_or_else(|| {
        let good: Vec<String> = (1..=nodes)
            .filter(|n| nodes.is_multiple_of(*n) && nodes / n <= MAX_NODES)
            .filter(|n| parts(shape.extents(), *n).is_some())
            .map(|n| n.to_string())
            .collect();
        let [x, y, z] = shape.extents();
        CliError::usage(format!(
            "--instances {instances}: {x}x{y}x{z} nodes cannot be divided into this number of equal boxes of at most \
             {MAX_NODES}; use one of {}",
            good.join(", ")
        ))
    })?;
    match BoxDivision::new(shape, parts) {
        Some(division) if !is_split_by_image(&division, starts) => Err(CliError::usage(format!(
            "--instances {instances}: all nodes of an instance require the same image; omit --instances, or use \
             {nodes}, one for each node"
        ))),
        division => Ok(division),
    }
}

/// Checks whether the nodes of each instance run one image.
fn is_split_by_image(division: &BoxDivision, starts: &[u32]) -> bool {
    let image = |rank: u32| starts.partition_point(|start| *start <= rank);
    starts.is_empty()
        || (0..division.instances()).all(|instance| {
            let within = division.node_box(instance);
            let coords = within
                .into_iter()
                .flat_map(|b| (0..b.nodes()).filter_map(move |k| b.coord(k)));
            let mut images = coords.filter_map(|coord| division.shape().rank(coord)).map(image);
            let first = images.next();
            images.all(|image| Some(image) == first)
        })
}

/// Divides `shape` into as few instances as possible, the fastest choice (docs/emulation.md); `None` if boxes cannot
/// contain it.
fn min_instances(shape: Shape, starts: &[u32]) -> Option<BoxDivision> {
    let most = if shared_bytes(&shape) > MAX_SHARED_BYTES {
        1
    } else {
        shape.nodes() - 1
    };
    (1..=most.max(1)).find_map(|instances| {
        let parts = parts(shape.extents(), instances)?;
        BoxDivision::new(shape, parts).filter(|division| is_split_by_image(division, starts))
    })
}

/// Returns the number of parts per axis for `instances` equal boxes with a minimum of links between them, i.e. cuts
/// along the longest extents. `None` if that is impossible.
pub fn parts(extents: [u16; 3], instances: u32) -> Option<[u16; 3]> {
    let whole = extents.map(u32::from);
    let mut best = None;
    let divides = |extent: u32| (1..=extent).filter(move |part| extent.is_multiple_of(*part));
    for x in divides(whole[0]).filter(|x| instances.is_multiple_of(*x)) {
        for y in divides(whole[1]).filter(|y| (instances / x).is_multiple_of(*y)) {
            let z = instances / x / y;
            if z > whole[2] || !whole[2].is_multiple_of(z) {
                continue;
            }
            let [a, b, c] = [whole[0] / x, whole[1] / y, whole[2] / z];
            // Number of links cut per axis; none for an axis in one part.
            let cut = [(x, b * c), (y, a * c), (z, a * b)];
            let faces: u32 = { cut.iter() }.filter(|(n, _)| *n > 1).map(|(_, face)| face).sum();
            // Ties are resolved in favour of short paths inside a box.
            let size = (faces, a + b + c);
            if a * b * c <= MAX_NODES && best.is_none_or(|(least, _)| size < least) {
                best = Some((size, [x, y, z].map(|n| n as u16)));
            }
        }
    }
    best.map(|(_, parts)| parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_cut_along_the_longest_extents() {
        for (extents, instances, expected) in [
            ([8, 8, 8], 1, [1, 1, 1]),
            ([8, 4, 2], 2, [2, 1, 1]),
            ([2, 4, 8], 4, [1, 1, 4]),
            ([4, 4, 4], 8, [2, 2, 2]),
            ([3, 5, 1], 5, [1, 5, 1]),
            ([16, 8, 8], 2, [2, 1, 1]),
        ] {
            assert_eq!(parts(extents, instances), Some(expected), "{extents:?}");
        }
        assert_eq!(parts([2, 2, 2], 3), None);
        assert_eq!(parts([16, 8, 8], 1), None, "too many nodes for one");
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        let shape = Shape::new([2, 2, 2], [true; 3]).unwrap();
        let refused = |instances| divide(shape, Some(instances), &[]).unwrap_err().message;
        assert!(refused(3).ends_with("use one of 1, 2, 4, 8"), "{}", refused(3));
        assert!(refused(9).ends_with("there are only 8 nodes"));
        let great = Shape::new([16, 16, 16], [true; 3]).unwrap();
        let error = divide(great, Some(8), &[]).unwrap_err().message;
        assert!(error.contains("than instances can share"), "{error}");
    }

    #[test]
    fn one_instance_for_each_node_is_no_division() {
        let shape = Shape::new([2, 2, 2], [true; 3]).unwrap();
        assert_eq!(divide(shape, Some(8), &[]).unwrap(), None);
        let one = divide(shape, Some(1), &[]).unwrap().unwrap();
        assert_eq!((one.instances(), one.parts()), (1, [1; 3]));
    }

    #[test]
    fn without_a_number_instances_are_as_few_as_can_be() {
        for (extents, expected) in [
            ([1, 1, 1], Some(1)),
            ([2, 2, 2], Some(1)),
            ([8, 8, 8], Some(1)),
            ([9, 9, 9], Some(3)),
            ([12, 8, 8], Some(2)),
            ([251, 1, 1], Some(1)),
            // More than instances can share.
            ([16, 16, 16], None),
        ] {
            let shape = Shape::new(extents, [true; 3]).unwrap();
            let division = divide(shape, None, &[]).unwrap();
            assert_eq!(division.map(|d| d.instances()), expected, "{extents:?}");
        }
    }

    #[test]
    fn nodes_of_several_images_have_instances_by_image() {
        let shape = Shape::new([2, 2, 2], [true; 3]).unwrap();
        let instances = |starts: &[u32]| divide(shape, None, starts).unwrap().map(|d| d.instances());
        assert_eq!(instances(&[4]), Some(2));
        assert_eq!(instances(&[2, 4, 6]), Some(4));
        assert_eq!(instances(&[1]), None, "one for each node");
        let error = divide(shape, Some(4), &[1]).unwrap_err().message;
        assert!(error.contains("the same image") && error.contains("use 8"), "{error}");
        assert!(divide(shape, Some(8), &[1]).unwrap().is_none());
    }
}
