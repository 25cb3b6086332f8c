/* What the host's C library keeps from one call to the next, for each rank of a cluster: its functions by others of it that
 * keep nothing, with variables of this file, which each rank has for itself (cluster.c). */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <limits.h>
#include <locale.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <pthread.h>
#include <pwd.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <threads.h>
#include <time.h>
#include <uchar.h>
#include <unistd.h>
#include <wchar.h>

#include "cluster.h"

/* A function of the program's own with one of these names is the program's. */
#pragma weak strtok
#pragma weak random
#pragma weak srandom
#pragma weak initstate
#pragma weak setstate
#pragma weak rand
#pragma weak srand
#pragma weak drand48
#pragma weak erand48
#pragma weak lrand48
#pragma weak nrand48
#pragma weak mrand48
#pragma weak jrand48
#pragma weak srand48
#pragma weak seed48
#pragma weak lcong48
#pragma weak getopt
#pragma weak getopt_long
#pragma weak getopt_long_only
#pragma weak tzset
#pragma weak localtime
#pragma weak localtime_r
#pragma weak gmtime
#pragma weak asctime
#pragma weak ctime
#pragma weak getdate
#pragma weak strerror
#pragma weak strsignal
#pragma weak setlocale
#pragma weak localeconv
#pragma weak uselocale
#pragma weak hcreate
#pragma weak hsearch
#pragma weak hdestroy
#pragma weak tmpnam
#pragma weak inet_ntoa
#pragma weak ether_ntoa
#pragma weak ether_aton
#pragma weak l64a
#pragma weak ecvt
#pragma weak fcvt
#pragma weak qecvt
#pragma weak qfcvt
#pragma weak mbrtowc
#pragma weak mbrlen
#pragma weak wcrtomb
#pragma weak mbsrtowcs
#pragma weak wcsrtombs
#pragma weak mbsnrtowcs
#pragma weak wcsnrtombs
#pragma weak mbrtoc16
#pragma weak c16rtomb
#pragma weak mbrtoc32
#pragma weak c32rtomb
#pragma weak getpwnam
#pragma weak getpwuid
#pragma weak getgrnam
#pragma weak getgrgid
#pragma weak gethostbyname
#pragma weak getservbyname
#pragma weak getprotobyname
#pragma weak pthread_key_create
#pragma weak pthread_key_delete
#pragma weak pthread_setspecific
#pragma weak pthread_getspecific
#pragma weak pthread_exit
#pragma weak tss_create
#pragma weak tss_delete
#pragma weak tss_set
#pragma weak tss_get
#pragma weak thrd_exit

/* The variables, which are allocated when one of them is used for the first time: to put a rank's data in place takes the
 * longer the more there is. */
enum { CATEGORIES = 13 };

/* A value of a thread. */
struct value {
    int is_used;
    const void *value;
    void (*destructor)(void *);
};

struct kept {
    char *rest_of_words;
    struct random_data numbers;
    char first_state[128], *state;
    struct drand48_data words;
    unsigned short words_before[3];
    char *letters;
    int first_other, last_other, has_begun;
    int has_zone;
    struct tm date, got_date;
    char date_text[64], error_text[64], signal_text[64], name[L_tmpnam], address_text[18], base64[8], digits[512];
    struct ether_addr address;
    mbstate_t wide[11];
    char *locale_names[CATEGORIES], *locale_list;
    locale_t locale;
    struct lconv conventions;
    struct hsearch_data table;
    struct value *values;
    unsigned value_count;
};

static struct kept *kept(void) {
    static struct kept *own;
    if (own == NULL) own = calloc(1, sizeof *own);
    if (own == NULL) abort();
    return own;
}

/* Words. */

char *strtok(char *text, const char *between) {
    return strtok_r(text, between, &kept()->rest_of_words);
}

/* Numbers of chance: the same that the host's C library gives a process. */

static struct random_data *drawn_from(void) {
    struct kept *own = kept();
    if (own->state == NULL) initstate_r(1, own->state = own->first_state, sizeof own->first_state, &own->numbers);
    return &own->numbers;
}

