/* MPI_T (section 14.3): every variable, enumeration and category is described and can be read; what the variables of
 * Midplane say. */
#include "check.h"

#define ROOM 200

/* The number of the performance variable with this name. */
static int pvar_named(const char *wanted)
{
    char name[ROOM];
    int count, i, length;

    OK(MPI_T_pvar_get_num(&count));
    for (i = 0; i < count; i++) {
        length = ROOM;
        OK(MPI_T_pvar_get_info(i, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        if (strcmp(name, wanted) == 0)
            return i;
    }
    return -1;
}

static void control_variables(void)
{
    char name[ROOM], text[ROOM], tiny[4];
    int count, i, length, text_length, verbosity, bind, scope, found, elements;
    MPI_Datatype datatype;
    MPI_T_enum enumtype;
    MPI_T_cvar_handle handle;

    OK(MPI_T_cvar_get_num(&count));
    for (i = 0; i < count; i++) {
        length = text_length = ROOM;
        OK(MPI_T_cvar_get_info(i, name, &length, &verbosity, &datatype, &enumtype, text, &text_length, &bind, &scope));
        CHECK(length == (int)strlen(name) + 1);
        OK(MPI_T_cvar_get_index(name, &found));
        CHECK(found == i);
        if (bind != MPI_T_BIND_NO_OBJECT)
            continue;
        OK(MPI_T_cvar_handle_alloc(i, NULL, &handle, &elements));
        if (datatype == MPI_UNSIGNED_LONG && elements == 1) {
            unsigned long value = 0x5555;

            OK(MPI_T_cvar_read(handle, &value));
            CHECK(value != 0x5555);
        }
        OK(MPI_T_cvar_handle_free(&handle));
        CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
    }
    if (count > 0) {
        length = sizeof tiny;
        OK(MPI_T_cvar_get_info(0, tiny, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        CHECK(strlen(tiny) == sizeof tiny - 1);
    }
    CHECK(MPI_T_cvar_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_cvar_get_index("no such name", &found) == MPI_T_ERR_INVALID_NAME);
}

static void performance_variables(void)
{
    char name[ROOM], text[ROOM];
    int count, i, length, text_length, verbosity, var_class, bind, readonly, continuous, atomic, found, elements;
    MPI_Datatype datatype;
    MPI_T_enum enumtype;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;

    OK(MPI_T_pvar_get_num(&count));
    OK(MPI_T_pvar_session_create(&session));
    for (i = 0; i < count; i++) {
        length = text_length = ROOM;
        OK(MPI_T_pvar_get_info(i, name, &length, &verbosity, &var_class, &datatype, &enumtype, text, &text_length, &bind,
                               &readonly, &continuous, &atomic));
        OK(MPI_T_pvar_get_index(name, var_class, &found));
        CHECK(found == i);
        if (bind != MPI_T_BIND_NO_OBJECT || datatype != MPI_UNSIGNED_LONG_LONG)
            continue;
        OK(MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &elements));
        if (elements == 1) {
            unsigned long long value;

            OK(MPI_T_pvar_read(session, handle, &value));
        }
        if (continuous)
            CHECK(MPI_T_pvar_start(session, handle) == MPI_T_ERR_PVAR_NO_STARTSTOP);
        if (readonly)
            CHECK(MPI_T_pvar_reset(session, handle) == MPI_T_ERR_PVAR_NO_WRITE);
        OK(MPI_T_pvar_handle_free(session, &handle));
        CHECK(handle == MPI_T_PVAR_HANDLE_NULL);
    }
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    OK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
    OK(MPI_T_pvar_session_free(&session));
    CHECK(session == MPI_T_PVAR_SESSION_NULL);
    if (!IS_MPICH) /* It crashes without places for them. */
        CHECK(MPI_T_pvar_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_T_ERR_INVALID_INDEX);
}

static void categories(void)
{
    char name[ROOM];
    int count, i, j, length, cvars, pvars, below, found, stamp, numbers[100];

    OK(MPI_T_category_get_num(&count));
    for (i = 0; i < count; i++) {
        length = ROOM;
        OK(MPI_T_category_get_info(i, name, &length, NULL, NULL, &cvars, &pvars, &below));
        OK(MPI_T_category_get_index(name, &found));
        CHECK(found == i);
        if (cvars > 100 || pvars > 100)
            continue;
        for (j = 0; j < 100; j++)
            numbers[j] = -1;
        OK(MPI_T_category_get_cvars(i, 100, numbers));
        for (j = 0; j < 100; j++)
            CHECK((numbers[j] >= 0) == (j < cvars));
        for (j = 0; j < 100; j++)
            numbers[j] = -1;
        OK(MPI_T_category_get_pvars(i, 100, numbers));
        for (j = 0; j < 100; j++)
            CHECK((numbers[j] >= 0) == (j < pvars));
        OK(MPI_T_category_get_categories(i, 100, numbers));
    }
    OK(MPI_T_category_changed(&stamp));
    CHECK(MPI_T_category_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
}

#ifdef MIDPLANE_MPI
/* The value of a performance variable. */
static unsigned long long value_of(MPI_T_pvar_session session, const char *name)
{
    MPI_T_pvar_handle handle;
    unsigned long long value = 0;
    int elements;
    const int number = pvar_named(name);

    CHECK(number >= 0);
    OK(MPI_T_pvar_handle_alloc(session, number, NULL, &handle, &elements));
    OK(MPI_T_pvar_read(session, handle, &value));
    OK(MPI_T_pvar_handle_free(session, &handle));
    return value;
}

static void what_midplane_has(void)
{
    MPI_T_pvar_session session, many[70];
    MPI_T_pvar_handle handle;
    MPI_T_cvar_handle control;
    MPI_T_enum engines;
    MPI_Request requests[3];
    unsigned long long messages, posted, searches;
    unsigned long bytes = 7, limit;
    char name[ROOM];
    int i, number, elements, length, engine = -1, value = 1, got;

    OK(MPI_T_pvar_session_create(&session));
    posted = value_of(session, "posted_receives");
    for (i = 0; i < 3; i++)
        OK(MPI_Irecv(&got, 1, MPI_INT, check_rank, 50 + i, MPI_COMM_WORLD, &requests[i]));
    CHECK(value_of(session, "posted_receives") == posted + 3);
    CHECK(value_of(session, "posted_receives_peak") >= 3 && value_of(session, "requests") >= 3);
    messages = value_of(session, "messages");
    searches = value_of(session, "matching_searches");
    for (i = 0; i < 3; i++)
        OK(MPI_Send(&value, 1, MPI_INT, check_rank, 50 + i, MPI_COMM_WORLD));
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    CHECK(value_of(session, "posted_receives") == posted);
    CHECK(value_of(session, "messages") == messages + 3);
    CHECK(value_of(session, "matching_searches") >= searches + 3);
    for (i = 0; i < 2; i++)
        OK(MPI_Isend(&value, 1, MPI_INT, check_rank, 60, MPI_COMM_WORLD, &requests[i]));
    CHECK(value_of(session, "unexpected_messages") >= 1 && value_of(session, "mpi_memory_used") >= 32);
    for (i = 0; i < 2; i++)
        OK(MPI_Recv(&got, 1, MPI_INT, check_rank, 60, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));

    OK(MPI_T_cvar_get_index("mpi_memory", &number));
    OK(MPI_T_cvar_handle_alloc(number, NULL, &control, &elements));
    OK(MPI_T_cvar_read(control, &bytes));
    CHECK(bytes >= 32 && bytes % 32 == 0);
    CHECK(MPI_T_cvar_write(control, &bytes) == MPI_T_ERR_CVAR_SET_NEVER);
    OK(MPI_T_cvar_get_index("eager_limit", &number));
    OK(MPI_T_cvar_handle_alloc(number, NULL, &control, &elements));
    OK(MPI_T_cvar_read(control, &limit));
    bytes = 1000;
    OK(MPI_T_cvar_write(control, &bytes));
    OK(MPI_T_cvar_read(control, &bytes));
    CHECK(bytes == 1000);
    OK(MPI_T_cvar_write(control, &limit));
    OK(MPI_T_cvar_get_index("matching_engine", &number));
    OK(MPI_T_cvar_handle_alloc(number, NULL, &control, &elements));
    OK(MPI_T_cvar_read(control, &engine));
    OK(MPI_T_cvar_get_info(number, NULL, NULL, NULL, NULL, &engines, NULL, NULL, NULL, NULL));
    length = ROOM;
    OK(MPI_T_enum_get_info(engines, &elements, name, &length));
    CHECK(engine >= 0 && engine < elements);
    length = ROOM;
    OK(MPI_T_enum_get_item(engines, engine, &value, name, &length));
    CHECK(value == engine && strlen(name) > 0);
    CHECK(MPI_T_enum_get_item(engines, elements, &value, name, &length) == MPI_T_ERR_INVALID_ITEM);
    CHECK(MPI_T_enum_get_info(MPI_T_ENUM_NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);

    handle = MPI_T_PVAR_HANDLE_NULL;
    CHECK(MPI_T_pvar_read(session, handle, &messages) == MPI_T_ERR_INVALID_HANDLE);
    OK(MPI_T_pvar_handle_alloc(session, 0, NULL, &handle, &elements));
    CHECK(MPI_T_pvar_write(session, handle, &messages) == MPI_T_ERR_PVAR_NO_WRITE);
    CHECK(MPI_T_pvar_readreset(session, handle, &messages) == MPI_T_ERR_PVAR_NO_ATOMIC);
    CHECK(MPI_T_pvar_stop(session, handle) == MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK(MPI_T_pvar_read(MPI_T_PVAR_SESSION_NULL, handle, &messages) == MPI_T_ERR_INVALID_SESSION);
    for (i = 0; i < 70 && MPI_T_pvar_session_create(&many[i]) == MPI_SUCCESS; i++)
        ;
    CHECK(i == 63);
    CHECK(MPI_T_pvar_session_create(&many[i]) == MPI_T_ERR_OUT_OF_SESSIONS);
    CHECK(MPI_T_pvar_read(many[5], handle, &messages) == MPI_T_ERR_INVALID_HANDLE);
    while (i-- > 0)
        OK(MPI_T_pvar_session_free(&many[i]));
    OK(MPI_T_pvar_session_free(&session));
    CHECK(MPI_T_cvar_handle_free(NULL) == MPI_T_ERR_INVALID_HANDLE);
}
#endif

#ifdef MPI_T_BIND_MPI_SESSION /* MPI-4.0 */
/* Events that the callback has seen: of which counter, how many increases, and when. */
struct seen {
    int calls, freed;
    unsigned long long value, increase;
    MPI_Count time;
    MPI_T_event_registration own;
};

static void event_called(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                         void *data)
{
    struct seen *seen = data;
    unsigned long long both[2] = {0, 0}, value = 0;
    int source = -1, flag;
    MPI_Count time = -1;

    seen->calls++;
    OK(MPI_T_event_copy(event, both));
    OK(MPI_T_event_read(event, 0, &value));
    CHECK(value == both[0] && both[1] > 0 && value > seen->value);
    CHECK(seen->value == 0 || value == seen->value + both[1]);
    seen->value = value;
    seen->increase += both[1];
    CHECK(MPI_T_event_read(event, 2, &value) == MPI_T_ERR_INVALID_INDEX);
    OK(MPI_T_event_get_timestamp(event, &time));
    CHECK(time >= seen->time);
    seen->time = time;
    OK(MPI_T_event_get_source(event, &source));
    CHECK(source == 0 && registration == seen->own && safety == MPI_T_CB_REQUIRE_NONE);
    /* A callback without restrictions may call MPI, which makes progress. */
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
}

static void event_freed(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    struct seen *seen = data;
    (void)safety;
    CHECK(registration == seen->own);
    seen->freed++;
}

#ifdef MIDPLANE_MPI
enum { REGISTRATIONS = 128 };

/* Messages to oneself are counted by events exactly, however many increases one event contains. */
static void message_events(void)
{
    enum { MESSAGES = 40 };
    struct seen seen = {0};
    MPI_T_event_registration many[REGISTRATIONS + 1], stale;
    MPI_T_event_instance event = (MPI_T_event_instance)1;
    MPI_Datatype types[2];
    MPI_Aint places[2];
    MPI_Info info;
    char text[ROOM];
    int type, pvar, elements = 2, length = ROOM, i, in, out = 5;
    MPI_Count time;

    OK(MPI_T_event_get_index("messages", &type));
    OK(MPI_T_event_get_info(type, NULL, NULL, NULL, types, places, &elements, NULL, &info, text, &length, NULL));
    CHECK(elements == 2 && types[0] == MPI_UNSIGNED_LONG_LONG && types[1] == types[0]);
    CHECK(places[0] == 0 && places[1] == sizeof(unsigned long long));
    OK(MPI_Info_free(&info));
    OK(MPI_T_pvar_get_index("messages", MPI_T_PVAR_CLASS_COUNTER, &pvar));
    OK(MPI_T_event_handle_alloc(type, NULL, MPI_INFO_NULL, &seen.own));
    CHECK(MPI_T_event_callback_set_info(seen.own, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL) == MPI_T_ERR_INVALID);
    OK(MPI_T_event_register_callback(seen.own, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &seen, event_called));
    OK(MPI_T_event_callback_get_info(seen.own, MPI_T_CB_REQUIRE_NONE, &info));
    OK(MPI_Info_free(&info));
    CHECK(MPI_T_event_register_callback(seen.own, (MPI_T_cb_safety)77, MPI_INFO_NULL, &seen, event_called) ==
          MPI_T_ERR_INVALID);
    OK(MPI_T_event_set_dropped_handler(seen.own, NULL));
    OK(MPI_T_event_handle_set_info(seen.own, MPI_INFO_NULL));
    for (i = 0; i < MESSAGES; i++) {
        MPI_Request request;
        OK(MPI_Irecv(&in, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &request));
        OK(MPI_Send(&out, 1, MPI_INT, 0, 9, MPI_COMM_SELF));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (i % 8 == 7)
            OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    stale = seen.own;
    OK(MPI_T_event_handle_free(seen.own, &seen, event_freed));
    CHECK(seen.calls > 0 && seen.freed == 1 && seen.increase >= MESSAGES);
    CHECK(MPI_T_event_handle_free(stale, &seen, event_freed) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_register_callback(stale, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, event_called) ==
          MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_handle_set_info(stale, MPI_INFO_NULL) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_read(event, 0, text) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_copy(event, text) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_get_timestamp(event, &time) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_get_source(event, &in) == MPI_T_ERR_INVALID_HANDLE);
    for (i = 0; i < REGISTRATIONS; i++)
        OK(MPI_T_event_handle_alloc(type, NULL, MPI_INFO_NULL, &many[i]));
    CHECK(MPI_T_event_handle_alloc(type, NULL, MPI_INFO_NULL, &many[i]) == MPI_T_ERR_OUT_OF_HANDLES);
    while (i-- > 0)
        OK(MPI_T_event_handle_free(many[i], NULL, NULL));
}

/* Messages of other processes cause events in a call that waits for them. */
static void received_events(void)
{
    struct seen seen = {0};
    int type, rank, size, to, from, i, in = -1;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    to = (rank + 1) % size, from = (rank + size - 1) % size;
    OK(MPI_T_event_get_index("messages_received", &type));
    OK(MPI_T_event_handle_alloc(type, NULL, MPI_INFO_NULL, &seen.own));
    OK(MPI_T_event_register_callback(seen.own, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &seen, event_called));
    for (i = 0; i < 20; i++) {
        OK(MPI_Sendrecv(&i, 1, MPI_INT, to, 3, &in, 1, MPI_INT, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(in == i);
    }
    /* Without a callback there is no event. */
    OK(MPI_T_event_handle_free(seen.own, NULL, NULL));
    CHECK(seen.calls > 0 && seen.increase >= 20 && seen.freed == 0);
    i = seen.calls;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(seen.calls == i);
}
#endif

/* Each type of events that exists has a name, and each source a clock. */
static void events(void)
{
    char name[ROOM], text[ROOM];
    int count, sources, categories, i, length, text_length, verbosity, elements, bind, found;
    MPI_Count ticks, most, first, second;
    MPI_T_source_order order;
    MPI_T_enum values;

    OK(MPI_T_event_get_num(&count));
    for (i = 0; i < count; i++) {
        length = text_length = ROOM;
        elements = 0;
        OK(MPI_T_event_get_info(i, name, &length, &verbosity, NULL, NULL, &elements, &values, NULL, text, &text_length,
                                &bind));
        OK(MPI_T_event_get_index(name, &found));
        CHECK(found == i && elements > 0);
    }
    CHECK(MPI_T_event_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) ==
          MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_event_get_index("no such name", &found) == MPI_T_ERR_INVALID_NAME);
    OK(MPI_T_source_get_num(&sources));
    for (i = 0; i < sources; i++) {
        length = text_length = ROOM;
        OK(MPI_T_source_get_info(i, name, &length, text, &text_length, &order, &ticks, &most, NULL));
        CHECK(length > 1 && (order == MPI_T_SOURCE_ORDERED || order == MPI_T_SOURCE_UNORDERED));
        CHECK(ticks > 0 && most > 0);
        OK(MPI_T_source_get_timestamp(i, &first));
        OK(MPI_T_source_get_timestamp(i, &second));
        CHECK(first >= 0 && second >= first);
    }
    CHECK(MPI_T_source_get_timestamp(sources, &first) == MPI_T_ERR_INVALID_INDEX);
    OK(MPI_T_category_get_num(&categories));
    for (i = 0; i < categories; i++)
        OK(MPI_T_category_get_num_events(i, &found));
    CHECK(MPI_T_category_get_num_events(categories, &found) == MPI_T_ERR_INVALID_INDEX);
#ifdef MIDPLANE_MPI
    CHECK(count > 20 && sources == 1 && ticks == 1000000000);
    for (i = found = 0; i < categories; i++) {
        int members, indices[ROOM], n;
        OK(MPI_T_category_get_num_events(i, &members));
        OK(MPI_T_category_get_events(i, ROOM, indices));
        for (n = 0; n < members; n++)
            CHECK(indices[n] >= 0 && indices[n] < count && (n == 0 || indices[n] > indices[n - 1]));
        found += members;
    }
    CHECK(found == count);
    CHECK(MPI_T_event_handle_alloc(count, NULL, MPI_INFO_NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
    message_events();
    received_events();
#endif
}
#endif

int main(int argc, char **argv)
{
    int provided = -1, count;

    if (MPI_T_cvar_get_num(&count) != MPI_T_ERR_NOT_INITIALIZED)
        printf("MPI_T answers before it is started\n");
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK(provided >= MPI_THREAD_SINGLE);
    OK(MPI_T_pvar_get_num(&count));
    check_start(&argc, &argv);
    control_variables();
    performance_variables();
    categories();
#ifdef MPI_T_BIND_MPI_SESSION
    events();
#endif
    CHECK(pvar_named("no such name") == -1);
#ifdef MIDPLANE_MPI
    what_midplane_has();
#endif
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_finalize());
    OK(MPI_T_cvar_get_num(&count));
    OK(MPI_T_finalize());
    CHECK(MPI_T_cvar_get_num(&count) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
    return check_end("conf_tools");
}
