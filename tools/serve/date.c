/* SPDX-License-Identifier: MIT */
/* See date.h. */
#include "date.h"

static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

static void two(char *at, int value) { at[0] = (char)('0' + value / 10 % 10), at[1] = (char)('0' + value % 10); }

void date_write(char *result, time_t time) {
    struct tm tm;
    memset(&tm, 0, sizeof tm);
    gmtime_r(&time, &tm);
    memcpy(result, "Day, 00 Mon 0000 00:00:00 GMT", DATE_SIZE);
    memcpy(result, days + 3 * tm.tm_wday, 3);
    memcpy(result + 8, months + 3 * tm.tm_mon, 3);
    two(result + 5, tm.tm_mday);
    two(result + 12, (tm.tm_year + 1900) / 100);
    two(result + 14, tm.tm_year % 100);
    two(result + 17, tm.tm_hour);
    two(result + 20, tm.tm_min);
    two(result + 23, tm.tm_sec);
}

/* --- reading ---------------------------------------------------------------------------------------- */

/* strptime is not strict enough: it accepts days that a month does not have, and spaces and signs everywhere. */

static bool take(struct text *t, const char *what) {
    uint32_t size = (uint32_t)strlen(what);
    if (t->size < size || memcmp(t->at, what, size)) return false;
    t->at += size, t->size -= size;
    return true;
}

/* Reads a name of three letters. Returns its index in `names`, or -1. */
static int take_name(struct text *t, const char *names) {
    for (int i = 0; names[3 * i] && t->size >= 3; i++) {
        if (memcmp(t->at, names + 3 * i, 3)) continue;
        t->at += 3, t->size -= 3;
        return i;
    }
    return -1;
}

/* Reads exactly `size` digits; `padded`: the first may be a space. Returns -1 if there are other characters. */
static int take_number(struct text *t, uint32_t size, bool padded) {
    int value = 0;
    if (t->size < size) return -1;
    for (uint32_t i = 0; i < size; i++) {
        bool is_space = padded && !i && t->at[0] == ' ';
        if (!is_space && (t->at[i] < '0' || t->at[i] > '9')) return -1;
        value = value * 10 + (is_space ? 0 : t->at[i] - '0');
    }
    t->at += size, t->size -= size;
    return value;
}

static bool take_time(struct text *t, struct tm *tm) {
    tm->tm_hour = take_number(t, 2, false);
    if (!take(t, ":")) return false;
    tm->tm_min = take_number(t, 2, false);
    if (!take(t, ":")) return false;
    tm->tm_sec = take_number(t, 2, false);
    return true;
}

/* Adds the century, so that the year is at most 50 years in the future. */
static int with_century(int year) {
    time_t now = time(NULL);
    struct tm tm = {0};
    if (year < 0 || !gmtime_r(&now, &tm)) return -1;
    int this = tm.tm_year + 1900, full = this / 100 * 100 + year;
    return full > this + 50 ? full - 100 : full <= this - 50 ? full + 100 : full;
}

/* Reads "Sun, 06 Nov 1994 08:49:37 GMT". */
static int read_usual(struct text t, struct tm *tm) {
    if (take_name(&t, days) < 0 || !take(&t, ", ")) return -1;
    tm->tm_mday = take_number(&t, 2, false);
    if (!take(&t, " ")) return -1;
    tm->tm_mon = take_name(&t, months);
    if (!take(&t, " ")) return -1;
    int year = take_number(&t, 4, false);
    return take(&t, " ") && take_time(&t, tm) && take(&t, " GMT") && !t.size ? year : -1;
}

/* Reads "Sunday, 06-Nov-94 08:49:37 GMT". */
static int read_long(struct text t, struct tm *tm) {
    static const char *const ends[] = {"day", "day", "sday", "nesday", "rsday", "day", "urday"};
    int day = take_name(&t, days);
    if (day < 0 || !take(&t, ends[day]) || !take(&t, ", ")) return -1;
    tm->tm_mday = take_number(&t, 2, false);
    if (!take(&t, "-")) return -1;
    tm->tm_mon = take_name(&t, months);
    if (!take(&t, "-")) return -1;
    int year = take_number(&t, 2, false);
    return take(&t, " ") && take_time(&t, tm) && take(&t, " GMT") && !t.size ? with_century(year) : -1;
}

/* Reads "Sun Nov  6 08:49:37 1994". */
static int read_of_c(struct text t, struct tm *tm) {
    if (take_name(&t, days) < 0 || !take(&t, " ")) return -1;
    tm->tm_mon = take_name(&t, months);
    if (!take(&t, " ")) return -1;
    tm->tm_mday = take_number(&t, 2, true);
    if (!take(&t, " ") || !take_time(&t, tm) || !take(&t, " ")) return -1;
    int year = take_number(&t, 4, false);
    return t.size ? -1 : year;
}

static bool is_real(const struct tm *tm, int year) {
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (year < 0 || tm->tm_mon < 0) return false;
    bool leap = (year % 4 == 0 && year % 100) || year % 400 == 0;
    int length = lengths[tm->tm_mon] + (leap && tm->tm_mon == 1);
    return tm->tm_mday >= 1 && tm->tm_mday <= length && tm->tm_hour >= 0 && tm->tm_hour < 24 && tm->tm_min >= 0 &&
           tm->tm_min < 60 && tm->tm_sec >= 0 && tm->tm_sec <= 60; /* 60: a leap second */
}

time_t date_read(struct text value) {
    static int (*const forms[])(struct text, struct tm *) = {read_usual, read_long, read_of_c};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct tm tm = {0};
        int year = forms[i](value, &tm);
        if (!is_real(&tm, year)) continue;
        tm.tm_year = year - 1900;
        return timegm(&tm);
    }
    return -1;
}
