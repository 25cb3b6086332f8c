//! Type signatures of matched messages (MPI-3.1 section 3.3.1), and messages that are longer than their receive.

use super::findings::{FindingClass, FindingList, count_phrase};
use super::job::{CallAt, CheckedJob};
use crate::datatypes::{Signature, SignatureDifference, name};
use crate::operations::OperationId;

pub(super) fn check(job: &CheckedJob<'_>, findings: &mut FindingList) {
    for message in &job.messages.matched {
        let (Some(sent), Some(received)) = (signature(job, message.send), signature(job, message.receive)) else {
            continue;
        };
        let Some(difference) = sent.difference(&received) else {
            continue;
        };
        let [send, receive] = [message.send, message.receive].map(|id| CallAt {
            rank: id.rank,
            index: job.operations.get(id).call,
        });
        findings.add(
            FindingClass::DatatypeMismatch,
            &[job.site(send), job.site(receive)],
            || {
                let (send, receive) = (job.describe(send), job.describe(receive));
                match difference {
                    SignatureDifference::Element { index, sent, received } => format!(
                        "element {index} of the message is {} in {send}, but {} in {receive}",
                        name(sent),
                        name(received)
                    ),
                    SignatureDifference::Longer { elements } => format!(
                        "the message of {send} has {}, but {receive} accepts {}",
                        count_phrase(sent.elements()),
                        count_phrase(elements)
                    ),
                }
            },
        );
    }
}

fn signature(job: &CheckedJob<'_>, id: OperationId) -> Option<Signature> {
    let operation = job.operations.get(id);
    let buffer = operation.buffer;
    job.datatypes[id.rank].signature_of(buffer.datatype, buffer.count, operation.call)
}
