package progress

// usual is the work of each component as it was in a build of all of them without a
// cache, in which what several are made of was compiled for the first of them: it
// counts until the component's own is known, after its modules are fetched.
var usual = map[string]struct {
	sources float64 // bytes of what is compiled
	packed  float64 // bytes of what is packed
	pages   float64 // that web pages take, in bytes of source compiled
}{
	"argocd":  {sources: 82e6, packed: 136e6, pages: 10e6},
	"flux":    {sources: 66e6, packed: 92e6},
	"gitea":   {sources: 83e6, packed: 135e6, pages: 5e6},
	"hubweb":  {pages: 2e6},
	"kube":    {sources: 104e6, packed: 165e6},
	"kwok":    {sources: 45e6, packed: 55e6},
	"node":    {sources: 21e6, packed: 123e6},
	"relay":   {sources: 8e6, packed: 3e6},
	"runner":  {sources: 23e6, packed: 15e6},
	"samples": {packed: 16e6},
}

// Pages is the part of a component's work that makes its web pages, Packing the part
// that packs it.
func Pages(component string) string   { return component + " pages" }
func Packing(component string) string { return component + " pack" }

// Usual plans what a component usually takes.
func (t *Tracker) Usual(component string) {
	if t == nil {
		return
	}
	u := usual[component]
	t.Plan(component, u.sources)
	t.Plan(Packing(component), Pack*u.packed)
	t.Plan(Pages(component), u.pages)
}
