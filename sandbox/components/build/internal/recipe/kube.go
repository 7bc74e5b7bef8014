package recipe

// Kube is etcd, a Kubernetes control plane and kubectl in one program.
func Kube() Recipe {
	const v = "k8s.io/component-base/version."
	return Recipe{
		Name:   "kube",
		Module: "k8s.io/kubernetes",
		Stamp: []string{
			v + "gitVersion={version}",
			v + "gitMajor={major}",
			v + "gitMinor={minor}",
			v + "gitTreeState=clean",
			// built from a module, which knows no commit and has no date
			v + "gitCommit=module",
			v + "buildDate=1970-01-01T00:00:00Z",
		},
		Versions: map[string]string{
			"Kubernetes": "k8s.io/kubernetes",
			"kubectl":    "k8s.io/kubernetes",
			"etcd":       "go.etcd.io/etcd/server/v3",
		},
	}
}
