/* SPDX-License-Identifier: MIT */
/* Clusters. See misuse.h. */
CELL(cluster_create, null, EITHER, -EINVAL, weft_cluster_create(NULL, NULL))
CELL(cluster_create, null, NOTHING, -EINVAL, weft_cluster_create(NULL, NULL))
CELL(cluster_create, null, EITHER, 0, weft_cluster_create(&fx.gone, NULL))
CELL(cluster_create, zero, EITHER, 0, weft_cluster_create(&fx.gone, &(struct weft_config){0}))
CELL(cluster_create, stale, EITHER, -ESRCH,
     (weft_cluster_create(&(struct weft_cluster){0}, NULL), weft_cluster_workers(fx.gone)))
CELL(cluster_create, garbage, EITHER, -EINVAL, weft_cluster_create(&fx.gone, &fx.bad_config))
CELL(cluster_create, range, EITHER, -EINVAL,
     weft_cluster_create(&fx.gone, &(struct weft_config){.workers = WEFT_WORKERS_MAX + 1}))
CELL(cluster_create, range, EITHER, -EINVAL,
     weft_cluster_create(&fx.gone, &(struct weft_config){.stack_size = (64 << 20) + 1}))
CELL(cluster_create, range, EITHER, -EINVAL,
     weft_cluster_create(&fx.gone, &(struct weft_config){.unpark = WEFT_UNPARK_LAST + 1}))
CELL(cluster_create, state, EITHER, -ENOMEM, create_all_clusters())
CELL(cluster_create, no_runtime, NOTHING, -ESRCH, weft_cluster_create(&fx.gone, NULL))
WITH_RUNTIME(cluster_create, 0, weft_cluster_create(&fx.gone, NULL))

NONE(cluster_destroy, null)
CELL(cluster_destroy, zero, EITHER, -EINVAL, weft_cluster_destroy(NO_CLUSTER)) /* the first one */
CELL(cluster_destroy, stale, EITHER, -ESRCH, weft_cluster_destroy(fx.gone))
CELL(cluster_destroy, garbage, EITHER, -ESRCH, weft_cluster_destroy(GARBAGE_CLUSTER))
CELL(cluster_destroy, range, EITHER, -ESRCH, weft_cluster_destroy(BEYOND_CLUSTERS))
CELL(cluster_destroy, state, EITHER, -ESRCH, (weft_cluster_destroy(fx.second), weft_cluster_destroy(fx.second)))
CELL(cluster_destroy, state, EITHER, -EBUSY, (inhabit(), weft_cluster_destroy(fx.second)))
CELL(cluster_destroy, state, FIBER, -EINVAL, weft_cluster_destroy(weft_cluster_self()))
CELL(cluster_destroy, state, FIBER, -EDEADLK,
     (weft_cluster_move(weft_self(), fx.second), weft_cluster_destroy(NO_CLUSTER)))
CELL(cluster_destroy, no_runtime, NOTHING, -ESRCH, weft_cluster_destroy(fx.second))
CELL(cluster_destroy, no_runtime, NOTHING, -ESRCH, weft_cluster_destroy(NO_CLUSTER))
WITH_RUNTIME(cluster_destroy, 0, weft_cluster_destroy(fx.second))

NONE(cluster_self, null, zero, stale, garbage, range, state)
CELL(cluster_self, no_runtime, NOTHING, 0, weft_cluster_self().id)
CELL(cluster_self, thread, THREAD, 0, weft_cluster_self().id)
CELL(cluster_self, fiber, FIBER, 2, weft_cluster_workers(weft_cluster_self()))
CELL(cluster_self, timer, TIMER, 2, weft_cluster_workers(weft_cluster_self()))

