package node

// UnsupportedError says why there can be no real node on this machine.
type UnsupportedError struct {
	Problem string
	Remedy  string
}

func (e *UnsupportedError) Error() string { return e.Problem + ": " + e.Remedy }
