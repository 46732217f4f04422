/* SPDX-License-Identifier: MIT */
/* See user.h. */
#include "user.h"

#include "command.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

struct identity {
    const char *name; /* NULL: a number without a name */
    uid_t uid;
    gid_t gid;
};

bool user_is_root(void) { return !getuid() || !geteuid(); }

static bool number_of(const char *text, uid_t *number) {
    char *end;
    errno = 0;
    unsigned long n = strtoul(text, &end, 10);
    *number = (uid_t)n;
    return text[0] >= '0' && text[0] <= '9' && !*end && !errno && n < UINT_MAX;
}

static bool find(const char *name, struct identity *who) {
    uid_t number = 0;
    struct passwd *user = getpwnam(name);
    bool by_number = !user && number_of(name, &number);
    if (by_number) user = getpwuid(number);
    if (user)
        *who = (struct identity){user->pw_name, user->pw_uid, user->pw_gid};
    else
        *who = (struct identity){NULL, number, number};
    return user || by_number;
}

static int change_groups(const struct identity *who, bool alone) {
    return alone || !who->name ? setgroups(0, NULL) : initgroups(who->name, who->gid);
}

/* Does the process have exactly the wanted rights, without a way back? */
static bool is_changed(const struct identity *who) {
    uid_t real, effective, saved;
    gid_t groups[3];
    if (getresuid(&real, &effective, &saved) || getresgid(&groups[0], &groups[1], &groups[2])) return false;
    if (real != who->uid || effective != who->uid || saved != who->uid) return false;
    if (groups[0] != who->gid || groups[1] != who->gid || groups[2] != who->gid) return false;
    return !who->uid || (setuid(0) && seteuid(0) && setreuid(0, 0));
}

int user_become(const char *name, bool alone, const char *command) {
    struct identity who;
    if (!find(name, &who)) return usage("%s: there is no user %s", command, name);
    if (!who.uid) return 0;
    if (change_groups(&who, alone) || setgid(who.gid) || setuid(who.uid)) {
        fprintf(stderr, "weft: %s: cannot become the user %s: %s\n", command, name, strerror(errno));
        return EXIT_WRONG;
    }
    if (!is_changed(&who) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) {
        fprintf(stderr, "weft: %s: the rights of root could not be given up\n", command);
        return EXIT_WRONG;
    }
    return 0;
}
