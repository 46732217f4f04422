// SPDX-License-Identifier: MIT

package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

func mutex() result {
	inside, outside, yields := uint64(arg("inside")), uint64(arg("outside")), argOr("yield", 0) != 0
	var section struct {
		_             [128]byte
		mutex         sync.Mutex
		_             [128]byte
		entered, work uint64
		_             [128]byte
	}
	c := crowdRunFor(arg("fibers"), arg("span"), func(i int) (count uint64) {
		own := uint64(i)
		for !alarmRung() {
			section.mutex.Lock()
			section.entered++
			section.work = workDone(section.work, inside)
			if yields {
				runtime.Gosched()
			}
			section.mutex.Unlock()
			own = workDone(own, outside)
			count++
		}
		return
	})
	right := c.right && section.entered == c.total && section.work == workExpected(0, c.total*inside)
	return result{right, values{float64(c.total) / c.seconds / 1e6, mostOverLeast(c.counts)}}
}

func mutexAlone() result {
	const stride = 1000
	var m sync.Mutex
	var entered, count uint64
	alarmStart()
	began := time.Now()
	for {
		for i := 0; i < stride; i++ {
			m.Lock()
			entered++
			m.Unlock()
		}
		count += stride
		if alarmRung() {
			break
		}
	}
	ns := float64(time.Since(began).Nanoseconds()) / float64(count)
	return result{entered == count, values{ns}}
}

func rwlock() result {
	inside, outside, reads := uint64(arg("inside")), uint64(arg("outside")), arg("reads")
	var table struct {
		_           [128]byte
		lock        sync.RWMutex
		_           [128]byte
		left, right uint64
		_           [128]byte
	}
	var broken, written uint64
	c := crowdRunFor(arg("fibers"), arg("span"), func(i int) (count uint64) {
		own, writes, r := uint64(i), uint64(0), random(uint64(i+1)*0x9E3779B97F4A7C15)
		for !alarmRung() {
			if r.below(100) < reads {
				table.lock.RLock()
				left := table.left
				own = workDone(own, inside)
				equal := left == table.right
				table.lock.RUnlock()
				if !equal {
					atomic.AddUint64(&broken, 1)
				}
			} else {
				table.lock.Lock()
				table.left++
				own = workDone(own, inside)
				table.right++
				table.lock.Unlock()
				writes++
			}
			own = workDone(own, outside)
			count++
		}
		atomic.AddUint64(&written, writes)
		return
	})
	right := c.right && broken == 0 && table.left == written && table.right == written
	return result{right, values{float64(c.total) / c.seconds / 1e6, mostOverLeast(c.counts)}}
}
