/* SPDX-License-Identifier: MIT */
/* See parse.h. */
#include "parse.h"

#include <ctype.h>

/* The classes of bytes, as bits. */
enum { TOKEN = 1, VALUE = 2, TARGET = 4, HOST = 8 };

#define SEEN VALUE | TARGET
#define BOTH TOKEN | VALUE | TARGET
static const uint8_t classes[256] = {
    ['\t'] = VALUE,
    [' '] = VALUE,
    ['!'] = BOTH | HOST,
    ['"'] = SEEN,
    ['#'] = BOTH,
    ['$'] = BOTH | HOST,
    ['%'] = BOTH,
    ['&' ... '\''] = BOTH | HOST,
    ['(' ... ')'] = SEEN | HOST,
    ['*' ... '+'] = BOTH | HOST,
    [','] = SEEN | HOST,
    ['-' ... '.'] = BOTH | HOST,
    ['/'] = SEEN,
    ['0' ... '9'] = BOTH | HOST,
    [':'] = SEEN,
    [';'] = SEEN | HOST,
    ['<'] = SEEN,
    ['='] = SEEN | HOST,
    ['>' ... '@'] = SEEN,
    ['A' ... 'Z'] = BOTH | HOST,
    ['[' ... ']'] = SEEN,
    ['^'] = BOTH,
    ['_'] = BOTH | HOST,
    ['`'] = BOTH,
    ['a' ... 'z'] = BOTH | HOST,
    ['{'] = SEEN,
    ['|'] = BOTH,
    ['}'] = SEEN,
    ['~'] = BOTH | HOST,
    [128 ... 255] = SEEN,
};

static const struct text names[FIELDS] = {
    [FIELD_HOST] = {"host", 4},
    [FIELD_CONNECTION] = {"connection", 10},
    [FIELD_CONTENT_LENGTH] = {"content-length", 14},
    [FIELD_TRANSFER_ENCODING] = {"transfer-encoding", 17},
    [FIELD_EXPECT] = {"expect", 6},
    [FIELD_RANGE] = {"range", 5},
    [FIELD_IF_RANGE] = {"if-range", 8},
    [FIELD_IF_MATCH] = {"if-match", 8},
    [FIELD_IF_NONE_MATCH] = {"if-none-match", 13},
    [FIELD_IF_MODIFIED_SINCE] = {"if-modified-since", 17},
    [FIELD_IF_UNMODIFIED_SINCE] = {"if-unmodified-since", 19},
    [FIELD_REFERER] = {"referer", 7},
    [FIELD_USER_AGENT] = {"user-agent", 10},
};

/* Returns how many bytes at the front belong to the class. */
static uint32_t span(struct text t, uint8_t class) {
    uint32_t i = 0;
    while (i < t.size && classes[(uint8_t)t.at[i]] & class) i++;
    return i;
}

static struct text skip(struct text t, uint32_t n) { return (struct text){t.at + n, t.size - n}; }

/* --- the end ------------------------------------------------------------------------------------- */

/* Takes a line off the front, without its end. False: there is no complete line. */
static bool next_line(struct text *rest, struct text *line) {
    const char *end = memchr(rest->at, '\n', rest->size);
    if (!end) return false;
    *line = (struct text){rest->at, (uint32_t)(end - rest->at)};
    *rest = skip(*rest, line->size + 1);
    return true;
}

/* Is there an empty line, which ends the head? Looks only at line ends. */
static bool complete(const char *data, size_t size, size_t seen) {
    const char *at = data + (seen > 3 ? seen - 3 : 0), *end = data + size;
    while ((at = memchr(at, '\n', (size_t)(end - at)))) {
        at++;
        if (end - at >= 2 && at[0] == '\r' && at[1] == '\n') return true;
        if (end - at >= 1 && at[0] == '\n') return true; /* an error, which the parser will find */
    }
    return false;
}

/* Returns PARSE_MORE, or the status if the head cannot become valid. */
static int incomplete(const char *data, size_t size) {
    if (size && !(classes[(uint8_t)data[0]] & TOKEN)) return 400;
    if (size < HEAD_MOST) return PARSE_MORE;
    return memchr(data, '\n', HEAD_MOST) ? 431 : 414;
}

