package addons

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	// retryAfter is when a port that something else has is tried again.
	retryAfter = 10 * time.Second
	dialLimit  = 10 * time.Second
	// host is where load balancers are reached. It is a name and no address, since
	// kube-proxy would take an address for the node's own.
	host = "localhost"
)

// loopback listens for the Services of one cluster. It is TCP only, as the way
// into the node is.
type loopback struct {
	node string // the node's address, which NodePorts are of
	// dial connects to an address in the node.
	dial func(ctx context.Context, address string) (net.Conn, error)
	log  *slog.Logger

	client kubernetes.Interface // of the present run
	open   map[int]*forwarder   // by port; used by run alone

	mu    sync.Mutex
	taken map[string]string // by Service, why it is not reachable
}

// problems are the Services that are not reachable, as NAMESPACE/NAME, with the
// reason.
func (l *loopback) problems() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.taken)
}

// run listens until ctx ends, and returns why that was. It calls ready when it
// has seen all Services that there are.
func (l *loopback) run(ctx context.Context, client kubernetes.Interface, ready func()) error {
	l.client = client
	factory := informers.NewSharedInformerFactory(client, 0)
	services := factory.Core().V1().Services()
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	if _, err := services.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { notify() },
		UpdateFunc: func(any, any) { notify() },
		DeleteFunc: func(any) { notify() },
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), services.Informer().HasSynced) {
		return ctx.Err()
	}
	l.open = map[int]*forwarder{}
	defer l.follow(context.WithoutCancel(ctx), nil)
	first := sync.OnceFunc(ready)
	for {
		if err := l.reconcile(ctx, services.Lister()); err != nil && ctx.Err() == nil {
			l.log.Warn("services not looked at", "reason", err)
		}
		first()
		select {
		case <-changed:
		case <-time.After(retryAfter):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// target is where the connections to one port go, and for which Service.
type target struct {
	port             int
	address, service string
}

func (l *loopback) reconcile(ctx context.Context, lister listers.ServiceLister) error {
	all, err := lister.List(labels.Everything())
	if err != nil {
		return err
	}
	// the older one keeps a port that two want
	slices.SortFunc(all, func(a, b *corev1.Service) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(nameOf(a), nameOf(b)))
	})
	var wanted []target
	for _, s := range all {
		wanted = append(wanted, l.targets(s)...)
	}
	taken := l.follow(ctx, wanted)
	l.mu.Lock()
	l.taken = taken
	l.mu.Unlock()
	var failed []error
	for _, s := range all {
		if balanced(s) && taken[nameOf(s)] == "" {
			failed = append(failed, l.report(ctx, s))
		}
	}
	return errors.Join(failed...)
}

func nameOf(s *corev1.Service) string { return s.Namespace + "/" + s.Name }

// balanced reports whether a Service is a load balancer that nobody else makes.
func balanced(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.LoadBalancerClass == nil && s.DeletionTimestamp == nil
}

func (l *loopback) targets(s *corev1.Service) []target {
	if s.Spec.Type != corev1.ServiceTypeNodePort && !balanced(s) {
		return nil
	}
	var all []target
	for _, p := range s.Spec.Ports {
		if p.Protocol != corev1.ProtocolTCP && p.Protocol != "" {
			continue
		}
		if p.NodePort != 0 {
			all = append(all, target{int(p.NodePort), net.JoinHostPort(l.node, strconv.Itoa(int(p.NodePort))), nameOf(s)})
		}
		if balanced(s) {
			all = append(all, target{int(p.Port), net.JoinHostPort(s.Spec.ClusterIP, strconv.Itoa(int(p.Port))), nameOf(s)})
		}
	}
	return all
}

// follow listens on the wanted ports and on no others. The result is why some are
// not to be had, by Service.
func (l *loopback) follow(ctx context.Context, wanted []target) (taken map[string]string) {
	taken = map[string]string{}
	byPort := map[int]target{}
	for _, t := range wanted {
		if other, twice := byPort[t.port]; twice {
			taken[t.service] = fmt.Sprintf("port %d of this machine is that of Service %s", t.port, other.service)
			continue
		}
		byPort[t.port] = t
	}
	for port, f := range l.open {
		if byPort[port] != f.target {
			f.close()
			delete(l.open, port)
		}
	}
	for port, t := range byPort {
		if l.open[port] != nil {
			continue
		}
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			taken[t.service] = fmt.Sprintf("port %d of this machine cannot be had: %v", port, err)
			continue
		}
		f := &forwarder{target: t, listener: listener, dial: l.dial, conns: map[net.Conn]struct{}{}}
		l.open[port] = f
		go f.serve()
	}
	return taken
}

// report tells the cluster where a load balancer is reached.
func (l *loopback) report(ctx context.Context, s *corev1.Service) error {
	is := s.Status.LoadBalancer.Ingress
	if len(is) == 1 && is[0].Hostname == host {
		return nil
	}
	s = s.DeepCopy()
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: host}}
	_, err := l.client.CoreV1().Services(s.Namespace).UpdateStatus(ctx, s, metav1.UpdateOptions{})
	return err
}

// forwarder carries the connections to one port into the node.
type forwarder struct {
	target
	listener net.Listener
	dial     func(ctx context.Context, address string) (net.Conn, error)

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil when it is closed
}

func (f *forwarder) serve() {
	for {
		c, err := f.listener.Accept()
		if err != nil {
			return
		}
		go f.carry(c)
	}
}

// close ends the listener and all its connections.
func (f *forwarder) close() {
	_ = f.listener.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		_ = c.Close()
	}
	f.conns = nil
}

func (f *forwarder) keep(c net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.conns == nil {
		return false
	}
	f.conns[c] = struct{}{}
	return true
}

func (f *forwarder) forget(c net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
}

// carry ends when both directions have.
func (f *forwarder) carry(c net.Conn) {
	defer c.Close()
	if !f.keep(c) {
		return
	}
	defer f.forget(c)
	ctx, cancel := context.WithTimeout(context.Background(), dialLimit)
	defer cancel()
	to, err := f.dial(ctx, f.address)
	if err != nil {
		return
	}
	defer to.Close()
	var sent sync.WaitGroup
	sent.Go(func() {
		_, _ = io.Copy(to, c)
		closeWrite(to)
	})
	_, _ = io.Copy(c, to)
	closeWrite(c)
	sent.Wait()
}

func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = c.Close()
}
