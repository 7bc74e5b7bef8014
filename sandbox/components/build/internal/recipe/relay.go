package recipe

// Relay runs in the nodes and pods of clusters in containers, which are
// Linux's whatever this machine is.
func Relay() Recipe {
	return Recipe{
		Name:     "relay",
		GOOS:     "linux",
		Revision: 1,
		Versions: map[string]string{"yamux": "github.com/hashicorp/yamux"},
	}
}