static int32_t draw(void) {
    int32_t number;
    random_r(drawn_from(), &number);
    return number;
}
long random(void) { return draw(); }
void srandom(unsigned seed) { srandom_r(seed, drawn_from()); }
char *initstate(unsigned seed, char *bytes, size_t count) {
    char *before = (drawn_from(), kept()->state);
    if (initstate_r(seed, bytes, count, drawn_from()) != 0) return NULL;
    return kept()->state = bytes, before;
}
char *setstate(char *bytes) {
    char *before = (drawn_from(), kept()->state);
    if (setstate_r(bytes, drawn_from()) != 0) return NULL;
    return kept()->state = bytes, before;
}
int rand(void) { return draw(); }
void srand(unsigned seed) { srandom_r(seed, drawn_from()); }

double drand48(void) {
    double number;
    drand48_r(&kept()->words, &number);
    return number;
}
long lrand48(void) {
    long number;
    lrand48_r(&kept()->words, &number);
    return number;
}
long mrand48(void) {
    long number;
    mrand48_r(&kept()->words, &number);
    return number;
}
void srand48(long seed) { srand48_r(seed, &kept()->words); }
unsigned short *seed48(unsigned short seed[3]) {
    struct kept *own = kept();
    memcpy(own->words_before, own->words.__x, sizeof own->words_before);
    seed48_r(seed, &own->words);
    return own->words_before;
}
void lcong48(unsigned short parameters[7]) { lcong48_r(parameters, &kept()->words); }

double erand48(unsigned short seed[3]) {
    double number;
    erand48_r(seed, &kept()->words, &number);
    return number;
}
long nrand48(unsigned short seed[3]) {
    long number;
    nrand48_r(seed, &kept()->words, &number);
    return number;
}
long jrand48(unsigned short seed[3]) {
    long number;
    jrand48_r(seed, &kept()->words, &number);
    return number;
}

/* Options, as glibc has them: `optind` and its like are in the program's file, what is between two calls is here. */

static void reverse(char **words, int from, int to) {
    for (; from < --to; from++) {
        char *word = words[from];
        words[from] = words[to];
        words[to] = word;
    }
}

/* The words from first_other to last_other, which are no options, go behind those that follow them up to optind. */
static void exchange(char **words) {
    struct kept *own = kept();
    reverse(words, own->first_other, own->last_other);
    reverse(words, own->last_other, optind);
    reverse(words, own->first_other, optind);
    own->first_other += optind - own->last_other;
    own->last_other = optind;
}

static int is_other(const char *word) { return word[0] != '-' || word[1] == 0; }

#define COMPLAIN(...) (says ? (void)fprintf(stderr, __VA_ARGS__) : (void)0)

static int long_option(int argc, char **argv, const char *known, const struct option *options, int *which, int only,
                       const char *prefix, int says) {
    struct kept *own = kept();
    size_t length = strcspn(own->letters, "=");
    const struct option *found = NULL;
    int is_ambiguous = 0;
    for (const struct option *at = options; at->name != NULL; at++)
        if (strncmp(at->name, own->letters, length) == 0 && strlen(at->name) == length) found = at;
    if (found == NULL) {
        for (const struct option *at = options; at->name != NULL; at++) {
            if (strncmp(at->name, own->letters, length) != 0) continue;
            if (found == NULL) found = at;
            else if (only || found->has_arg != at->has_arg || found->flag != at->flag || found->val != at->val)
                is_ambiguous = 1;
        }
    }
    if (is_ambiguous) {
        COMPLAIN("%s: option '%s%s' is ambiguous; possibilities:", argv[0], prefix, own->letters);
        for (const struct option *at = options; at->name != NULL; at++)
            if (strncmp(at->name, own->letters, length) == 0) COMPLAIN(" '%s%s'", prefix, at->name);
        COMPLAIN("\n");
        own->letters = NULL, optind++, optopt = 0;
        return '?';
    }
    if (found == NULL) {
        if (only && argv[optind][1] != '-' && strchr(known, *own->letters) != NULL) return -1;
        COMPLAIN("%s: unrecognized option '%s%s'\n", argv[0], prefix, own->letters);
        own->letters = NULL, optind++, optopt = 0;
        return '?';
    }
    char *value = own->letters[length] == '=' ? own->letters + length + 1 : NULL;
    own->letters = NULL, optind++;
    if (value != NULL && found->has_arg == no_argument) {
        COMPLAIN("%s: option '%s%s' doesn't allow an argument\n", argv[0], prefix, found->name);
        optopt = found->val;
        return '?';
    }
    if (value == NULL && found->has_arg == required_argument) {
        if (optind >= argc) {
            COMPLAIN("%s: option '%s%s' requires an argument\n", argv[0], prefix, found->name);
            optopt = found->val;
            return *known == ':' ? ':' : '?';
        }
        value = argv[optind++];
    }
    optarg = value;
    if (which != NULL) *which = (int)(found - options);
    if (found->flag == NULL) return found->val;
    *found->flag = found->val;
    return 0;
}

