// Package spec is what package sandbox/node writes into a file for the node's
// first process.
package spec

// A Spec says what a node is made of.
type Spec struct {
	// Hostname is the node's name.
	Hostname string `json:"hostname"`
	// Dir is the node's folder. It has the same path inside, where it is the
	// only part of the machine's files that can be written. Its folder var is
	// the node's /var.
	Dir string `json:"dir"`
	// Seen are further files and folders of the machine that the node sees, at
	// their own paths.
	Seen []string `json:"seen"`
	// Cgroup is the path of the node's control groups below each root.
	Cgroup string `json:"cgroup"`
	// Address is the node's own, with the length of its network.
	Address string `json:"address"`
	// Services is the range of the Services' addresses.
	Services string `json:"services"`
	// Links are names that programs are called by, in /run/kalypso/bin.
	Links map[string]string `json:"links"`
	// Sysctls are files below /proc/sys whose content is feigned: the kubelet
	// sets them if they differ, and they are the whole machine's.
	Sysctls map[string]string `json:"sysctls"`
	// Egress is the socket at which callers on the machine get connections to
	// addresses in the node.
	Egress string `json:"egress"`
	// Ingress is the socket at which the node gets connections to the Forwards.
	Ingress string `json:"ingress"`
	// Forwards are servers on the machine's loopback that the node reaches.
	Forwards []Forward `json:"forwards"`
	// Programs are started one after the other.
	Programs []Program `json:"programs"`
}

// GivenUp is the file in the node's folder in which its first process leaves why it
// has ended, when another start would end in the same way.
const GivenUp = "given-up"

// A Forward is a server on the machine.
type Forward struct {
	// Listen are addresses inside the node.
	Listen []string `json:"listen"`
	// To is the address on the machine.
	To string `json:"to"`
}

// A Program runs in the node, and is started again when it ends. The node gives up
// when one ends badly again and again while the node starts.
type Program struct {
	Name string   `json:"name"`
	Path string   `json:"path"`
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	Log  string   `json:"log"`
	// After is a file that must be there first.
	After string `json:"after,omitempty"`
	// Once is a program that must end well before the next one is started.
	Once bool `json:"once,omitempty"`
}
