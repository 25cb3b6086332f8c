//! Memory that an operation reads or writes until it is complete, by the parameters of its function.

use midplane_api::{Function, Kind};

/// Number of blocks of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockCount {
    /// One.
    One,
    /// One for each process of the communicator, or of the remote group.
    Peers,
    /// The same, with an array of counts and this array of displacements in units of the extent.
    Vector(&'static str),
}

/// Processes whose buffer is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UsedBy {
    /// All.
    All,
    /// The root of the operation.
    Root,
}

/// Access of an operation to its buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferAccess {
    /// Reads it.
    Read,
    /// Writes it.
    Write,
    /// Reads it in the root and writes it in the others.
    ReadInRoot,
}

/// A buffer of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BufferParameter {
    /// Name of the address.
    pub address: &'static str,
    /// Name of the number of elements.
    pub count: &'static str,
    /// Name of the datatype.
    pub datatype: &'static str,
    /// Number of blocks with that many elements.
    pub blocks: BlockCount,
    /// Processes that use it.
    pub used_by: UsedBy,
    /// Access of the operation.
    pub access: BufferAccess,
}

/// Names of address, count and datatype.
const NAMES: [[&str; 3]; 8] = [
    ["buf", "count", "datatype"],
    ["buffer", "count", "datatype"],
    ["sendbuf", "sendcount", "sendtype"],
    ["sendbuf", "count", "datatype"],
    ["recvbuf", "recvcount", "recvtype"],
    ["recvbuf", "count", "datatype"],
    ["origin_addr", "origin_count", "origin_datatype"],
    ["result_addr", "result_count", "result_datatype"],
];

/// Names of address, counts, displacements and datatype.
const VECTOR_NAMES: [[&str; 4]; 4] = [
    ["sendbuf", "sendcounts", "sdispls", "sendtype"],
    ["sendbuf", "sendcounts", "displs", "sendtype"],
    ["recvbuf", "recvcounts", "rdispls", "recvtype"],
    ["recvbuf", "recvcounts", "displs", "recvtype"],
];

/// Returns the buffers of a function. Omits those with a datatype for each process, and those of neighbourhood
/// collectives.
pub fn buffers(function: &'static Function) -> impl Iterator<Item = BufferParameter> {
    uniform_buffers(function).chain(vector_buffers(function))
}

fn vector_buffers(function: &'static Function) -> impl Iterator<Item = BufferParameter> {
    let has = |name: &str| function.parameters.iter().any(|parameter| parameter.name == name);
    let has_root = has("root");
    let is_neighborhood = function.name.contains("eighbor");
    let selected = VECTOR_NAMES
        .iter()
        .filter(move |names| !is_neighborhood && names.iter().all(|name| has(name)));
    selected.map(move |[address, count, displacements, datatype]| BufferParameter {
        address,
        count,
        datatype,
        blocks: BlockCount::Vector(displacements),
        used_by: if has_root { UsedBy::Root } else { UsedBy::All },
        access: if *address == "sendbuf" {
            BufferAccess::Read
        } else {
            BufferAccess::Write
        },
    })
}

fn uniform_buffers(function: &'static Function) -> impl Iterator<Item = BufferParameter> {
    let has = |name: &str| function.parameters.iter().any(|parameter| parameter.name == name);
    let has_root = has("root");
    // A persistent collective has the buffers of the blocking one.
    let name = function.name.strip_suffix("_init").unwrap_or(function.name);
    NAMES
        .iter()
        .filter(move |names| names.iter().all(|name| has(name)))
        .filter_map(move |names| {
            let [address, count, datatype] = *names;
            let parameter = function.parameters.iter().find(|parameter| parameter.name == address)?;
            let access = match parameter.kind {
                Kind::BufferIn => BufferAccess::Read,
                Kind::BufferInOut if has_root => BufferAccess::ReadInRoot,
                Kind::BufferOut | Kind::BufferInOut => BufferAccess::Write,
                _ => return None,
            };
            let is_scatter = name.contains("catter") && !name.contains("educe");
            let is_gather = name.ends_with("ather");
            let is_alltoall = name.ends_with("lltoall");
            let is_per_process = match address {
                "sendbuf" => is_scatter || is_alltoall,
                "recvbuf" => is_gather || is_alltoall || name.ends_with("llgather"),
                _ => false,
            };
            let is_roots = has_root
                && match address {
                    "sendbuf" => is_scatter,
                    "recvbuf" => !is_scatter,
                    _ => false,
                };
            // The neighbours of a process depend on its topology.
            let is_neighborhood = name.contains("eighbor");
            // The send buffer has one block for each process.
            let is_reduce_scatter = name.contains("educe_scatter") && address == "sendbuf";
            let is_omitted = is_reduce_scatter || is_neighborhood && is_per_process;
            (!is_omitted).then_some(BufferParameter {
                address,
                count,
                datatype,
                blocks: if is_per_process {
                    BlockCount::Peers
                } else {
                    BlockCount::One
                },
                used_by: if is_roots { UsedBy::Root } else { UsedBy::All },
                access,
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use midplane_api::FUNCTIONS;

    fn buffers_of(name: &str) -> Vec<BufferParameter> {
        let function = FUNCTIONS.iter().find(|function| function.name == name).unwrap();
        buffers(function).collect()
    }

    #[test]
    fn buffers_follow_the_parameters() {
        assert_eq!(buffers_of("MPI_Isend")[0].access, BufferAccess::Read);
        assert_eq!(buffers_of("MPI_Irecv")[0].access, BufferAccess::Write);
        assert_eq!(buffers_of("MPI_Ibcast")[0].access, BufferAccess::ReadInRoot);
        let gather = buffers_of("MPI_Igather");
        assert_eq!(gather[0].used_by, UsedBy::All);
        assert_eq!(gather[1].used_by, UsedBy::Root);
        assert_eq!(gather[1].blocks, BlockCount::Peers);
        let scatter = buffers_of("MPI_Iscatter");
        assert_eq!(
            (scatter[0].used_by, scatter[0].blocks),
            (UsedBy::Root, BlockCount::Peers)
        );
        assert_eq!((scatter[1].used_by, scatter[1].blocks), (UsedBy::All, BlockCount::One));
        assert_eq!(buffers_of("MPI_Iallreduce").len(), 2);
        assert_eq!(buffers_of("MPI_Gather_init"), buffers_of("MPI_Gather"));
        assert_eq!(buffers_of("MPI_Send_init"), buffers_of("MPI_Send"));
        let gather = buffers_of("MPI_Igatherv");
        assert_eq!(
            (gather[1].used_by, gather[1].blocks),
            (UsedBy::Root, BlockCount::Vector("displs"))
        );
        assert_eq!(buffers_of("MPI_Ialltoallv").len(), 2);
        assert_eq!(buffers_of("MPI_Ialltoallw").len(), 0);
        assert_eq!(buffers_of("MPI_Get")[0].access, BufferAccess::Write);
        assert_eq!(buffers_of("MPI_Barrier").len(), 0);
    }
}