static int option(int argc, char **argv, const char *known, const struct option *options, int *which, int only) {
    struct kept *own = kept();
    if (argc < 1) return -1;
    optarg = NULL;
    if (optind == 0 || !own->has_begun) {
        if (optind == 0) optind = 1;
        own->first_other = own->last_other = optind;
        if (!own->has_begun) optopt = 0;
        own->letters = NULL, own->has_begun = 1;
    }
    char order = *known == '-' || *known == '+' ? *known++ : getenv("POSIXLY_CORRECT") != NULL ? '+' : 0;
    int says = opterr && *known != ':';
    if (own->letters == NULL || *own->letters == 0) {
        if (own->last_other > optind) own->last_other = optind;
        if (own->first_other > optind) own->first_other = optind;
        if (order == 0) {
            if (own->first_other != own->last_other && own->last_other != optind) exchange(argv);
            else if (own->last_other != optind) own->first_other = optind;
            while (optind < argc && is_other(argv[optind])) optind++;
            own->last_other = optind;
        }
        if (optind < argc && strcmp(argv[optind], "--") == 0) {
            optind++;
            if (own->first_other != own->last_other && own->last_other != optind) exchange(argv);
            else if (own->first_other == own->last_other) own->first_other = optind;
            own->last_other = optind = argc;
        }
        if (optind >= argc) {
            if (own->first_other != own->last_other) optind = own->first_other;
            return -1;
        }
        if (is_other(argv[optind])) {
            if (order == '+') return -1;
            optarg = argv[optind++];
            return 1;
        }
        char *word = argv[optind];
        if (options != NULL && word[1] == '-') {
            own->letters = word + 2;
            return long_option(argc, argv, known, options, which, only, "--", says);
        }
        own->letters = word + 1;
        if (options != NULL && only && (word[2] != 0 || strchr(known, word[1]) == NULL)) {
            int code = long_option(argc, argv, known, options, which, only, "-", says);
            if (code != -1) return code;
        }
    }
    char letter = *own->letters++;
    const char *is_known = strchr(known, letter);
    if (*own->letters == 0) optind++;
    if (is_known == NULL || letter == ':' || letter == ';') {
        COMPLAIN("%s: invalid option -- '%c'\n", argv[0], letter);
        optopt = letter;
        return '?';
    }
    if (is_known[1] != ':') return letter;
    if (*own->letters != 0) {
        optarg = own->letters;
        optind++;
    } else if (is_known[2] != ':') {
        if (optind >= argc) {
            COMPLAIN("%s: option requires an argument -- '%c'\n", argv[0], letter);
            optopt = letter, own->letters = NULL;
            return *known == ':' ? ':' : '?';
        }
        optarg = argv[optind++];
    }
    own->letters = NULL;
    return letter;
}

