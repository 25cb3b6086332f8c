//! Records that are written and read back, at each limit, and malformed ones.

use super::*;
use crate::faults::MAX_CUTS;

type StaticSection<'s> = ProgramSection<'s, &'static [u8]>;

fn written(parameters: &BootParameters<'_>, programs: &[StaticSection<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    parameters.write(programs, &mut bytes);
    bytes
}

fn section<'s>(
    first: Rank,
    number: u32,
    environment: &'s [&'static [u8]],
    arguments: &'s [&'static [u8]],
) -> StaticSection<'s> {
    ProgramSection {
        first,
        number,
        environment,
        arguments,
    }
}

fn node_of(extents: [u16; 3], coord: [u8; 3]) -> BootParameters<'static> {
    let [x, y, z] = coord;
    BootParameters {
        shape: Shape::new(extents, [true; 3]).expect("extents"),
        nodes: InstanceNodes::One(Coord { x, y, z }),
        exit: ExitAction::Stay,
        ..BootParameters::default()
    }
}

fn box_of(parts: [u16; 3], instance: u32) -> BootParameters<'static> {
    let node = node_of([4; 3], [0; 3]);
    let division = BoxDivision::new(node.shape, parts).expect("a division");
    BootParameters {
        nodes: InstanceNodes::Box(BoxParameters {
            division,
            instance,
            node_memory: 8 << 20,
        }),
        ..node
    }
}

fn auto_of(auto: AutoConfig) -> BootParameters<'static> {
    BootParameters {
        auto: Some(auto),
        exit: ExitAction::Stay,
        ..BootParameters::default()
    }
}

fn everything() -> BootParameters<'static> {
    let cut = |direction| LinkCut {
        at: Coord { x: 1, y: 0, z: 255 },
        direction,
        after_ms: 5000,
    };
    let cuts = Direction::ALL.map(cut);
    BootParameters {
        shape: Shape::new([4, 256, 1], [true, false, true]).expect("extents"),
        nodes: InstanceNodes::One(Coord { x: 3, y: 255, z: 0 }),
        mpi_memory: Some(u64::MAX),
        mpi_borrow: true,
        eager: Some(0),
        interrupts: Some(100),
        watch: true,
        seal: true,
        matching: Some(b"list"),
        faults: Some(LinkFaults {
            loss: MAX_RATE,
            corruption: 1_000,
            seed: u64::MAX - 1,
            cuts: heapless::Vec::from_slice(&cuts).expect("six"),
        }),
        auto: None,
        console: Some(SerialConsole {
            at: Coord { x: 3, y: 0, z: 0 },
            direction: Direction::YMinus,
        }),
        output: OutputTarget::Rings { log: true },
        exit: ExitAction::Stay,
        programs: ProgramList::default(),
    }
}

const ARGV: [&[u8]; 6] = [b"killer", b"", b"a b%c", "ä\n".as_bytes(), b"--", b"\xff"];
const VARIABLES: [&[u8]; 2] = [b"A=", b"B_1=x y=z"];

fn without_programs(read: BootParameters<'_>) -> BootParameters<'_> {
    BootParameters {
        programs: ProgramList::default(),
        ..read
    }
}

fn strings<'a>(strings: StringList<'a>) -> Vec<&'a [u8]> {
    let all: Vec<_> = strings.iter().collect();
    assert_eq!(all.len(), strings.count());
    all
}

#[test]
fn fields_are_where_the_table_says() {
    macro_rules! offsets {
        ($($field:ident),*) => { [$(offset_of!(BootRecord, $field)),*] };
    }
    let offsets = offsets![
        magic,
        version,
        bytes,
        flags,
        extents,
        interrupts,
        parts,
        cuts,
        instance,
        coord,
        node_memory,
        mpi_memory,
        eager,
        seed,
        loss,
        corruption,
        auto_nodes,
        auto_number,
        console,
        programs,
        matching
    ];
    let table = [
        0, 4, 8, 12, 16, 22, 24, 30, 32, 36, 40, 48, 56, 64, 72, 76, 80, 84, 88, 92, 96,
    ];
    assert_eq!((offsets, RECORD_BYTES), (table, 112));
    // Each byte differs from the others, so that an exchange of words is detected.
    let bytes = core::array::from_fn(|at| at as u8);
    let record = BootRecord::from_bytes(&bytes);
    assert_eq!(record.to_bytes(), bytes);
    assert_eq!(record.node_memory.to_le_bytes(), bytes[40..48]);
    assert_eq!(record.seed.to_le_bytes(), bytes[64..72]);
    assert_eq!(
        (record.parts[1], record.cuts, record.coord),
        (0x1b1a, 0x1f1e, [36, 37, 38, 39])
    );
    assert_eq!(record.matching, bytes[96..]);
    assert_eq!(&BootRecord::SINGLE.to_bytes()[..5], b"MPBP\x01");
}