/* --- the first line -------------------------------------------------------------------------------- */

static enum method method_of(struct text name) {
    static const struct text known[] = {{"POST", 4},  {"PUT", 3},     {"DELETE", 6}, {"CONNECT", 7},
                                        {"TRACE", 5}, {"OPTIONS", 7}, {"PATCH", 5}};
    if (text_is(name, TEXT("GET"))) return METHOD_GET;
    if (text_is(name, TEXT("HEAD"))) return METHOD_HEAD;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text_is(name, known[i])) return METHOD_KNOWN;
    return METHOD_UNKNOWN;
}

/* The size of "http://" or "https://", if the text begins with it. */
static uint32_t scheme_of(struct text target) {
    if (target.size > 7 && !strncasecmp(target.at, "http://", 7)) return 7;
    return target.size > 8 && !strncasecmp(target.at, "https://", 8) ? 8 : 0;
}

/* Sets the target: of "http://host/path" the part after the host. Other forms belong to methods that are refused
 * anyway. */
static bool set_target(struct request *r, struct text target) {
    uint32_t scheme = *target.at == '/' ? 0 : scheme_of(target);
    if (scheme) {
        target = skip(target, scheme);
        while (target.size && *target.at != '/' && *target.at != '?') target = skip(target, 1);
    } else if (*target.at != '/' && r->method != METHOD_KNOWN && r->method != METHOD_UNKNOWN) {
        return false;
    }
    const char *query = target.size ? memchr(target.at, '?', target.size) : NULL;
    uint32_t size = query ? (uint32_t)(query - target.at) : target.size;
    r->path = size ? (struct text){target.at, size} : TEXT("/");
    r->query = skip(target, size);
    return !memchr(r->path.at, '#', r->path.size);
}

static int parse_line(struct request *r, struct text line) {
    r->line = line;
    uint32_t method = span(line, TOKEN);
    if (!method || method >= line.size || line.at[method] != ' ') return 400;
    r->method = method_of((struct text){line.at, method});
    line = skip(line, method + 1);
    uint32_t target = span(line, TARGET);
    if (!target || target >= line.size || line.at[target] != ' ') return 400;
    struct text version = skip(line, target + 1);
    if (version.size != 8 || memcmp(version.at, "HTTP/", 5) || version.at[6] != '.') return 400;
    if (version.at[5] < '0' || version.at[5] > '9' || version.at[7] < '0' || version.at[7] > '9') return 400;
    if (version.at[5] != '1') return version.at[5] == '0' ? 400 : 505;
    r->old = version.at[7] == '0';
    return set_target(r, (struct text){line.at, target}) ? PARSE_DONE : 400;
}

/* --- the fields --------------------------------------------------------------------------------------- */

static int parse_field(struct request *r, struct text line, bool *close, bool *keep) {
    uint32_t size = span(line, TOKEN);
    if (!size || size >= line.size || line.at[size] != ':') return 400;
    struct text name = {line.at, size}, value = skip(line, size + 1), item;
    if (span(value, VALUE) != value.size) return 400;
    for (unsigned f = 0; f < FIELDS; f++) {
        if (!text_is_word(name, names[f])) continue;
        bool again = request_has(r, f);
        if (again && (f == FIELD_HOST || f == FIELD_CONTENT_LENGTH || f == FIELD_TRANSFER_ENCODING)) return 400;
        value = text_trim(value);
        if (!again) r->fields[f] = value;
        r->repeated |= r->given & 1u << f;
        r->given |= 1u << f;
        while (f == FIELD_CONNECTION && text_next(&value, &item)) {
            *close |= text_is_word(item, TEXT("close"));
            *keep |= text_is_word(item, TEXT("keep-alive"));
        }
        break;
    }
    return PARSE_DONE;
}