NONE(cluster_move, null)
CELL(cluster_move, zero, EITHER, 0, weft_cluster_move(fx.parked, NO_CLUSTER))
CELL(cluster_move, zero, THREAD, -EPERM, weft_cluster_move((struct weft_fiber){0}, fx.second))
CELL(cluster_move, zero, FIBER, 0, weft_cluster_move((struct weft_fiber){0}, fx.second))
CELL(cluster_move, stale, EITHER, -ESRCH, weft_cluster_move(fx.stale, fx.second))
CELL(cluster_move, stale, EITHER, -ESRCH, weft_cluster_move(fx.parked, fx.gone))
CELL(cluster_move, garbage, EITHER, -ESRCH, weft_cluster_move(GARBAGE, fx.second))
CELL(cluster_move, garbage, EITHER, -ESRCH, weft_cluster_move(fx.parked, GARBAGE_CLUSTER))
CELL(cluster_move, garbage, THREAD, -ESRCH, weft_cluster_move(of_this_thread(), fx.second))
CELL(cluster_move, range, EITHER, -ESRCH, weft_cluster_move(BEYOND, fx.second))
CELL(cluster_move, range, EITHER, -ESRCH, weft_cluster_move(fx.parked, BEYOND_CLUSTERS))
CELL(cluster_move, state, EITHER, 0, weft_cluster_move(fx.ended, fx.second)) /* valid until the join */
CELL(cluster_move, state, EITHER, 0, (weft_cluster_move(fx.parked, fx.second), weft_cluster_move(fx.parked, fx.second)))
CELL(cluster_move, state, EITHER, 0, (weft_cluster_move(fx.ended, fx.second), weft_cluster_destroy(fx.second)))
CELL(cluster_move, state, FIBER, 0, (cancel_self(), weft_cluster_move(weft_self(), fx.second)))
CELL(cluster_move, no_runtime, NOTHING, -ESRCH, weft_cluster_move(fx.stale, fx.second))
WITH_RUNTIME(cluster_move, 0, weft_cluster_move(fx.parked, fx.second))

NONE(cluster_resize, null)
CELL(cluster_resize, zero, EITHER, 0, weft_cluster_resize(NO_CLUSTER, 0))
CELL(cluster_resize, zero, EITHER, 3, (weft_cluster_resize(NO_CLUSTER, 3), weft_workers()))
CELL(cluster_resize, stale, EITHER, -ESRCH, weft_cluster_resize(fx.gone, 1))
CELL(cluster_resize, garbage, EITHER, -ESRCH, weft_cluster_resize(GARBAGE_CLUSTER, 1))
CELL(cluster_resize, garbage, EITHER, -EINVAL, weft_cluster_resize(NO_CLUSTER, ~0u))
CELL(cluster_resize, range, EITHER, -ESRCH, weft_cluster_resize(BEYOND_CLUSTERS, 1))
CELL(cluster_resize, range, EITHER, -EINVAL, weft_cluster_resize(fx.second, WEFT_WORKERS_MAX + 1))
CELL(cluster_resize, state, EITHER, 1,
     (weft_cluster_resize(NO_CLUSTER, 1), weft_workers())) /* with fibers on the other */
CELL(cluster_resize, no_runtime, NOTHING, -ESRCH, weft_cluster_resize(NO_CLUSTER, 1))
CELL(cluster_resize, no_runtime, NOTHING, -ESRCH, weft_cluster_resize(fx.second, 1))
WITH_RUNTIME(cluster_resize, 0, weft_cluster_resize(fx.second, 2))

NONE(cluster_workers, null)
CELL(cluster_workers, zero, EITHER, 2, weft_cluster_workers(NO_CLUSTER))
CELL(cluster_workers, stale, EITHER, -ESRCH, weft_cluster_workers(fx.gone))
CELL(cluster_workers, garbage, EITHER, -ESRCH, weft_cluster_workers(GARBAGE_CLUSTER))
CELL(cluster_workers, range, EITHER, -ESRCH, weft_cluster_workers(BEYOND_CLUSTERS))
NONE(cluster_workers, state)
CELL(cluster_workers, no_runtime, NOTHING, -ESRCH, weft_cluster_workers(NO_CLUSTER))
CELL(cluster_workers, no_runtime, NOTHING, -ESRCH, weft_cluster_workers(fx.second))
WITH_RUNTIME(cluster_workers, 1, weft_cluster_workers(fx.second))

NONE(cluster_drain, null)
CELL(cluster_drain, zero, EITHER, 0,
     (weft_timer_cancel(&fx.armed), weft_cluster_drain(NO_CLUSTER))) /* some are parked */
