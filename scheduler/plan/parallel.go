package plan

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// chunk is how many things a goroutine takes at a time.
const chunk = 16

// inParallel calls f for 0 to n-1, on all processors, in any order.
func inParallel(n int, f func(i int)) {
	inParallelWith(n, func() func(int) { return f })
}

// inParallelWith does the same with a function that each goroutine makes for
// itself.
func inParallelWith(n int, worker func() func(i int)) {
	var next atomic.Int64
	run := func() {
		f := worker()
		for {
			end := int(next.Add(chunk))
			for i := end - chunk; i < min(end, n); i++ {
				f(i)
			}
			if end >= n {
				return
			}
		}
	}
	var all sync.WaitGroup
	var mistake atomic.Pointer[any]
	for range min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk) - 1 {
		all.Go(func() {
			// a panic belongs to whoever asked for the work
			defer func() {
				if v := recover(); v != nil {
					mistake.Store(&v)
				}
			}()
			run()
		})
	}
	run()
	all.Wait()
	if v := mistake.Load(); v != nil {
		panic(*v)
	}
}
