package auth

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// FailuresPerMinute is how many sign-ins of one address may fail in a minute.
const FailuresPerMinute = 20

// Limiter counts failures by address. It forgets the addresses that have failed longest ago.
type Limiter struct {
	byAddress *lru.Cache[string, *rate.Limiter]
}

// NewLimiter returns one that has counted nothing.
func NewLimiter() *Limiter {
	all, _ := lru.New[string, *rate.Limiter](4096) // fails for a size below 1
	return &Limiter{byAddress: all}
}

func (l *Limiter) of(address string) *rate.Limiter {
	fresh := rate.NewLimiter(rate.Every(time.Minute/FailuresPerMinute), FailuresPerMinute)
	if known, ok, _ := l.byAddress.PeekOrAdd(address, fresh); ok {
		l.byAddress.Get(address)
		return known
	}
	return fresh
}

// Allow counts a failure, and is whether it is within the limit.
func (l *Limiter) Allow(address string) bool { return l.of(address).Allow() }

// Wait counts a failure, and is how long the address has to wait before the next; 0 within the
// limit.
func (l *Limiter) Wait(address string) time.Duration {
	one := l.of(address)
	if one.Allow() {
		return 0
	}
	return pause(one)
}

// Blocked counts nothing, and is how long the address has to wait before it may fail again; 0
// within the limit.
func (l *Limiter) Blocked(address string) time.Duration {
	one := l.of(address)
	if one.Tokens() >= 1 {
		return 0
	}
	return pause(one)
}

func pause(l *rate.Limiter) time.Duration {
	r := l.Reserve()
	defer r.Cancel()
	return r.Delay()
}
