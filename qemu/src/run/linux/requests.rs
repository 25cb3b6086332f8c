//! Requests of processes to the tool: start of processes, ports and names ([`midplane_abi::job_requests`]).

use crate::run::instance::InstancePool;
use crate::run::linux::spawn;
use crate::run::linux::universe_state::{Field, Universe};
use crate::run::plan::JobPlan;
use kernel_rt::board::linux::share::RequestArea;

/// Serves all posted requests. Wakes processes whose answers are there, which must be repeated until they have read them: a
/// process may just fall asleep. Returns messages for the user. New processes are at the end of the pool.
pub fn serve(plan: &JobPlan<'_>, pool: &mut InstancePool) -> Vec<String> {
    let mut notes = Vec::new();
    let Some(mut universe) = pool.universe.take() else {
        return notes;
    };
    universe.pending = 0;
    for rank in 0..pool.nodes.len() as u32 {
        match universe.state(rank) {
            RequestArea::POSTED => {
                let request = universe.request(rank);
                let answer = match universe.serve_name(&request) {
                    Some(answer) => Some(answer),
                    None => serve_start(plan, pool, &mut universe, rank, &request, &mut notes),
                };
                if let Some(answer) = answer {
                    universe.answer(rank, &answer);
                }
            }
            RequestArea::ANSWERED => {}
            _ => continue,
        }
        universe.pending += 1;
        universe.wake(rank);
    }
    pool.universe = Some(universe);
    notes
}

/// Serves a request to start processes. Returns the answer; `None`: the nodes are not free yet.
fn serve_start(
    plan: &JobPlan<'_>,
    pool: &mut InstancePool,
    universe: &mut Universe,
    rank: u32,
    request: &[Field],
    notes: &mut Vec<String>,
) -> Option<Vec<Field>> {
    Some(match spawn::start_processes(plan, pool, universe, rank, request) {
        Ok(None) => return None,
        Ok(Some(started)) => {
            let numbers = [started.first].into_iter().chain(started.numbers);
            let numbers = numbers.map(|number| number.to_string().into_bytes());
            [b"ok".to_vec()].into_iter().chain(numbers).collect()
        }
        Err(why) => {
            notes.push(format!("rank {rank} cannot start processes: {why}"));
            vec![b"spawn".to_vec()]
        }
    })
}
