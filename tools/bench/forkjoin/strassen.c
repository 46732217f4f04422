/* SPDX-License-Identifier: MIT */
/*
 * strassen: the product of two matrices of n= lines by seven products of half the size, six of which are forked. The
 * memory for sums and products is allocated before.
 *
 *   leaf=  lines of a product that is computed serially
 *
 * Metric: ms.
 */
#include "forkjoin.h"
#include "matrix.h"

#include <string.h>

enum { PRODUCTS = 7 };

/* A square part of a matrix, whose lines are `line` elements apart. */
struct block {
    double *at;
    size_t line;
};

struct product {
    struct block c, a, b;
    double *room; /* memory for the recursion */
};

static size_t leaf;
static double *room;

/* Returns the memory that a product needs: seven times two sums and a product, each of a quarter, and the memory of the
 * recursion. */
static size_t room_for(size_t size) {
    if (size <= leaf) return 0;
    size_t half = size / 2;
    return PRODUCTS * (3 * half * half + room_for(half));
}

static struct block quarter(struct block m, size_t half, int row, int column) {
    m.at += (size_t)row * half * m.line + (size_t)column * half;
    return m;
}

/* Computes to = x + sign * y. */
static void combine(struct block to, struct block x, struct block y, double sign, size_t size) {
    for (size_t i = 0; i < size; i++)
        for (size_t j = 0; j < size; j++) to.at[i * to.line + j] = x.at[i * x.line + j] + sign * y.at[i * y.line + j];
}

TASK_2(int, strassen_multiply, const struct product *, p, size_t, size) {
    if (size <= leaf) {
        for (size_t i = 0; i < size; i++) memset(p->c.at + i * p->c.line, 0, size * sizeof(double));
        matrix_multiply(p->c.at, p->c.line, p->a.at, p->a.line, p->b.at, p->b.line, size);
        return 0;
    }
    size_t half = size / 2, square = half * half, below = room_for(half);
    struct product m[PRODUCTS];
    struct block s[PRODUCTS], t[PRODUCTS];
    for (int i = 0; i < PRODUCTS; i++) {
        double *space = p->room + (size_t)i * (3 * square + below);
        s[i] = (struct block){space, half};
        t[i] = (struct block){space + square, half};
        m[i].c = (struct block){space + 2 * square, half};
        m[i].room = space + 3 * square;
    }
    struct block a11 = quarter(p->a, half, 0, 0), a12 = quarter(p->a, half, 0, 1);
    struct block a21 = quarter(p->a, half, 1, 0), a22 = quarter(p->a, half, 1, 1);
    struct block b11 = quarter(p->b, half, 0, 0), b12 = quarter(p->b, half, 0, 1);
    struct block b21 = quarter(p->b, half, 1, 0), b22 = quarter(p->b, half, 1, 1);

    FRAME;
    SLOT(strassen_multiply, slots[PRODUCTS]);
    for (int i = 0; i < PRODUCTS; i++) {
        m[i].a = s[i];
        m[i].b = t[i];
        switch (i) {
        case 0: combine(s[0], a11, a22, 1, half), combine(t[0], b11, b22, 1, half); break;
        case 1: combine(s[1], a21, a22, 1, half), m[1].b = b11; break;
        case 2: m[2].a = a11, combine(t[2], b12, b22, -1, half); break;
        case 3: m[3].a = a22, combine(t[3], b21, b11, -1, half); break;
        case 4: combine(s[4], a11, a12, 1, half), m[4].b = b22; break;
        case 5: combine(s[5], a21, a11, -1, half), combine(t[5], b11, b12, 1, half); break;
        default: combine(s[6], a12, a22, -1, half), combine(t[6], b21, b22, 1, half); break;
        }
        const struct product *next = &m[i];
        if (i < PRODUCTS - 1)
            FORK(slots[i], strassen_multiply, next, half);
        else
            CALL(strassen_multiply, next, half);
    }
    SYNC;
    for (int i = PRODUCTS - 2; i >= 0; i--) (void)JOIN(slots[i], strassen_multiply);

    struct block c11 = quarter(p->c, half, 0, 0), c12 = quarter(p->c, half, 0, 1);
    struct block c21 = quarter(p->c, half, 1, 0), c22 = quarter(p->c, half, 1, 1);
    combine(c12, m[2].c, m[4].c, 1, half);
    combine(c21, m[1].c, m[3].c, 1, half);
    combine(c11, m[0].c, m[3].c, 1, half);
    combine(c11, c11, m[4].c, -1, half);
    combine(c11, c11, m[6].c, 1, half);
    combine(c22, m[0].c, m[1].c, -1, half);
    combine(c22, c22, m[2].c, 1, half);
    combine(c22, c22, m[5].c, 1, half);
    return 0;
}

static void prepare(const struct args *args) {
    leaf = arg(args, "leaf");
    matrix_prepare(args);
    room = (double *)allocate(room_for(matrix_size), sizeof *room);
}

static void compute(void) {
    size_t n = matrix_size;
    struct product whole = {{matrix_c, n}, {matrix_a, n}, {matrix_b, n}, room};
    ROOT(strassen_multiply, &whole, n);
}

WORKLOAD(strassen, prepare, NULL, compute, matrix_right, in_milliseconds)