int getopt(int argc, char *const *argv, const char *known) {
    return option(argc, (char **)argv, known, NULL, NULL, 0);
}
/* As headers call it where POSIX is asked for. */
int __posix_getopt(int argc, char *const *argv, const char *known);
int __posix_getopt(int argc, char *const *argv, const char *known) {
    char plain[256];
    snprintf(plain, sizeof plain, "%s%s", *known == '+' || *known == '-' ? "" : "+", known);
    return option(argc, (char **)argv, plain, NULL, NULL, 0);
}
int getopt_long(int argc, char *const *argv, const char *known, const struct option *options, int *which) {
    return option(argc, (char **)argv, known, options, which, 0);
}
int getopt_long_only(int argc, char *const *argv, const char *known, const struct option *options, int *which) {
    return option(argc, (char **)argv, known, options, which, 1);
}

/* Dates. The C library has read one time zone, that of the rank that asked last. */

static void use_zone(void) { midplane_next(tzset)(); }

void tzset(void) {
    /* It sets `tzname` and its like when the zone is another than before: so it is another for a moment. */
    char other[] = "TZ=<->1", *list[] = {other, NULL}, **own = environ;
    environ = list;
    use_zone();
    environ = own;
    use_zone();
    kept()->has_zone = 1;
}
struct tm *localtime_r(const time_t *restrict time, struct tm *restrict date) {
    if (kept()->has_zone) use_zone();
    else tzset();
    return midplane_next(localtime_r)(time, date);
}
struct tm *localtime(const time_t *time) { return localtime_r(time, &kept()->date); }
struct tm *gmtime(const time_t *time) { return gmtime_r(time, &kept()->date); }
char *asctime(const struct tm *date) { return asctime_r(date, kept()->date_text); }
char *ctime(const time_t *time) {
    struct tm date;
    return localtime_r(time, &date) == NULL ? NULL : asctime(&date);
}
struct tm *getdate(const char *text) {
    getdate_err = getdate_r(text, &kept()->got_date);
    return getdate_err == 0 ? &kept()->got_date : NULL;
}

/* Texts. */

char *strerror(int error) { return strerror_r(error, kept()->error_text, sizeof kept()->error_text); }
char *strsignal(int signal) {
    snprintf(kept()->signal_text, sizeof kept()->signal_text, "%s", midplane_next(strsignal)(signal));
    return kept()->signal_text;
}
/* Not by `tmpnam_r`, of which the linker warns wherever it is called. */
char *tmpnam(char name[L_tmpnam]) {
    char *text = name != NULL ? name : kept()->name;
    uint32_t number;
    do {
        if (getrandom(&number, sizeof number, 0) != sizeof number) return NULL;
        snprintf(text, L_tmpnam, P_tmpdir "/file%08x", number);
    } while (access(text, F_OK) == 0);
    return text;
}
char *inet_ntoa(struct in_addr address) {
    return (char *)inet_ntop(AF_INET, &address, kept()->address_text, sizeof kept()->address_text);
}
char *ether_ntoa(const struct ether_addr *address) { return ether_ntoa_r(address, kept()->address_text); }
struct ether_addr *ether_aton(const char *text) { return ether_aton_r(text, &kept()->address); }
char *l64a(long value) {
    static const char digits[] = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    char *text = kept()->base64;
    uint32_t left = (uint32_t)value;
    int at = 0;
    for (; left != 0; left >>= 6) text[at++] = digits[left & 63];
    text[at] = 0;
    return text;
}

char *ecvt(double value, int digits, int *point, int *sign) {
    return ecvt_r(value, digits, point, sign, kept()->digits, sizeof kept()->digits) == 0 ? kept()->digits : NULL;
}
char *fcvt(double value, int digits, int *point, int *sign) {
    return fcvt_r(value, digits, point, sign, kept()->digits, sizeof kept()->digits) == 0 ? kept()->digits : NULL;
}
char *qecvt(long double value, int digits, int *point, int *sign) {
    return qecvt_r(value, digits, point, sign, kept()->digits, sizeof kept()->digits) == 0 ? kept()->digits : NULL;
}
char *qfcvt(long double value, int digits, int *point, int *sign) {
    return qfcvt_r(value, digits, point, sign, kept()->digits, sizeof kept()->digits) == 0 ? kept()->digits : NULL;
}

