// SPDX-License-Identifier: MIT

// Go as a measuring program: the benchmarks of tools/bench on goroutines. tools/bench/measure.h describes the arguments
// and the output of such a program.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// values are in the order of the benchmark's metrics; the others are 0.
type values [3]float64

type result struct {
	right  bool
	values values
}

var benches = map[string]func() result{
	"yield":    yield,
	"cycle":    cycle,
	"churn":    churn,
	"create":   create,
	"pingpong": pingpong,
	"memory":   memory,
	"work":     work,
	"wake":     wake,
	"sleep":    sleep,
	"sleepers": sleepers,
	"timers":   timers,
	"idle":     idle,
	"transfer": transferring,
	"starve":   starve,
	"rescue":   rescue,
	"locality": locality,

	"mutex":       mutex,
	"mutex-alone": mutexAlone,
	"rwlock":      rwlock,
	"chan-trip":   chanTrip,
	"chan-stream": chanStream,
	"select":      selecting,
	"ring":        tokenRing,
}

// arg is the number given as key=... on the command line.
func arg(key string) int {
	for _, a := range os.Args[2:] {
		if strings.HasPrefix(a, key+"=") {
			n, err := strconv.Atoi(a[len(key)+1:])
			if err == nil {
				return n
			}
		}
	}
	fail(2, "missing argument: %s=", key)
	return 0
}

func argOr(key string, otherwise int) int {
	for _, a := range os.Args[2:] {
		if strings.HasPrefix(a, key+"=") {
			return arg(key)
		}
	}
	return otherwise
}

func fail(code int, format string, a ...interface{}) {
	fmt.Fprintf(os.Stderr, format+"\n", a...)
	os.Exit(code)
}

// setWorkers restarts the program with the right number in its environment. Setting it while the
// program runs leaves Go's monitor asleep at times; a system call then keeps its processor, and one
// run in twenty stood still until the alarm.
func setWorkers(n int) {
	if runtime.GOMAXPROCS(0) == n {
		return
	}
	os.Setenv("GOMAXPROCS", strconv.Itoa(n))
	fail(1, "exec: %v", syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "control" {
		controlMain()
		return
	}
	if len(os.Args) < 2 || benches[os.Args[1]] == nil {
		fail(2, "no such measurement")
	}
	setWorkers(arg("workers"))
	r := benches[os.Args[1]]()
	word := "wrong"
	if r.right {
		word = "right"
	}
	fmt.Print(word)
	for _, v := range r.values {
		fmt.Printf(" %.9g", v)
	}
	fmt.Println()
	if !r.right {
		os.Exit(1)
	}
}

// Nanoseconds since the start of the program: cheaper to read than a time.
var start = time.Now()

func now() int64 { return int64(time.Since(start)) }

// An alarm that rings after ms= milliseconds. A separate variable, not a field, so that it shares its cache line with
// no other data.
var (
	rung         int32
	_            [15]int32
	began, ended time.Time
)

func alarmRung() bool { return atomic.LoadInt32(&rung) != 0 }

// alarmStart sleeps in the kernel: while a timer of Go's is armed, its scheduler reads the clock at
// every step, and a yield takes half as long again.
func alarmStart() { alarmAfter(arg("ms")) }

func alarmAfter(ms int) {
	pause := syscall.NsecToTimespec(int64(ms) * 1e6)
	began = time.Now()
	go func() {
		syscall.Nanosleep(&pause, nil)
		ended = time.Now()
		atomic.StoreInt32(&rung, 1)
	}()
}

func median(v []float64) float64 {
	sort.Float64s(v)
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}

func leastOverMean(counts []uint64) float64 {
	least, sum := counts[0], uint64(0)
	for _, c := range counts {
		if c < least {
			least = c
		}
		sum += c
	}
	if sum == 0 {
		return 0
	}
	return float64(least) * float64(len(counts)) / float64(sum)
}

// mostOverLeast is 1e9 if a goroutine got nothing.
func mostOverLeast(counts []uint64) float64 {
	least, most := counts[0], counts[0]
	for _, c := range counts {
		if c < least {
			least = c
		}
		if c > most {
			most = c
		}
	}
	if least == 0 {
		return 1e9
	}
	return float64(most) / float64(least)
}

// random is xorshift64*.
type random uint64

func (r *random) next() uint32 {
	x := uint64(*r)
	x ^= x >> 12
	x ^= x << 25
	x ^= x >> 27
	*r = random(x)
	return uint32((x * 2685821657736338717) >> 32)
}

func (r *random) below(n int) int { return int(uint64(r.next()) * uint64(n) >> 32) }
