// SPDX-License-Identifier: MIT

package main

import (
	"sync"
	"sync/atomic"
	"time"
)

func chanTrip() result {
	there, back := make(chan uint64), make(chan uint64)
	var served, returned uint64
	var took time.Duration
	right := true
	var both sync.WaitGroup
	both.Add(2)
	alarmStart()
	go func() {
		defer both.Done()
		for n := range there {
			returned++
			back <- n + 1
		}
	}()
	go func() {
		defer both.Done()
		began := time.Now()
		for {
			there <- served
			served++
			right = <-back == served && right
			if alarmRung() {
				break
			}
		}
		took = time.Since(began)
		close(there)
	}()
	both.Wait()
	return result{right && served == returned, values{float64(took.Nanoseconds()) / float64(served)}}
}

type end struct {
	count, sum uint64
	_          [112]byte
}

func chanStream() result {
	pairs := arg("pairs")
	c := make(chan uint64, arg("capacity"))
	senders, receivers := make([]end, pairs), make([]end, pairs)
	left := int32(pairs)
	var all sync.WaitGroup
	all.Add(2 * pairs)
	alarmStart()
	start := time.Now()
	for i := 0; i < pairs; i++ {
		s, r := &senders[i], &receivers[i]
		go func() {
			count, sum := uint64(0), uint64(0)
			for n := range c {
				count++
				sum += n
			}
			r.count, r.sum = count, sum
			all.Done()
		}()
		go func() {
			count, sum := uint64(0), uint64(0)
			for {
				count++
				c <- count
				sum += count
				if alarmRung() {
					break
				}
			}
			s.count, s.sum = count, sum
			if atomic.AddInt32(&left, -1) == 0 {
				close(c)
			}
			all.Done()
		}()
	}
	all.Wait()
	took := time.Since(start)
	sent, received, balance := uint64(0), uint64(0), uint64(0)
	ofSenders, ofReceivers := make([]uint64, pairs), make([]uint64, pairs)
	for i := range senders {
		sent += senders[i].count
		received += receivers[i].count
		balance += senders[i].sum - receivers[i].sum
		ofSenders[i], ofReceivers[i] = senders[i].count, receivers[i].count
	}
	return result{sent == received && balance == 0, values{float64(received) * 1e3 / float64(took.Nanoseconds()),
		leastOverMean(ofSenders), leastOverMean(ofReceivers)}}
}

func selecting() result {
	senders := arg("senders")
	var c [4]chan uint64
	counts, heard := make([]uint64, 4), make([]uint64, 4)
	for i := range c {
		c[i] = make(chan uint64)
	}
	alarmStart()
	for i := 0; i < senders; i++ {
		i := i
		go func() {
			for {
				counts[i]++
				c[i] <- counts[i]
				if alarmRung() {
					break
				}
			}
			close(c[i])
		}()
	}
	right, selects := true, 0
	start := time.Now()
	for left := senders; left > 0; {
		var n uint64
		var ok bool
		var which int
		select {
		case n, ok = <-c[0]:
			which = 0
		case n, ok = <-c[1]:
			which = 1
		case n, ok = <-c[2]:
			which = 2
		case n, ok = <-c[3]:
			which = 3
		}
		if !ok {
			c[which] = nil
			left--
			continue
		}
		heard[which]++
		right = right && n == heard[which]
		selects++
	}
	took := time.Since(start)
	for i := range counts {
		right = right && counts[i] == heard[i]
	}
	return result{right, values{float64(took.Nanoseconds()) / float64(selects), leastOverMean(heard[:senders])}}
}

func tokenRing() result {
	count := arg("count")
	links := make([]chan uint64, count)
	for i := range links {
		links[i] = make(chan uint64)
	}
	right := make([]bool, count)
	var hops uint64
	var took time.Duration
	var start time.Time
	var all sync.WaitGroup
	all.Add(count)
	for i := range links {
		i := i
		go func() {
			defer all.Done()
			mine, next := links[i], links[(i+1)%count]
			expected := uint64(i + 1)
			right[i] = true
			for {
				token := <-mine
				if token == 0 {
					break
				}
				right[i] = right[i] && token == expected
				expected += uint64(count)
				if i == 0 && token == uint64(count+1) {
					alarmStart()
					start = time.Now()
				} else if i == 0 && token > 1 && alarmRung() {
					took = time.Since(start)
					hops = token - 1 - uint64(count)
					break
				}
				next <- token + 1
			}
			if i+1 < count {
				next <- 0
			}
		}()
	}
	links[0] <- 1
	all.Wait()
	ok := true
	for _, r := range right {
		ok = ok && r
	}
	return result{ok, values{float64(took.Nanoseconds()) / float64(hops)}}
}