/* Characters of several bytes, where the program keeps no state for them. */

size_t mbrtowc(wchar_t *restrict wide, const char *restrict bytes, size_t count, mbstate_t *restrict state) {
    return midplane_next(mbrtowc)(wide, bytes, count, state != NULL ? state : &kept()->wide[0]);
}
size_t mbrlen(const char *restrict bytes, size_t count, mbstate_t *restrict state) {
    return midplane_next(mbrtowc)(NULL, bytes, count, state != NULL ? state : &kept()->wide[1]);
}
size_t wcrtomb(char *restrict bytes, wchar_t wide, mbstate_t *restrict state) {
    return midplane_next(wcrtomb)(bytes, wide, state != NULL ? state : &kept()->wide[2]);
}
size_t mbsrtowcs(wchar_t *restrict wide, const char **restrict bytes, size_t count, mbstate_t *restrict state) {
    return midplane_next(mbsrtowcs)(wide, bytes, count, state != NULL ? state : &kept()->wide[3]);
}
size_t wcsrtombs(char *restrict bytes, const wchar_t **restrict wide, size_t count, mbstate_t *restrict state) {
    return midplane_next(wcsrtombs)(bytes, wide, count, state != NULL ? state : &kept()->wide[4]);
}
size_t mbsnrtowcs(wchar_t *restrict wide, const char **restrict bytes, size_t most, size_t count,
                  mbstate_t *restrict state) {
    return midplane_next(mbsnrtowcs)(wide, bytes, most, count, state != NULL ? state : &kept()->wide[5]);
}
size_t wcsnrtombs(char *restrict bytes, const wchar_t **restrict wide, size_t most, size_t count,
                  mbstate_t *restrict state) {
    return midplane_next(wcsnrtombs)(bytes, wide, most, count, state != NULL ? state : &kept()->wide[6]);
}
size_t mbrtoc16(char16_t *restrict wide, const char *restrict bytes, size_t count, mbstate_t *restrict state) {
    return midplane_next(mbrtoc16)(wide, bytes, count, state != NULL ? state : &kept()->wide[7]);
}
size_t c16rtomb(char *restrict bytes, char16_t wide, mbstate_t *restrict state) {
    return midplane_next(c16rtomb)(bytes, wide, state != NULL ? state : &kept()->wide[8]);
}
size_t mbrtoc32(char32_t *restrict wide, const char *restrict bytes, size_t count, mbstate_t *restrict state) {
    return midplane_next(mbrtoc32)(wide, bytes, count, state != NULL ? state : &kept()->wide[9]);
}
size_t c32rtomb(char *restrict bytes, char32_t wide, mbstate_t *restrict state) {
    return midplane_next(c32rtomb)(bytes, wide, state != NULL ? state : &kept()->wide[10]);
}

/* The locale: that of the thread, which each rank finds in place, in place of the process's. */

static const char *const category_names[CATEGORIES] = {
    "LC_CTYPE", "LC_NUMERIC", "LC_TIME",    "LC_COLLATE",   "LC_MONETARY",    "LC_MESSAGES",       "LC_ALL",
    "LC_PAPER", "LC_NAME",    "LC_ADDRESS", "LC_TELEPHONE", "LC_MEASUREMENT", "LC_IDENTIFICATION",
};
locale_t __uselocale(locale_t locale);
locale_t uselocale(locale_t locale) {
    if (locale != NULL) midplane_uses(LOCALE);
    return __uselocale(locale);
}

static const char *chosen_of(int category) {
    const char *name = kept()->locale_names[category];
    return name != NULL ? name : "C";
}

/* The name that `name` gives to a category: its own in a list of them, or that of the environment. */
static char *name_of(int category, const char *name) {
    if (*name == 0) {
        const char *variables[] = {"LC_ALL", category_names[category], "LANG"};
        for (int at = 0; at < 3 && *name == 0; at++) {
            const char *value = getenv(variables[at]);
            if (value != NULL) name = value;
        }
        if (*name == 0) name = "C";
    }
    size_t length = strlen(category_names[category]);
    for (const char *at = name; at != NULL && strchr(name, ';') != NULL; at = strchr(at, ';')) {
        if (*at == ';') at++;
        if (strncmp(at, category_names[category], length) == 0 && at[length] == '=')
            return strndup(at + length + 1, strcspn(at + length + 1, ";"));
    }
    return strdup(strcmp(name, "POSIX") == 0 ? "C" : name);
}

