package recipe

// Kwok plays the nodes of embedded clusters on a machine that cannot have real
// ones.
func Kwok() Recipe {
	return Recipe{
		Name:     "kwok",
		Revision: 1,
		Versions: map[string]string{"kwok": "sigs.k8s.io/kwok"},
	}
}
