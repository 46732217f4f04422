/* Stands in for src/sched/self.h: who runs, and who may run again, is the explorer's business. */
#ifndef WEFT_SCHED_SELF_H
#define WEFT_SCHED_SELF_H

struct weft__worker *whole_worker(void);
struct weft__fiber *whole_me(void);
struct weft__fiber *whole_record(uint32_t index);
void whole_ready(struct weft__fiber *f);

static inline struct weft__worker *weft__self(void) { return whole_worker(); }
static inline struct weft__fiber *weft__me(void) { return whole_me(); }
static inline uint64_t weft__life(const struct weft__fiber *me) { return me->slot.life + 1; }
static inline struct weft__fiber *weft__fiber_in(uint64_t life) { return whole_record((uint32_t)life - 1); }
static inline void weft__make_ready(struct weft__fiber *f) { whole_ready(f); }

#endif
