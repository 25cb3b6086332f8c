//! Self-checking programs in `tests/programs`.

/// Passes the list to a macro: the test name and the program name without extension. The programs run in QEMU, as Linux
/// processes and, if installed, under MPICH. Entries with `mpich_put` run there only if its puts work, those
/// with `mpich_five` only if it is version 5 (see build.rs).
#[macro_export]
macro_rules! self_checking_programs {
    ($with:ident) => {
        $with! {
            environment: "conf_env";
            blocking_point_to_point: "conf_p2p";
            requests: "conf_requests";
            point_to_point_at_its_edges: "conf_edges";
            persistent_and_cancelled_requests: "conf_persistent";
            buffered_sends: "conf_buffered";
            probes: "conf_probe";
            matched_probes: "conf_mprobe";
            tools: "conf_tools";
            attributes_of_datatypes: "conf_typeattr";
            errors: "conf_errors";
            communicators: "conf_comm";
            intercommunicators: "conf_inter";
            collectives_of_intercommunicators: "conf_inter_coll";
            collectives_of_intercommunicators_without_blocking: "conf_inter_nbc";
            attributes: "conf_attr";
            info_objects_and_memory: "conf_info";
            error_codes_of_the_program: "conf_codes";
            windows_and_fences: "conf_rma_fence", mpich_put;
            windows_by_post_and_start: "conf_rma_pscw", mpich_put;
            windows_by_locks: "conf_rma_passive", mpich_put;
            accumulates: "conf_rma_acc", mpich_put;
            one_sided_datatypes: "conf_rma_types", mpich_put;
            dynamic_and_shared_windows: "conf_rma_dynamic", mpich_put;
            shared_windows: "conf_rma_shared", mpich_put;
            what_windows_carry: "conf_rma_attr", mpich_put;
            errors_of_windows: "conf_rma_errors", mpich_put;
            epochs_that_do_not_block: "conf_rma_epochs", mpich_put;
            groups: "conf_group";
            cartesian_topologies: "conf_cart";
            graph_topologies: "conf_graph";
            collectives: "conf_coll";
            reductions: "conf_reduce";
            collectives_without_blocking: "conf_nbc";
            persistent_collectives: "conf_pcoll";
            additions_of_mpi_4: "conf_mpi4", mpich_five;
            send_receives_without_blocking: "conf_isendrecv", mpich_five;
            sessions: "conf_sessions", mpich_five;
            threads: "conf_threads";
            partitioned_communication: "conf_partitioned", mpich_five;
            duplicating_without_blocking: "conf_idup";
            processes_that_come_and_go: "conf_dynamic", mpich_five;
            neighbourhoods: "conf_neighbor";
            generalized_requests: "conf_grequest";
            datatypes: "conf_types";
            messages_of_derived_datatypes: "conf_typed";
            packing: "conf_pack";
            sizes_beyond_an_int: "conf_queries";
            large_counts: "conf_large";
            communicators_freed_with_requests: "conf_freed";
            handles_freed_while_in_use: "conf_kept";
            the_end_in_a_destructor: "conf_finalize";
            names_of_the_standard: "conf_names";
            profiling_interface: "conf_profile";
            memory_used_up: "conf_exhaust";
            c_library: "conf_libc";
            posix: "conf_posix";
            random_traffic: "soak";
            latency_and_bandwidth_of_pairs: "app_pairs";
            halo_exchange: "app_halo";
            conjugate_gradient: "app_cg";
            conjugate_gradient_pipelined: "app_pipeline";
            integer_sort: "app_sort";
            transform_by_transposition: "app_fft";
            bodies_on_a_ring: "app_ring";
            master_and_workers: "app_master";
            cannon_on_a_grid: "app_cannon";
            search_of_a_graph: "app_search";
            table_shared_by_all: "app_table", mpich_put;
        }
    };
}
