package controller

import "sync"

// rememberedDeliveries is how many of the last webhooks are known again.
const rememberedDeliveries = 4096

// deliveries remembers the IDs of the last webhooks, so that one that a forge,
// or a proxy on the way, delivers twice makes one run. It is thrift and no lock:
// forges do not sign the ID. What keeps a replay from doing harm is that an
// event only says where to look, and nothing of it is believed.
type deliveries struct {
	mu    sync.Mutex
	known map[string]bool
	order []string // a ring
	next  int
}

// first tells whether an ID is new. Deliveries without one always are.
func (d *deliveries) first(id string) bool {
	if id == "" {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known[id] {
		return false
	}
	if d.known == nil {
		d.known = map[string]bool{}
	}
	if len(d.order) < rememberedDeliveries {
		d.order = append(d.order, id)
	} else {
		delete(d.known, d.order[d.next])
		d.order[d.next] = id
		d.next = (d.next + 1) % rememberedDeliveries
	}
	d.known[id] = true
	return true
}
