package arc

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/kalypso-dev/kalypso/internal/armapi"
)

// ShowSubscription asks for the client's subscription. It is the cheapest way to
// find out whether the login is good for it.
func (c *Client) ShowSubscription(ctx context.Context) (*Subscription, error) {
	return c.showSubscription(ctx, c.subscription)
}

func (c *Client) showSubscription(ctx context.Context, id string) (*Subscription, error) {
	var out Subscription
	if err := c.get(ctx, armapi.SubscriptionID(id), subscriptionVersion, &out); err != nil {
		return nil, fmt.Errorf("subscription %s: %w", id, err)
	}
	return &out, nil
}

// visibility remembers which subscriptions can be seen.
type visibility struct {
	mu   sync.Mutex
	seen map[string]bool
}

// visible is an error for a subscription that the account cannot see. The graph
// leaves such out without a word, as if nothing were in them.
func (c *Client) visible(ctx context.Context, id string) error {
	c.seen.mu.Lock()
	defer c.seen.mu.Unlock()
	key := strings.ToLower(id)
	if c.seen.seen[key] {
		return nil
	}
	if _, err := c.showSubscription(ctx, id); err != nil {
		return err
	}
	if c.seen.seen == nil {
		c.seen.seen = map[string]bool{}
	}
	c.seen.seen[key] = true
	return nil
}