/* The name of all categories: one, or a list of those of each. */
static char *name_of_all(void) {
    int is_one = 1;
    for (int at = 0; at < CATEGORIES; at++)
        is_one &= at == LC_ALL || strcmp(chosen_of(at), chosen_of(LC_CTYPE)) == 0;
    if (is_one) return (char *)chosen_of(LC_CTYPE);
    char *text = NULL;
    size_t bytes;
    FILE *file = open_memstream(&text, &bytes);
    if (file == NULL) return NULL;
    for (int at = 0; at < CATEGORIES; at++)
        if (at != LC_ALL) fprintf(file, "%s%s=%s", at > 0 ? ";" : "", category_names[at], chosen_of(at));
    fclose(file);
    free(kept()->locale_list);
    return kept()->locale_list = text;
}

char *setlocale(int category, const char *name) {
    if (category < 0 || category >= CATEGORIES) return errno = EINVAL, NULL;
    if (name != NULL) {
        struct kept *own = kept();
        locale_t changed = own->locale != NULL ? duplocale(own->locale) : newlocale(LC_ALL_MASK, "C", NULL);
        char *names[CATEGORIES] = {NULL};
        for (int at = 0; at < CATEGORIES && changed != NULL; at++) {
            if (at == LC_ALL || (category != LC_ALL && category != at)) continue;
            names[at] = name_of(at, name);
            locale_t more = names[at] != NULL ? newlocale(1 << at, names[at], changed) : NULL;
            if (more == NULL) freelocale(changed);
            changed = more;
        }
        if (changed == NULL) {
            for (int at = 0; at < CATEGORIES; at++) free(names[at]);
            return NULL;
        }
        for (int at = 0; at < CATEGORIES; at++) {
            if (names[at] == NULL) continue;
            free(own->locale_names[at]);
            own->locale_names[at] = names[at];
        }
        uselocale(changed);
        if (own->locale != NULL) freelocale(own->locale);
        own->locale = changed;
    }
    return category == LC_ALL ? name_of_all() : (char *)chosen_of(category);
}
struct lconv *localeconv(void) {
    kept()->conventions = *midplane_next(localeconv)();
    return &kept()->conventions;
}

/* Tables. */

int hcreate(size_t count) { return hcreate_r(count, &kept()->table); }
void hdestroy(void) { hdestroy_r(&kept()->table); }
ENTRY *hsearch(ENTRY entry, ACTION action) {
    ENTRY *found = NULL;
    hsearch_r(entry, action, &found, &kept()->table);
    return found;
}

/* Users, groups, hosts, services: one of each. */

enum { TEXT_BYTES = 8192 };

#define ONE(type, name, parameters, failed, ...)                                \
    type *name parameters {                                                     \
        static struct {                                                         \
            type entry;                                                         \
            char text[TEXT_BYTES];                                              \
        } *own;                                                                 \
        type *found = NULL;                                                     \
        if (own == NULL) own = malloc(sizeof *own);                             \
        if (own == NULL) abort();                                               \
        int error = name##_r(__VA_ARGS__, &own->entry, own->text, TEXT_BYTES, &found failed); \
        if (error != 0) errno = error;                                          \
        return found;                                                           \
    }
#define NONE
#define H_ERRNO , &h_errno
ONE(struct passwd, getpwnam, (const char *name), NONE, name)
ONE(struct passwd, getpwuid, (uid_t id), NONE, id)
ONE(struct group, getgrnam, (const char *name), NONE, name)
ONE(struct group, getgrgid, (gid_t id), NONE, id)
ONE(struct protoent, getprotobyname, (const char *name), NONE, name)
ONE(struct servent, getservbyname, (const char *name, const char *protocol), NONE, name, protocol)
ONE(struct hostent, gethostbyname, (const char *name), H_ERRNO, name)

