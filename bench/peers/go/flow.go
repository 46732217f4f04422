// SPDX-License-Identifier: MIT

package main

import (
	"sync"
	"time"
)

// A channel is the faster way to wait for a single goroutine, a WaitGroup for many.
var (
	one  = make(chan struct{}, 1)
	many sync.WaitGroup
)

func onlyChild(ran *uint64) {
	*ran++
	one <- struct{}{}
}

func child(ran *uint64) {
	*ran++
	many.Done()
}

func create() result {
	batch := arg("batch")
	ran := make([]uint64, batch)
	rounds := uint64(0)
	alarmStart()
	began := time.Now()
	for {
		if batch == 1 {
			go onlyChild(&ran[0])
			<-one
		} else {
			many.Add(batch)
			for i := range ran {
				go child(&ran[i])
			}
			many.Wait()
		}
		rounds++
		if alarmRung() {
			break
		}
	}
	ns := float64(time.Since(began).Nanoseconds()) / float64(rounds) / float64(batch)
	right := true
	for _, n := range ran {
		right = right && n == rounds
	}
	return result{right, values{ns, 0}}
}

func pingpong() result {
	ping, pong := make(chan struct{}, 1), make(chan struct{}, 1)
	var served, returned uint64
	var took time.Duration
	over := false
	var both sync.WaitGroup
	both.Add(2)
	alarmStart()
	go func() {
		defer both.Done()
		for {
			<-ping
			if over {
				return
			}
			returned++
			pong <- struct{}{}
		}
	}()
	go func() {
		defer both.Done()
		began := time.Now()
		for {
			ping <- struct{}{}
			<-pong
			served++
			if alarmRung() {
				break
			}
		}
		took = time.Since(began)
		over = true
		ping <- struct{}{}
	}()
	both.Wait()
	return result{served == returned, values{float64(took.Nanoseconds()) / float64(served), 0}}
}

const (
	factor = 6364136223846793005
	term   = 1442695040888963407
)

//go:noinline
func workDone(seed, steps uint64) uint64 {
	x := seed
	for i := uint64(0); i < steps; i++ {
		x = x*factor + term
	}
	return x
}

func workExpected(seed, steps uint64) uint64 {
	f, t, x := uint64(factor), uint64(term), seed
	for ; steps != 0; steps >>= 1 {
		if steps&1 != 0 {
			x = x*f + t
		}
		t = (f + 1) * t
		f *= f
	}
	return x
}

func work() result {
	count := arg("fibers")
	heavy, light := uint64(arg("heavy")), uint64(arg("light"))
	steps := func(i int) uint64 {
		if i%10 != 0 {
			return light
		}
		return heavy
	}
	outcomes := make([]uint64, count)
	var all sync.WaitGroup
	began := time.Now()
	all.Add(count)
	for i := range outcomes {
		i := i
		go func() {
			outcomes[i] = workDone(uint64(i), steps(i))
			all.Done()
		}()
	}
	all.Wait()
	ms := time.Since(began).Seconds() * 1e3
	right := true
	for i, x := range outcomes {
		right = right && x == workExpected(uint64(i), steps(i))
	}
	return result{right, values{ms, 0}}
}
