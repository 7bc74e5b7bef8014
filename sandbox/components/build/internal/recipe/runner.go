package recipe

// Runner runs the forge's workflows on this machine, and so without the part of
// its library that drives a container engine.
func Runner() Recipe {
	return Recipe{
		Name:     "runner",
		Tags:     "WITHOUT_DOCKER",
		Revision: 1,
		Versions: map[string]string{"act": "github.com/nektos/act"},
	}
}
