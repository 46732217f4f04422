// SPDX-License-Identifier: MIT

package main

import (
	"io/ioutil"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// memoryNow is the resident memory of the process and its page tables, in bytes.
func memoryNow() (bytes float64) {
	text, err := ioutil.ReadFile("/proc/self/status")
	if err != nil {
		fail(1, "%v", err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "VmRSS:") || strings.HasPrefix(line, "VmPTE:") {
			kib, _ := strconv.Atoi(strings.Fields(line)[1])
			bytes += float64(kib) * 1024
		}
	}
	return
}

// Each waits at its own channel, which is allocated before, like the semaphores of the other systems.
func memory() result {
	count := arg("count")
	woken := make([]uint32, count)
	for i := range woken {
		woken[i] = 1
	}
	for i := range woken {
		woken[i] = 0
	}
	permits := make([]chan struct{}, count)
	for i := range permits {
		permits[i] = make(chan struct{}, 1)
	}
	var arrived int64
	var all sync.WaitGroup
	all.Add(count)
	runtime.GC()
	before := memoryNow()
	began := time.Now()
	for i := 0; i < count; i++ {
		i := i
		go func() {
			atomic.AddInt64(&arrived, 1)
			<-permits[i]
			woken[i]++
			all.Done()
		}()
	}
	for atomic.LoadInt64(&arrived) < int64(count) {
		runtime.Gosched()
	}
	seconds := time.Since(began).Seconds()
	bytes := (memoryNow() - before) / float64(count)
	right := true
	for i := range woken {
		right = right && woken[i] == 0
	}
	for i := 0; i < count; i++ {
		permits[i] <- struct{}{}
	}
	all.Wait()
	for i := range woken {
		right = right && woken[i] == 1
	}
	return result{right, values{bytes, seconds}}
}

// keepApart binds the calling thread to the last processor, and the other threads of the process to the rest.
func keepApart() {
	var all, last [16]uint64
	set := func(thread int, cpus *[16]uint64) {
		syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, uintptr(thread), unsafe.Sizeof(*cpus), uintptr(unsafe.Pointer(cpus)))
	}
	syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(all), uintptr(unsafe.Pointer(&all)))
	count, cpu := 0, 0
	for i := 0; i < 1024; i++ {
		if all[i/64]>>(i%64)&1 == 1 {
			count, cpu = count+1, i
		}
	}
	if count < 2 {
		return
	}
	last[cpu/64] = 1 << (cpu % 64)
	all[cpu/64] &^= last[cpu/64]
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, t := range tasks {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			set(id, &all)
		}
	}
	set(0, &last)
}

// A goroutine cannot be woken from outside, so the waker is a goroutine that is bound to its kernel thread and sleeps
// in the kernel. It blocks after its send, because a thread outside would go on with its own work.
func wake() result {
	samples := arg("samples")
	pause := syscall.NsecToTimespec(int64(arg("pause")) * 1000)
	permit, answer := make(chan time.Time, 1), make(chan struct{}, 1)
	latencies := make([]float64, samples)
	answered := 0
	go func() {
		for i := range latencies {
			latencies[i] = float64(-time.Until(<-permit).Nanoseconds()) / 1e3
			answered++
			answer <- struct{}{}
		}
	}()
	runtime.LockOSThread()
	keepApart()
	for i := 0; i < samples; i++ {
		syscall.Nanosleep(&pause, nil)
		permit <- time.Now()
		<-answer
	}
	return result{answered == samples, values{median(latencies), 0}}
}

func sleep() result {
	late := make([]float64, arg("samples"))
	done := make(chan bool)
	go func() {
		right := true
		for i := range late {
			began := time.Now()
			time.Sleep(time.Millisecond)
			slept := time.Since(began)
			right = right && slept >= time.Millisecond
			late[i] = float64((slept - time.Millisecond).Nanoseconds()) / 1e3
		}
		done <- right
	}()
	right := <-done
	return result{right, values{median(late), 0}}
}

func sleepers() result {
	count := arg("count")
	duration := time.Duration(arg("sleep")) * time.Millisecond
	slept := make([]uint8, count)
	var all sync.WaitGroup
	began := time.Now()
	all.Add(count)
	for i := range slept {
		i := i
		go func() {
			began := time.Now()
			time.Sleep(duration)
			if time.Since(began) >= duration {
				slept[i]++
			}
			all.Done()
		}()
	}
	all.Wait()
	ms := time.Since(began).Seconds() * 1e3
	right := true
	for _, n := range slept {
		right = right && n == 1
	}
	return result{right, values{ms, 0}}
}

func timers() result {
	var calls, rounds int64
	r := random(1)
	fired := func() { atomic.AddInt64(&calls, 1) }
	due := func() time.Duration { return time.Hour + time.Duration(r.next())*(time.Hour>>32) }
	others := make([]*time.Timer, arg("others"))
	for i := range others {
		others[i] = time.AfterFunc(due(), fired)
	}
	right := true
	alarmStart()
	began := time.Now()
	for !alarmRung() {
		for i := 0; i < 100; i++ {
			right = time.AfterFunc(due(), fired).Stop() && right
		}
		rounds += 100
	}
	ns := float64(time.Since(began).Nanoseconds()) / float64(rounds)
	for _, t := range others {
		right = t.Stop() && right
	}
	return result{right && atomic.LoadInt64(&calls) == 0, values{ns, 0}}
}

func cpuMs() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		fail(1, "%v", err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
}

func idle() result {
	var ran int64
	var all sync.WaitGroup
	all.Add(1000)
	for i := 0; i < 1000; i++ {
		go func() {
			atomic.AddInt64(&ran, 1)
			all.Done()
		}()
	}
	all.Wait()
	time.Sleep(20 * time.Millisecond)
	before := cpuMs()
	time.Sleep(time.Duration(arg("seconds")) * time.Second)
	return result{ran == 1000, values{cpuMs() - before, 0}}
}
