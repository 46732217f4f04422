// SPDX-License-Identifier: MIT

package main

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A control sleeps 100 us at a time, and records the longest delay. A goroutine that returns from a system call waits
// for one of Go's processors, so the control is a separate process: the same program, called as `control`, until its
// input ends.
type control struct {
	command *exec.Cmd
	input   io.WriteCloser
	output  io.ReadCloser
}

const controlSleep = 100000

func controlMain() {
	var worst int64
	const setTimerslack = 29
	over := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(over)
	}()
	runtime.LockOSThread()
	syscall.RawSyscall(syscall.SYS_PRCTL, setTimerslack, 1, 0)
	pause := syscall.NsecToTimespec(controlSleep)
	os.Stdout.WriteString("ready\n")
	for {
		select {
		case <-over:
			os.Stdout.WriteString(strconv.FormatInt(worst, 10))
			return
		default:
		}
		began := now()
		syscall.Nanosleep(&pause, nil)
		if late := now() - began - controlSleep; late > worst {
			worst = late
		}
	}
}

func controlStart() *control {
	c := &control{command: exec.Command("/proc/self/exe", "control")}
	c.input, _ = c.command.StdinPipe()
	c.output, _ = c.command.StdoutPipe()
	c.command.Env = append(os.Environ(), "GOMAXPROCS=2")
	if err := c.command.Start(); err != nil {
		fail(1, "control: %v", err)
	}
	if _, err := io.ReadFull(c.output, make([]byte, len("ready\n"))); err != nil {
		fail(1, "control: %v", err)
	}
	return c
}

func (c *control) stop() float64 {
	c.input.Close()
	text, _ := io.ReadAll(c.output)
	c.command.Wait()
	worst, err := strconv.Atoi(string(text))
	if err != nil {
		fail(1, "control: %v", err)
	}
	return float64(worst)
}

func without(value, control float64) float64 {
	if value > control {
		return value - control
	}
	return 0
}

func percentile(v []float64, p int) float64 {
	if len(v) == 0 {
		return 0
	}
	sort.Float64s(v)
	return v[(len(v)*p+99)/100-1]
}

// All goroutines but the measured one spin for a microsecond and yield. The measured goroutine yields until 100 us have
// passed.
func starve() result {
	const spin, period = 1000, 100000
	room := arg("ms")*1000000/period + 1000
	late := make([]float64, 0, room)
	control := controlStart()
	c := crowdRun(arg("fibers")*arg("workers"), func(i int) (count uint64) {
		if i != 0 {
			for {
				for until := now() + spin; now() < until; {
				}
				count++
				runtime.Gosched()
				if alarmRung() {
					return
				}
			}
		}
		for t := now(); ; {
			due := t + period
			for {
				runtime.Gosched()
				if t = now(); t >= due || alarmRung() {
					break
				}
			}
			if t >= due {
				late = append(late, float64(t-due)/1e3)
			}
			if alarmRung() || len(late) == room {
				return uint64(len(late))
			}
		}
	})
	away := control.stop() / 1e3
	right := c.right && len(late) > 0
	for _, n := range c.counts {
		right = right && n > 0
	}
	return result{right, values{percentile(late, 99), without(percentile(late, 100), away), away}}
}

// The first goroutine sleeps 1 ms at a time. The second keeps its processor: it blocks its kernel thread, or it
// computes.
func rescue() result {
	span := arg("span")
	block := syscall.NsecToTimespec(int64(arg("block")) * 1e6)
	blocks := arg("block") != 0
	room := 2*span + 1000
	late := make([]float64, 0, room)
	var hogging int32
	beside, early := 0, false
	ready := make(chan struct{}, 1)
	var both sync.WaitGroup
	both.Add(2)
	go func() {
		defer both.Done()
		for n := 0; len(late) < room; n++ {
			began := now()
			time.Sleep(time.Millisecond)
			slept := now() - began
			early = early || slept < 1e6
			if n == 5 {
				ready <- struct{}{}
			}
			h := atomic.LoadInt32(&hogging)
			if h == 0 {
				continue
			}
			late = append(late, float64(slept-1e6)/1e6)
			if h == 1 {
				beside++
			}
			if h == 2 || alarmRung() {
				return
			}
		}
	}()
	<-ready
	control := controlStart()
	alarmAfter(span)
	go func() {
		defer both.Done()
		atomic.StoreInt32(&hogging, 1)
		for !alarmRung() {
			if blocks {
				syscall.Nanosleep(&block, nil)
			}
		}
		atomic.StoreInt32(&hogging, 2)
	}()
	both.Wait()
	away := control.stop() / 1e6
	return result{!early && beside > 1,
		values{percentile(late, 50), percentile(late, 99), without(percentile(late, 100), away)}}
}