/* The lines up to the empty line have already been parsed. */
bool request_next(const struct request *r, enum field f, struct text *value) {
    if (!(r->repeated >> f & 1)) return false;
    const char *at = value->at + value->size;
    for (;;) {
        at = (const char *)rawmemchr(at, '\n') + 1;
        if (*at == '\r') return false;
        uint32_t name = names[f].size;
        if (strncasecmp(at, names[f].at, name) || at[name] != ':') continue;
        const char *end = rawmemchr(at, '\r');
        *value = text_trim((struct text){at + name + 1, (uint32_t)(end - at) - name - 1});
        return true;
    }
}

static bool set_length(struct request *r) {
    struct text t = r->fields[FIELD_CONTENT_LENGTH];
    if (!t.size || t.size > 18) return false;
    for (uint32_t i = 0; i < t.size; i++) {
        if (t.at[i] < '0' || t.at[i] > '9') return false;
        r->body = r->body * 10 + (uint64_t)(t.at[i] - '0');
    }
    return true;
}

/* Is the text a host: a name, or an address in brackets, and perhaps a port? It may be empty. */
static bool is_host(struct text t) {
    if (t.size && *t.at == '[') {
        uint32_t n = 1;
        while (n < t.size && (classes[(uint8_t)t.at[n]] & HOST || t.at[n] == ':')) n++;
        if (n == 1 || n == t.size || t.at[n] != ']') return false;
        t = skip(t, n + 1);
    } else {
        t = skip(t, span(t, HOST));
        while (t.size > 2 && *t.at == '%' && isxdigit((uint8_t)t.at[1]) && isxdigit((uint8_t)t.at[2])) {
            t = skip(t, 3);
            t = skip(t, span(t, HOST));
        }
    }
    if (t.size && *t.at != ':') return false;
    for (uint32_t i = 1; i < t.size; i++)
        if (t.at[i] < '0' || t.at[i] > '9') return false;
    return true;
}

/* Checks what the fields say about the body. */
static int conclude(struct request *r) {
    bool length = request_has(r, FIELD_CONTENT_LENGTH);
    if (request_has(r, FIELD_HOST) ? !is_host(r->fields[FIELD_HOST]) : !r->old) return 400;
    if (length && !set_length(r)) return 400;
    if (request_has(r, FIELD_TRANSFER_ENCODING)) {
        if (length || r->old) return 400;
        if (!text_is_word(r->fields[FIELD_TRANSFER_ENCODING], TEXT("chunked"))) return 501;
        r->chunked = true;
    }
    if (request_has(r, FIELD_EXPECT) && !r->old) {
        if (!text_is_word(r->fields[FIELD_EXPECT], TEXT("100-continue"))) return 417;
        r->expects = r->body || r->chunked;
    }
    return PARSE_DONE;
}

static int parse_lines(struct request *r, struct text rest) {
    struct text line;
    bool close = false, keep = false;
    int fields = -1; /* the first line is not a field */
    const char *begin = rest.at;
    while (next_line(&rest, &line)) {
        if (!line.size || line.at[line.size - 1] != '\r') return 400;
        line.size--;
        if (!line.size) break;
        if (++fields > HEAD_FIELDS_MOST || rest.at - begin > HEAD_MOST) return fields ? 431 : 414;
        int err = fields ? parse_field(r, line, &close, &keep) : parse_line(r, line);
        if (err != PARSE_DONE) return err;
    }
    r->keep = !close && (keep || !r->old);
    r->size = (uint32_t)(rest.at - begin);
    return conclude(r);
}

/* Skips empty lines before the request, because some clients send one after a body. */
int parse_head(struct request *r, const char *data, size_t size, size_t seen) {
    size_t before = 0;
    while (size - before >= 2 && data[before] == '\r' && data[before + 1] == '\n') before += 2;
    memset(r, 0, sizeof *r);
    if (size - before == 1 && data[before] == '\r') return PARSE_MORE;
    data += before;
    size -= before;
    if (!complete(data, size, seen > before ? seen - before : 0)) return incomplete(data, size);
    int result = parse_lines(r, (struct text){data, (uint32_t)size});
    r->size += (uint32_t)before;
    return result;
}
