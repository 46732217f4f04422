/* SPDX-License-Identifier: MIT */
/* See condition.h. The server makes no tags with commas, so such tags in a list need not be found. */
#include "condition.h"

#include "date.h"

static bool is_weak(struct text tag) { return tag.size > 2 && !memcmp(tag.at, "W/", 2); }

/* Is the tag in a line of the list? A strong comparison finds no weak tags. */
static bool in_line(struct text line, struct text tag, bool strong) {
    struct text item;
    while (text_next(&line, &item)) {
        if (text_is(item, TEXT("*"))) return true;
        if (is_weak(item)) {
            if (strong) continue;
            item.at += 2, item.size -= 2;
        }
        if (text_is(item, tag)) return true;
    }
    return false;
}

/* Is the tag in any line of the field? Several lines with one name form one list. */
static bool listed(const struct request *r, enum field f, struct text tag, bool strong) {
    struct text line = r->fields[f];
    do {
        if (in_line(line, tag, strong)) return true;
    } while (request_next(r, f, &line));
    return false;
}

int condition_check(const struct request *r, struct text tag, time_t modified) {
    time_t date;
    if (request_has(r, FIELD_IF_MATCH)) {
        if (!listed(r, FIELD_IF_MATCH, tag, true)) return 412;
    } else if (request_has(r, FIELD_IF_UNMODIFIED_SINCE)) {
        date = date_read(r->fields[FIELD_IF_UNMODIFIED_SINCE]);
        if (date != -1 && modified > date) return 412;
    }
    if (request_has(r, FIELD_IF_NONE_MATCH)) {
        if (listed(r, FIELD_IF_NONE_MATCH, tag, false)) return 304;
    } else if (request_has(r, FIELD_IF_MODIFIED_SINCE)) {
        date = date_read(r->fields[FIELD_IF_MODIFIED_SINCE]);
        if (date != -1 && modified <= date) return 304;
    }
    return 200;
}

bool condition_range(const struct request *r, struct text tag, time_t modified) {
    struct text value = r->fields[FIELD_IF_RANGE];
    if (!request_has(r, FIELD_IF_RANGE)) return true;
    if (value.size && (*value.at == '"' || is_weak(value))) return text_is(value, tag);
    return date_read(value) == modified;
}