#[test]
fn what_is_written_is_read_back() {
    let parameters = everything();
    let bytes = written(&parameters, &[section(0, 2, &VARIABLES, &ARGV)]);
    let read = BootParameters::read(&bytes).expect("sound");
    let program = read.programs.for_rank(7);
    assert_eq!(program.number, 2);
    assert_eq!(strings(program.environment), VARIABLES);
    assert_eq!(strings(program.arguments), ARGV);
    assert_eq!(without_programs(read), parameters);
    let found = AutoConfig {
        nodes: 8,
        number: Some(3),
        has_console: true,
    };
    for parameters in [
        BootParameters::default(),
        node_of([2, 1, 1], [1, 0, 0]),
        box_of([1, 1, 2], 1),
        auto_of(AutoConfig::default()),
        auto_of(found),
        BootParameters {
            output: OutputTarget::Rings { log: false },
            matching: Some(b"a name of 16 b.s"),
            ..node_of([1; 3], [0; 3])
        },
    ] {
        let bytes = written(&parameters, &[]);
        assert_eq!(BootParameters::read(&bytes).as_ref(), Ok(&parameters));
        // Erased flash after it is not part of it.
        let bytes = [&bytes[..], &[0xff; 100]].concat();
        assert_eq!(BootParameters::read(&bytes).as_ref(), Ok(&parameters));
    }
}

#[test]
fn ranks_have_the_program_that_is_theirs() {
    let a: [&[u8]; 2] = [b"a", b"%%1"];
    let b: [&[u8]; 2] = [b"b", b"--"];
    let c: [&[u8]; 2] = [b"c", b""];
    let variable: [&[u8]; 1] = [b"A=1"];
    let programs = [
        section(0, 0, &variable, &a),
        section(1, 1, &[], &b),
        section(3, 2, &variable, &c),
    ];
    let bytes = written(&node_of([4, 1, 1], [0; 3]), &programs);
    let read = BootParameters::read(&bytes).expect("sound");
    for (rank, number, variables, argv) in [
        (0, 0, 1, a),
        (1, 1, 0, b),
        (2, 1, 0, b),
        (3, 2, 1, c),
        (u32::MAX, 2, 1, c),
    ] {
        let program = read.programs.for_rank(rank);
        assert_eq!((program.number, program.environment.count()), (number, variables));
        assert_eq!(strings(program.arguments), argv);
    }
    for (programs, error) in [
        (&[section(1, 0, &[], &a)][..], RecordField::Programs),
        (&[section(0, 0, &[], &a), section(0, 1, &[], &b)], RecordField::Programs),
        (&[section(0, 1 << 31, &[], &a)], RecordField::Programs),
        (&[section(0, 0, &[b"A=\0"], &a)], RecordField::Strings),
    ] {
        let bytes = written(&node_of([4, 1, 1], [0; 3]), programs);
        assert_eq!(
            BootParameters::read(&bytes),
            Err(RecordError::Range(error)),
            "{programs:?}"
        );
    }
}

#[test]
fn the_nodes_of_a_box_have_their_places() {
    let read = box_of([1, 1, 2], 1);
    let InstanceNodes::Box(boxed) = read.nodes else {
        panic!("no box: {read:?}");
    };
    assert_eq!(boxed.nodes().nodes(), 32);
    assert_eq!(read.nodes.coord(0), Some(Coord { x: 0, y: 0, z: 2 }));
    assert_eq!((read.nodes.coord(32), read.exit), (None, ExitAction::Stay));
}

