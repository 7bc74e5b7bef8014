package arc

import (
	"context"
	"time"
)

// Impatient lets the client tell how long it would wait instead of waiting, and
// gives each request so long, and operations a minute.
func (c *Client) Impatient(limit time.Duration, waited func(time.Duration)) {
	c.patience.limit = limit
	c.pace, c.operationLimit = time.Millisecond, time.Minute
	c.patience.pause = func(ctx context.Context, d time.Duration) error {
		waited(d)
		return ctx.Err()
	}
}

// Hurry gives operations so long, and looks at them often.
func (c *Client) Hurry(limit time.Duration) { c.operationLimit, c.pace = limit, time.Millisecond }
