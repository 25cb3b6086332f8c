//! Sums of a trace: by rank, by function and by call site.

use super::class::CallClass;
use super::input::PageInput;
use crate::job::{Call, JobTrace};
use std::collections::HashMap;

/// Messages and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MessageTotal {
    /// Messages.
    pub messages: u64,
    /// Bytes of those that were received.
    pub bytes: u64,
}

impl MessageTotal {
    /// Adds a message.
    pub fn add(&mut self, bytes: u64) {
        self.messages += 1;
        self.bytes += bytes;
    }
}

/// Sums of a rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct RankSummary {
    /// Calls.
    pub calls: u64,
    /// Point-to-point messages sent.
    pub sent: MessageTotal,
    /// Point-to-point messages received.
    pub received: MessageTotal,
    /// Time in calls by class, in nanoseconds. Calls in callbacks are part of the outer call.
    pub class_times: [u64; CallClass::COUNT],
    /// Time from the first call to the end of the last one, in nanoseconds.
    pub span: u64,
}

impl RankSummary {
    /// Returns the time in MPI in nanoseconds.
    #[must_use]
    pub fn mpi_time(&self) -> u64 {
        self.class_times.iter().sum()
    }

    /// Returns the share of time in MPI, 0 to 1.
    #[must_use]
    pub fn mpi_share(&self) -> f64 {
        ratio(self.mpi_time(), self.span)
    }
}

/// Returns a quotient, or 0 if the divisor is 0.
#[must_use]
pub fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Sums of the calls of a function.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallTotal {
    /// Calls.
    pub calls: u64,
    /// Calls that have returned an error.
    pub failed: u64,
    /// Calls that have not returned.
    pub unfinished: u64,
    /// Sum of their times in nanoseconds.
    pub time: u64,
    /// Longest time in nanoseconds.
    pub longest: u64,
}

impl CallTotal {
    fn add(&mut self, call: &Call, time: u64) {
        self.calls += 1;
        self.failed += u64::from(call.result != 0);
        self.unfinished += u64::from(call.left.is_none());
        self.time += time;
        self.longest = self.longest.max(time);
    }
}

/// Function and source line of calls: indices of [`JobSummary::functions`] and [`JobSummary::locations`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallSite {
    /// Index of the function.
    pub function: usize,
    /// Index of the location.
    pub location: usize,
}

/// A function with the sums of its calls.
#[derive(Clone, Copy, Debug)]
pub struct FunctionSummary {
    /// Name.
    pub name: &'static str,
    /// Class.
    pub class: CallClass,
    /// Sums.
    pub total: CallTotal,
}

/// A call site with the sums of its calls.
#[derive(Clone, Copy, Debug)]
pub struct SiteSummary {
    /// Call site.
    pub site: CallSite,
    /// Sums.
    pub total: CallTotal,
}

/// Sums of a job.
#[derive(Clone, Debug, Default)]
pub struct JobSummary {
    /// By rank.
    pub ranks: Vec<RankSummary>,
    /// Functions in the order of their first call.
    pub functions: Vec<FunctionSummary>,
    /// Call sites, those with the most time first.
    pub sites: Vec<SiteSummary>,
    /// Source lines; the first one is empty: unknown.
    pub locations: Vec<String>,
    /// Call sites of the calls by rank and index.
    pub calls: Vec<Vec<CallSite>>,
}

/// Returns the time of a call in nanoseconds; that of a call without a return lasts until the end of the job.
#[must_use]
pub fn call_time(call: &Call, end: u64) -> u64 {
    call.left.unwrap_or(end).saturating_sub(call.entered)
}

impl JobSummary {
    /// Adds up the calls and messages of a job.
    #[must_use]
    pub fn new(input: &PageInput<'_>) -> Self {
        let mut summary = Self {
            locations: vec![String::new()],
            ..Self::default()
        };
        summary.add_calls(input);
        summary.add_messages(input);
        summary
    }

    fn add_calls(&mut self, input: &PageInput<'_>) {
        let end = input.job.end();
        let mut names = SiteNames::default();
        let mut sites: HashMap<CallSite, CallTotal> = HashMap::new();
        for (rank, trace) in input.job.ranks.iter().enumerate() {
            let mut sums = RankSummary {
                calls: trace.calls.len() as u64,
                span: rank_span(input.job, rank),
                ..RankSummary::default()
            };
            let mut found = Vec::with_capacity(trace.calls.len());
            for call in &trace.calls {
                let site = CallSite {
                    function: names.function(call, &mut self.functions),
                    location: names.location(rank, call, input, &mut self.locations),
                };
                let time = call_time(call, end);
                let function = &mut self.functions[site.function];
                function.total.add(call, time);
                sites.entry(site).or_default().add(call, time);
                if call.depth == 0 {
                    sums.class_times[function.class as usize] += time;
                }
                found.push(site);
            }
            self.ranks.push(sums);
            self.calls.push(found);
        }
        let all = sites.into_iter().map(|(site, total)| SiteSummary { site, total });
        self.sites = all.collect();
        self.sites
            .sort_by_key(|site| (std::cmp::Reverse(site.total.time), site.site));
    }

    fn add_messages(&mut self, input: &PageInput<'_>) {
        for message in &input.messages.matched {
            let bytes = input.received_bytes(message.receive);
            self.ranks[message.send.rank].sent.add(bytes);
            if input.operations.get(message.receive).completed.is_some() {
                self.ranks[message.receive.rank].received.add(bytes);
            }
        }
        for send in &input.messages.unmatched_sends {
            self.ranks[send.rank].sent.add(0);
        }
    }

    /// Returns a sum over all ranks.
    pub fn total(&self, value: impl Fn(&RankSummary) -> u64) -> u64 {
        self.ranks.iter().map(value).sum()
    }
}

fn rank_span(job: &JobTrace, rank: usize) -> u64 {
    let calls = &job.ranks[rank].calls;
    let first = calls.first().map_or(0, |call| call.entered);
    let end = job.end();
    let last = calls.iter().map(|call| call.left.unwrap_or(end)).max();
    last.unwrap_or(0).saturating_sub(first)
}

/// Indices of functions and locations. The source line of an address is determined once for each rank.
#[derive(Default)]
struct SiteNames {
    functions: HashMap<&'static str, usize>,
    addresses: HashMap<RankAddress, usize>,
    locations: HashMap<String, usize>,
}

#[derive(PartialEq, Eq, Hash)]
struct RankAddress {
    rank: usize,
    address: u64,
}

impl SiteNames {
    fn function(&mut self, call: &Call, functions: &mut Vec<FunctionSummary>) -> usize {
        let name = call.function.name;
        *self.functions.entry(name).or_insert_with(|| {
            functions.push(FunctionSummary {
                name,
                class: CallClass::from_function(name),
                total: CallTotal::default(),
            });
            functions.len() - 1
        })
    }

    fn location(&mut self, rank: usize, call: &Call, input: &PageInput<'_>, locations: &mut Vec<String>) -> usize {
        let address = call.address;
        let known = &mut self.locations;
        *self.addresses.entry(RankAddress { rank, address }).or_insert_with(|| {
            let Some(line) = (input.locate)(rank, address) else {
                return 0;
            };
            *known.entry(line).or_insert_with_key(|line| {
                locations.push(line.clone());
                locations.len() - 1
            })
        })
    }
}
