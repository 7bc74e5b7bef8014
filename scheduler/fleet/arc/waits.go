package arc

import (
	"fmt"
	"time"
)

// Wait says why a request is held back or an operation followed, and until
// when there is the next look.
type Wait struct {
	Reason  string
	Until   time.Time
	Request string // method and path, or what is waited for
}

// LimitError is a limit of Azure's that lasts longer than the caller has time.
type LimitError struct {
	Reason string
	Until  time.Time
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s until %s: wait, ask less often, or have fewer programs share the account",
		e.Reason, e.Until.UTC().Format(time.RFC3339))
}

// OperationError tells that Azure has not finished a write in time. The write
// goes on.
type OperationError struct {
	What  string
	After time.Duration
	Last  string // what was heard of it last
}

func (e *OperationError) Error() string {
	return fmt.Sprintf("%s: not done after %s, and Azure goes on with it: %s", e.What, e.After.Round(time.Second), e.Last)
}