#[test]
fn a_console_is_where_the_machine_has_no_link() {
    let on = |extents, wraps, [x, y, z]: [u8; 3], direction| {
        let console = SerialConsole {
            at: Coord { x, y, z },
            direction,
        };
        let parameters = BootParameters {
            shape: Shape::new(extents, wraps).expect("extents"),
            console: Some(console),
            ..node_of([1; 3], [0; 3])
        };
        let read = BootParameters::read(&written(&parameters, &[])).map(|read| read.console);
        match read {
            Ok(read) => assert_eq!(read, Some(console)),
            Err(error) => assert_eq!(error, RecordError::Range(RecordField::Console)),
        }
        read.is_ok()
    };
    use Direction::*;
    assert!(on([2, 2, 1], [true; 3], [0; 3], ZPlus));
    assert!(on([2, 2, 1], [true; 3], [1, 1, 0], ZMinus));
    assert!(!on([2, 2, 1], [true; 3], [0; 3], XPlus));
    assert!(!on([2, 2, 1], [true; 3], [0, 0, 1], ZPlus));
    assert!(on([2; 3], [false, true, true], [0, 1, 1], XMinus));
    assert!(!on([2; 3], [false, true, true], [0, 1, 1], XPlus));
    // If coordinates are discovered, so is the console's node.
    let record = BootRecord::auto(2).with(flag::CONSOLE).to_bytes();
    let read = BootParameters::read(&record).expect("sound");
    assert_eq!(read.console, None);
    assert!(read.auto.is_some_and(|auto| auto.has_console));
}

#[test]
fn an_image_with_another_matching_engine_is_refused() {
    let bytes = written(&everything(), &[]);
    let read = BootParameters::read(&bytes).expect("sound");
    assert_eq!(read.check_matching("list"), Ok(()));
    let refused = read.check_matching("fourd").expect_err("another engine");
    let words = "this image has the matching engine `fourd`, not `list`";
    assert_eq!(refused.to_string(), words);
    assert_eq!(BootParameters::default().check_matching("fourd"), Ok(()));
}

#[test]
fn a_node_without_a_record_is_alone_and_exits() {
    let read = BootParameters::read(b"").expect("nothing is fine");
    for erased in [[0; 200], [0xff; 200]] {
        assert_eq!(BootParameters::read(&erased).as_ref(), Ok(&read));
    }
    assert_eq!(read, BootParameters::default());
    assert_eq!((read.shape.nodes(), read.exit), (1, ExitAction::Test));
    assert_eq!(read.programs.for_rank(0), RankProgram::default());
    let single = BootRecord::SINGLE.to_bytes();
    assert_eq!(BootParameters::read(&single), Ok(read));
    let auto = BootRecord::auto(0).number(7).mpi_memory(8192).to_bytes();
    let read = BootParameters::read(&auto).expect("sound");
    let auto = AutoConfig {
        number: Some(7),
        ..AutoConfig::default()
    };
    assert_eq!((read.auto, read.exit), (Some(auto), ExitAction::Stay));
    assert_eq!(read.mpi_memory, Some(8192));
}

/// Returns the error of a record that is valid except for one change.
fn refused(change: impl FnOnce(&mut BootRecord)) -> RecordError {
    let mut record = BootRecord {
        flags: flag::BOXES,
        parts: [1; 3],
        node_memory: LARGE_PAGE,
        ..BootRecord::SINGLE
    };
    assert!(BootParameters::read(&record.to_bytes()).is_ok());
    change(&mut record);
    BootParameters::read(&record.to_bytes()).expect_err("refused")
}

