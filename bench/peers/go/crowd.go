// SPDX-License-Identifier: MIT

package main

import (
	"runtime"
	"sync"
)

// A crowd: goroutines that each repeat an operation until the alarm rings, and count. All wait at the gate before the
// clock starts.
type seat struct {
	count uint64
	left  int
	_     [112]byte
}

type crowd struct {
	seats   []seat
	counts  []uint64
	total   uint64
	seconds float64
	right   bool
}

func crowdRun(size int, body func(i int) uint64) *crowd { return crowdRunFor(size, arg("ms"), body) }

func crowdRunFor(size, ms int, body func(i int) uint64) *crowd {
	c := &crowd{seats: make([]seat, size), counts: make([]uint64, size), right: true}
	var all sync.WaitGroup
	gate := make(chan struct{})
	all.Add(size)
	for i := range c.seats {
		i := i
		go func() {
			<-gate
			c.seats[i].count = body(i)
			c.seats[i].left++
			all.Done()
		}()
	}
	alarmAfter(ms)
	close(gate)
	all.Wait()
	c.seconds = ended.Sub(began).Seconds()
	for i := range c.seats {
		c.right = c.right && c.seats[i].left == 1
		c.counts[i] = c.seats[i].count
		c.total += c.counts[i]
	}
	return c
}

func site0() (count uint64) {
	for {
		runtime.Gosched()
		count++
		if alarmRung() {
			return
		}
	}
}

func site1() (count uint64) {
	for {
		runtime.Gosched()
		count++
		if alarmRung() {
			return
		}
	}
}

func site2() (count uint64) {
	for {
		runtime.Gosched()
		count++
		if alarmRung() {
			return
		}
	}
}

func site3() (count uint64) {
	for {
		runtime.Gosched()
		count++
		if alarmRung() {
			return
		}
	}
}

func yield() result {
	workers := arg("workers")
	sites := []func() uint64{site0, site1, site2, site3}[:arg("sites")]
	c := crowdRun(arg("fibers")*workers, func(i int) uint64 { return sites[i%len(sites)]() })
	ns := c.seconds * 1e9 * float64(workers) / float64(c.total)
	return result{c.right, values{ns, leastOverMean(c.counts)}}
}

const ring = 5

// A semaphore is a channel with room for one.
func cycle() result {
	rings := arg("rings") * arg("workers")
	permits := make([]chan struct{}, rings*ring)
	for i := range permits {
		permits[i] = make(chan struct{}, 1)
		if i%ring == 0 {
			permits[i] <- struct{}{}
		}
	}
	c := crowdRun(rings*ring, func(i int) (count uint64) {
		mine, next := permits[i], permits[i/ring*ring+(i+1)%ring]
		<-mine
		for !alarmRung() {
			next <- struct{}{}
			<-mine
			count++
		}
		next <- struct{}{}
		return
	})
	served := make([]uint64, rings)
	right := c.right
	for r := range served {
		least, most := c.counts[r*ring], c.counts[r*ring]
		for _, n := range c.counts[r*ring : (r+1)*ring] {
			served[r] += n
			if n < least {
				least = n
			}
			if n > most {
				most = n
			}
		}
		right = right && most-least <= 1
	}
	return result{right, values{float64(c.total) / c.seconds / 1e6, leastOverMean(served)}}
}

// A semaphore is a channel: a send goes to the first waiting receiver, or into the buffer.
func churn() result {
	workers := arg("workers")
	fibers := arg("fibers") * workers
	spots := make([]chan struct{}, fibers-workers)
	for i := range spots {
		spots[i] = make(chan struct{}, 2*fibers)
	}
	c := crowdRun(fibers, func(i int) (count uint64) {
		r := random(uint64(i+1) * 0x9E3779B97F4A7C15)
		if i < len(spots) {
			<-spots[i]
		}
		for !alarmRung() {
			spot := spots[r.below(len(spots))]
			spot <- struct{}{}
			<-spot
			count++
		}
		for _, spot := range spots {
			spot <- struct{}{}
		}
		return
	})
	right := c.right
	for _, spot := range spots {
		right = right && len(spot) == fibers-1
	}
	return result{right, values{float64(c.total) / c.seconds / 1e6, leastOverMean(c.counts)}}
}
