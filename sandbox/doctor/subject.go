package doctor

// Subject is what kalypso knows by itself about the sandbox that is meant.
type Subject struct {
	Home      string // the folder; "" with HomeError
	HomeError error  // why there is no folder to look at
	// Others is the error about things in the folder that are not a sandbox's;
	// nil also where nobody has looked.
	Others      error
	Socket      string // the control door
	SocketLimit int    // how long its path may be
	Lock        string // the file that a daemon holds
	PIDFile     string // the file where a daemon notes its ID

	// Ports are those that an existing sandbox keeps, by listener.
	Ports map[string]int
	// Children are the IDs of the processes that a daemon has registered and
	// that run.
	Children map[string]int
	// Daemon is the one that answers, nil without.
	Daemon *Daemon

	Provider  string // of the clusters: "kind", "existing", or "embedded", which "" stands for
	NodeImage string // of kind's nodes that are still to be made; "" for none

	Clusters int    // that the sandbox has or will have
	Version  string // of this kalypso
	Payload  Payload
}

// Daemon is a running sandbox.
type Daemon struct {
	PID       int
	Version   string // "" when it has not told in time
	Processes []int  // its components'
	Resident  int64  // bytes of memory, of it and of its components
}

// embedded tells whether clusters are processes of this machine.
func (s *Subject) embedded() bool { return s.Provider == "" || s.Provider == "embedded" }

// Payload is what this binary has packed.
type Payload struct {
	Err      error
	Platform string // GOOS/GOARCH of the programs
	Names    []string
	Packed   int64 // bytes in the binary
	Missing  int64 // bytes that are not on disk yet, unpacked
	Files    int   // that are not on disk yet
}

const (
	mebi = 1 << 20
	gibi = 1 << 30
)
