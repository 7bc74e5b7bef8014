package addons

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kalypso-dev/kalypso/internal/retry"
)

const limit = 10 * time.Second

// freePort is one that nothing listens on at the moment.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// echo is what answers in the node: it greets, as a database does, and then says
// what address it was reached by, and what it has read.
func echo(t *testing.T) func(context.Context, string) (net.Conn, error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() { l.Close(); serving.Wait() })
	var mu sync.Mutex
	addresses := map[string]string{} // by the caller's own
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer c.Close()
				fmt.Fprint(c, "hello ")
				b, _ := io.ReadAll(c)
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintf(c, "%s %s", addresses[c.RemoteAddr().String()], b)
			})
		}
	})
	return func(ctx context.Context, address string) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.Addr().String())
		if err == nil {
			addresses[c.LocalAddr().String()] = address
		}
		return c, err
	}
}

// ask connects to a port of this machine and returns all that comes back.
func ask(port int, question string) (string, error) {
	c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(limit))
	_, err = io.WriteString(c, question)
	_ = c.(*net.TCPConn).CloseWrite()
	b, readErr := io.ReadAll(c)
	if err == nil {
		err = readErr
	}
	return string(b), err
}

func service(name string, kind corev1.ServiceType, port, nodePort int) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "app", Name: name, CreationTimestamp: metav1.NewTime(time.Unix(int64(len(name)), 0))},
		Spec: corev1.ServiceSpec{Type: kind, ClusterIP: "10.96.0.7", Ports: []corev1.ServicePort{
			{Port: int32(port), NodePort: int32(nodePort), Protocol: corev1.ProtocolTCP},
			{Port: int32(port), NodePort: int32(nodePort), Protocol: corev1.ProtocolUDP},
		}},
	}
}

func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	if err := retry.Until(t.Context(), what, limit, func(context.Context) error { return check() }); err != nil {
		t.Fatal(err)
	}
}

func TestServicesOnLoopback(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	taken := other.Addr().(*net.TCPAddr).Port
	nodePort, balanced, balancedNode := freePort(t), freePort(t), freePort(t)
	client := fake.NewClientset(service("np", corev1.ServiceTypeNodePort, 80, nodePort), service("internal", corev1.ServiceTypeClusterIP, balanced, 0))
	l := &loopback{node: "10.245.250.1", dial: echo(t), log: slog.New(slog.DiscardHandler)}
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- l.run(ctx, client, func() { close(ready) }) }()
	<-ready
	answers := func(port int, address string) func() error {
		return func() error {
			got, err := ask(port, "you")
			if want := "hello " + address + " you"; err == nil && got != want {
				err = fmt.Errorf("%q, want %q", got, want)
			}
			return err
		}
	}
	eventually(t, "the node port", answers(nodePort, fmt.Sprintf("10.245.250.1:%d", nodePort)))
	if _, err := ask(balanced, ""); err == nil {
		t.Error("a Service of the cluster alone is reachable")
	}

	services := client.CoreV1().Services("app")
	if _, err := services.Create(ctx, service("balanced", corev1.ServiceTypeLoadBalancer, balanced, balancedNode), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the load balancer", answers(balanced, fmt.Sprintf("10.96.0.7:%d", balanced)))
	eventually(t, "its node port", answers(balancedNode, fmt.Sprintf("10.245.250.1:%d", balancedNode)))
	eventually(t, "its status", func() error {
		s, err := services.Get(ctx, "balanced", metav1.GetOptions{})
		if err == nil && (len(s.Status.LoadBalancer.Ingress) != 1 || s.Status.LoadBalancer.Ingress[0].Hostname != "localhost") {
			err = fmt.Errorf("%+v", s.Status)
		}
		return err
	})

	for name, port := range map[string]int{"another-balanced": balanced, "not-ours": taken} {
		if _, err := services.Create(ctx, service(name, corev1.ServiceTypeLoadBalancer, port, freePort(t)), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "what is in the way", func() error {
		if p := l.problems(); len(p) != 2 || !strings.Contains(p["app/another-balanced"], "app/balanced") || !strings.Contains(p["app/not-ours"], strconv.Itoa(taken)) {
			return fmt.Errorf("%q", p)
		}
		return nil
	})
	if s, err := services.Get(ctx, "not-ours", metav1.GetOptions{}); err != nil || len(s.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("%+v, %v", s, err)
	}

	if err := services.Delete(ctx, "np", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the node port", func() error {
		if _, err := ask(nodePort, ""); err == nil {
			return fmt.Errorf("it is still reachable")
		}
		return nil
	})
	cancel()
	<-ended
	if _, err := ask(balanced, ""); err == nil {
		t.Error("it listens after its end")
	}
}