CELL(cluster_drain, stale, EITHER, -ESRCH, weft_cluster_drain(fx.gone))
CELL(cluster_drain, garbage, EITHER, -ESRCH, weft_cluster_drain(GARBAGE_CLUSTER))
CELL(cluster_drain, range, EITHER, -ESRCH, weft_cluster_drain(BEYOND_CLUSTERS))
CELL(cluster_drain, state, FIBER, -ECANCELED, (cancel_self(), weft_cluster_drain(NO_CLUSTER)))
CELL(cluster_drain, state, EITHER, 0, (inhabit(), weft_cluster_drain(fx.second)))
CELL(cluster_drain, no_runtime, NOTHING, -ESRCH, weft_cluster_drain(NO_CLUSTER))
CELL(cluster_drain, no_runtime, NOTHING, -ESRCH, weft_cluster_drain(fx.second))
THREAD_OR_FIBER(cluster_drain, 0, weft_cluster_drain(fx.second))
CELL(cluster_drain, timer, TIMER, ABORTS, weft_cluster_drain(NO_CLUSTER))

NONE(cluster_drain_until, null)
CELL(cluster_drain_until, zero, EITHER, 0, (weft_timer_cancel(&fx.armed), weft_cluster_drain_until(NO_CLUSTER, LATER)))
CELL(cluster_drain_until, stale, EITHER, -ESRCH, weft_cluster_drain_until(fx.gone, LATER))
CELL(cluster_drain_until, garbage, EITHER, -ESRCH, weft_cluster_drain_until(GARBAGE_CLUSTER, LATER))
CELL(cluster_drain_until, range, EITHER, -ESRCH, weft_cluster_drain_until(BEYOND_CLUSTERS, LATER))
CELL(cluster_drain_until, range, EITHER, -ETIMEDOUT, weft_cluster_drain_until(NO_CLUSTER, 0)) /* a timer is armed */
CELL(cluster_drain_until, state, FIBER, -ECANCELED, (cancel_self(), weft_cluster_drain_until(NO_CLUSTER, LATER)))
CELL(cluster_drain_until, no_runtime, NOTHING, -ESRCH, weft_cluster_drain_until(NO_CLUSTER, LATER))
THREAD_OR_FIBER(cluster_drain_until, 0, weft_cluster_drain_until(fx.second, LATER))
CELL(cluster_drain_until, timer, TIMER, ABORTS, weft_cluster_drain_until(NO_CLUSTER, LATER))

CELL(cluster_per_node, null, EITHER, -EINVAL, weft_cluster_per_node(NULL, 1, NULL))
CELL(cluster_per_node, null, EITHER, 1, weft_cluster_per_node(clusters, 1, NULL))
CELL(cluster_per_node, zero, EITHER, -EINVAL, weft_cluster_per_node(clusters, 0, NULL))
CELL(cluster_per_node, zero, EITHER, 1, weft_cluster_per_node(clusters, 1, &(struct weft_config){0}))
NONE(cluster_per_node, stale)
CELL(cluster_per_node, garbage, EITHER, -EINVAL, weft_cluster_per_node(clusters, 1, &fx.bad_config))
CELL(cluster_per_node, range, EITHER, -EINVAL,
     weft_cluster_per_node(clusters, 1, &(struct weft_config){.workers = WEFT_WORKERS_MAX + 1}))
CELL(cluster_per_node, range, EITHER, -EINVAL,
     weft_cluster_per_node(clusters, 1, &(struct weft_config){.stack_size = (64 << 20) + 1}))
CELL(cluster_per_node, range, EITHER, 1, weft_cluster_per_node(clusters, UINT32_MAX, NULL) >= 1)
CELL(cluster_per_node, state, EITHER, -ENOMEM, (create_all_clusters(), weft_cluster_per_node(clusters, 1, NULL)))
CELL(cluster_per_node, no_runtime, NOTHING, -ESRCH, weft_cluster_per_node(clusters, 1, NULL))
WITH_RUNTIME(cluster_per_node, 1, weft_cluster_per_node(clusters, 1, NULL))