#define ITERATES "the C library keeps one place in that list for all ranks"
REFUSE(getpwent, ITERATES)
REFUSE(getgrent, ITERATES)
REFUSE(gethostent, ITERATES)
REFUSE(getnetent, ITERATES)
REFUSE(getservent, ITERATES)
REFUSE(getprotoent, ITERATES)
REFUSE(getutent, ITERATES)
REFUSE(getutxent, ITERATES)
REFUSE(getmntent, ITERATES)
REFUSE(getfsent, ITERATES)
REFUSE(getttyent, ITERATES)
REFUSE(getusershell, ITERATES)
REFUSE(fgetpwent, ITERATES)
REFUSE(fgetgrent, ITERATES)

#define ONE_FOR_ALL "the C library keeps one result of it for all ranks"
REFUSE(gethostbyaddr, ONE_FOR_ALL)
REFUSE(gethostbyname2, ONE_FOR_ALL)
REFUSE(getnetbyname, ONE_FOR_ALL)
REFUSE(getnetbyaddr, ONE_FOR_ALL)
REFUSE(getservbyport, ONE_FOR_ALL)
REFUSE(getprotobynumber, ONE_FOR_ALL)
REFUSE(getspnam, ONE_FOR_ALL)
REFUSE(re_comp, ONE_FOR_ALL)
REFUSE(re_exec, ONE_FOR_ALL)
REFUSE(textdomain, ONE_FOR_ALL)
REFUSE(bindtextdomain, ONE_FOR_ALL)

/* A thread's values, of the one thread. */

int pthread_key_create(pthread_key_t *key, void (*destructor)(void *)) {
    struct kept *own = kept();
    unsigned at = 0;
    while (at < own->value_count && own->values[at].is_used) at++;
    if (at == own->value_count) {
        struct value *more = realloc(own->values, (at + 16) * sizeof *more);
        if (more == NULL) return ENOMEM;
        memset(more + at, 0, 16 * sizeof *more);
        own->values = more;
        own->value_count = at + 16;
    }
    own->values[at] = (struct value){.is_used = 1, .destructor = destructor};
    *key = at;
    return 0;
}
static struct value *value_of(pthread_key_t key) {
    struct kept *own = kept();
    return key < own->value_count && own->values[key].is_used ? &own->values[key] : NULL;
}
int pthread_key_delete(pthread_key_t key) {
    struct value *value = value_of(key);
    return value == NULL ? EINVAL : (value->is_used = 0);
}
int pthread_setspecific(pthread_key_t key, const void *set) {
    struct value *value = value_of(key);
    return value == NULL ? EINVAL : (value->value = set, 0);
}
void *pthread_getspecific(pthread_key_t key) {
    struct value *value = value_of(key);
    return value == NULL ? NULL : (void *)value->value;
}
int tss_create(tss_t *key, void (*destructor)(void *)) {
    return pthread_key_create(key, destructor) == 0 ? thrd_success : thrd_error;
}
void tss_delete(tss_t key) { pthread_key_delete(key); }
int tss_set(tss_t key, void *set) { return pthread_setspecific(key, set) == 0 ? thrd_success : thrd_error; }
void *tss_get(tss_t key) { return pthread_getspecific(key); }

/* The last thread's end is the program's. */
void pthread_exit(void *result) {
    struct kept *own = kept();
    (void)result;
    for (int round = 0, some = 1; round < PTHREAD_DESTRUCTOR_ITERATIONS && some; round++) {
        some = 0;
        for (unsigned at = 0; at < own->value_count; at++) {
            struct value value = own->values[at];
            if (!value.is_used || value.destructor == NULL || value.value == NULL) continue;
            own->values[at].value = NULL;
            value.destructor((void *)value.value);
            some = 1;
        }
    }
    exit(0);
}
void thrd_exit(int result) {
    (void)result;
    pthread_exit(NULL);
}
