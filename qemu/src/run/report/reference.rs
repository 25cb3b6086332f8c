//! Format of the JSON report as documentation: the page `docs/reference/report.md` and a JSON schema, both generated
//! from one list of fields and the list of counters.

use super::tests::end;
use super::*;
use crate::reference::check_file;
use midplane_abi::counters::CounterTotal;
use serde_json::{Map, Value, json};

/// Value of a field.
enum FieldKind {
    /// A simple JSON type.
    Simple(&'static str),
    /// A simple JSON type, or null.
    Nullable(&'static str),
    /// One of these strings.
    OneOf(Vec<String>),
    /// An array of simple values, of this length if it is fixed.
    List(&'static str, Option<usize>),
    /// An object.
    Object(Vec<Field>),
    /// An array of objects.
    Objects(Vec<Field>),
}

/// A field of an object.
struct Field {
    name: String,
    kind: FieldKind,
    is_optional: bool,
    unit: &'static str,
    meaning: String,
}

fn field(name: &str, kind: FieldKind, meaning: &str) -> Field {
    Field {
        name: name.into(),
        kind,
        is_optional: false,
        unit: "",
        meaning: meaning.into(),
    }
}

fn optional(field: Field) -> Field {
    Field {
        is_optional: true,
        ..field
    }
}

fn in_unit(unit: &'static str, field: Field) -> Field {
    Field { unit, ..field }
}

fn of_counter(about: CounterInfo) -> Field {
    let total = match about.total {
        CounterTotal::Sum => "Total: sum.",
        CounterTotal::Max => "Total: maximum.",
    };
    let field = field(
        about.name,
        FieldKind::Simple("integer"),
        &format!("{} {total}", about.meaning),
    );
    in_unit(about.unit.name(), field)
}

fn counters_of_node() -> Vec<Field> {
    let share = field(
        "idle_share",
        FieldKind::Simple("number"),
        "`idle_ticks` divided by `run_ticks`, 0 to 1.",
    );
    { Counter::ALL.into_iter() }
        .map(|counter| of_counter(counter.about()))
        .chain([share])
        .collect()
}

fn stack() -> Vec<Field> {
    let bytes = |name, meaning| in_unit("bytes", field(name, FieldKind::Simple("integer"), meaning));
    vec![bytes("peak_bytes", "Peak usage."), bytes("bytes", "Size.")]
}

fn legend() -> Vec<Field> {
    let text = |name, meaning| field(name, FieldKind::Simple("string"), meaning);
    let totals = [CounterTotal::Sum, CounterTotal::Max].map(|total| total.name().into());
    vec![
        text("name", "Name of the counter in the report."),
        text("unit", "Unit of the counter."),
        field(
            "total",
            FieldKind::OneOf(totals.into()),
            "Operation that combines the ranks' values.",
        ),
        text("meaning", "Meaning of the counter."),
    ]
}

fn link() -> Vec<Field> {
    let channel = || ChannelCounter::ALL.map(|counter| of_counter(counter.about())).into();
    let channels = Vc::ALL.map(|vc| {
        let meaning = format!("Counters of the virtual channel {}.", vc.name());
        field(vc.name(), FieldKind::Object(channel()), &meaning)
    });
    let directions = Direction::ALL.map(|direction| direction.name().into());
    let mut fields = vec![
        field(
            "direction",
            FieldKind::OneOf(directions.into()),
            "Direction of the link, seen from this node.",
        ),
        field("to", FieldKind::Simple("integer"), "Rank at the other end of the link."),
    ];
    fields.extend(LinkCounter::ALL.map(|counter| of_counter(counter.about())));
    fields.push(field(
        "channels",
        FieldKind::Object(channels.into()),
        "Counters of each virtual channel.",
    ));
    fields
}

fn rank() -> Vec<Field> {
    let states = ["unreadable", "off", "booting", "running", "done", "failed"];
    let mut fields = vec![
        field("rank", FieldKind::Simple("integer"), "Rank in MPI_COMM_WORLD."),
        field(
            "coordinates",
            FieldKind::List("integer", Some(3)),
            "Coordinates X, Y, Z of the node.",
        ),
        field(
            "state",
            FieldKind::OneOf(states.map(String::from).into()),
            "Last state of the node; `unreadable`: its status record is invalid.",
        ),
        field(
            "status",
            FieldKind::Nullable("integer"),
            "Exit status of the program; null unless the state is `done` or `failed`.",
        ),
    ];
    fields.extend(counters_of_node());
    fields.push(optional(field(
        "stack",
        FieldKind::Object(stack()),
        "Stack of the program, for emulated nodes.",
    )));
    fields.push(optional(field(
        "interrupt_stack",
        FieldKind::Object(stack()),
        "Stack of interrupt handlers, for emulated nodes.",
    )));
    fields.push(field(
        "links",
        FieldKind::Objects(link()),
        "Links of the node; empty if the state is `unreadable`.",
    ));
    fields
}

fn program() -> Vec<Field> {
    vec![
        field("program", FieldKind::Simple("string"), "File of the program."),
        field(
            "arguments",
            FieldKind::List("string", None),
            "Arguments of the program.",
        ),
        field("first_rank", FieldKind::Simple("integer"), "First rank that runs it."),
        field("ranks", FieldKind::Simple("integer"), "Number of ranks that run it."),
    ]
}

fn host() -> Vec<Field> {
    vec![
        field("host", FieldKind::Simple("string"), "Name of the host."),
        field("ranks", FieldKind::List("integer", None), "Its ranks."),
    ]
}

/// Returns the fields of a report.
fn fields() -> Vec<Field> {
    let outcomes = [
        JobOutcome::Ended,
        JobOutcome::Failed,
        JobOutcome::Lost,
        JobOutcome::Timeout,
        JobOutcome::Hang,
        JobOutcome::Interrupted,
    ];
    let outcomes = outcomes.map(|outcome| {
        let value = serde_json::to_value(outcome).expect("a string");
        value.as_str().expect("a string").to_string()
    });
    let simple = |name, kind, meaning| field(name, FieldKind::Simple(kind), meaning);
    let legends = ["ranks", "links", "channels"].map(|name| {
        let meaning = format!("Counters of {name}.");
        field(name, FieldKind::Objects(legend()), &meaning)
    });
    vec![
        simple(
            "program",
            "string",
            "File of the program; of several programs, the first.",
        ),
        field(
            "arguments",
            FieldKind::List("string", None),
            "Arguments of the program.",
        ),
        optional(field(
            "programs",
            FieldKind::Objects(program()),
            "All programs, if `mpiexec` has started several.",
        )),
        optional(field(
            "hosts",
            FieldKind::Objects(host()),
            "All hosts of the ranks, if `--hosts` or Slurm specifies several.",
        )),
        field(
            "torus",
            FieldKind::List("integer", Some(3)),
            "Extents of the machine along X, Y, Z.",
        ),
        field(
            "wraps",
            FieldKind::List("boolean", Some(3)),
            "Whether each dimension has wrap-around links.",
        ),
        simple("nodes", "integer", "Number of nodes."),
        in_unit("bytes", simple("node_memory", "integer", "RAM of a node.")),
        in_unit("bytes", simple("mpi_memory", "integer", "MPI memory of a node.")),
        simple(
            "mpi_borrow",
            "boolean",
            "Whether the MPI device may allocate from the program's heap.",
        ),
        field(
            "matching",
            FieldKind::Nullable("string"),
            "Matching engine; null if no node was started.",
        ),
        field(
            "outcome",
            FieldKind::OneOf(outcomes.into()),
            "Outcome of the job. `ended`: all programs ended; `failed`: a node failed, or its output could not be \
             written; `lost`: a node's process ended unexpectedly; `timeout`: the job did not start or end in time; \
             `interrupted`: a signal requested the end.",
        ),
        simple("status", "integer", "Exit status of the command."),
        optional(simple("message", "string", "Message about a failure.")),
        in_unit(
            "seconds",
            simple(
                "seconds",
                "number",
                "Duration from the start of the first node to the end.",
            ),
        ),
        optional(in_unit(
            "seconds",
            simple(
                "virtual_seconds",
                "number",
                "Duration in virtual time, with `--on cluster`.",
            ),
        )),
        optional(field(
            "cut_links",
            FieldKind::List("string", None),
            "Cut links whose packets were rerouted.",
        )),
        field(
            "totals",
            FieldKind::Object(counters_of_node()),
            "Counters of all ranks, combined.",
        ),
        field(
            "ranks",
            FieldKind::Objects(rank()),
            "One entry for each rank, in rank order.",
        ),
        field(
            "counters",
            FieldKind::Object(legends.into()),
            "Descriptions of all counters in this report.",
        ),
    ]
}

/// Returns the schema of an object.
fn schema_of(fields: &[Field]) -> Value {
    let properties: Map<String, Value> = { fields.iter() }
        .map(|field| {
            let mut schema = match &field.kind {
                FieldKind::Simple(kind) => json!({ "type": kind }),
                FieldKind::Nullable(kind) => json!({ "type": [kind, "null"] }),
                FieldKind::OneOf(values) => json!({ "type": "string", "enum": values }),
                FieldKind::List(kind, None) => json!({ "type": "array", "items": { "type": kind } }),
                FieldKind::List(kind, Some(items)) => json!({
                    "type": "array", "items": { "type": kind }, "minItems": items, "maxItems": items,
                }),
                FieldKind::Object(fields) => schema_of(fields),
                FieldKind::Objects(fields) => json!({ "type": "array", "items": schema_of(fields) }),
            };
            schema["description"] = field.meaning.as_str().into();
            (field.name.clone(), schema)
        })
        .collect();
    let required = fields.iter().filter(|field| !field.is_optional);
    let required: Vec<&str> = required.map(|field| field.name.as_str()).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn schema() -> Value {
    let mut schema = schema_of(&fields());
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "Report of midplane run".into();
    schema
}

/// Describes the type of a field for the page.
fn shown_type(kind: &FieldKind) -> String {
    match kind {
        FieldKind::Simple(kind) => (*kind).into(),
        FieldKind::Nullable(kind) => format!("{kind} or null"),
        FieldKind::OneOf(values) => {
            let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
            values.join(", ")
        }
        FieldKind::List(kind, None) => format!("array of {kind}"),
        FieldKind::List(kind, Some(items)) => format!("array of {items} {kind}s"),
        FieldKind::Object(_) => "object".into(),
        FieldKind::Objects(_) => "array of objects".into(),
    }
}

fn table_of(fields: &[Field]) -> String {
    let mut text = String::from("| field | type | unit | meaning |\n|---|---|---|---|\n");
    for field in fields {
        let presence = if field.is_optional { " (optional)" } else { "" };
        text.push_str(&format!(
            "| `{}` | {}{presence} | {} | {} |\n",
            field.name,
            shown_type(&field.kind),
            field.unit,
            field.meaning
        ));
    }
    text
}

/// Returns the page.
fn page() -> String {
    let channel = ChannelCounter::ALL.map(|counter| of_counter(counter.about()));
    let own: Vec<Field> = { rank().into_iter() }
        .filter(|field| Counter::ALL.iter().all(|c| c.about().name != field.name))
        .filter(|field| field.name != "idle_share")
        .collect();
    let sections = [
        ("Report", String::new(), table_of(&fields())),
        (
            "Programs",
            "Each entry of `programs` contains these fields.".into(),
            table_of(&program()),
        ),
        (
            "Hosts",
            "Each entry of `hosts` contains these fields.".into(),
            table_of(&host()),
        ),
        (
            "Ranks",
            "Each entry of `ranks` contains these fields and the [counters of nodes](#counters-of-nodes).".into(),
            table_of(&own),
        ),
        ("Stacks", "Fields of `stack` and `interrupt_stack`.".into(), table_of(&stack())),
        (
            "Counters of nodes",
            "Each entry of `ranks` contains these fields, and `totals` contains their combination over all ranks."
                .into(),
            table_of(&counters_of_node()),
        ),
        (
            "Links",
            "Each entry of `links` describes one end of a link. `channels` contains one object for each virtual channel."
                .into(),
            table_of(&link()),
        ),
        (
            "Channels",
            "Each virtual channel contains these counters.".into(),
            table_of(&channel),
        ),
        (
            "Descriptions of counters",
            "Each entry of the three lists in `counters` contains these fields.".into(),
            table_of(&legend()),
        ),
    ];
    let mut text = String::from(
        "# JSON report\n\n\
         `run --report FILE`, `mpiexec --report FILE`, `attach --report FILE` and `cluster --report FILE` write the\n\
         report of a job as one JSON object. The schema is [report.schema.json](report.schema.json). The field names are stable;\n\
         new versions may add fields.\n\n\
         Generated by `MIDPLANE_WRITE=1 cargo test -p midplane` from `qemu/src/run/report` and\n\
         `kernel-rt/abi/src/counters.rs`.\n",
    );
    for (title, lead, table) in sections {
        text.push_str(&format!("\n## {title}\n\n"));
        if !lead.is_empty() {
            text.push_str(&format!("{lead}\n\n"));
        }
        text.push_str(&table);
    }
    text
}

/// Checks a value against the keywords of a schema that [`schema_of`] uses; returns the path of the first difference.
fn check(value: &Value, schema: &Value, path: &str) -> Result<(), String> {
    let is_type = |name: &Value| match name.as_str() {
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("null") => value.is_null(),
        _ => false,
    };
    let has_type = match &schema["type"] {
        Value::Array(names) => names.iter().any(is_type),
        name => is_type(name),
    };
    let is_listed = schema["enum"].as_array().is_none_or(|values| values.contains(value));
    if !has_type || !is_listed {
        return Err(format!("{path}: {value}"));
    }
    if let Some(items) = value.as_array() {
        let length = schema["minItems"].as_u64();
        if length.is_some_and(|length| length != items.len() as u64) {
            return Err(format!("{path}: {} items", items.len()));
        }
        for item in items {
            check(item, &schema["items"], &format!("{path}[]"))?;
        }
    }
    if let Some(object) = value.as_object() {
        let required = schema["required"].as_array().expect("a list");
        for name in required.iter().filter_map(Value::as_str) {
            object.get(name).ok_or_else(|| format!("{path}.{name} is missing"))?;
        }
        for (name, value) in object {
            let schema = schema["properties"].get(name);
            let schema = schema.ok_or_else(|| format!("{path}.{name} is not in the schema"))?;
            check(value, schema, &format!("{path}.{name}"))?;
        }
    }
    Ok(())
}

/// Returns a report that contains all optional fields.
fn sample() -> Value {
    let shape = Shape::new([2, 1, 1], [true; 3]).expect("a shape");
    let mut end = JobResult {
        calls: None,
        message: Some("a message".into()),
        virtual_time: Some(Duration::from_millis(1)),
        ..end(2)
    };
    let account = end.nodes[0].account.as_mut().expect("an account");
    account.links[Direction::XPlus as usize].frames[LinkCounter::Detours as usize] = 1;
    let program = ProgramFacts {
        program: "a.c".into(),
        arguments: vec!["5".into()],
        first_rank: 0,
        ranks: 2,
    };
    let job = JobFacts {
        programs: vec![program],
        hosts: vec![HostFacts {
            host: "a".into(),
            ranks: vec![0, 1],
        }],
        matching: Some("list".into()),
        ..JobFacts::of_shape(&shape)
    };
    serde_json::to_value(report(&job, &end)).expect("JSON")
}

#[test]
fn the_page_and_the_schema_are_up_to_date() {
    let schema = serde_json::to_string_pretty(&schema()).expect("JSON") + "\n";
    check_file("docs/reference/report.schema.json", &schema);
    check_file("docs/reference/report.md", &page());
}

#[test]
fn a_report_matches_the_schema() {
    let schema = schema();
    let sample = sample();
    assert_eq!(check(&sample, &schema, "report"), Ok(()));
    // The sample contains every property at the top and of a rank.
    let names = |value: &Value| -> Vec<String> { value.as_object().expect("an object").keys().cloned().collect() };
    assert_eq!(names(&sample), names(&schema["properties"]));
    let rank = &schema["properties"]["ranks"]["items"]["properties"];
    assert_eq!(names(&sample["ranks"][0]), names(rank));
    let plain = JobFacts::of_shape(&Shape::new([2, 1, 1], [true; 3]).expect("a shape"));
    let plain = serde_json::to_value(report(&plain, &end(2))).expect("JSON");
    assert_eq!(check(&plain, &schema, "report"), Ok(()));
    let mut wrong = plain.clone();
    wrong["ranks"][1]["links"][0]["to"] = "1".into();
    let error = check(&wrong, &schema, "report").expect_err("a wrong type");
    assert!(error.starts_with("report.ranks[].links[].to"), "{error}");
    let mut wrong = plain;
    wrong["more"] = 1.into();
    assert!(check(&wrong, &schema, "report").is_err());
}
