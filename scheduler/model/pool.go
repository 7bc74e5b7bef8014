package model

import "sync"

// Pool is the memory that the Loaders of a process may take together for the
// repositories of their workloads. Each may have an equal share of it whatever
// the others take, and more as long as they take less, but for half a share
// that is kept free for each. So it takes a while, until those that have more
// than their share load again, before a newcomer's share is not on top of all.
// The zero Pool is ready; it may be used by several goroutines.
type Pool struct {
	mu    sync.Mutex
	taken map[*Loader]int // bytes
}

// Join makes a Loader one of those that share the pool. It has not loaded yet.
func (p *Pool) Join(l *Loader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken == nil {
		p.taken = map[*Loader]int{}
	}
	p.taken[l] = 0
	l.pool = p
}

// Leave gives back what a Loader has taken. It must not load any more.
func (p *Pool) Leave(l *Loader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.taken, l)
}

// Exceeds says whether a Loader has more than its share while all have more
// than they may. It gives back what is too much when it loads again.
func (p *Pool) Exceeds(l *Loader) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	total := 0
	for _, bytes := range p.taken {
		total += bytes
	}
	return total > maxWorkloads && p.taken[l] > maxWorkloads/len(p.taken)
}

// take notes what a load has taken so far, as far as it may have it, and
// returns how much that is. Until the load has ended, what there is of the one
// before counts, too.
func (p *Pool) take(l *Loader, bytes int) int {
	if p == nil {
		return maxWorkloads
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	share := maxWorkloads / max(1, len(p.taken))
	allowed := maxWorkloads
	for other, taken := range p.taken {
		if other != l {
			allowed -= max(taken, share/2)
		}
	}
	allowed = max(allowed, share)
	p.taken[l] = max(p.taken[l], min(bytes, allowed))
	return allowed
}

// settle notes what is kept of a load that has ended.
func (p *Pool) settle(l *Loader, bytes int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, joined := p.taken[l]; joined {
		p.taken[l] = bytes
	}
}
