//! Debugs one node's machine.

use crate::harness::*;

/// Implements gdb's protocol up to the continue command, after a second in which the machine must be stopped.
const ATTACHES: &str = r#"
for word; do
    case $word in "target remote "*) at=${word#target remote } ;; esac
done
exec 3<>/dev/tcp/${at%:*}/${at#*:} || exit 1
printf '+$?#3f' >&3
IFS= read -r -d '#' -t 10 -u 3 why && echo "stands: ${why#*$}" >&2
sleep 1
echo 'it goes on' >&2
printf '+$c#63' >&3
cat <&3 >/dev/null
"#;

#[test]
fn one_node_waits_for_its_debugger_and_the_job_ends_with_both() {
    let debugger = StandInProgram::new("attaches", ATTACHES);
    let options = ["-n", "4", "--debug", "1", "--debugger", debugger.path()];
    let ended = run(&options, "app_ring.c", &[]).expect(0);
    ended.says_in_order(&["stands: T", "it goes on"]);
    assert!(ended.stdout.contains("app_ring: 4 processes"), "{ended}");
}

#[test]
fn the_job_ends_with_the_debugger() {
    let options = ["-n", "4", "--debug", "3", "--debugger", "true"];
    run(&options, "fail_hang.c", &[])
        .expect(1)
        .says(&["the debugger has ended, and the job with it"]);
}

#[test]
fn a_debugger_that_cannot_be_started_is_named() {
    let options = ["--debug", "0", "--debugger", "/nonexistent/gdb"];
    run(&options, "fail_hang.c", &[])
        .expect(1)
        .says(&["cannot start /nonexistent/gdb"]);
}
