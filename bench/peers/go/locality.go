// SPDX-License-Identifier: MIT

package main

import "sync/atomic"

// Like churn, with arrays. A channel can carry them itself.
func locality() result {
	type cell struct {
		count uint64
		_     [7]uint64
	}
	workers := arg("workers")
	fibers := arg("fibers") * workers
	cells, work, share := arg("cells"), arg("work"), arg("share") != 0
	block := make([]cell, fibers*cells)
	for i := range block {
		block[i].count = 1 // touches its pages
	}
	for i := range block {
		block[i].count = 0
	}
	spots := make([]chan []cell, fibers-workers)
	for i := range spots {
		spots[i] = make(chan []cell, 2*fibers)
	}
	var lost int32
	c := crowdRun(fibers, func(i int) (count uint64) {
		r := random(uint64(i+1) * 0x9E3779B97F4A7C15)
		array := block[i*cells : (i+1)*cells]
		if i < len(spots) {
			if left := <-spots[i]; share {
				array = left
			}
		}
		for array != nil && !alarmRung() {
			spot := spots[r.below(len(spots))]
			for n := 0; n < work; n++ {
				array[r.below(cells)].count++
			}
			if share {
				spot <- array
				array = <-spot
			} else {
				spot <- nil
				<-spot
			}
			count++
		}
		if array == nil && !alarmRung() {
			atomic.StoreInt32(&lost, 1)
		}
		for _, spot := range spots {
			spot <- nil
		}
		return
	})
	right := c.right && lost == 0
	for _, spot := range spots {
		right = right && len(spot) == fibers-1
	}
	sum := uint64(0)
	for i := range block {
		sum += block[i].count
	}
	right = right && sum == c.total*uint64(work)
	return result{right, values{float64(c.total) / c.seconds / 1e6, leastOverMean(c.counts)}}
}
