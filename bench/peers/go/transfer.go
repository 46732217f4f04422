// SPDX-License-Identifier: MIT

package main

import (
	"runtime"
	"sync/atomic"
)

// The leading goroutine spins until all others have acknowledged it. As in transfer.c, rounds are counted from 1. A
// semaphore is a channel.
const over = ^uint64(0)

type transfer struct {
	round            uint64
	leader, previous int
	_                [15]uint64
	acknowledged     uint64
	_                [15]uint64
	park             bool
	gaveUp           bool
	random           random
	rounds           uint64
	began, ended     int64
	places           []chan struct{}
}

func (t *transfer) wake(i int) {
	if t.park {
		t.places[i] <- struct{}{}
	}
}

func (t *transfer) allAcknowledged() bool {
	others := uint64(len(t.places) - 1)
	for began := now(); now()-began < 5e9; {
		for i := 0; i < 1000; i++ {
			if atomic.LoadUint64(&t.acknowledged) == others {
				return true
			}
		}
	}
	return false
}

func (t *transfer) lead(me int) {
	round := t.round
	if round == 1 {
		t.began = now()
	} else {
		for i := range t.places {
			if i != me && i != t.previous {
				t.wake(i)
			}
		}
	}
	t.gaveUp = !t.allAcknowledged()
	t.ended = now()
	if !t.gaveUp {
		t.rounds++
		if round == 1 {
			t.began = t.ended
		}
	}
	if t.gaveUp || round > 1 && alarmRung() {
		atomic.StoreUint64(&t.round, over)
		for i := range t.places {
			t.wake(i)
		}
		return
	}
	next := (me + 1 + t.random.below(len(t.places)-1)) % len(t.places)
	atomic.StoreUint64(&t.acknowledged, 0)
	t.previous, t.leader = me, next
	atomic.StoreUint64(&t.round, round+1)
	t.wake(next)
}

func (t *transfer) body(me int) (count uint64) {
	for seen := uint64(0); ; {
		round := atomic.LoadUint64(&t.round)
		if round == over {
			return
		}
		if round != seen {
			seen = round
			count++
			if t.leader == me {
				t.lead(me)
			} else {
				atomic.AddUint64(&t.acknowledged, 1)
			}
		} else if t.park {
			<-t.places[me]
		} else {
			runtime.Gosched()
		}
	}
}

func transferring() result {
	t := &transfer{round: 1, random: 1, park: arg("park") != 0}
	t.places = make([]chan struct{}, arg("fibers")*arg("workers"))
	for i := range t.places {
		t.places[i] = make(chan struct{}, 4)
	}
	c := crowdRun(len(t.places), t.body)
	right := c.right && !t.gaveUp
	for _, n := range c.counts {
		right = right && n == t.rounds
	}
	transfers := 1.0
	if t.rounds > 1 {
		transfers = float64(t.rounds - 1)
	}
	return result{right, values{float64(t.ended-t.began) / transfers / 1e3}}
}