// A table of cases, longer than a screen.
#[test]
fn fields_out_of_their_range_are_named() {
    type RecordChange = fn(&mut BootRecord);
    let cases: [(RecordChange, RecordError); 26] = [
        (|r| r.magic += 1, RecordError::Magic(MAGIC + 1)),
        (|r| r.version = 2, RecordError::Version(2)),
        (|r| r.bytes -= 1, RecordError::Truncated),
        (|r| r.bytes += 1, RecordError::Truncated),
        (|r| r.bytes = u32::MAX, RecordError::TooLong(u32::MAX)),
        (|r| r.flags |= 1 << 17, RecordError::Unsupported(1 << 17)),
        (|r| r.extents[0] = 0, RecordError::Range(RecordField::Torus)),
        (|r| r.extents[1] = 257, RecordError::Range(RecordField::Torus)),
        (|r| r.extents[2] = u16::MAX, RecordError::Range(RecordField::Torus)),
        (|r| r.parts[0] = 2, RecordError::Range(RecordField::Boxes)),
        (|r| r.parts[2] = 0, RecordError::Range(RecordField::Boxes)),
        (|r| r.extents = [9; 3], RecordError::Range(RecordField::Boxes)),
        (|r| r.instance = 1, RecordError::Range(RecordField::Instance)),
        (|r| r.node_memory = 0, RecordError::Range(RecordField::NodeMemory)),
        (|r| r.node_memory += 4096, RecordError::Range(RecordField::NodeMemory)),
        (|r| r.flags |= flag::EXIT, RecordError::Range(RecordField::Exit)),
        (
            |r| {
                r.flags = 0;
                r.coord = [0, 1, 0, 0];
            },
            RecordError::Range(RecordField::Coord),
        ),
        (
            |r| {
                r.flags |= flag::INTERRUPTS;
                r.interrupts = 101;
            },
            RecordError::Range(RecordField::Interrupts),
        ),
        (|r| r.flags |= flag::LOG, RecordError::Range(RecordField::Log)),
        (
            |r| {
                r.flags |= flag::CONSOLE;
                r.console = [0, 0, 0, 6];
            },
            RecordError::Range(RecordField::Console),
        ),
        (
            |r| {
                r.flags |= flag::FAULTS;
                r.loss = MAX_RATE + 1;
            },
            RecordError::Range(RecordField::Faults),
        ),
        (
            |r| {
                r.flags |= flag::FAULTS;
                r.corruption = u32::MAX;
            },
            RecordError::Range(RecordField::Faults),
        ),
        (
            |r| {
                r.flags |= flag::FAULTS;
                r.cuts = 1;
            },
            RecordError::Truncated,
        ),
        (|r| r.programs = 1, RecordError::Truncated),
        (|r| r.programs = u32::MAX, RecordError::Truncated),
        (|r| r.magic = 1, RecordError::Magic(1)),
    ];
    for (number, (change, error)) in cases.into_iter().enumerate() {
        assert_eq!(refused(change), error, "case {number}");
    }
}

#[test]
fn cuts_are_checked() {
    let with = |count: usize, cut: [u8; 8]| {
        let cuts = cut.repeat(count);
        let record = BootRecord {
            bytes: number(RECORD_BYTES + cuts.len()),
            flags: flag::FAULTS,
            cuts: count as u16,
            ..BootRecord::SINGLE
        };
        let bytes = [&record.to_bytes()[..], &cuts].concat();
        BootParameters::read(&bytes).map(|read| read.faults.map(|faults| faults.cuts.len()))
    };
    let wrong = Err(RecordError::Range(RecordField::Faults));
    assert_eq!(with(MAX_CUTS, [1, 2, 3, 5, 0, 0, 0, 0]), Ok(Some(MAX_CUTS)));
    assert_eq!(with(MAX_CUTS + 1, [1, 2, 3, 5, 0, 0, 0, 0]), wrong);
    assert_eq!(with(1, [1, 2, 3, 6, 0, 0, 0, 0]), wrong);
}

#[test]
fn limits_hold_at_their_edges() {
    let alone = BootParameters::default();
    let (a, variable): (&[u8], &[u8]) = (b"a", b"A=");
    let read = |environment: &[&'static [u8]], arguments: &[&'static [u8]]| {
        let bytes = written(&alone, &[section(0, 0, environment, arguments)]);
        BootParameters::read(&bytes).map(|_| ())
    };
    assert_eq!(read(&[], &[a; MAX_ARGS]), Ok(()));
    assert_eq!(read(&[], &[a; MAX_ARGS + 1]), Err(RecordError::TooManyArgs));
    assert_eq!(read(&[variable; MAX_ENVIRONMENT], &[]), Ok(()));
    assert_eq!(
        read(&[variable; MAX_ENVIRONMENT + 1], &[]),
        Err(RecordError::TooManyVariables)
    );
    let long: &'static [u8] = std::vec![b'a'; MAX_BYTES].leak();
    let fits = &long[..MAX_BYTES - RECORD_BYTES - PROGRAM_BYTES - 1];
    assert_eq!(read(&[], &[fits]), Ok(()));
    let more = &long[..fits.len() + 1];
    let error = read(&[], &[more]).expect_err("too long");
    assert_eq!(error, RecordError::TooLong(MAX_BYTES as u32 + 1));
    assert!(error.to_string().contains("at most 16384"), "{error}");
}

#[test]
fn every_error_says_what_to_do_or_what_is_too_much() {
    for error in RecordError::some_of_each() {
        let text = error.to_string();
        assert!(text.starts_with("boot parameters: "), "{text}");
        let (kind, value) = error.parts();
        assert_eq!(RecordError::from_parts(kind, value), Some(error));
    }
    let text = RecordError::Unsupported(flag::LOG | flag::MPI_BORROW).to_string();
    assert!(text.contains("without --mpi-borrow, --log, with"), "{text}");
    for (kind, value) in [(7, RecordField::ALL.len() as u64), (10, 0), (0, 1 << 32)] {
        assert_eq!(RecordError::from_parts(kind, value), None);
    }
}

