/* See date.h. The program has set no locale, so strptime knows English names. */
#include "date.h"

static void two(char *at, int value) { at[0] = (char)('0' + value / 10 % 10), at[1] = (char)('0' + value % 10); }

void date_write(char *result, time_t time) {
    static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
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

time_t date_read(struct text value) {
    static const char *const forms[] = {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                        "%a %b %e %H:%M:%S %Y"};
    char text[64];
    if (value.size >= sizeof text) return -1;
    memcpy(text, value.at, value.size);
    text[value.size] = '\0';
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct tm tm;
        memset(&tm, 0, sizeof tm);
        const char *end = strptime(text, forms[i], &tm);
        if (end && !*end) return timegm(&tm);
    }
    return -1;
}
