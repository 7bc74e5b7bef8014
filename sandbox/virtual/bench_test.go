package virtual

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/kalypso-dev/kalypso/workshop"
)

// BenchmarkMergeOnAThousand is from a push until all of a thousand clusters have
// applied it, each of which follows two environments with ten workloads. It also
// reports what they hold in memory, and what of a core they use at rest.
func BenchmarkMergeOnAThousand(b *testing.B) {
	g := newGit()
	files := func(version int) map[string]string {
		all := map[string]string{}
		for i := range 10 {
			name := fmt.Sprintf("app-%d", i)
			all["large/"+name+"/namespace.yaml"] = "apiVersion: v1\nkind: Namespace\nmetadata: {name: dev-" + name + "}\n"
			all["large/"+name+"/config.yaml"] = configMap(fmt.Sprintf("%s-%d", name, version))
			all["large/"+name+"/reconciler.yaml"] = repository(name, organisation+"/"+name, "dev") + "---\n" + kustomization(name, name, "p")
		}
		return all
	}
	for i := range 10 {
		g.push(fmt.Sprintf("app-%d", i), "dev", fmt.Sprintf("app%d", i), map[string]string{"p/a.yaml": configMap("a") + "---\n" + configMap("b")})
	}
	version := 0
	push := func() string {
		version++
		commit := fmt.Sprintf("commit-%d", version)
		g.push("gitops", "dev", commit, files(version))
		g.push("gitops", "stage", commit+"-stage", files(version))
		return commit
	}
	commit := push()
	clusters, err := workshop.Cluster{
		Name: "store-{0001..1000}", Type: "large", Kind: workshop.VirtualCluster, Reconciler: workshop.Flux,
		Follows: []workshop.Subscription{
			{Name: "dev", Repository: "gitops", Branch: "dev", Path: "large"}, {Name: "stage", Repository: "gitops", Branch: "stage", Path: "large"},
		},
	}.Expand()
	if err != nil {
		b.Fatal(err)
	}
	before := heapInUse()
	f := New(Options{Git: g, Forge: forgeURL, Organisation: organisation})
	f.Set(clusters)
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() { ended <- f.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	await := func() {
		for count(f.Reports(), has(commit)) < 1000 {
			time.Sleep(time.Millisecond)
		}
	}
	await()
	for b.Loop() {
		commit = push()
		f.Notify("kalypso/gitops", "dev")
		f.Notify("kalypso/gitops", "stage")
		await()
	}
	b.ReportMetric(float64(heapInUse()-before)/(1<<20), "MiB")
	used := cpuTime(b)
	const rest = 3 * time.Second
	time.Sleep(rest)
	b.ReportMetric(100*(cpuTime(b)-used).Seconds()/rest.Seconds(), "%core-at-rest")
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// cpuTime is what this process has used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
