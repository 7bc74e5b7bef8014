package scenarios

// World is what the person has who goes through a tutorial.
type World struct {
	ForgeURL     string // without a slash at its end
	Organisation string // owner of the workshop's repositories
	User         string // on the forge
	Token        string // the user's access token, or password
	Kubeconfig   string // file with a context for each cluster
	Kubectl      Program
	Kalypso      Program
	Home         string // the sandbox's folder; scripts see it as $KALYPSO_HOME
	// Simulated has the clusters whose pods do not really run, with the reason.
	Simulated map[string]string
	// Secrets are what must be in no output, besides the token.
	Secrets []string
}

// Program is a program that tells by its name what it is to be.
type Program struct {
	Path string
	Name string // argv[0]
}

// OrgURL is the address below which the workshop's repositories lie.
func (w World) OrgURL() string { return w.ForgeURL + "/" + w.Organisation }

// placeholder is how the tutorials spell OrgURL.
const placeholder = "https://github.com/YOUR_ORG"
