/* SPDX-License-Identifier: MIT */
/*
 * weft for C++17: the calls of weft.h with lambdas, destructors and exceptions. Everything is in the namespace weft, in
 * headers alone, and calls the library as a C program would. docs/CPP.md is the introduction.
 *
 *   weft/cpp/error.hpp     exceptions, deadlines of std::chrono
 *   weft/cpp/fiber.hpp     run, spawn, fiber, sleep, blocking calls
 *   weft/cpp/scope.hpp     scope: fibers that end together; shield
 *   weft/cpp/sync.hpp      mutex, recursive_mutex, shared_mutex, condition_variable, semaphore, latch, barrier
 *   weft/cpp/channel.hpp   channel<T>, select
 *   weft/cpp/future.hpp    future<T>
 *   weft/cpp/parallel.hpp  for_each, for_index, reduce, transform_reduce
 *   weft/cpp/sort.hpp      sort
 *
 * The rules:
 *
 *   - A call that fails throws weft::error, a std::system_error. A wait that ends because the fiber was cancelled
 *     throws weft::cancelled. A wait that ends because of a deadline throws weft::timed_out. Both are weft::errors.
 *   - An exception that leaves the function of a fiber is thrown again where the fiber is joined, or where its scope
 *     ends.
 *   - Destructors wait and do not throw.
 *   - Objects cannot be copied. Fibers can be moved; locks, channels, futures and scopes stay where they are.
 */
#ifndef WEFT_HPP
#define WEFT_HPP

#if __cplusplus < 201703L
#error "weft.hpp needs C++17: -std=c++17"
#endif

#include "weft/cpp/channel.hpp"
#include "weft/cpp/error.hpp"
#include "weft/cpp/fiber.hpp"
#include "weft/cpp/future.hpp"
#include "weft/cpp/parallel.hpp"
#include "weft/cpp/scope.hpp"
#include "weft/cpp/sort.hpp"
#include "weft/cpp/sync.hpp"

#endif