/// A sequence of numbers by xorshift64 (Marsaglia, "Xorshift RNGs", 2003).
struct RandomNumbers(u64);

impl RandomNumbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Reads arbitrary bytes. An accepted record has all of its fields in their ranges, and is written as it was read.
fn read_hostile(bytes: &[u8]) -> bool {
    let Ok(read) = BootParameters::read(bytes) else {
        return false;
    };
    if let InstanceNodes::One(coord) = read.nodes {
        assert!(read.shape.rank(coord).is_some());
    }
    for hart in [0, 1, 511, 512, u32::MAX] {
        let coord = read.nodes.coord(hart);
        assert!(coord.is_none_or(|coord| read.shape.rank(coord).is_some()));
    }
    assert!(read.interrupts.is_none_or(|percent| percent <= 100));
    assert!(read.console.is_none_or(|console| console.fits(&read.shape)));
    let mut sections = Vec::new();
    let mut owned = Vec::new();
    let mut before = None;
    for rank in 0..8 {
        let program = read.programs.for_rank(rank);
        let [environment, arguments] = [program.environment, program.arguments].map(|list| strings(list));
        assert!(environment.len() <= MAX_ENVIRONMENT && arguments.len() <= MAX_ARGS);
        if before != Some(program) {
            owned.push((rank, program.number, environment, arguments));
        }
        before = Some(program);
    }
    for (first, number, environment, arguments) in &owned {
        sections.push(ProgramSection {
            first: *first,
            number: *number,
            environment,
            arguments,
        });
    }
    let mut again = Vec::new();
    read.write(&sections, &mut again);
    let again = BootParameters::read(&again).expect("within the ranges");
    assert_eq!(again.programs.for_rank(7), read.programs.for_rank(7));
    assert_eq!(without_programs(again), without_programs(read.clone()));
    true
}

#[test]
fn hostile_bytes_never_panic() {
    let mut numbers = RandomNumbers(0x9e37_79b9_7f4a_7c15);
    let (a, b): ([&[u8]; 1], [&[u8]; 2]) = ([b"a"], [b"b", b"2"]);
    let programs = [
        section(0, 0, &VARIABLES, &ARGV),
        section(2, 1, &[], &a),
        section(5, 2, &VARIABLES[..1], &b),
    ];
    let found = AutoConfig {
        nodes: 2,
        number: Some(1),
        has_console: true,
    };
    let seeds = [everything(), box_of([2, 1, 2], 3), auto_of(found)].map(|parameters| written(&parameters, &programs));
    let (mut sound, mut refused) = (0, 0);
    let mut count = |bytes: &[u8]| {
        if read_hostile(bytes) { sound += 1 } else { refused += 1 }
    };
    for seed in &seeds {
        for length in 0..seed.len() {
            count(&seed[..length]);
        }
        // Each byte, with values that make sizes, counts and flags wrong in each direction.
        for at in 0..seed.len() {
            for value in [0, 1, 2, 3, 6, 0x7f, 0x80, 0xff] {
                let mut damaged = seed.clone();
                damaged[at] = value;
                count(&damaged);
            }
        }
        for _ in 0..5_000 {
            let mut damaged = seed.clone();
            for _ in 0..1 + numbers.below(6) {
                let at = numbers.below(damaged.len());
                damaged[at] = numbers.next() as u8;
            }
            // Sizes and counts control the reader.
            let word = 4 * numbers.below(damaged.len() / 4);
            if numbers.below(2) == 0 {
                let small = numbers.below(300) as u32;
                damaged[word..word + 4].copy_from_slice(&small.to_le_bytes());
            }
            damaged.truncate(damaged.len() - numbers.below(20));
            count(&damaged);
        }
    }
    for _ in 0..5_000 {
        let length = numbers.below(400);
        let mut bytes: Vec<u8> = (0..length).map(|_| numbers.next() as u8).collect();
        count(&bytes);
        // After a valid fixed part.
        let fixed = BootRecord {
            bytes: number(RECORD_BYTES + length),
            programs: 1 + numbers.below(3) as u32,
            ..BootRecord::SINGLE
        };
        bytes.splice(..0, fixed.to_bytes());
        count(&bytes);
    }
    assert!(sound > 1000 && refused > 1000, "{sound} {refused}");
}
